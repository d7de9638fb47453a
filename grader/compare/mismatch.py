"""The first wrong element of an output, as a finding; and what the whole output looks like, where a guess fits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.compare.tolerance import right, rounded_to
from grader.errors import GraderFault
from grader.findings.record import Finding
from grader.inputs import element_count, is_poison

if TYPE_CHECKING:
    import numpy.typing as npt

    from grader.exercise import Array, Exercise, Size
    from grader.inputs import Kind
    from grader.launch import LaunchPlan

    Arrays = Mapping[str, npt.NDArray[np.generic]]
    Beside = Callable[[str, int], str]


@dataclass(frozen=True, eq=False)
class Wrong:
    """One wrong output: ``got`` and ``expected`` are 1-D and of the array's dtype, ``wrong`` marks at least one."""

    array: Array
    size: Size
    got: npt.NDArray[np.generic]
    expected: npt.NDArray[np.generic]
    wrong: npt.NDArray[np.bool_]
    inputs: Arrays

    @property
    def shape(self) -> tuple[int, int] | None:
        """Rows and columns of an array whose count is written ``rows*cols``; 32*rows is no matrix."""
        match = re.fullmatch(r"\s*(\w+)\s*\*\s*(\w+)\s*", self.array.count)
        known = match is not None and match[1] in self.size and match[2] in self.size
        return (self.size[match[1]], self.size[match[2]]) if match and known else None


def compare(
    exercise: Exercise,
    size: Size,
    values: Kind,
    outputs: Arrays,
    expected: Arrays,
    inputs: Arrays,
    *,
    plan: LaunchPlan | None = None,
    beside: Beside | None = None,
) -> Finding | None:
    """The first output that is wrong, in the exercise's order; None if all are right.

    ``values`` is ``"exact"`` (nothing is allowed) or ``"real"`` (the exercise's tolerance). ``expected`` holds 1-D
    float64 arrays by output name. ``plan`` helps to say which thread should have written the element; ``beside`` is
    asked for words about an element (its inputs, say). Raises GraderFault where an array is missing or has the wrong
    length.
    """
    for array in exercise.outputs:
        count = element_count(array, size)
        got = _of_length(outputs, array, count, "the backend")
        oracle = _of_length(expected, array, count, f"the oracle {exercise.oracle}")
        wrong = ~right(exercise, size, values, got, oracle)
        if wrong.any():
            found = Wrong(array, size, got, rounded_to(oracle, got.dtype), wrong, inputs)
            return _mismatch(found, plan, beside)
    return None


def _of_length(arrays: Arrays, array: Array, count: int, source: str) -> npt.NDArray[np.generic]:
    found = arrays.get(array.name)
    if found is None:
        raise GraderFault(f"{source} gave no array {array.name!r}")
    if found.shape != (count,):
        raise GraderFault(f"{source} gave {array.name!r} with shape {found.shape} instead of ({count},)")
    return found


def _mismatch(found: Wrong, plan: LaunchPlan | None, beside: Beside | None) -> Finding:
    """``position`` is (row, column) where the array's count is a product of two sizes.

    Its thread is the one that writes the element if each writes that of its own global index; nobody knows of matrices.
    """
    index = int(np.argmax(found.wrong))
    position = divmod(index, found.shape[1]) if found.shape else None
    writer = likely_writer(plan, len(found.got), index) if plan and not position else None
    inputs = beside(found.array.name, index) if beside and not is_poison(found.got)[index] else ""
    cause, facts = guess(found)
    block, thread = ((number, 0, 0) for number in writer) if writer else (None, None)
    return Finding(
        "wrong", cause, space="global", array=found.array.name, index=index, thread=thread, block=block,
        facts={
            "size": dict(found.size), "position": position, "value": _value(found, index, plan), "inputs": inputs,
            "got": digits(found.got[index]), "expected": digits(found.expected[index]),
            "wrong": int(found.wrong.sum()), "count": len(found.got), **facts,
        },
    )  # fmt: skip


def _value(found: Wrong, index: int, plan: LaunchPlan | None) -> str:
    """``got`` something, or nobody wrote it: arithmetic on a NaN keeps its bits, so scratch may be where it is from."""
    value = found.got[index]
    if not is_poison(found.got)[index] or value.dtype.itemsize == 1:
        return "got"
    return "unwritten_or_scratch" if plan is not None and plan.scratch and value.dtype.kind == "f" else "unwritten"


def digits(value: np.generic) -> str:
    """The shortest decimal that is this value and no other of its dtype."""
    if isinstance(value, np.floating) and 1e-4 <= abs(float(value)) < 1e15:
        return np.format_float_positional(value, unique=True, trim="0")
    return str(value)


def likely_writer(plan: LaunchPlan, count: int, index: int) -> tuple[int, int] | None:
    """The (block, thread) of the global index ``index``, where a plan makes one thread per element likely."""
    if len(plan.launches) != 1 or count == 1:
        return None
    launch = plan.launches[0]
    flat = math.prod(launch.grid) == launch.grid[0] and math.prod(launch.block) == launch.block[0]
    if not flat or not count <= launch.grid[0] * launch.block[0] < count + launch.block[0]:
        return None
    return divmod(index, launch.block[0])


# -------------------------------------------------------------------------------------------- what it looks like

Guess = tuple[str, Mapping[str, Any]]
"""The cause, and the facts that its words need."""


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
    rows, columns = found.shape or (0, 0)
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
