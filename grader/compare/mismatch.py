"""The first wrong element of an output, as a record and in words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.compare.guesses import Wrong, guess
from grader.compare.tolerance import right, rounded_to
from grader.errors import GraderFault
from grader.inputs import element_count, is_poison

if TYPE_CHECKING:
    import numpy.typing as npt

    from grader.exercise import Array, Exercise, Size
    from grader.inputs import Kind
    from grader.launch import LaunchPlan

    Arrays = Mapping[str, npt.NDArray[np.generic]]
    Beside = Callable[[str, int], str]


@dataclass(frozen=True)
class Mismatch:
    """One output that is wrong. ``index`` is the first wrong element's; ``message`` says all of it in words.

    ``position`` is (row, column) where the array's count is a product of two sizes. ``likely_writer`` is the (block,
    thread) that writes the element if each thread writes the element of its own global index; nobody knows of matrices.
    """

    array: str
    index: int
    position: tuple[int, int] | None
    got: float
    expected: float
    wrong: int  # how many elements are wrong …
    count: int  # … of how many
    never_written: bool  # whether the element still holds the poison
    guess: str  # what it looks like: "the array is a copy of a", "" where nothing fits
    likely_writer: tuple[int, int] | None
    message: str


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
) -> Mismatch | None:
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


def _mismatch(found: Wrong, plan: LaunchPlan | None, beside: Beside | None) -> Mismatch:
    index = int(np.argmax(found.wrong))
    position = _position(found.array, found.size, index)
    writer = likely_writer(plan, len(found.got), index) if plan and not position else None
    words = guess(found)
    never_written = bool(is_poison(found.got)[index])
    inputs = beside(found.array.name, index) if beside and not never_written else ""
    return Mismatch(
        array=found.array.name,
        index=index,
        position=position,
        got=float(found.got[index]),
        expected=float(found.expected[index]),
        wrong=int(found.wrong.sum()),
        count=len(found.got),
        never_written=never_written,
        guess=words,
        likely_writer=writer,
        message=_message(found, index, position, writer, _values(found, index, plan, inputs), words),
    )


# ---------------------------------------------------------------------------------------------------------------- words


def _message(
    found: Wrong, index: int, position: tuple[int, int] | None, writer: tuple[int, int] | None, values: str, words: str
) -> str:
    """``c[1022] at n=1023: got 0.0, expected 1.25; 1 of 1023 elements is wrong; …``."""
    row = f" (row {position[0]}, column {position[1]})" if position else ""
    case = ", ".join(f"{name}={value}" for name, value in found.size.items())
    parts = (
        f"{found.array.name}[{index}]{row} at {case}: {values}",
        _how_many(int(found.wrong.sum()), len(found.got)),
        words,
        f"it is probably thread {writer[1]} of block {writer[0]} that should write it" if writer else "",
    )
    return "; ".join(part for part in parts if part)


def _values(found: Wrong, index: int, plan: LaunchPlan | None, inputs: str) -> str:
    """``got 3.0, expected 8.0 (a[37] = 3.0, b[37] = 5.0)``."""
    made_of = f" ({inputs})" if inputs else ""
    got = _got(found, index, plan)
    return f"{got}{',' if got.startswith('got') else ';'} expected {digits(found.expected[index])}{made_of}"


def _got(found: Wrong, index: int, plan: LaunchPlan | None) -> str:
    """``got 0.0``, or that nobody wrote it: arithmetic on a NaN keeps its bits, so scratch may be where it is from."""
    value = found.got[index]
    if not is_poison(found.got)[index] or value.dtype.itemsize == 1:
        return f"got {digits(value)}"
    from_scratch = plan is not None and plan.scratch and value.dtype.kind == "f"
    unwritten = "it was never written"
    return f"{unwritten}, or was computed from scratch values that were never written" if from_scratch else unwritten


def digits(value: np.generic) -> str:
    """The shortest decimal that is this value and no other of its dtype."""
    if value.dtype.kind == "f" and 1e-4 <= abs(float(value)) < 1e15:
        return np.format_float_positional(value, unique=True, trim="0")  # type: ignore[arg-type]  # a float, as just checked
    return str(value)


def _how_many(wrong: int, count: int) -> str:
    if count == 1:
        return ""
    if wrong == count:
        return f"all {count} elements are wrong"
    return f"{wrong} of {count} elements {'is' if wrong == 1 else 'are'} wrong"


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
