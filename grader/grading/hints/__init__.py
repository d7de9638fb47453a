"""Hints for findings: one list of rules, of which the first that has a hint is used.

in_words(found, seen) -> Diagnostic        its sentence, the rule's hint, and the rule's name

The rules are imported for the first finding: most gradings that pass have none.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import prod

from grader.c_types import SIZEOF
from grader.findings.record import Finding
from grader.findings.sentences import sentence
from grader.grading.hints.rules import RULES_OF, Rule, Seen
from grader.verdict import Diagnostic


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, in the order in which they are tried."""
    from grader.grading.hints import (
        answers,
        barriers,
        bounds,
        copies,
        extents,
        faults,
        fragments,
        hostfile,
        large,
        outputs,
        overlaps,
        races,
        slips,
        techniques,
        unwritten,
    )

    between_threads = (barriers, overlaps, copies, races)
    of_outputs = (outputs, techniques, answers)
    modules = (large, slips, fragments, extents, bounds, hostfile, unwritten, *between_threads, faults, *of_outputs)
    return tuple(rule for module in modules for rule in RULES_OF[module.__name__.rpartition(".")[2]])


def hint(found: Finding, seen: Seen) -> tuple[str, str]:
    """The hint, and the name of its rule; both "" if no rule has one."""
    spoken = ((rule.speaks(found, seen), rule.name) for rule in rules())
    return next((answer for answer in spoken if answer[0]), ("", ""))


UNEVEN_PASS = "extents.uneven_pass"
"""The rule whose hint makes the note on uneven passes superfluous."""

OF_ALL_BLOCKS = tuple(
    f"races.{name}"
    for name in ("fence_before_the_signal", "read_and_write_of_blocks", "writes_of_blocks", "within_one_launch")
)
"""Rules on races between blocks: if a step's kernel needs a grid barrier, this barrier is missing."""

SAME_WORK, EVERY_ELEMENT = "races.the_same_work_twice", "unwritten.write_before_the_read"
"""Rules on a value that two threads store, and on one that was never stored: the next step may be their hint."""

NOT_CLEARED = "unwritten.zeros_before_it_is_added_to"
"""The rule on an atomic on what was never stored."""


def about_type(found: Diagnostic, seen: Seen) -> Diagnostic:
    """A backend's diagnostic, with another hint if a parameter of a wrong type explains it."""
    from grader.grading.hints import extents

    says = extents.type_of_the_array(Finding(found.kind, array=found.array), seen)
    return replace(found, hint=says, rule="extents.type_of_the_array") if says else found


AT_AN_ACCESS = (
    "out_of_bounds",
    "misaligned",
    "null",
    "race",
    "missing_fence",
    "same_value_write",
    "uninitialised_read",
)


def _placed(found: Finding, seen: Seen) -> Finding:
    """The finding with its lines moved to the accesses of its array, because the compiler may move instructions."""
    names = (*found.names, found.array or "")
    if found.kind not in AT_AN_ACCESS or not found.array:
        return found

    def line(at: int | None) -> int | None:
        return at and seen.source.line_of_access(at, names)

    places = tuple(replace(place, line=line(place.line)) for place in found.places)
    return replace(found, line=line(found.line), places=places)


def in_words(found: Finding, seen: Seen) -> Diagnostic:
    """The finding as a diagnostic with sentence and hint."""
    found = _shaped(_placed(found, seen), seen)
    return found.diagnostic(sentence(found), *hint(found, seen))


def _shaped(found: Finding, seen: Seen) -> Finding:
    """The finding with the elements of a shared array as the source declares them, and an index for each dimension.

    A backend knows only how wide an access is: a float of a `float4` is not an element.
    """
    name, rest = found.array, found.index
    if found.space != "shared" or not name or rest is None or rest < 0:
        return found
    wide, declared = found.facts.get("element_bytes", 0), SIZEOF.get(seen.source.shared_type(name), 0)
    if declared > wide and "offset" in found.facts:
        rest = found.facts["offset"] // declared
        found = replace(found, index=rest, facts={**found.facts, "element_bytes": declared})
    shape = seen.source.shared_shape(name)
    if len(shape) < 2 or prod(shape) * found.facts.get("element_bytes", 0) != found.facts.get("array_bytes"):
        return found
    indices = []
    for length in reversed(shape[1:]):
        rest, index = divmod(rest, length)
        indices.append(index)
    return replace(found, indices=(rest, *reversed(indices)), facts={**found.facts, "shape": shape})
