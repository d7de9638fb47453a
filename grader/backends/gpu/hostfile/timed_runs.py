"""Timed runs of a host exercise: the parent's clock, fresh inputs for each run, every run verified afterwards.

Generating 256 MiB for each run would take longer than the run itself, and after a shift or a scaling of the same values
a child could read a few elements and know the rest. So the inputs are generated once, as a recording, and each run
replaces one element at a secret place in each of 4096 stretches: a run that ignores a thousandth of the data is wrong
nearly always.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from grader.backends.gpu.faults import size_in_words
from grader.backends.gpu.hostfile.signals import undisturbed
from grader.compare import compare
from grader.compare.tolerance import Bounds, right
from grader.exercise import Array, Exercise, Size
from grader.findings.sentences import sentence
from grader.frozen import dataclass
from grader.inputs import derive_seed, element_count, poison
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.backends.gpu.hostfile.session import HostfileSession
    from grader.grading.records import Oracle

T = TypeVar("T")
Values = npt.NDArray[np.generic]
Places = npt.NDArray[np.int64]
Expected = npt.NDArray[np.float64]

STRETCHES = 4096  # parts of an input: each run replaces one element of each part
LOOKS = 1024  # elements of an output that are read first
WARM_UPS = 3
SAMPLES = 30
LEAST_SAMPLES = 5
BUDGET_S = 1.5
CHECKS_S = 15.0
"""Maximum time of an oracle for all runs of a process, if it computes all outputs again for each run."""
COPIES_BYTES = 2 << 30
"""Maximum memory for the copied outputs of all runs of a process."""


@dataclass(frozen=True, eq=False)
class Patch:
    """New values at some indices (``places``) of one input array."""

    array: str
    places: Places
    values: Values


class Recording:
    """The parent's own copy of a host exercise's inputs."""

    def __init__(self, exercise: Exercise, size: Size, seed: int) -> None:
        self._exercise = exercise
        self._size = size
        self._arrays = {array.name: array for array in exercise.inputs}
        self._seed = seed
        self.inputs = {
            name: _drawn(array, element_count(array, size), derive_seed(seed, "recording", name))
            for name, array in self._arrays.items()
        }

    @classmethod
    def of(cls, other: Recording) -> Recording:
        """The same recording before its first patch."""
        return cls(other._exercise, other._size, other._seed)

    def patches(self, run: int) -> tuple[Patch, ...]:
        """The replaced elements of run number ``run``, from 1; a function of the seed and ``run``."""
        found = []
        for name, array in self._arrays.items():
            count = len(self.inputs[name])
            seed = derive_seed(self._seed, "patch", name, run)
            edges = np.linspace(0, count, min(STRETCHES, count) + 1).astype(np.int64)
            within = np.random.default_rng(seed).random(len(edges) - 1)
            places = edges[:-1] + (within * np.diff(edges)).astype(np.int64)
            found.append(Patch(name, places, _drawn(array, len(places), derive_seed(seed, "values"))))
        return tuple(found)

    def apply(self, patches: tuple[Patch, ...], shared: Mapping[str, Values] | None = None) -> None:
        """Write patches into this recording, and into the child's arrays: there in random order, so that a thread that
        watches a part of them cannot know when it is complete.
        """
        for patch in patches:
            self.inputs[patch.array][patch.places] = patch.values
            if shared is not None:
                another = derive_seed(self._seed, "order", int(patch.places.sum()))  # differs for each run
                order = np.random.default_rng(another).permutation(len(patch.places))
                shared[patch.array][patch.places[order]] = patch.values[order]

    def places(self, outputs: Mapping[str, Values], run: int) -> dict[str, Places]:
        """Random indices of each output, which are read first when a run ends."""
        return {
            name: np.random.default_rng(derive_seed(self._seed, "places", name, run)).integers(0, len(values), LOOKS)
            for name, values in outputs.items()
        }


def _drawn(array: Array, count: int, seed: int) -> Values:
    """``count`` random values of the array's range (of its exact range for integer dtypes)."""
    random, kind, values = np.random.default_rng(seed), np.dtype(array.dtype), array.timed_values
    if kind.kind != "f":
        return random.integers(int(values.exact_low), int(values.exact_high) + 1, count).astype(kind)
    drawn = random.random(count, dtype=np.float64 if kind.itemsize == 8 else np.float32)
    drawn *= values.high - values.low
    drawn += values.low
    return drawn.astype(kind, copy=False)


class Expectations:
    """The expected outputs (``now``) of one run after another.

    If the oracle has `changed` (see kernels_ref/README.md), it computes only what the new values change. If rows are
    independent, only changed rows are computed again. Else all outputs are computed for each run.
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
        self.each_s = time.perf_counter() - started  # seconds for one run's expected outputs
        if self._rows is not None and not self._is_local(self._rows):
            self._rows = None
        if self._rows is not None or self._changed:
            self.each_s = 0.0

    def advance(self, patches: tuple[Patch, ...], *, wanted: bool = True) -> dict[str, slice | Places]:
        """Apply a run's patches to the recording, and update `now`; if not ``wanted``, the update may be left out.

        Returns the updated indices of each output.
        """
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
        count = self._size[self._rows]
        rows = np.unique(np.concatenate([p.places // (len(self._recording.inputs[p.array]) // count) for p in patches]))
        new: dict[str, slice | Places] = {}
        for name, values in self._of_rows(self._rows, rows).items():
            width = len(self.now[name]) // count
            places = (rows[:, None] * width + np.arange(width)).reshape(-1)
            self.now[name][places] = values.reshape(-1)
            new[name] = places
        return new

    def _is_local(self, name: str) -> bool:
        """Whether the oracle returns the same for some rows alone as for these rows among all."""
        count = self._size[name]
        rows = np.unique(np.array([0, count // 3, count // 2, count - 1]))
        alone = self._of_rows(name, rows)
        return all(
            np.allclose(values.reshape(len(rows), -1), self.now[output].reshape(count, -1)[rows], rtol=1e-12, atol=0)
            for output, values in alone.items()
        )

    def _of_rows(self, name: str, rows: Places) -> Mapping[str, Expected]:
        inputs = {
            array: values.reshape(self._size[name], -1)[rows].reshape(-1)
            for array, values in self._recording.inputs.items()
        }
        return self._ask(inputs, self._size | {name: len(rows)})

    def _ask(self, inputs: Mapping[str, Values], size: Mapping[str, int]) -> Mapping[str, Expected]:
        return self._oracle(inputs, {**self._exercise.scalars, **size})


def row_size(exercise: Exercise, size: Size) -> str | None:
    """The name of the size to which every array's length is proportional; None if there is none."""
    for name, rows in size.items():
        one = {**size, name: 1}
        if all(element_count(a, one) * rows == element_count(a, size) for a in exercise.arrays):
            return name
    return None


# ----------------------------------------------------------------------------------------------------- timed runs


@dataclass(frozen=True, eq=False)
class TimedRuns:
    """The runs of one process: the seconds of all runs, with the warm-ups first; and copies of the outputs, made at the
    end of each run but the warm-ups.
    """

    seconds: tuple[float, ...]
    copies: tuple[dict[str, Values], ...]

    @property
    def samples_s(self) -> tuple[float, ...]:
        return self.seconds[WARM_UPS:]


class OutputCheck:
    """Compares each run's outputs with the oracle's for its inputs, after the last run."""

    def __init__(self, exercise: Exercise, size: Size, oracle: Oracle, recording: Recording) -> None:
        self._exercise, self._size = exercise, size
        self._recording = Recording.of(recording)
        self._expected = Expectations(exercise, size, oracle, self._recording)
        self._bounds: dict[str, Bounds] = {}  # by output

    @property
    def samples(self) -> int:
        """The number of runs that can be checked: fewer if outputs are large or the oracle is slow."""
        outputs = sum(element_count(a, self._size) * np.dtype(a.dtype).itemsize for a in self._exercise.outputs)
        by_time = CHECKS_S / self._expected.each_s if self._expected.each_s else SAMPLES
        return int(max(LEAST_SAMPLES, min(SAMPLES, COPIES_BYTES // outputs, by_time)))

    def wrong(self, runs: TimedRuns) -> Diagnostic | None:
        """The diagnostic of the first wrong run; None if all are right."""
        for run in range(1, len(runs.seconds) + 1):
            warming = run <= WARM_UPS
            self._expect(self._expected.advance(self._recording.patches(run), wanted=not warming))
            outputs = {} if warming else runs.copies[run - 1 - WARM_UPS]
            if all(self._is_right(name, values) for name, values in outputs.items()):
                continue
            found = compare(self._exercise, self._size, "real", outputs, self._expected.now, {})
            if found is not None:
                where = f"at the timed size {size_in_words(self._size)}, run {run}"
                return Diagnostic(
                    "wrong", f"{sentence(found)} ({where})", array=found.array, index=found.index, hint=_EVERY_TIME
                )
        return None

    def _expect(self, new: Mapping[str, slice | Places]) -> None:
        """Update the bounds from the current expected outputs; ``new`` are the changed indices."""
        for array in self._exercise.outputs:
            expected = self._expected.now[array.name]
            if array.name in self._bounds:
                places = new.get(array.name, slice(0))
                self._bounds[array.name].expect(expected[places], places)
                continue
            self._bounds[array.name] = Bounds(self._exercise, self._size, np.dtype(array.dtype), len(expected))
            _expect_all(self._bounds[array.name], expected)

    def _is_right(self, name: str, got: Values) -> bool:
        """Whether `compare` would accept the output; its rule is applied only to pieces outside the bounds."""
        bounds, expected = self._bounds[name], self._expected.now[name]

        def fine(part: slice) -> bool:
            if bounds.hold(got, part):
                return True
            return bool(right(self._exercise, self._size, "real", got[part], expected[part]).all())

        return all(in_pieces(fine, len(got)))


def _expect_all(bounds: Bounds, expected: Expected) -> None:
    in_pieces(lambda part: bounds.expect(expected[part], part), len(expected))


def in_pieces(work: Callable[[slice], T], count: int) -> list[T]:
    """``work`` on pieces of an array of ``count`` elements, in a few threads: NumPy releases the GIL."""
    parts = [slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]
    return list(map(work, parts) if len(parts) < 2 else _pool().map(work, parts))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1), thread_name_prefix="pieces")


MOST_THREADS = 4
"""More are hardly faster, because copies wait for memory, and take the cores from the simulator beside them."""


PIECE = 1 << 17  # elements
_EVERY_TIME = "run() must read all of the inputs, every time, and return when the output is complete"


def take_runs(
    session: HostfileSession, exercise: Exercise, size: Size, recording: Recording, samples: int = SAMPLES
) -> TimedRuns:
    """Warm up and take the samples: for each run, write poison and fresh inputs, run, and copy the outputs."""
    outs = {a.name: poison(a.dtype, element_count(a, size)) for a in exercise.outputs}
    shared = session.set_up(
        {a.name: recording.inputs[a.name] if a.role == "in" else outs[a.name] for a in exercise.arrays}
    )
    seconds: list[float] = []
    copies = []
    started = time.perf_counter()
    with undisturbed():
        while (taken := len(seconds)) < WARM_UPS + samples:
            if taken >= WARM_UPS + LEAST_SAMPLES and time.perf_counter() - started > BUDGET_S:
                break
            session.check_limits()
            patches, places = recording.patches(taken + 1), recording.places(outs, taken + 1)
            for name, values in outs.items():
                _fill(shared[name], values)
            recording.apply(
                patches, shared
            )  # last, so that the new values are there only shortly before the clock starts
            seconds.append(session.go())
            early = {name: shared[name][at] for name, at in places.items()}
            if taken >= WARM_UPS:
                # The elements that were read first keep those values: the copy of the whole output takes so long that
                # work which the run left undone could end meanwhile.
                copies.append({name: _fill(np.empty_like(shared[name]), shared[name]) for name in places})
                for name, values in early.items():
                    copies[-1][name][places[name]] = values
    session.check_limits(now=True)
    return TimedRuns(tuple(seconds), tuple(copies))


def _fill(to: Values, values: Values) -> Values:
    """Copy ``values``, in a few threads."""

    def copy(part: slice) -> None:
        to[part] = values[part]

    in_pieces(copy, len(values))
    return to
