"""Timed runs of a host exercise: the parent's clock, fresh inputs for each run, every run verified afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from grader.backends.gpu.findings import size_in_words
from grader.backends.gpu.recording import Expectations, Recording
from grader.backends.gpu.signals import undisturbed
from grader.findings.sentences import sentence
from grader.inputs import element_count, poison
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np
    import numpy.typing as npt

    from grader.backends.gpu.hostfile.backend import HostfileSession
    from grader.compare.tolerance import Bounds
    from grader.exercise import Exercise, Size
    from grader.findings.record import Finding
    from grader.grading.records import Oracle


T = TypeVar("T")

WARM_UPS = 3
SAMPLES = 30
LEAST_SAMPLES = 5
BUDGET_S = 1.5
CHECKS_S = 15.0
"""What an oracle may take for all runs of a process, where it has to be asked for all of them anew."""
COPIES_BYTES = 2 << 30
"""Memory for the outputs of all runs of a process, until they are checked."""


@dataclass(frozen=True, eq=False)
class TimedRuns:
    """The runs of one process: seconds of all, warm-ups first; a copy of the outputs of the others, as their end found
    them.
    """

    seconds: tuple[float, ...]
    copies: tuple[dict[str, npt.NDArray[np.generic]], ...]

    @property
    def samples_s(self) -> tuple[float, ...]:
        return self.seconds[WARM_UPS:]


class OutputCheck:
    """Whether each run's outputs are the oracle's for that run's inputs: found out when all runs are over."""

    def __init__(self, exercise: Exercise, size: Size, oracle: Oracle, recording: Recording) -> None:
        self._exercise, self._size = exercise, size
        self._recording = Recording.of(recording)
        self._expected = Expectations(exercise, size, oracle, self._recording)
        self._bounds: dict[str, Bounds] = {}  # of the outputs that have been expected

    @property
    def samples(self) -> int:
        """How many runs can be checked: fewer where their outputs are large, or the oracle is slow."""
        import numpy as np

        outputs = sum(element_count(a, self._size) * np.dtype(a.dtype).itemsize for a in self._exercise.outputs)
        by_time = CHECKS_S / self._expected.each_s if self._expected.each_s else SAMPLES
        return int(max(LEAST_SAMPLES, min(SAMPLES, COPIES_BYTES // outputs, by_time)))

    def wrong(self, runs: TimedRuns) -> Diagnostic | None:
        """The first run that is not right, in words."""
        for run in range(1, len(runs.seconds) + 1):
            warming = run <= WARM_UPS
            new = self._expected.advance(self._recording.patches(run), wanted=not warming)
            self._expect(new)
            if not warming and (found := self._mismatch(runs.copies[run - 1 - WARM_UPS])):
                where = f"at the timed size {size_in_words(self._size)}, run {run}"
                return Diagnostic(
                    "wrong", f"{sentence(found)} ({where})", array=found.array, index=found.index, hint=_EVERY_TIME
                )
        return None

    def _expect(self, new: Mapping[str, slice | npt.NDArray[np.int64]]) -> None:
        """Bring the bounds up to date with what is expected now."""
        import numpy as np

        from grader.compare.tolerance import Bounds

        for array in self._exercise.outputs:
            expected, bounds = self._expected.now[array.name], self._bounds.get(array.name)
            if bounds is not None:
                places = new.get(array.name, slice(0))
                bounds.expect(expected[places], places)
                continue
            self._bounds[array.name] = Bounds(self._exercise, self._size, np.dtype(array.dtype), len(expected))
            in_pieces(partial(_expect_piece, self._bounds[array.name], expected), len(expected))

    def _mismatch(self, outputs: Mapping[str, npt.NDArray[np.generic]]) -> Finding | None:
        from grader.compare import compare

        if all(self._is_right(a.name, outputs[a.name]) for a in self._exercise.outputs):
            return None
        return compare(self._exercise, self._size, "real", outputs, self._expected.now, {})

    def _is_right(self, name: str, got: npt.NDArray[np.generic]) -> bool:
        """As `compare` sees it; it is asked only about pieces that the bounds do not hold."""
        from grader.compare.tolerance import right

        bounds, expected = self._bounds[name], self._expected.now[name]

        def fine(part: slice) -> bool:
            if bounds.hold(got, part):
                return True
            return bool(right(self._exercise, self._size, "real", got[part], expected[part]).all())

        return all(in_pieces(fine, len(got)))


def _expect_piece(bounds: Bounds, expected: npt.NDArray[np.float64], part: slice) -> None:
    bounds.expect(expected[part], part)


def in_pieces(work: Callable[[slice], T], count: int) -> list[T]:
    """``work`` on pieces of an array of ``count`` elements, on all cores: NumPy lets others run while it works."""
    parts = [slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]
    return list(map(work, parts) if len(parts) < 2 else _pool().map(work, parts))


@cache
def _pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(thread_name_prefix="pieces")


PIECE = 1 << 17  # elements
_EVERY_TIME = "run() must read all of the inputs, every time, and return when the output is complete"


def take_runs(
    session: HostfileSession, exercise: Exercise, size: Size, recording: Recording, samples: int = SAMPLES
) -> TimedRuns:
    """Warm up and take the samples: for each run the parent writes poison and fresh inputs, says go, and copies."""
    outs = {a.name: poison(a.dtype, element_count(a, size)) for a in exercise.outputs}
    shared = session.set_up(
        {a.name: recording.inputs[a.name] if a.role == "in" else outs[a.name] for a in exercise.arrays}
    )
    seconds: list[float] = []
    copies = []
    started = time.perf_counter()
    with undisturbed():
        while len(seconds) < WARM_UPS + samples and not _enough(len(seconds), time.perf_counter() - started):
            patches, places = recording.patches(len(seconds) + 1), recording.places(outs, len(seconds) + 1)
            for name, values in outs.items():
                _fill(shared[name], values)
            recording.apply(patches, shared)  # last and quickly: what is new must not be there before the clock starts
            seconds.append(session.go())
            early = {name: shared[name][at] for name, at in places.items()}
            if len(seconds) > WARM_UPS:
                copies.append(_copied(shared, places, early))
    return TimedRuns(tuple(seconds), tuple(copies))


def _copied(
    shared: Mapping[str, npt.NDArray[np.generic]],
    places: Mapping[str, npt.NDArray[np.int64]],
    early: Mapping[str, npt.NDArray[np.generic]],
) -> dict[str, npt.NDArray[np.generic]]:
    """The outputs, with the elements that were looked at first as they were then: copying all takes longer than what a
    run may have left undone.
    """
    import numpy as np

    copies = {name: _fill(np.empty_like(shared[name]), shared[name]) for name in places}
    for name, values in early.items():
        copies[name][places[name]] = values
    return copies


def _fill(to: npt.NDArray[np.generic], values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Copy ``values``, on all cores."""

    def copy(part: slice) -> None:
        to[part] = values[part]

    in_pieces(copy, len(values))
    return to


def _enough(taken: int, spent_s: float) -> bool:
    return taken >= WARM_UPS + LEAST_SAMPLES and spent_s > BUDGET_S
