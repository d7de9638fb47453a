"""The stage `fast`: time a submission at its timed size, verify every timed output, and hold it against its line.

timer = SpeedTest(entry, backend, seed, limits)
speed = timer(session)                                   in the session whose small cases passed
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from grader.backends.gpu.findings import mismatch_diagnostic
from grader.backends.gpu.setup import Setup, prepare
from grader.grading.records import Speed
from grader.timing import roofline
from grader.timing.samples import MAX_PROCESSES, Decision, decide, steady, summarise

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend, GpuSession
    from grader.backends.gpu.wire import RawSamples
    from grader.catalog.exercises import CourseExercise
    from grader.exercise import Target
    from grader.verdict import Measurement

CHEAT = "impossible time: work was skipped, or the grader is wrong"
BUSY = "the machine was not steady: the grader's own copy changed its speed while this was timed; try again"


@dataclass(frozen=True)
class SpeedTest:
    """Times submissions of one exercise. ``fresh`` sessions are opened only where the first samples leave it open."""

    entry: CourseExercise
    backend: GpuBackend
    seed: int
    limits: Limits

    def __call__(self, session: GpuSession) -> Speed | None:
        """The word and the figures of `fast`; None where nothing is timed.

        Raises SubmissionError for a crash, Unsupported where this GPU has too little memory for the timed size.
        """
        if self.entry.exercise.timed is None:
            return None
        setup = prepare(self.entry, session.program, self.backend.gpu, self.seed)
        first = session.time(setup.run, dict(setup.modules), self.backend.gpu.l2_bytes)
        return self._judged(session, setup, first)

    def _judged(self, session: GpuSession, setup: Setup, first: RawSamples) -> Speed | None:
        target = self.entry.exercise.target
        pool = _Pool(setup, target, self.backend.gpu.name)
        for samples in self._processes(session, setup, first):
            if failed := _failed(setup, samples):
                return failed
            if target is None:
                return None
            pool = pool.with_samples(samples)
            if pool.decided:
                break
        return pool.speed()

    def _processes(self, session: GpuSession, setup: Setup, first: RawSamples) -> Iterator[RawSamples]:
        """The first process's samples, then those of at most two fresh ones."""
        yield first
        for _ in range(1, MAX_PROCESSES):
            session.close()  # its memory is wanted
            with self.backend.open(session.program, self.limits) as fresh:
                yield fresh.time(setup.run, dict(setup.modules), self.backend.gpu.l2_bytes)


def _failed(setup: Setup, samples: RawSamples) -> Speed | None:
    """A stray write, a changed input or a wrong output in a timed launch."""
    if samples.diagnostics:
        return Speed("out_of_bounds", samples.diagnostics[0].message, diagnostics=samples.diagnostics)
    if samples.mismatch is None:
        return None
    found = mismatch_diagnostic(samples.mismatch, setup)
    return Speed("wrong", found.message, diagnostics=(found,))


@dataclass(frozen=True)
class _Pool:
    """The samples of all processes so far. A process whose control kernel drifted adds nothing."""

    setup: Setup
    target: Target | None
    gpu_name: str
    seconds: tuple[float, ...] = ()
    ceiling_s: tuple[float, ...] = ()

    def with_samples(self, samples: RawSamples) -> _Pool:
        if not steady(samples.control_s):
            return self
        return replace(self, seconds=self.seconds + samples.seconds, ceiling_s=self.ceiling_s + samples.ceiling_s)

    @cached_property
    def measured(self) -> Measurement:
        assert self.target is not None
        summary = summarise(self.seconds)
        measured = roofline.measurement(
            summary, self.setup.work, self.target, self.gpu_name, self.setup.peak, self.ceiling
        )
        return replace(measured, roof=self.setup.roof(summary.median_s))

    @property
    def ceiling(self) -> float | None:
        return roofline.ceiling(self.setup.ceiling_work, self.ceiling_s)

    @property
    def decision(self) -> Decision:
        assert self.target is not None
        line_s = roofline.line_s(self.setup.work, self.target, self.setup.peak, self.ceiling)
        if not self.seconds or line_s is None:
            return "inconclusive"
        return decide(self.measured.interval_s, line_s)

    @property
    def impossible(self) -> bool:
        limit = self.setup.limit
        return bool(self.seconds) and roofline.impossible(self.setup.work, self.measured.median_s, limit)

    @property
    def decided(self) -> bool:
        return bool(self.seconds) and (self.impossible or not self.lined or self.decision != "inconclusive")

    @property
    def lined(self) -> bool:
        """Whether there is a pass line at all."""
        return self.target is not None and self.target.fraction > 0

    def speed(self) -> Speed:
        """The stage's word, its sentence and its figures."""
        if not self.seconds:
            return Speed("inconclusive", BUSY)
        if self.impossible:
            return Speed("cheat" if self.setup.published else "inconclusive", CHEAT, self.measured)
        if not self.lined:
            return Speed("unlined", in_words(self.measured), self.measured)
        word = {"passed": "pass"}.get(self.decision, self.decision)
        return Speed(word, in_words(self.measured), self.measured)


def in_words(measured: Measurement) -> str:
    """The figures in one line: "0.712 of peak, 0.99 of the ceiling; the line is 0.70 of peak"."""
    parts = []
    if measured.fraction_of_peak is not None:
        parts.append(f"{measured.fraction_of_peak:.3f} of peak")
    if measured.fraction_of_ceiling is not None:
        parts.append(f"{measured.fraction_of_ceiling:.3f} of the ceiling")
    told = ", ".join(parts) or f"{measured.achieved:.3g} {measured.unit}/s"
    if not measured.line_fraction:
        return f"{told}; no pass line is known here: `grade calibrate` draws one"
    line = f"the line is {measured.line}" + (" (set on another GPU)" if measured.provisional else "")
    return f"{told}; {line}"
