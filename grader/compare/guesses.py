"""What a wrong output looks like: the first guess that fits the whole array wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.inputs import is_poison

if TYPE_CHECKING:
    import numpy.typing as npt

    from grader.exercise import Array, Size

Guess = tuple[str, Mapping[str, Any]]
"""The cause, and the facts that its words need."""


@dataclass(frozen=True, eq=False)
class Wrong:
    """One wrong output: ``got`` and ``expected`` are 1-D and of the array's dtype, ``wrong`` marks at least one."""

    array: Array
    size: Size
    got: npt.NDArray[np.generic]
    expected: npt.NDArray[np.generic]
    wrong: npt.NDArray[np.bool_]
    inputs: Mapping[str, npt.NDArray[np.generic]]


def guess(found: Wrong) -> Guess:
    """What it looks like, such as a copy of an input; ("", {}) where nothing fits."""
    with np.errstate(all="ignore"):
        return next((known for look in _GUESSES if (known := look(found))), ("", {}))


def _unwritten(found: Wrong) -> Guess | None:
    untouched = is_poison(found.got) & found.wrong
    count, total = int(untouched.sum()), len(found.got)
    if found.got.dtype.itemsize == 1 and count < total:
        return None  # in a byte, the poison may well be a result
    if count == total:
        return ("nothing_written", {}) if total > 1 else None
    if count > 1 and untouched[-count:].all():
        return "last_unwritten", {"unwritten": count}
    return ("unwritten", {"unwritten": count}) if count > 1 else None


def _nan(found: Wrong) -> Guess | None:
    if found.got.dtype.kind != "f":
        return None
    count = int((np.isnan(found.got) & found.wrong & ~is_poison(found.got)).sum())
    return ("nan", {"nan": count}) if count else None


def _constant(found: Wrong) -> Guess | None:
    if len(found.got) < 2 or not (found.got == found.got[0]).all():
        return None
    return "constant", {"value_of_all": str(found.got[0])}


def _copy(found: Wrong) -> Guess | None:
    count = len(found.got)
    if count == 1 and abs(found.got[0]) <= 1:
        return None  # a single 0 or 1 says nothing
    for name, values in found.inputs.items():
        if len(values) >= count and (values[:count] == found.got).all():
            return "copy", {"copy_of": name}
    return None


def _transposed(found: Wrong) -> Guess | None:
    match = re.fullmatch(r"\s*(\w+)\s*\*\s*(\w+)\s*", found.array.count)
    rows, columns = (found.size.get(match[1], 0), found.size.get(match[2], 0)) if match else (0, 0)
    if min(rows, columns) < 2 or rows * columns != len(found.got):
        return None
    turned = found.expected.reshape(rows, columns).T.reshape(-1)
    return ("transposed", {}) if (turned == found.got).all() else None


def _shifted(found: Wrong) -> Guess | None:
    """A wrong index moves a whole stretch; elements that collide may also hold a neighbour's value, here and there."""
    at = np.flatnonzero(found.wrong)
    if len(at) < 4 or 4 * len(at) < 3 * (at[-1] - at[0] + 1):
        return None
    for step, cause in ((1, "shifted_after"), (-1, "shifted_before")):
        inside = at[(at + step >= 0) & (at + step < len(found.got))]
        same = (found.got[inside] == found.expected[inside + step]).all()
        if same and len(np.unique(found.got[inside])) >= 4:
            return cause, {}
    return None


def _multiple(found: Wrong) -> Guess | None:
    """All wrong elements are the same simple multiple of what they should be."""
    expected, got = found.expected[found.wrong].astype(np.float64), found.got[found.wrong].astype(np.float64)
    if len(got) < 2 or not expected.all():
        return None
    ratio = float(got[0] / expected[0])
    if not np.allclose(got, ratio * expected, rtol=1e-5, atol=0) or abs(ratio - 1) < 1e-3:
        return None
    if ratio == 0:
        return "zeros", {}
    return "multiple", {"ratio": f"{ratio:.6g}"}


def _from_some_element_on(found: Wrong) -> Guess | None:
    first, count = int(np.argmax(found.wrong)), int(found.wrong.sum())
    if first == 0 or count < 2 or first + count != len(found.got):
        return None
    width = next((width for width in (1024, 512, 256, 128, 64, 32) if first % width == 0), 0)
    return "from_some_element_on", {"multiple_of": width}


def _near(found: Wrong) -> Guess | None:
    """A small error in everything that is wrong: precision rather than a wrong index."""
    expected, got = found.expected[found.wrong].astype(np.float64), found.got[found.wrong].astype(np.float64)
    largest = float(np.max(np.abs(got - expected) / np.abs(expected)))
    if not largest < 1e-2:
        return None
    return "near", {"largest": f"{largest:.1g}"}


_GUESSES: tuple[Callable[[Wrong], Guess | None], ...] = (
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
