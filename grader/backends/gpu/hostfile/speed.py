"""The stage `fast` of a host exercise: the parent's clock, fresh inputs for each run, every run verified afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.backends.gpu.findings import size_in_words
from grader.backends.gpu.hostfile.figures import Against
from grader.backends.gpu.recording import Expectations, Recording
from grader.backends.gpu.signals import undisturbed
from grader.backends.hostfile.case import on_gpus, write
from grader.grading.records import Speed
from grader.inputs import derive_seed, element_count, poison
from grader.timing.samples import MAX_PROCESSES
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Limits
    from grader.backends.gpu.hostfile.backend import HostBackend, HostSession
    from grader.compare import Mismatch
    from grader.exercise import Exercise, Size
    from grader.grading.records import Oracle
    from grader.verdict import Timeline

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


@dataclass(frozen=True)
class HostSpeedTest:
    """Times host submissions of one exercise. ``oracle`` is called late, because it imports NumPy."""

    exercise: Exercise
    backend: HostBackend
    oracle: Callable[[], Oracle]
    seed: int
    limits: Limits

    def __call__(self, session: HostSession) -> Speed | None:
        """The word and the figures of `fast`, with a timeline of one run more; None where nothing is timed.

        Ends the session.
        """
        exercise = on_gpus(self.exercise, self.backend.gpus)
        size, target = exercise.timed, exercise.target
        if size is None or target is None:
            return None
        against = Against(exercise, size, self.backend)
        timeline: Timeline | None = None
        for number, one in enumerate(self._sessions(session)):
            recording = Recording(exercise, size, derive_seed(self.seed, "host", number))
            check = Check(exercise, size, self.oracle(), recording)
            with one:  # at whose end nothing of it can write any more
                one.begin_again()
                runs = take_runs(one, exercise, size, recording, check.samples)
                timeline = timeline or one.traced(self.backend.gpu.name)
            if wrong := check.wrong(runs):
                return Speed("wrong", wrong.message, diagnostics=(wrong,), timeline=timeline)
            against.add(runs.samples_s, one.yardsticks_s)
            speed = against.speed()
            if speed.word != "inconclusive":
                break
        return replace(speed, timeline=timeline)

    def _sessions(self, first: HostSession) -> Iterator[HostSession]:
        yield first
        for _ in range(1, MAX_PROCESSES):
            yield self.backend.open(first.program, self.limits)


class Check:
    """Whether each run's outputs are the oracle's for that run's inputs: found out when all runs are over."""

    def __init__(self, exercise: Exercise, size: Size, oracle: Oracle, recording: Recording) -> None:
        self._exercise, self._size = exercise, size
        self._recording = Recording.of(recording)
        self._expected = Expectations(exercise, size, oracle, self._recording)

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
            self._expected.advance(self._recording.patches(run), wanted=not warming)
            if not warming and (found := self._mismatch(runs.copies[run - 1 - WARM_UPS])):
                where = f"at the timed size {size_in_words(self._size)}, run {run}"
                return Diagnostic(
                    "wrong", f"{found.message} ({where})", array=found.array, index=found.index, hint=_EVERY_TIME
                )
        return None

    def _mismatch(self, outputs: Mapping[str, npt.NDArray[np.generic]]) -> Mismatch | None:
        from grader.compare import compare

        if all(self._is_right(outputs[a.name], self._expected.now[a.name]) for a in self._exercise.outputs):
            return None
        return compare(self._exercise, self._size, "real", outputs, self._expected.now, {})

    def _is_right(self, got: npt.NDArray[np.generic], expected: npt.NDArray[np.float64]) -> bool:
        """As `compare` sees it, in pieces that stay in the cache, on all cores."""
        from concurrent.futures import ThreadPoolExecutor

        from grader.compare.tolerance import right

        def fine(start: int) -> bool:
            part = slice(start, start + PIECE)
            return bool(right(self._exercise, self._size, "real", got[part], expected[part]).all())

        if len(got) <= PIECE:
            return fine(0)
        with ThreadPoolExecutor() as pool:
            return all(pool.map(fine, range(0, len(got), PIECE)))


PIECE = 1 << 17  # elements
_EVERY_TIME = "run() must read all of the inputs, every time, and return when the output is complete"


def take_runs(
    session: HostSession, exercise: Exercise, size: Size, recording: Recording, samples: int = SAMPLES
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
            write(shared, outs)
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
    copies = {name: shared[name].copy() for name in places}
    for name, values in early.items():
        copies[name][places[name]] = values
    return copies


def _enough(taken: int, spent_s: float) -> bool:
    return taken >= WARM_UPS + LEAST_SAMPLES and spent_s > BUDGET_S
