"""What a wrong output looks like, in words that help: the first guess that fits the whole array wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.inputs import is_poison

if TYPE_CHECKING:
    import numpy.typing as npt

    from grader.exercise import Array, Size

NEAR = "the error is small"
"""How the guess begins that speaks of precision."""

_OF_VALUES = re.compile(rf"{NEAR} |each is \S+ times what it should be$")
"""Guesses at how the values were computed. Where old or unordered values were used, these lead astray."""


def without_values(message: str) -> str:
    """Return a message of `grader.compare` without its guess at how the values were computed, if it has one."""
    return "; ".join(part for part in message.split("; ") if not _OF_VALUES.match(part))


@dataclass(frozen=True, eq=False)
class Wrong:
    """One wrong output: ``got`` and ``expected`` are 1-D and of the array's dtype, ``wrong`` marks at least one."""

    array: Array
    size: Size
    got: npt.NDArray[np.generic]
    expected: npt.NDArray[np.generic]
    wrong: npt.NDArray[np.bool_]
    inputs: Mapping[str, npt.NDArray[np.generic]]


def guess(found: Wrong) -> str:
    """A clause such as "the array is a copy of a", or "" where nothing fits."""
    with np.errstate(all="ignore"):
        return next((words for look in _GUESSES if (words := look(found))), "")


def _unwritten(found: Wrong) -> str:
    untouched = is_poison(found.got) & found.wrong
    count, total = int(untouched.sum()), len(found.got)
    if found.got.dtype.itemsize == 1 and count < total:
        return ""  # in a byte, the poison may well be a result
    if count == total:
        return f"nothing was written to {found.array.name}" if total > 1 else ""
    if count > 1 and untouched[-count:].all():
        return f"the last {count} elements were never written: does the grid cover them?"
    return f"{count} elements were never written" if count > 1 else ""


def _nan(found: Wrong) -> str:
    if found.got.dtype.kind != "f":
        return ""
    count = int((np.isnan(found.got) & found.wrong & ~is_poison(found.got)).sum())
    if not count:
        return ""
    alone = count == int(found.wrong.sum()) == 1
    number = "it is" if alone else f"{count} of them {'is' if count == 1 else 'are'}"
    return f"{number} NaN: 0/0, inf − inf, or a value that was never written before it was read"


def _constant(found: Wrong) -> str:
    if len(found.got) < 2 or not (found.got == found.got[0]).all():
        return ""
    return f"every element of {found.array.name} is {found.got[0]}"


def _copy(found: Wrong) -> str:
    count = len(found.got)
    if count == 1 and abs(found.got[0]) <= 1:
        return ""  # a single 0 or 1 says nothing
    for name, values in found.inputs.items():
        if len(values) >= count and (values[:count] == found.got).all():
            return f"it is {name}[0] unchanged" if count == 1 else f"{found.array.name} is a copy of {name}"
    return ""


def _transposed(found: Wrong) -> str:
    match = re.fullmatch(r"\s*(\w+)\s*\*\s*(\w+)\s*", found.array.count)
    rows, columns = (found.size.get(match[1], 0), found.size.get(match[2], 0)) if match else (0, 0)
    if min(rows, columns) < 2 or rows * columns != len(found.got):
        return ""
    turned = found.expected.reshape(rows, columns).T.reshape(-1)
    return "it is the right matrix transposed: rows and columns are swapped" if (turned == found.got).all() else ""


def _shifted(found: Wrong) -> str:
    """A wrong index moves a whole stretch; elements that collide may also hold a neighbour's value, here and there."""
    at = np.flatnonzero(found.wrong)
    if len(at) < 4 or 4 * len(at) < 3 * (at[-1] - at[0] + 1):
        return ""
    for step, words in ((1, "after"), (-1, "before")):
        inside = at[(at + step >= 0) & (at + step < len(found.got))]
        same = (found.got[inside] == found.expected[inside + step]).all()
        if same and len(np.unique(found.got[inside])) >= 4:
            return f"each holds what belongs to the element {words} it: an index is off by one"
    return ""


def _multiple(found: Wrong) -> str:
    """All wrong elements are the same simple multiple of what they should be."""
    expected, got = found.expected[found.wrong].astype(np.float64), found.got[found.wrong].astype(np.float64)
    if len(got) < 2 or not expected.all():
        return ""
    ratio = float(got[0] / expected[0])
    if not np.allclose(got, ratio * expected, rtol=1e-5, atol=0) or abs(ratio - 1) < 1e-3:
        return ""
    if ratio == 0:
        return "each of these is 0"
    return f"each is {ratio:.6g} times what it should be"


def _from_some_element_on(found: Wrong) -> str:
    first, count = int(np.argmax(found.wrong)), int(found.wrong.sum())
    if first == 0 or count < 2 or first + count != len(found.got):
        return ""
    return f"everything before it is right, and everything from it on is wrong: {_round_number(first)}"


def _round_number(first: int) -> str:
    width = next((width for width in (1024, 512, 256, 128, 64, 32) if first % width == 0), 0)
    return f"{first} is a multiple of {width}, so look at what the next block or warp does" if width else "why there?"


def _near(found: Wrong) -> str:
    """A small error in everything that is wrong: precision rather than a wrong index."""
    expected, got = found.expected[found.wrong].astype(np.float64), found.got[found.wrong].astype(np.float64)
    largest = float(np.max(np.abs(got - expected) / np.abs(expected)))
    if not largest < 1e-2:
        return ""
    return f"{NEAR} (at most {largest:.1g} of the value): a term missing, or too low a precision"


_GUESSES: tuple[Callable[[Wrong], str], ...] = (
    _unwritten,
    _nan,
    _constant,
    _copy,
    _transposed,
    _shifted,
    _multiple,
    _near,
    _from_some_element_on,
)
