"""The trusted launches around a timed one: generate inputs, check that they are unchanged, check outputs. Pure.

The conventions are those of `kernels_ref/device`; here names become numbers, and offsets in the trusted work area:

    0 findings (24 bytes) · 24 explanation (16) · 64 one count per input (8 each) · scratch arrays, 256-byte aligned
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.backends.gpu.wire import Trusted, Variant
from grader.c_types import DTYPE_BYTES
from grader.exercise import Array, Exercise, Size
from grader.expressions import cdiv, evaluate_integer
from grader.inputs import element_count, integer_bounds, real_bounds, rise, stream, unusual_kinds, values_of

FINDINGS, EXPLANATION, COUNTS = 0, 24, 64
_BLOCK = 256


def variants(
    exercise: Exercise, size: Size, seed: int, check: Any, types: Mapping[str, str]
) -> tuple[tuple[Variant, ...], int]:
    """The launches for one timed size, without the sample's number, and the bytes of the work area.

    There are three variants with real values that are timed, and one with each other kind that the exercise has.
    ``seed`` is secret, ``check`` a `kernels_ref.device.Check`, ``types`` are the generator's names of dtypes.
    """
    at = _up(COUNTS + 8 * len(exercise.inputs))
    places = {}
    fill = []  # random integers for projections, drawn after the launch, each from its own random stream
    for scratch in check.scratch:
        count = evaluate_integer(scratch.count, size)
        places[scratch.name] = ("work", at)
        if scratch.integers:
            low, high = scratch.integers
            args = (
                ("work", at), ("u64", count), ("u64", seed), ("u64", stream(f"check {scratch.name}")),
                ("sample", 0), ("i64", low), ("u64", high - low + 1),
            )  # fmt: skip
            fill.append(_flat(f"generate_exact_{types[scratch.dtype]}", count, args))
        at = _up(at + DTYPE_BYTES[scratch.dtype] * count)

    def variant(kind: str) -> Variant:
        generate, unchanged = [], []
        for position, array in enumerate(exercise.inputs):
            count, (form, last) = element_count(array, size), generator(array, kind, size)
            args: tuple[tuple[str, Any], ...] = (
                ("buffer", array.name), ("u64", count), ("u64", seed), ("u64", stream(array.name)), ("sample", 0),
            )  # fmt: skip
            kernel, args = f"{form}_{types[array.dtype]}", (*args, *last)
            generate.append(_flat(f"generate_{kernel}", count, args))
            unchanged.append(_flat(f"unchanged_{kernel}", count, (*args, ("work", COUNTS + 8 * position))))
        relative, absolute = _bounds(exercise, size, kind)
        names: dict[str, tuple[str, Any]] = {  # what an argument of a check may be called, as kind and value
            **{name: ("f64", value) for name, value in exercise.scalars.items()},
            **{name: ("i64", value) for name, value in size.items()},
            **{array.name: ("buffer", array.name) for array in exercise.arrays},
            **places,
            "findings": ("work", FINDINGS),
            "explanation": ("work", EXPLANATION),
            "relative": ("f64", relative),
            "absolute": ("f64", absolute),
        }
        steps = []
        for step in (*check.steps, check.explain):
            given = tuple(names[arg] if arg in names else ("i64", int(arg)) for arg in step.args)
            grid = evaluate_integer(step.grid, size)
            steps.append(Trusted("check", step.kernel, (grid, 1, 1), (step.block, 1, 1), given))
        *checking, explain = steps
        return Variant(kind, tuple(generate), (*unchanged, *fill, *checking), (explain,))

    real = variant("real")
    return (*map(variant, _untimed_kinds(exercise)), real, real, real), at


def _untimed_kinds(exercise: Exercise) -> tuple[str, ...]:
    """The kinds of values that are verified at the timed size, and not timed: those of the cases, where they differ."""
    special = any(array.timed is not None for array in exercise.inputs)
    return (*["exact"] * exercise.exact, *["special"] * special, *unusual_kinds(exercise))


def generator(array: Array, kind: str, size: Size) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """The generator for the array's values of this kind, and its last arguments."""
    drawn = array.timed_values if kind == "real" else values_of(array, kind)
    if drawn.permutation:
        integer_bounds(array, drawn, size, whole=element_count(array, size))
        return "permutation", ()
    if kind == "exact" or not array.dtype.startswith("float"):
        low, high = integer_bounds(array, drawn, size)
        if drawn.rising:
            skew, width = rise(array, drawn, size)
            return "rising", (("i64", low), ("i64", high), ("i64", skew), ("i64", width))
        return "exact", (("i64", low), ("u64", high - low + 1))
    real_bounds(array, drawn)
    normal, last = drawn.shape == "normal", (("f64", drawn.low), ("f64", drawn.high))
    if drawn.outlier is not None:
        return "outlier", (*last, ("f64", drawn.outlier), ("u64", int(normal)))
    return "rising" if drawn.rising else {"uniform": "real"}.get(drawn.shape, drawn.shape), last


def _bounds(exercise: Exercise, size: Size, kind: str) -> tuple[float, float]:
    """``|got − expected| ≤ absolute + relative·|expected|``: relative and absolute; exact values allow nothing."""
    if kind == "exact":
        return 0.0, 0.0
    import numpy as np

    from grader.compare import chain_error

    chain = chain_error(exercise, size, np.dtype(exercise.outputs[0].dtype))
    return exercise.tolerance.relative, exercise.tolerance.absolute + chain


def _flat(kernel: str, count: int, args: tuple[tuple[str, Any], ...]) -> Trusted:
    """A generator's launch, with one thread for each four elements."""
    return Trusted("generate", kernel, (cdiv(count, 4 * _BLOCK), 1, 1), (_BLOCK, 1, 1), args)


def _up(value: int) -> int:
    return 256 * cdiv(value, 256)
