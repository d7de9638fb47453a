"""From an exercise to the trusted launches around a timed one: make inputs, see them unchanged, check outputs. Pure.

The conventions are those of `kernels_ref/device`; here names become numbers, and places in the trusted work area:

    0 findings (24 bytes) · 24 explanation (16) · 64 one count per input (8 each) · scratch arrays, 256-byte aligned
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.backends.gpu.wire import Trusted, Variant
from grader.c_types import DTYPE_BYTES
from grader.exercise import Array, Exercise, Size
from grader.expressions import cdiv, evaluate_integer
from grader.inputs import element_count, stream

FINDINGS, EXPLANATION, COUNTS = 0, 24, 64
_BLOCK = 256


@dataclass(frozen=True)
class Plan:
    """How one timed size is generated and checked, but for the secret seed."""

    exercise: Exercise
    size: Size
    seed: int
    check: Any  # kernels_ref.device.Check
    types: Mapping[str, str]  # dtype -> type in the generator's names

    def variants(self) -> tuple[Variant, ...]:
        """Three of real values to one of exact ones, where exact ones make sense; else real ones alone."""
        real = self._variant("real")
        return (self._variant("exact"), real, real, real) if self.exercise.exact else (real,)

    @property
    def work_bytes(self) -> int:
        return self._scratch_places()[1]

    def _variant(self, kind: str) -> Variant:
        places, _ = self._scratch_places()
        names = self._names(kind, places)
        generate, unchanged = [], []
        for position, array in enumerate(self.exercise.inputs):
            kernel, args, count = self._stream(array, kind)
            generate.append(_flat(f"generate_{kernel}", count, (("buffer", array.name), *args)))
            told = ("work", COUNTS + 8 * position)
            unchanged.append(_flat(f"unchanged_{kernel}", count, (("buffer", array.name), *args, told)))
        fill = [self._fill_scratch(s, places[s.name]) for s in self.check.scratch if s.integers]
        steps = [self._step(step, names) for step in self.check.steps]
        return Variant(kind, tuple(generate), (*unchanged, *fill, *steps), (self._step(self.check.explain, names),))

    def _stream(self, array: Array, kind: str) -> tuple[str, tuple[tuple[str, Any], ...], int]:
        """Kernel suffix, the arguments from ``count`` on, and the count."""
        count, values = element_count(array, self.size), array.values
        common = (("u64", count), ("u64", self.seed), ("u64", stream(array.name)), ("sample", 0))
        if kind == "exact" or not array.dtype.startswith("float"):
            span = values.exact_high - values.exact_low + 1
            return f"exact_{self.types[array.dtype]}", (*common, ("i64", values.exact_low), ("u64", span)), count
        return f"real_{self.types[array.dtype]}", (*common, ("f64", values.low), ("f64", values.high)), count

    def _scratch_places(self) -> tuple[dict[str, int], int]:
        at = _up(COUNTS + 8 * len(self.exercise.inputs))
        places = {}
        for scratch in self.check.scratch:
            places[scratch.name] = at
            at = _up(at + DTYPE_BYTES[scratch.dtype] * evaluate_integer(scratch.count, self.size))
        return places, at

    def _fill_scratch(self, scratch: Any, place: int) -> Trusted:
        """Random integers for a projection, drawn after the launch from a stream of their own."""
        low, high = scratch.integers
        count = evaluate_integer(scratch.count, self.size)
        args = (
            ("work", place), ("u64", count), ("u64", self.seed), ("u64", stream(f"check {scratch.name}")),
            ("sample", 0), ("i64", low), ("u64", high - low + 1),
        )  # fmt: skip
        return _flat(f"generate_exact_{self.types[scratch.dtype]}", count, args)

    def _names(self, kind: str, places: Mapping[str, int]) -> dict[str, tuple[str, Any]]:
        """What an argument of a check may be called, as kind and value."""
        relative, absolute = _bounds(self.exercise, self.size, kind)
        sizes = {name: ("i64", value) for name, value in self.size.items()}
        arrays = {array.name: ("buffer", array.name) for array in self.exercise.arrays}
        work = {name: ("work", place) for name, place in places.items()}
        scalars = {name: ("f64", value) for name, value in self.exercise.scalars.items()}
        own = {
            "findings": ("work", FINDINGS),
            "explanation": ("work", EXPLANATION),
            "relative": ("f64", relative),
            "absolute": ("f64", absolute),
        }
        return {**scalars, **sizes, **arrays, **work, **own}

    def _step(self, step: Any, names: Mapping[str, tuple[str, Any]]) -> Trusted:
        args = tuple(names[arg] if arg in names else ("i64", int(arg)) for arg in step.args)
        grid = evaluate_integer(step.grid, self.size)
        return Trusted("check", step.kernel, (grid, 1, 1), (step.block, 1, 1), args)


def _bounds(exercise: Exercise, size: Size, kind: str) -> tuple[float, float]:
    """``|got − expected| ≤ absolute + relative·|expected|``: relative and absolute; exact values allow nothing."""
    if kind == "exact":
        return 0.0, 0.0
    import numpy as np

    from grader.compare import chain_error

    chain = chain_error(exercise, size, np.dtype(exercise.outputs[0].dtype))
    return exercise.tolerance.relative, exercise.tolerance.absolute + chain


def _flat(kernel: str, count: int, args: tuple[tuple[str, Any], ...]) -> Trusted:
    """A generator's launch: one thread for four elements."""
    return Trusted("generate", kernel, (cdiv(count, 4 * _BLOCK), 1, 1), (_BLOCK, 1, 1), args)


def _up(value: int) -> int:
    return 256 * cdiv(value, 256)
