"""A wrong output in words: the first wrong element, how many there are, and what the array looks like. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grader.findings.record import Finding


def wrong(found: Finding) -> str:
    """``c[1022] at n=1023: got 0.0, expected 1.25; 1 of 1023 elements is wrong; …``."""
    if found.cause == "overwritten":
        return f"the kernel overwrote its input {found.array}"
    if found.cause == "overwritten_in_host_memory":
        return f"run() has changed the input {found.array} in host memory"
    facts = found.facts
    row = " (row {}, column {})".format(*facts["position"]) if facts.get("position") else ""
    case = ", ".join(f"{name}={value}" for name, value in facts["size"].items())
    parts = (
        f"{found.array}[{found.index}]{row} at {case}: {_values(facts)}",
        _how_many(facts["wrong"], facts["count"]),
        guess(found),
        _writer(found),
        f"it would be right for {facts['since']}" if "since" in facts else "",
    )
    return "; ".join(part for part in parts if part)


def _writer(found: Finding) -> str:
    if found.thread is None or found.block is None:
        return ""
    return f"it is probably thread {found.thread[0]} of block {found.block[0]} that should write it"


def _values(facts: Mapping[str, Any]) -> str:
    """``got 3.0, expected 8.0 (a[37] = 3.0, b[37] = 5.0)``, or that nobody wrote it."""
    made_of = f" ({facts['inputs']})" if facts.get("inputs") else ""
    return f"{_GOT[facts.get('value', 'got')].format(**facts)} expected {facts['expected']}{made_of}"


_GOT: Mapping[str, str] = {
    "got": "got {got},",
    "unwritten": "it was never written;",
    "unwritten_or_scratch": "it was never written, or was computed from scratch values that were never written;",
}


def _how_many(count: int, of: int) -> str:
    if of == 1:
        return ""
    if count == of:
        return f"all {of} elements are wrong"
    return f"{count} of {of} elements {'is' if count == 1 else 'are'} wrong"


# ------------------------------------------------------------------------------------------------------------- guesses


def guess(found: Finding) -> str:
    """What the whole array looks like: "the array is a copy of a", "" where nothing fits."""
    words = _GUESSES.get(found.cause)
    return "" if words is None else words(found) if callable(words) else words


def _last(found: Finding) -> str:
    return f"the last {found.facts['unwritten']} elements were never written: does the grid cover them?"


def _nan(found: Finding) -> str:
    count = found.facts["nan"]
    alone = count == found.facts["wrong"] == 1
    number = "it is" if alone else f"{count} of them {'is' if count == 1 else 'are'}"
    return f"{number} NaN: 0/0, inf − inf, or a value that was never written before it was read"


def _copy(found: Finding) -> str:
    source = found.facts["copy_of"]
    return f"it is {source}[0] unchanged" if found.facts["count"] == 1 else f"{found.array} is a copy of {source}"


def _from(found: Finding) -> str:
    width = found.facts["multiple_of"]
    why = "why there?"
    if width:
        why = f"{found.index} is a multiple of {width}, so look at what the next block or warp does"
    return f"everything before it is right, and everything from it on is wrong: {why}"


_GUESSES: Mapping[str, str | Callable[[Finding], str]] = {
    "nothing_written": lambda found: f"nothing was written to {found.array}",
    "last_unwritten": _last,
    "unwritten": lambda found: f"{found.facts['unwritten']} elements were never written",
    "nan": _nan,
    "constant": lambda found: f"every element of {found.array} is {found.facts['value_of_all']}",
    "copy": _copy,
    "transposed": "it is the right matrix transposed: rows and columns are swapped",
    "shifted_after": "each holds what belongs to the element after it: an index is off by one",
    "shifted_before": "each holds what belongs to the element before it: an index is off by one",
    "zeros": "each of these is 0",
    "multiple": lambda found: f"each is {found.facts['ratio']} times what it should be",
    "near": lambda found: (
        f"the error is small (at most {found.facts['largest']} of the value): a term missing, or too low a precision"
    ),
    "from_some_element_on": _from,
}
