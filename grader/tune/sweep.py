"""Time all variants that can run, then the best ones again in turns; find the best, and those as fast as the best.

One warm GPU process loads variant after variant. All come from one file, so they may share a process; two submissions
never do. A variant that crashes or hangs ends the process; the next one gets a new process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from grader.backends.gpu.faults import mismatch_diagnostic, size_in_words
from grader.backends.gpu.reference import target_of
from grader.backends.gpu.setup import prepare
from grader.catalog.courses import CourseExercise, resolve_reference
from grader.compile import Program, assemble
from grader.errors import SubmissionError
from grader.frozen import dataclass
from grader.gpus.models import capability
from grader.grading.cases import CaseBook, small_cases
from grader.grading.records import CompiledSubmission
from grader.grading.run import Job, run_case
from grader.launch import parse_launches
from grader.timing.samples import steady, summarise
from grader.tune.build import Machine, TunedVariant

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend
    from grader.backends.gpu.session import GpuSession
    from grader.gpus.detect import Gpu

FIRST_SAMPLES = 7
FINALISTS = 3
ROUNDS, ROUND_SAMPLES = 3, 10
"""The finalists are timed in turns, so that a change of the GPU's clock affects all of them."""
RIGHT = "right"
NOT_MEASURED = "not_measured"


@dataclass(frozen=True)
class Sampled:
    """The result of a timer: times in seconds, or verdict and message of a variant that failed."""

    seconds: tuple[float, ...] = ()
    word: str = RIGHT
    reason: str = ""
    steady: bool = True


@dataclass(frozen=True)
class Sweep:
    """All results in the order of the combinations."""

    results: tuple[TunedVariant, ...]
    interrupted: bool = False

    @property
    def ranked(self) -> tuple[TunedVariant, ...]:
        """The measured variants, fastest first; finalists before those that were timed only once."""
        timed = [
            (not result.final, result.summary.median_s, at) for at, result in enumerate(self.results) if result.summary
        ]
        return tuple(self.results[at] for _, _, at in sorted(timed))

    @property
    def best(self) -> TunedVariant | None:
        return next(iter(self.ranked), None)

    @property
    def ties(self) -> tuple[TunedVariant, ...]:
        """The variants that are not measurably slower than the best: their confidence intervals overlap."""
        intervals = [(variant, variant.summary.interval_s) for variant in self.ranked if variant.summary]
        return tuple(
            variant
            for variant, (low, high) in intervals[1:]
            if low <= intervals[0][1][1] and intervals[0][1][0] <= high
        )


def sweep(
    variants: Sequence[TunedVariant],
    timer: GpuTimer,
    tell: Callable[[str], None] = lambda words: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Sweep:
    """Check and time every variant that can run, then the best ones again; `NOT_MEASURED` after ``stopped()``."""
    results = []
    for number, variant in enumerate(variants, 1):
        tell(f"variant {number} of {len(variants)}")
        if not variant.word:
            variant = replace(variant, word=NOT_MEASURED) if stopped() else _first(variant, timer)
        results.append(variant)
    return _again(Sweep(tuple(results), stopped()), timer, tell, stopped)


def _first(variant: TunedVariant, timer: GpuTimer) -> TunedVariant:
    sampled = timer.check(variant)
    if sampled.word == RIGHT:
        sampled = timer.time(variant, FIRST_SAMPLES)
    if sampled.word == RIGHT and sampled.seconds:
        return replace(variant, word=RIGHT, summary=summarise(sampled.seconds))
    return replace(variant, word=sampled.word if sampled.word != RIGHT else NOT_MEASURED, reason=sampled.reason)


def _again(first: Sweep, timer: GpuTimer, tell: Callable[[str], None], stopped: Callable[[], bool]) -> Sweep:
    """Time the best variants in turns; these times replace a finalist's first ones."""
    finalists = first.ranked[:FINALISTS]
    if first.interrupted or len(finalists) < 2:
        return first
    rounds: dict[int, list[Sampled]] = {id(variant): [] for variant in finalists}
    for number in range(ROUNDS):
        for variant in finalists:
            if stopped():
                return replace(first, interrupted=True)
            tell(f"the best {len(finalists)} again, round {number + 1} of {ROUNDS}")
            rounds[id(variant)].append(timer.time(variant, ROUND_SAMPLES))
    return replace(first, results=tuple(_final(variant, rounds.get(id(variant))) for variant in first.results))


def _final(variant: TunedVariant, rounds: list[Sampled] | None) -> TunedVariant:
    """A finalist with the times of its rounds, without rounds on an unsteady machine if there are others."""
    if rounds is None:
        return variant
    if failed := next((sampled for sampled in rounds if sampled.word != RIGHT), None):
        return replace(variant, word=failed.word, reason=failed.reason, summary=None)
    steady_rounds = [sampled for sampled in rounds if sampled.steady] or rounds
    seconds = [time for sampled in steady_rounds for time in sampled.seconds]
    return replace(variant, summary=summarise(seconds), final=True) if seconds else variant


# ------------------------------------------------------------------------------------------------------- on the GPU

BUDGET_S = 1.0
"""Seconds of one timing after which no more than the minimum number of samples is taken."""


def machine_of(gpu: Gpu, requires: str) -> Machine:
    """The machine to build for on this GPU."""
    native = target_of(gpu)
    target = native if capability(requires) <= capability(native) else requires
    return Machine(gpu.name, gpu.arch_for(target), target, gpu.limits)


@dataclass
class GpuTimer:
    """Times the variants of one exercise. Close it at the end."""

    entry: CourseExercise
    backend: GpuBackend
    machine: Machine
    seed: int
    limits: Limits
    _session: GpuSession | None = None
    _loaded: Program | None = None
    _book: CaseBook | None = field(default=None, repr=False)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._session is not None:
            self._session.close()
        self._session, self._loaded = None, None

    def check(self, variant: TunedVariant) -> Sampled:
        """Check a variant with the first and the last of the exercise's small cases, with real values."""
        exercise, program = self.entry.exercise, _program(variant)
        submission = CompiledSubmission(program, parse_launches(program.source, file=program.name))
        cases = [case for case in small_cases(exercise, self.seed) if case.values == "real"]
        try:
            session = self._open(variant)
            for case in cases[:1] + cases[1:][-1:]:
                job = Job(exercise, submission, self._expected_values(), (case,), self.backend, self.limits)
                outcome = run_case(job, session, case)
                if outcome.word is not None or outcome.wrong is not None:
                    self.close()
                    diagnostic = outcome.wrong or next(iter(outcome.diagnostics), None)
                    why = diagnostic.message if diagnostic is not None else "it failed"
                    return Sampled(word=outcome.word or "wrong", reason=f"at {size_in_words(case.size)}: {why}")
        except SubmissionError as error:
            return self._ended(error)
        return Sampled()

    def time(self, variant: TunedVariant, samples: int) -> Sampled:
        """Take samples at the timed size, each with its own inputs and a checked output."""
        try:
            setup = prepare(self.entry, _program(variant), self.backend.gpu, self.seed, samples=samples)
            setup = replace(setup, run=replace(setup.run, ceiling=(), ceiling_bytes=0, budget_s=BUDGET_S))
            timed = self._open(variant).time(setup.run, dict(setup.modules), self.backend.gpu.l2_bytes)
        except SubmissionError as error:
            return self._ended(error)
        if timed.diagnostics:
            return Sampled(word="out_of_bounds", reason=timed.diagnostics[0].message)
        if timed.mismatch is not None:
            return Sampled(word="wrong", reason=mismatch_diagnostic(timed.mismatch, setup).message)
        return Sampled(timed.seconds, steady=steady(timed.control_s))

    def _ended(self, error: SubmissionError) -> Sampled:
        self.close()
        return Sampled(word=error.verdict, reason=error.message)

    def _open(self, variant: TunedVariant) -> GpuSession:
        """The process with this variant loaded."""
        program = _program(variant)
        if self._session is not None and self._loaded is program:
            return self._session
        if self._session is None:
            self._session = self.backend.open(program, self.limits)
        else:
            self._session.load(program, assemble(program, self.machine.arch))
        self._loaded = program
        return self._session

    def _expected_values(self) -> CaseBook:
        """Inputs and expected outputs, made once for all variants."""
        if self._book is None:
            oracle = resolve_reference(self.entry.exercise.oracle, self.entry.course)
            self._book = CaseBook(self.entry.exercise, oracle, self.seed)
        return self._book


def _program(variant: TunedVariant) -> Program:
    assert variant.program is not None, variant
    return variant.program
