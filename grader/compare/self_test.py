"""The self-test of an exercise's comparison: it must reject forged outputs that other courses accept.

A forgery counts as rejected if an exact or a real case of any of a few seeds rejects it, because a submission must pass
all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from grader.compare.mismatch import wrong_elements
from grader.compare.tolerance import rounded_to
from grader.frozen import dataclass
from grader.inputs import make_inputs, poison, unusual_kinds

if TYPE_CHECKING:
    import numpy.typing as npt

    from grader.exercise import Array, Exercise, Size
    from grader.inputs import Kind

    Arrays = Mapping[str, npt.NDArray[np.generic]]
    Oracle = Callable[[Arrays, Mapping[str, float]], Mapping[str, npt.NDArray[np.float64]]]

LOWER_BITS: Mapping[str, int] = {"float64": 23, "float32": 10, "float16": 7}
"""Explicit mantissa bits of the next lower format: float32, then tf32 and fp16, then bf16."""

SEEDS = (1, 2, 3)


def self_test(exercise: Exercise, size: Size, oracle: Oracle) -> list[str]:
    """The problems of the exercise's comparison at ``size``: forgeries that pass, correct answers that do not.

    ``oracle`` is called with (inputs, numbers) as `kernels_ref` describes. The list is empty for a good exercise.
    """
    kinds: tuple[Kind, ...] = ("exact", "real") if exercise.exact else ("real", *unusual_kinds(exercise))
    problems: dict[str, None] = {}
    passed: dict[str, bool] = {}  # message about a forgery -> whether every case so far has accepted it
    for case in (_case(exercise, size, kind, seed, oracle) for kind in kinds for seed in SEEDS):
        problems |= dict.fromkeys(_problems_of_the_answer(case))
        for array in exercise.outputs:
            for what, forge in forgeries(case, array):
                message = f"{array.name} passes although it holds {what}"
                passed[message] = passed.get(message, True) and not case.rejects({array.name: forge()})
    sizes = ", ".join(f"{name}={value}" for name, value in size.items())
    accepted = (message for message, passes in passed.items() if passes)
    return [f"at {sizes}: {message}" for message in (*problems, *accepted)]


@dataclass(frozen=True, eq=False)
class TrialCase:
    """One case of the self-test. ``make_coarse`` returns the oracle's outputs for inputs in the next lower format."""

    exercise: Exercise
    size: Size
    values: Kind
    inputs: Arrays
    expected: Arrays
    make_coarse: Callable[[], Arrays]

    @cached_property
    def coarse(self) -> Arrays:
        return self.make_coarse()

    @cached_property
    def honest(self) -> Arrays:
        """The right outputs."""
        outputs = self.exercise.outputs
        return {array.name: rounded_to(self.expected[array.name], np.dtype(array.dtype)) for array in outputs}

    @cached_property
    def rejected(self) -> frozenset[str]:
        """The outputs of which the right content is rejected."""
        return frozenset(array.name for array in self.exercise.outputs if self._is_wrong(array, self.honest))

    def rejects(self, forged: Arrays) -> bool:
        """Whether the case rejects ``forged`` outputs; the other outputs are correct."""
        outputs = [array for array in self.exercise.outputs if array.name in forged]
        return bool(self.rejected - forged.keys()) or any(self._is_wrong(array, forged) for array in outputs)

    def _is_wrong(self, array: Array, outputs: Arrays) -> bool:
        return bool(wrong_elements(self.exercise, self.size, self.values, array, outputs, self.expected).any())


def _case(exercise: Exercise, size: Size, values: Kind, seed: int, oracle: Oracle) -> TrialCase:
    inputs = make_inputs(exercise, size, seed, values)
    numbers = {**exercise.scalars, **size}

    def coarse() -> Arrays:
        return oracle({name: _lower(array).astype(array.dtype) for name, array in inputs.items()}, numbers)

    return TrialCase(exercise, size, values, inputs, oracle(inputs, numbers), coarse)


def _problems_of_the_answer(case: TrialCase) -> Iterator[str]:
    """Yield the problems of the oracle's answer itself."""
    if case.rejects({}):
        yield f"the correct answer is rejected in {case.values} cases"
    for array in case.exercise.outputs:
        expected, rounded = case.expected[array.name], case.honest[array.name]
        if case.values == "exact" and not np.array_equal(rounded.astype(np.float64), expected, equal_nan=True):
            yield f"the exact answer of {array.name} is not exact in {array.dtype}"


Forge = Callable[[], "npt.NDArray[np.generic]"]


def forgeries(case: TrialCase, array: Array) -> Iterator[tuple[str, Forge]]:
    """Yield forged outputs that must be rejected: a description, and a function that makes the array."""
    dtype = np.dtype(array.dtype)
    expected, honest = case.expected[array.name], case.honest[array.name]
    yield "zeros", partial(np.zeros_like, honest)
    yield "ones", partial(np.ones_like, honest)
    yield "nothing (never written)", partial(poison, array.dtype, len(honest))
    yield "a last element that was never written", lambda: np.append(honest[:-1], poison(array.dtype, 1))
    if len(honest) > 1:
        yield "its mean everywhere", lambda: _mean_everywhere(expected, honest)
    if case.exercise.self_test_copies:
        for name, values in case.inputs.items():
            yield f"a copy of {name}", partial(_copy, values, honest)
    if dtype.kind == "f":
        bits = LOWER_BITS[array.dtype]
        yield f"the answer rounded to {bits} bits", lambda: rounded_to(_lower(honest), dtype)
        if any(values.dtype.kind == "f" for values in case.inputs.values()):
            yield "the answer from inputs in the next lower format", lambda: rounded_to(case.coarse[array.name], dtype)


def _mean_everywhere(expected: npt.NDArray[np.generic], honest: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    mean = np.mean(expected.astype(np.float64), keepdims=True)
    return np.full_like(honest, rounded_to(mean, honest.dtype)[0])


def _copy(values: npt.NDArray[np.generic], honest: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """An input in place of the output."""
    with np.errstate(invalid="ignore"):  # NaN and infinities as integers
        return np.resize(values, len(honest)).astype(honest.dtype)


def _lower(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """``values`` rounded to the mantissa of the next lower format; integers are not changed."""
    if values.dtype.kind != "f":
        return values
    mantissa, exponent = np.frexp(values.astype(np.float64))
    steps = 2.0 ** (LOWER_BITS[values.dtype.name] + 1)
    return np.ldexp(np.round(mantissa * steps) / steps, exponent)
