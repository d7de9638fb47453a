"""Which elements of an output are correct, within the exercise's tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.errors import UsageError
from grader.expressions import ExpressionError, evaluate

if TYPE_CHECKING:
    import numpy.typing as npt

    from grader.exercise import Exercise, Size
    from grader.inputs import Kind

    Reals = npt.NDArray[np.float64]
    Mask = npt.NDArray[np.bool_]


def right(
    exercise: Exercise, size: Size, values: Kind, got: npt.NDArray[np.generic], expected: npt.NDArray[np.generic]
) -> Mask:
    """Which elements of ``got`` are correct: bool, shape (count,).

    An element is correct if it is ``expected`` rounded to its dtype; in real cases also within `allowed_error`. NaN is
    correct where NaN is expected; +0 and −0 are equal. ``got`` and ``expected`` are 1-D, of the same length.
    """
    rounded = rounded_to(expected, got.dtype)
    passes: Mask = got == rounded
    if passes.all():
        return passes
    passes |= _is_nan(got) & _is_nan(rounded)
    if values != "exact":
        exact = expected.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            error = np.abs(got.astype(np.float64) - exact)
            passes |= (error <= allowed_error(exercise, size, got.dtype, np.abs(exact))) & np.isfinite(exact)
    return passes


class Bounds:
    """The smallest and the largest value of ``dtype`` that are correct in real cases, for ``count`` expected values.

    Values within the bounds are correct. Others may still be correct, such as NaN: only `right` decides that. Two
    comparisons take a tenth of the time of `right`, which helps for many outputs with nearly the same expected values.
    """

    def __init__(self, exercise: Exercise, size: Size, dtype: np.dtype[np.generic], count: int) -> None:
        self._exercise, self._size, self._dtype = exercise, size, dtype
        self._least, self._most = np.empty(count, dtype), np.empty(count, dtype)

    def expect(self, expected: Reals, at: slice | npt.NDArray[np.int64]) -> None:
        """Set the expected values (float64) at some indices."""
        rounded = rounded_to(expected, self._dtype)
        error = allowed_error(self._exercise, self._size, self._dtype, np.abs(expected))
        self._least[at] = np.minimum(self._inward(expected - error, 1), rounded)
        self._most[at] = np.maximum(self._inward(expected + error, -1), rounded)

    def hold(self, got: npt.NDArray[np.generic], part: slice) -> bool:
        """Whether all of ``got[part]`` is within the bounds."""
        values = got[part]
        return bool(((values >= self._least[part]) & (values <= self._most[part])).all())

    def _inward(self, exact: Reals, direction: int) -> npt.NDArray[np.generic]:
        """``exact`` rounded up (1) or down (-1) to the dtype."""
        if self._dtype.kind != "f":
            return (np.ceil(exact) if direction > 0 else np.floor(exact)).astype(self._dtype)
        rounded = rounded_to(exact, self._dtype)
        held = rounded.astype(np.float64)
        outside = held < exact if direction > 0 else held > exact
        return np.where(outside, np.nextafter(rounded, self._dtype.type(direction * np.inf)), rounded)


def rounded_to(expected: npt.NDArray[np.generic], dtype: np.dtype[np.generic]) -> npt.NDArray[np.generic]:
    """The oracle's answer rounded to the output's dtype; values out of range become infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return expected.astype(dtype)


def allowed_error(exercise: Exercise, size: Size, dtype: np.dtype[np.generic], magnitude: Reals) -> Reals:
    """The formula of `grader.exercise.Tolerance`, with ``magnitude`` = |expected|; shape (count,)."""
    tolerance = exercise.tolerance
    return tolerance.absolute + tolerance.relative * magnitude + chain_error(exercise, size, dtype)


def chain_error(exercise: Exercise, size: Size, dtype: np.dtype[np.generic]) -> float:
    """``chain_factor · eps(dtype) · √chain · scale``: the error bound of the longest chain of roundings.

    Rounding errors are independent enough to grow with the square root (N. Higham, "Accuracy and Stability of Numerical
    Algorithms", 2.8). 0 for integers, and for an exercise without a chain. Raises UsageError for a bad expression.
    """
    tolerance = exercise.tolerance
    if not tolerance.chain or dtype.kind != "f":
        return 0.0
    names = {**exercise.scalars, **size}
    try:
        chain, scale = evaluate(tolerance.chain, names), evaluate(tolerance.scale, names)
    except ExpressionError as error:
        message = f"the tolerance of {exercise.name}: {error.message}"
        raise UsageError(message, code="bad_exercise", hint=error.hint) from None
    eps = float(np.finfo(np.dtype(dtype.name)).eps)
    return tolerance.chain_factor * eps * float(np.sqrt(float(chain))) * float(scale)


def _is_nan(values: npt.NDArray[np.generic]) -> Mask:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, dtype=np.bool_)
