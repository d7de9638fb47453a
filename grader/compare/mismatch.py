"""The first wrong element of an output as a finding, with a guess at the cause from the whole output, if one fits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.compare.tolerance import right, rounded_to
from grader.errors import GraderFault
from grader.expressions import evaluate_integer
from grader.findings.record import Finding
from grader.frozen import dataclass
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
    """One wrong output: ``got`` and ``expected`` are 1-D, with the array's dtype; ``wrong`` marks wrong elements."""

    array: Array
    size: Size
    got: npt.NDArray[np.generic]
    expected: npt.NDArray[np.generic]
    wrong: npt.NDArray[np.bool_]
    inputs: Arrays

    @property
    def axes(self) -> Mapping[str, int]:
        """The axes with their lengths: those declared, or row and column of a product of two sizes; {} if unknown."""
        if self.array.axes:
            return {name: evaluate_integer(length, self.size) for name, length in self.array.axes.items()}
        match = re.fullmatch(r"\s*(\w+)\s*\*\s*(\w+)\s*", self.array.count)
        known = match is not None and match[1] in self.size and match[2] in self.size
        return {"row": self.size[match[1]], "column": self.size[match[2]]} if match and known else {}

    @property
    def shape(self) -> tuple[int, int] | None:
        """The lengths of two axes; None if the array has another number of axes."""
        rows, columns = (*self.axes.values(), 0, 0)[:2]
        return (rows, columns) if len(self.axes) == 2 else None

    def place(self, index: int) -> dict[str, int]:
        """The number of an element on each axis: ``{"row": 2, "column": 5}``."""
        found = {}
        for name, length in reversed([*self.axes.items()]):
            index, found[name] = divmod(index, length)
        return dict(reversed([*found.items()]))


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
    """The first wrong output, in the exercise's order; None if all are correct.

    ``values`` is ``"exact"`` (no tolerance) or ``"real"`` (the exercise's tolerance). ``expected`` has 1-D float64
    arrays by output name. ``plan`` helps to find the thread that should have written the element; ``beside(array,
    index)`` returns a text about an element, such as its inputs. Raises GraderFault if an array is missing or has the
    wrong length.
    """
    for array in exercise.outputs:
        wrong = wrong_elements(exercise, size, values, array, outputs, expected)
        if wrong.any():
            got = outputs[array.name]
            output = Wrong(array, size, got, rounded_to(expected[array.name], got.dtype), wrong, inputs)
            return _mismatch(output, plan, beside)
    return None


def wrong_elements(
    exercise: Exercise, size: Size, values: Kind, array: Array, outputs: Arrays, expected: Arrays
) -> npt.NDArray[np.bool_]:
    """Which elements of an output are wrong. Raises GraderFault as `compare`."""
    count = element_count(array, size)
    got = _of_length(outputs, array, count, "the backend")
    oracle = _of_length(expected, array, count, f"the oracle {exercise.oracle}")
    return ~right(exercise, size, values, got, oracle)


def _of_length(arrays: Arrays, array: Array, count: int, source: str) -> npt.NDArray[np.generic]:
    values = arrays.get(array.name)
    if values is None:
        raise GraderFault(f"{source} gave no array {array.name!r}")
    if values.shape != (count,):
        raise GraderFault(f"{source} gave {array.name!r} with shape {values.shape} instead of ({count},)")
    return values


def _mismatch(output: Wrong, plan: LaunchPlan | None, beside: Beside | None) -> Finding:
    """The finding. ``place`` has the element's number on each axis, and ``position`` is that of two axes.

    The thread is the one with the index of an element that was never written; for matrices it is not known.
    """
    index = int(np.argmax(output.wrong))
    place, value = output.place(index), _value(output, index, plan)
    position = tuple(place.values()) if output.shape else None
    writer = likely_writer(plan, len(output.got), index) if plan and not place and value == "unwritten" else None
    inputs = beside(output.array.name, index) if beside and not is_poison(output.got)[index] else ""
    cause, facts = guess(output)
    block, thread = ((number, 0, 0) for number in writer) if writer else (None, None)
    return Finding(
        "wrong", cause, space="global", array=output.array.name, index=index, thread=thread, block=block,
        facts={
            "size": dict(output.size), "place": place, "position": position, "value": value, "inputs": inputs,
            "got": digits(output.got[index]), "expected": digits(output.expected[index]),
            "wrong": int(output.wrong.sum()), "count": len(output.got), **facts,
        },
    )  # fmt: skip


def _value(output: Wrong, index: int, plan: LaunchPlan | None) -> str:
    """``got`` a value, or ``unwritten`` (a NaN keeps its bits in arithmetic, so it may also come from scratch)."""
    value = output.got[index]
    if not is_poison(output.got)[index] or value.dtype.itemsize == 1:
        return "got"
    return "unwritten_or_computed" if plan is not None and plan.scratch and value.dtype.kind == "f" else "unwritten"


def digits(value: np.generic) -> str:
    """The shortest decimal number that identifies this value of its dtype."""
    if isinstance(value, np.floating) and 1e-4 <= abs(float(value)) < 1e15:
        return np.format_float_positional(value, unique=True, trim="0")
    return str(value)


def likely_writer(plan: LaunchPlan, count: int, index: int) -> tuple[int, int] | None:
    """The (block, thread) of the global index ``index``, if the plan probably has one thread per element."""
    if len(plan.launches) != 1 or count == 1:
        return None
    launch = plan.launches[0]
    flat = math.prod(launch.grid) == launch.grid[0] and math.prod(launch.block) == launch.block[0]
    if not flat or not count <= launch.grid[0] * launch.block[0] < count + launch.block[0]:
        return None
    return divmod(index, launch.block[0])


# ------------------------------------------------------------------------------------------------------- guesses

Guess = tuple[str, Mapping[str, Any]]
"""The cause, and the facts for its sentence."""


def guess(output: Wrong) -> Guess:
    """The likely cause, such as a copy of an input; ("", {}) if no guess fits."""
    with np.errstate(all="ignore"):
        return next((matching for check in _GUESSES if (matching := check(output))), ("", {}))


def _unwritten(output: Wrong) -> Guess | None:
    untouched = is_poison(output.got) & output.wrong
    count, total = int(untouched.sum()), len(output.got)
    if output.got.dtype.itemsize == 1 and count < total:
        return None  # the poison of a byte may be a correct result
    if count == total:
        return ("nothing_written", {}) if total > 1 else None
    if count > 1 and untouched[-count:].all():
        return "last_unwritten", {"unwritten": count}
    return ("unwritten", {"unwritten": count}) if count > 1 or count == output.wrong.sum() else None


def _nan(output: Wrong) -> Guess | None:
    if output.got.dtype.kind != "f":
        return None
    count = int((np.isnan(output.got) & output.wrong & ~is_poison(output.got)).sum())
    return ("nan", {"nan": count}) if count else None


def _constant(output: Wrong) -> Guess | None:
    if len(output.got) < 2 or not (output.got == output.got[0]).all():
        return None
    return "constant", {"value_of_all": str(output.got[0])}


def _copy(output: Wrong) -> Guess | None:
    count = len(output.got)
    if count == 1 and abs(output.got[0]) <= 1:
        return None  # a single 0 or 1 may be equal by chance
    for name, values in output.inputs.items():
        if len(values) >= count and (values[:count] == output.got).all():
            return "copy", {"copy_of": name}
    return None


def _transposed(output: Wrong) -> Guess | None:
    rows, columns = output.shape or (0, 0)
    if min(rows, columns) < 2 or rows * columns != len(output.got):
        return None
    transposed = output.expected.reshape(rows, columns).T.reshape(-1)
    return ("transposed", {}) if (transposed == output.got).all() else None


def _shifted(output: Wrong) -> Guess | None:
    """A wrong index shifts a whole range; a few single elements may have a neighbour's value for other reasons."""
    at = np.flatnonzero(output.wrong)
    if len(at) < 4 or 4 * len(at) < 3 * (at[-1] - at[0] + 1):
        return None
    for step, cause in ((1, "shifted_after"), (-1, "shifted_before")):
        inside = at[(at + step >= 0) & (at + step < len(output.got))]
        same = (output.got[inside] == output.expected[inside + step]).all()
        if same and len(np.unique(output.got[inside])) >= 4:
            return cause, {}
    return None


LEAST_ALONE = 32
"""Of a smaller element a multiple may be a coincidence."""
TIMES = frozenset(2.0**power for power in range(1, 11))
"""How often a block adds the same."""


def _multiple(output: Wrong) -> Guess | None:
    """All wrong elements are the same multiple of the expected ones; an output's only one is a power of 2 times it."""
    expected, got = output.expected[output.wrong].astype(np.float64), output.got[output.wrong].astype(np.float64)
    if not expected.all():
        return None
    ratio = float(got[0] / expected[0])
    if not math.isfinite(ratio):
        return None
    alone = len(output.got) == 1 and abs(expected[0]) >= LEAST_ALONE and ratio in TIMES
    if len(got) < 2 and not alone:
        return None
    if not np.allclose(got, ratio * expected, rtol=1e-5, atol=0) or abs(ratio - 1) < 1e-3:
        return None
    if ratio == 0:
        return "zeros", {}
    if output.got.dtype.kind != "f" and not (ratio.is_integer() or (1 / ratio).is_integer()):
        return None  # a small integer that is off by one
    return "multiple", {"ratio": f"{ratio:.6g}"}


LEAST = 1e-30
"""The quotients of smaller elements are not compared: a `float` near its least numbers has few digits."""


def _multiple_in_each_row(output: Wrong) -> Guess | None:
    """The wrong elements of each row are the same multiple of the expected ones, but rows differ."""
    length = [0, *output.axes.values()][-1]
    if len(output.axes) < 2 or length < 2 or output.got.dtype.kind != "f":
        return None
    expected, got = (values.astype(np.float64).reshape(-1, length) for values in (output.expected, output.got))
    clear = output.wrong.reshape(-1, length) & (np.abs(expected) > LEAST)
    ratios: dict[int, float] = {}
    for row in map(int, np.flatnonzero(clear.sum(axis=1) > 1)):
        quotients = got[row, clear[row]] / expected[row, clear[row]]
        if not quotients[0] or not np.allclose(quotients, quotients[0], rtol=1e-4, atol=0):
            return None
        if abs(quotients[0] - 1) > 1e-3:  # clearly more than quotients differ within a row
            ratios[row] = float(quotients[0])
    if len(ratios) < 2:
        return None
    first = next(iter(ratios))
    in_row = dict([*output.place(first * length).items()][:-1])
    return "multiple_in_each_row", {"ratio": f"{ratios[first]:.4g}", "in_row": in_row}


LEAST_FROM = 8
"""Fewer elements at the end may be the wrong ones by chance."""


def _from_some_element_on(output: Wrong) -> Guess | None:
    first, count = int(np.argmax(output.wrong)), int(output.wrong.sum())
    if first == 0 or count < LEAST_FROM or first + count != len(output.got):
        return None
    length = [0, *output.axes.values()][-1]
    is_a_row = length and length % 32 == 0 and first % length == 0  # and says nothing about blocks
    width = next((width for width in (1024, 512, 256, 128, 64, 32) if first % width == 0), 0) if not is_a_row else 0
    return "from_some_element_on", {"multiple_of": width}


def _whole_numbers(output: Wrong) -> Guess | None:
    """All wrong elements are whole numbers beside the expected ones, of which hardly one is a whole number."""
    expected, got = output.expected[output.wrong].astype(np.float64), output.got[output.wrong].astype(np.float64)
    if output.got.dtype.kind != "f" or not (got == np.rint(got)).all():
        return None
    few_should = 4 * int((expected == np.rint(expected)).sum()) < len(got)
    return ("whole_numbers", {}) if few_should and got.any() and (np.abs(got - expected) < 1).all() else None


def _near(output: Wrong) -> Guess | None:
    """All errors are small: a lack of precision rather than a wrong index. Integers have all their digits."""
    if output.got.dtype.kind != "f":
        return None
    expected, got = output.expected[output.wrong].astype(np.float64), output.got[output.wrong].astype(np.float64)
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
    _whole_numbers,
    _multiple_in_each_row,  # before `_near`: it says more
    _near,
    _from_some_element_on,
)
