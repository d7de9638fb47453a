"""The timer of `grade tune`: one warm GPU process that loads variant after variant.

All variants come from one person's file, so they may share a process, which two submissions never do. One that crashes
or hangs ends it; the next one gets a fresh process.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from grader.errors import SubmissionError
from grader.timing.samples import steady
from grader.tune.build import Machine, Variant
from grader.tune.sweep import Sampled

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend
    from grader.backends.gpu.session import GpuSession
    from grader.backends.gpu.setup import Setup
    from grader.catalog.exercises import CourseExercise
    from grader.compile import Program
    from grader.gpus.detect import Gpu
    from grader.grading.cases import CaseBook
    from grader.grading.records import Case, CompiledSubmission, Outcome

SMALL_CASES = 2
BUDGET_S = 1.0
"""Of one timing, at most, beyond the least number of samples."""


def machine_of(gpu: Gpu, requires: str) -> Machine:
    """What to compile and assemble for on this GPU."""
    from grader.backends.gpu.reference import target_of
    from grader.gpus.models import capability

    here = target_of(gpu)
    target = here if capability(requires) <= capability(here) else requires
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
    _loaded: Variant | None = None
    _book: CaseBook | None = field(default=None, repr=False)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._session is not None:
            self._session.close()
        self._session, self._loaded = None, None

    def check(self, variant: Variant) -> Sampled:
        """The smallest and the largest of the exercise's small cases, with real values."""
        try:
            session = self._open(variant)
            for case in self._cases():
                outcome = self._run(session, variant, case)
                if outcome.word is not None or outcome.wrong is not None:
                    self.close()
                    return _failed(outcome)
        except SubmissionError as error:
            return self._ended(error)
        return Sampled()

    def time(self, variant: Variant, samples: int) -> Sampled:
        """Some samples at the timed size, each with inputs of its own and a checked output."""
        try:
            setup = self._setup(variant, samples)
            found = self._open(variant).time(setup.run, dict(setup.modules), self.backend.gpu.l2_bytes)
        except SubmissionError as error:
            return self._ended(error)
        if found.diagnostics:
            return Sampled(word="out_of_bounds", reason=found.diagnostics[0].message)
        if found.mismatch is not None:
            from grader.backends.gpu.faults import mismatch_diagnostic

            return Sampled(word="wrong", reason=mismatch_diagnostic(found.mismatch, setup).message)
        return Sampled(found.seconds, steady=steady(found.control_s))

    def _ended(self, error: SubmissionError) -> Sampled:
        self.close()
        return Sampled(word=error.verdict, reason=error.message)

    def _open(self, variant: Variant) -> GpuSession:
        """The process with this variant loaded."""
        if self._session is not None and self._loaded is variant:
            return self._session
        program = _program(variant)
        if self._session is None:
            self._session = self.backend.open(program, self.limits)
        else:
            from grader.compile import assemble

            self._session.load_another(program, assemble(program, self.machine.arch))
        self._loaded = variant
        return self._session

    def _setup(self, variant: Variant, samples: int) -> Setup:
        from grader.backends.gpu.setup import prepare

        setup = prepare(self.entry, _program(variant), self.backend.gpu, self.seed, samples=samples)
        run = replace(setup.run, ceiling=(), ceiling_bytes=0, budget_s=BUDGET_S)
        return replace(setup, run=run)

    def _cases(self) -> tuple[Case, ...]:
        from grader.grading.cases import small_cases

        cases = [case for case in small_cases(self.entry.exercise, self.seed) if case.values == "real"]
        return tuple({id(case): case for case in (cases[0], cases[-1])}.values())[:SMALL_CASES]

    def _run(self, session: GpuSession, variant: Variant, case: Case) -> Outcome:
        from grader.grading.run import Job, run_case

        job = Job(self.entry.exercise, _submission(variant), self._cases_book(), (case,), self.backend, self.limits)
        return run_case(job, session, case)

    def _cases_book(self) -> CaseBook:
        """Inputs and expected outputs, made once for all variants."""
        if self._book is None:
            from grader.catalog.references import resolve_reference
            from grader.grading.cases import CaseBook

            oracle = resolve_reference(self.entry.exercise.oracle, self.entry.course)
            self._book = CaseBook(self.entry.exercise, oracle, self.seed)
        return self._book


def _program(variant: Variant) -> Program:
    assert variant.program is not None, variant
    return variant.program


def _submission(variant: Variant) -> CompiledSubmission:
    from grader.grading.records import CompiledSubmission
    from grader.launch import parse_launches

    program = _program(variant)
    return CompiledSubmission(program, parse_launches(program.source, file=program.name))


def _failed(outcome: Outcome) -> Sampled:
    """A small case that failed, in words."""
    from grader.backends.gpu.faults import size_in_words

    found = outcome.wrong or next(iter(outcome.diagnostics), None)
    where = f"at {size_in_words(outcome.case.size)}"
    told = found.message if found is not None else "it failed"
    return Sampled(word=outcome.word or "wrong", reason=f"{where}: {told}")
