"""The first wrong element of an output, as a finding."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from grader.compare.guesses import Wrong, guess
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
    position = _position(found.array, found.size, index)
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
    if value.dtype.kind == "f" and 1e-4 <= abs(float(value)) < 1e15:
        return np.format_float_positional(value, unique=True, trim="0")  # type: ignore[arg-type]  # a float, as just checked
    return str(value)


def _position(array: Array, size: Size, index: int) -> tuple[int, int] | None:
    """Row and column of an array whose count is written ``rows*cols``."""
    match = re.fullmatch(r"\s*(\w+)\s*\*\s*(\w+)\s*", array.count)
    columns = size.get(match[2]) if match and match[1] in size else None  # 32*rows is no matrix of rows columns
    return divmod(index, columns) if columns else None


def likely_writer(plan: LaunchPlan, count: int, index: int) -> tuple[int, int] | None:
    """The (block, thread) of the global index ``index``, where a plan makes one thread per element likely."""
    if len(plan.launches) != 1 or count == 1:
        return None
    launch = plan.launches[0]
    flat = math.prod(launch.grid) == launch.grid[0] and math.prod(launch.block) == launch.block[0]
    if not flat or not count <= launch.grid[0] * launch.block[0] < count + launch.block[0]:
        return None
    return divmod(index, launch.block[0])
