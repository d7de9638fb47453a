"""The stage `fast`: time a submission at its timed size, verify every timed output, and compare with the pass line.

timer = SpeedTest(entry, backend, seed, limits)
speed = timer(session)                                   in the session whose small cases passed
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.backends.gpu.faults import mismatch_diagnostic
from grader.backends.gpu.setup import Setup, Untimed, prepare
from grader.errors import SubmissionError, Unsupported
from grader.frozen import dataclass
from grader.grading.cases import secret_size_below_timed
from grader.grading.large import is_narrow
from grader.grading.records import Speed
from grader.inputs import element_count
from grader.timing import roofline
from grader.timing.samples import MAX_PROCESSES, decide, steady, summarise

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend
    from grader.backends.gpu.session import GpuSession
    from grader.backends.gpu.wire import RawSamples
    from grader.catalog.courses import CourseExercise
    from grader.exercise import Target
    from grader.verdict import Measurement

CHEAT = "impossible time: work was skipped, or the grader is wrong"
BUSY = "the machine was not steady: the grader's own copy changed its speed while this was timed; try again"
VERIFIED = 3  # samples at a secret size; with those that warm up, the kinds of values that are not timed are among them
MOST_OF_MEMORY = 0.8  # of a GPU's memory, for arrays of more than 2^31 elements: others may use it, too
STRAYED = ("out_of_bounds", "crash")
"""The verdicts that count at the large size, besides a size that a parameter cannot hold: a launch that takes long, or
whose grid does not fit, shows nothing."""
UNKNOWN_REFERENCE = "what it is measured against could not be measured here"


@dataclass(frozen=True)
class SpeedTest:
    """Times submissions of one exercise. ``fresh`` opens further sessions if the first samples are inconclusive."""

    entry: CourseExercise
    backend: GpuBackend
    seed: int
    limits: Limits

    def __call__(self, session: GpuSession) -> Speed | None:
        """The word and the figures of `fast`; None if the exercise is not timed.

        Raises SubmissionError for a crash, Unsupported if this GPU has too little memory for the timed size.
        """
        if self.entry.exercise.timed is None:
            return None
        if failed := self._failed_before(session):
            return failed
        setup = prepare(self.entry, session.program, self.backend.gpu, self.seed)
        target = self.entry.exercise.target
        seconds: tuple[float, ...] = ()
        ceiling_s: tuple[float, ...] = ()
        speed = Speed("inconclusive", BUSY)
        for process in self._sessions(session):
            samples = process.time(setup.run, dict(setup.modules), self.backend.gpu.l2_bytes)
            if failed := _failed(setup, samples):
                return failed
            if target is None:
                return None
            if steady(samples.control_s):  # samples of a process whose control kernel drifted are not used
                seconds, ceiling_s = seconds + samples.seconds, ceiling_s + samples.ceiling_s
                speed = _speed(setup, target, self.backend.gpu.name, seconds, ceiling_s)
            if speed.word == "pass" and (failed := self._failed_beyond(process)):
                return failed
            if speed.word != "inconclusive" or _impossible(setup, speed.measured):
                break
        return speed

    def _failed_before(self, session: GpuSession) -> Speed | None:
        """What is wrong at one secret size below the timed one, so that nobody can tell the sizes that are verified."""
        size = secret_size_below_timed(self.entry.exercise, self.seed)
        return None if size is None else self._failed_at(Untimed("secret", size), VERIFIED, session)

    def _failed_beyond(self, session: GpuSession) -> Speed | None:
        """What is wrong with more than 2^31 elements, where the statement promises them and the GPU has room for them.

        Only a fast submission is asked, because a slow one would take long.
        """
        exercise, large = self.entry.exercise, self.entry.exercise.large
        if large is None:
            return None
        from grader.grading.hints.large import only_so_large

        asks = only_so_large(max(element_count(array, large.size) for array in exercise.arrays))
        try:
            return self._failed_at(Untimed("large", large.size), 1, session, asks)
        except SubmissionError as error:
            if error.verdict in STRAYED or is_narrow(error):
                raise
            return None

    def _failed_at(self, untimed: Untimed, samples: int, session: GpuSession, hint: str = "") -> Speed | None:
        """What is wrong at this size; None if nothing is, or the GPU has no room for it. Raises SubmissionError.

        With ``hint`` its diagnostics have that one.
        """
        setup = prepare(self.entry, session.program, self.backend.gpu, self.seed, samples=samples, untimed=untimed)
        if setup.memory_bytes > MOST_OF_MEMORY * self.backend.gpu.memory_bytes:
            return None
        try:
            failed = _failed(setup, session.time(setup.run, dict(setup.modules), self.backend.gpu.l2_bytes))
        except Unsupported:  # others use the memory
            return None
        except SubmissionError as error:
            message = f"{error.message}, {setup.where}"
            found = tuple(
                replace(one, message=f"{one.message}, {setup.where}", hint=hint or one.hint)
                for one in error.diagnostics
            )
            raise SubmissionError(error.verdict, message, diagnostics=found, hint=hint or error.hint) from None
        return failed and replace(
            failed, diagnostics=tuple(replace(one, hint=hint or one.hint) for one in failed.diagnostics)
        )

    def _sessions(self, first: GpuSession) -> Iterator[GpuSession]:
        """``first``, then at most two with new processes."""
        yield first
        for _ in range(1, MAX_PROCESSES):
            first.close()  # to free its memory
            with self.backend.open(first.program, self.limits) as fresh:
                yield fresh


def _failed(setup: Setup, samples: RawSamples) -> Speed | None:
    """The word for a stray write, a changed input or a wrong output in a timed launch; None if all is right."""
    if samples.diagnostics:
        return Speed("out_of_bounds", samples.diagnostics[0].message, diagnostics=samples.diagnostics)
    if samples.mismatch is None:
        return None
    found = mismatch_diagnostic(samples.mismatch, setup)
    return Speed("wrong", found.message, diagnostics=(found,))


def _speed(
    setup: Setup, target: Target, gpu_name: str, seconds: tuple[float, ...], ceiling_s: tuple[float, ...]
) -> Speed:
    """The word and the figures from the samples of all processes so far."""
    summary = summarise(seconds)
    ceiling = roofline.ceiling(setup.ceiling_work, ceiling_s)
    measured = roofline.measurement(summary, setup.work, target, gpu_name, setup.peak, ceiling)
    measured = replace(measured, roof=setup.roof(summary.median_s))
    if _impossible(setup, measured):
        return Speed("cheat" if setup.published else "inconclusive", CHEAT, measured)
    return against_line(measured, setup.work, target, in_words(measured))


def _impossible(setup: Setup, measured: Measurement | None) -> bool:
    return measured is not None and roofline.impossible(setup.work, measured.median_s, setup.limit)


def against_line(measured: Measurement, work: float, target: Target, words: str) -> Speed:
    """The word for a possible time, by the pass line; ``words`` are its figures."""
    if not target.fraction:
        return Speed("unlined", words, measured)
    line_s = roofline.line_s(work, target, measured.peak, measured.ceiling)
    if line_s is None:
        return Speed("inconclusive", UNKNOWN_REFERENCE, measured)
    decision = decide(measured.interval_s, line_s)
    return Speed("pass" if decision == "passed" else decision, words, measured)


def in_words(measured: Measurement) -> str:
    """The figures in one line: "0.712 of peak, 0.99 of the ceiling; the line is 0.70 of peak"."""
    parts = []
    if measured.fraction_of_peak is not None:
        parts.append(f"{measured.fraction_of_peak:.3f} of peak")
    if measured.fraction_of_ceiling is not None:
        parts.append(f"{measured.fraction_of_ceiling:.3f} of the ceiling")
    figures = ", ".join(parts) or f"{measured.achieved:.3g} {measured.unit}/s"
    return f"{figures}; {line_in_words(measured)}"


def line_in_words(measured: Measurement) -> str:
    if not measured.line_fraction:
        return "no pass line is known here: `grade calibrate` draws one"
    return f"the line is {measured.line}" + (" (set on another GPU)" if measured.provisional else "")
