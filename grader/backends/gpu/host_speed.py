"""The stage `fast` of a host exercise: the parent's clock, fresh inputs for each run, every run verified afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader import roofline, timing
from grader.backends.gpu.findings import size_in_words
from grader.backends.gpu.recording import Expectations, Recording
from grader.backends.gpu.signals import undisturbed
from grader.backends.gpu.speed import in_words
from grader.inputs import derive_seed, element_count, poison
from grader.stages.records import Speed
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Limits
    from grader.backends.gpu.host import HostBackend, HostSession
    from grader.exercise import Exercise, Size
    from grader.stages.records import Oracle

WARM_UPS = 3
SAMPLES = 30
LEAST_SAMPLES = 5
BUDGET_S = 1.5


@dataclass(frozen=True, eq=False)
class HostRuns:
    """The runs of one process: seconds of all, warm-ups first, each with a copy of its outputs as "done" found them."""

    seconds: tuple[float, ...]
    copies: tuple[dict[str, npt.NDArray[np.generic]], ...]


@dataclass(frozen=True)
class HostSpeedTest:
    """Times host submissions of one exercise. ``oracle`` is called once, late: it imports NumPy."""

    exercise: Exercise
    backend: HostBackend
    oracle: Callable[[], Oracle]
    seed: int
    limits: Limits

    def __call__(self, session: HostSession) -> Speed | None:
        """The word and the figures of `fast`; None where nothing is timed. Ends the session."""
        size, target = self.exercise.timed, self.exercise.target
        if size is None or target is None:
            return None
        seconds: tuple[float, ...] = ()
        link_s: tuple[float, ...] = ()
        for one in self._sessions(session):
            recording = Recording(self.exercise, size, derive_seed(self.seed, "host", len(seconds)))
            runs = take_runs(one, self.exercise, size, recording)
            one.close()  # nothing of it can write any more
            if wrong := self._wrong(size, recording, runs):
                return Speed("wrong", wrong.message, diagnostics=(wrong,))
            seconds, link_s = seconds + runs.seconds[WARM_UPS:], link_s + one.link_s
            speed = self._speed(size, seconds, link_s, one.link_bytes)
            if speed.word != "inconclusive":
                break
        return speed

    def _sessions(self, first: HostSession) -> Iterator[HostSession]:
        yield first
        for _ in range(1, timing.MAX_PROCESSES):
            yield self.backend.open(first.program, self.limits)

    def _wrong(self, size: Size, recording: Recording, runs: HostRuns) -> Diagnostic | None:
        """The first run whose outputs are not the oracle's for that run's inputs."""
        from grader.compare import compare

        fresh = Recording.of(recording)
        expected = Expectations(self.exercise, size, self.oracle(), fresh)
        for run, outputs in enumerate(runs.copies, start=1):
            expected.advance(fresh.patches(run))
            found = compare(self.exercise, size, "real", outputs, expected.now, {})
            if found is not None:
                where = f"at the timed size {size_in_words(size)}, run {run}"
                hint = "run() must read all of the inputs, every time, and return when the output is complete"
                return Diagnostic(
                    "wrong", f"{found.message} ({where})", array=found.array, index=found.index, hint=hint
                )
        return None

    def _speed(self, size: Size, seconds: tuple[float, ...], link_s: tuple[float, ...], link_bytes: int) -> Speed:
        from grader.expressions import evaluate

        target = self.exercise.target
        assert target is not None
        work = float(evaluate(self.exercise.work.bytes, size))
        ceiling = roofline.ceiling(link_bytes, link_s)
        peak = roofline.peak_of(target.unit, roofline.peaks(self.backend.gpu))
        measured = roofline.measurement(timing.summarise(seconds), work, target, self.backend.gpu.name, peak, ceiling)
        line_s = roofline.line_s(work, target, peak, ceiling)
        if not target.fraction:
            return Speed("unlined", in_words(measured), measured)
        if line_s is None:
            return Speed("inconclusive", "the link's own speed could not be measured here", measured)
        if roofline.impossible(work, measured.median_s, ceiling):
            return Speed("inconclusive", "faster than the link itself: the measurement cannot be right", measured)
        word = {"passed": "pass"}.get(decision := timing.decide(measured.interval_s, line_s), decision)
        return Speed(word, in_words(measured), measured)


def take_runs(session: HostSession, exercise: Exercise, size: Size, recording: Recording) -> HostRuns:
    """Warm up and take the samples: for each run the parent writes fresh inputs and poison, says go, and copies."""
    import time

    outs = {a.name: poison(a.dtype, element_count(a, size)) for a in exercise.outputs}
    shared = session.set_up(
        {a.name: recording.inputs[a.name] if a.role == "in" else outs[a.name] for a in exercise.arrays}
    )
    seconds: list[float] = []
    copies = []
    started = time.perf_counter()
    with undisturbed():
        while len(seconds) < WARM_UPS + SAMPLES and not _enough(len(seconds), time.perf_counter() - started):
            recording.apply(recording.patches(len(seconds) + 1), shared)
            for name, empty in outs.items():
                shared[name][:] = empty
            seconds.append(session.go())
            copies.append({name: shared[name].copy() for name in outs})
    return HostRuns(tuple(seconds), tuple(copies))


def _enough(taken: int, spent_s: float) -> bool:
    return taken >= WARM_UPS + LEAST_SAMPLES and spent_s > BUDGET_S
