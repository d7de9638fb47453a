"""What to do about an index of 32 bits, where an array has more elements than an ``int`` can number."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.findings.sentences.words import elements
from grader.grading.hints.arrays import array_length, array_name
from grader.grading.hints.rules import Seen, finding, rule, stray

LARGEST_INT = 2**31 - 1


@rule("out_of_bounds", example=stray("before_start", 5 - 2**31, 3 << 30), cause="before_start")
def negative_index(found: Finding, seen: Seen) -> str:
    """As a product becomes that does not fit."""
    count = array_length(found)
    if count <= LARGEST_INT or found.facts["offset"] < -found.facts["element_bytes"] * (LARGEST_INT + 1):
        return ""
    many = f"{array_name(found)} has {elements(count)}, and an `int` ends at {LARGEST_INT}"
    wide = "Compute the index in 64 bits, with `(size_t)` in front of the product's first factor"
    return f"{many}: a product that is larger turns negative. {wide}"


_LARGE = {"size": {"m": 2**17}, "wrong": 1, "count": 256, "got": "5.0", "expected": "4.0", "elements": 2**33}


@rule("wrong", example=finding("wrong", array="y", index=9, facts=_LARGE))
def index_that_begins_again(found: Finding, seen: Seen) -> str:
    """Only the case is wrong that has so many elements."""
    return only_so_large(found.facts["elements"]) if "elements" in found.facts else ""


def only_so_large(count: int) -> str:
    """What to ask where the case with an array of so many elements is the first that is wrong."""
    there = f"smaller sizes are right, and here an array has {elements(count)}"
    asks = (
        "is an index, a product in it, or a number of bytes computed in 32 bits? (With `(size_t)` in front of its "
        "first factor a product has 64.)"
    )
    return f"{there}: {asks} Or is something done for smaller sizes only?"
