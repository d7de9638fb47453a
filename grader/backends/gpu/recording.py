"""Fresh inputs for every timed run of a host exercise, at the price of a few thousand elements a run. Pure NumPy.

Filling 256 MiB anew takes the host longer than the run itself, and shifting or scaling one recording would let a
child look at a few elements and know the rest. So one recording is drawn, and each run replaces one element at a
secret place in each of 4096 stretches: whoever leaves out a thousandth of the data is wrong in nearly every run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.exercise import Array, Exercise, Size
from grader.inputs import derive_seed, element_count

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.grading.records import Oracle

    Values = npt.NDArray[np.generic]
    Places = npt.NDArray[np.int64]

STRETCHES = 4096
LOOKS = 1024


@dataclass(frozen=True, eq=False)
class Patch:
    """New values at some places of one input array."""

    array: str
    places: npt.NDArray[np.int64]
    values: Values


class Recording:
    """The parent's own copy of a host exercise's inputs; what the child maps is written from it."""

    def __init__(self, exercise: Exercise, size: Size, seed: int) -> None:
        self._exercise = exercise
        self._size = size
        self._arrays = {array.name: array for array in exercise.inputs}
        self._seed = seed
        counts = {array.name: element_count(array, size) for array in exercise.inputs}
        self.inputs = {
            name: _drawn(array, counts[name], derive_seed(seed, "recording", name))
            for name, array in self._arrays.items()
        }

    @classmethod
    def of(cls, other: Recording) -> Recording:
        """The same recording before its first patch, drawn again: to follow the runs once more."""
        return cls(other._exercise, other._size, other._seed)

    def patches(self, run: int) -> tuple[Patch, ...]:
        """The replacements of run number ``run``, from 1; the same run always has the same ones."""
        return tuple(self._patch(name, run) for name in self._arrays)

    def apply(self, patches: tuple[Patch, ...], shared: Mapping[str, Values] | None = None) -> None:
        """Write patches into this recording, and into the child's arrays: there all over the place, so that no part of
        them is ready for a thread that watches them before all of them are.
        """
        import numpy as np

        for patch in patches:
            self.inputs[patch.array][patch.places] = patch.values
            if shared is not None:
                another = derive_seed(self._seed, "order", int(patch.places.sum()))  # each run's own
                order = np.random.default_rng(another).permutation(len(patch.places))
                places, values = patch.places[order], patch.values[order]
                shared[patch.array][places] = values

    def places(self, outputs: Mapping[str, Values], run: int) -> dict[str, npt.NDArray[np.int64]]:
        """Some places all over each output, in no order: where to look first when a run says that it has ended."""
        import numpy as np

        return {
            name: np.random.default_rng(derive_seed(self._seed, "places", name, run)).integers(0, len(values), LOOKS)
            for name, values in outputs.items()
        }

    def _patch(self, name: str, run: int) -> Patch:
        import numpy as np

        count = len(self.inputs[name])
        seed = derive_seed(self._seed, "patch", name, run)
        edges = np.linspace(0, count, min(STRETCHES, count) + 1).astype(np.int64)
        within = np.random.default_rng(seed).random(len(edges) - 1)
        places = edges[:-1] + (within * np.diff(edges)).astype(np.int64)
        return Patch(name, places, _drawn(self._arrays[name], len(places), derive_seed(seed, "values")))


def _drawn(array: Array, count: int, seed: int) -> Values:
    """``count`` real values of the array's range (integers of the exact range for integer dtypes)."""
    import numpy as np

    random, kind, values = np.random.default_rng(seed), np.dtype(array.dtype), array.values
    if kind.kind != "f":
        return random.integers(values.exact_low, values.exact_high + 1, count).astype(kind)
    drawn = random.random(count, dtype=np.float64 if kind.itemsize == 8 else np.float32)
    drawn *= values.high - values.low
    drawn += values.low
    return drawn.astype(kind, copy=False)


class Expectations:
    """The expected outputs of run after run.

    An oracle that says what a few new values change (`changed`, see kernels_ref/README.md) is asked for that. Where
    rows depend on themselves alone, only touched ones are redone. Else every run's outputs are computed anew.
    """

    def __init__(self, exercise: Exercise, size: Size, oracle: Oracle, recording: Recording) -> None:
        self._exercise = exercise
        self._size = dict(size)
        self._oracle = oracle
        self._recording = recording
        self._changed = getattr(oracle, "changed", None)
        self._rows = None if self._changed else row_size(exercise, size)
        started = time.perf_counter()
        self.now = {name: values.copy() for name, values in self._ask(recording.inputs, self._size).items()}
        self.each_s = time.perf_counter() - started  # what one run's expectations cost, in seconds
        if self._rows is not None and not self._is_local(self._rows):
            self._rows = None
        if self._rows is not None or self._changed:
            self.each_s = 0.0

    def advance(self, patches: tuple[Patch, ...], *, wanted: bool = True) -> dict[str, slice | Places]:
        """Apply a run's patches to the recording and bring `now` up to date, unless this run's is not ``wanted``.

        Returns where `now` has new values, by output.
        """
        import numpy as np

        self._recording.apply(patches)
        if self._changed:
            numbers = {**self._exercise.scalars, **self._size}
            changes = self._changed(self._recording.inputs, numbers, {p.array: p.places for p in patches})
            for name, (places, values) in changes.items():
                self.now[name][places] = values
            return {name: places for name, (places, _) in changes.items()}
        if self._rows is None:
            if wanted:
                self.now = dict(self._ask(self._recording.inputs, self._size))
            return dict.fromkeys(self.now, slice(None)) if wanted else {}
        rows = np.unique(np.concatenate([p.places // self._row_length(p.array) for p in patches]))
        new: dict[str, slice | Places] = {}
        for name, values in self._of_rows(self._rows, rows).items():
            width = len(self.now[name]) // self._size[self._rows]
            places = (rows[:, None] * width + np.arange(width)).reshape(-1)
            self.now[name][places] = values.reshape(-1)
            new[name] = places
        return new

    def _is_local(self, name: str) -> bool:
        """Whether the oracle's answer for some rows alone is its answer for them among all the others."""
        import numpy as np

        count = self._size[name]
        rows = np.unique(np.array([0, count // 3, count // 2, count - 1]))
        alone = self._of_rows(name, rows)
        return all(
            np.allclose(values.reshape(len(rows), -1), self.now[output].reshape(count, -1)[rows], rtol=1e-12, atol=0)
            for output, values in alone.items()
        )

    def _of_rows(self, name: str, rows: npt.NDArray[np.int64]) -> Mapping[str, npt.NDArray[np.float64]]:
        inputs = {
            array: values.reshape(self._size[name], -1)[rows].reshape(-1)
            for array, values in self._recording.inputs.items()
        }
        return self._ask(inputs, self._size | {name: len(rows)})

    def _ask(self, inputs: Mapping[str, Values], size: Mapping[str, int]) -> Mapping[str, npt.NDArray[np.float64]]:
        return self._oracle(inputs, {**self._exercise.scalars, **size})

    def _row_length(self, array: str) -> int:
        assert self._rows is not None
        return len(self._recording.inputs[array]) // self._size[self._rows]


def row_size(exercise: Exercise, size: Size) -> str | None:
    """The size that counts rows: every array's length is proportional to it. None where there is none."""
    for name, rows in size.items():
        one = {**size, name: 1}
        if all(element_count(a, one) * rows == element_count(a, size) for a in exercise.arrays):
            return name
    return None
