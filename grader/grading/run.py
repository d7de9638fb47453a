"""The stages `runs` and `correct` on one backend: every case in a child, its outputs compared in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from grader.errors import GraderFault, SubmissionError, Unsupported, WarpgradeError
from grader.findings.kinds import MISREAD_SHOWS
from grader.grading.cases import CaseBook, CaseData, case_run, plan_of
from grader.grading.causes import inputs_there, misreads, with_note
from grader.grading.clearer import clearer, uneven_passes
from grader.grading.records import Case, CompiledSubmission, Outcome, Report, Speed
from grader.grading.shape import Shaped, with_shape
from grader.grading.stale import as_with, has_time, with_time
from grader.grading.words import TIMING_WORDS, failure_word
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.backends.base import Backend, Execution, Limits, Session
    from grader.compare import Mismatch
    from grader.exercise import Exercise
    from grader.launch import LaunchPlan

Timer = Callable[["Session"], Speed | None]


@dataclass(frozen=True)
class Job:
    """One submission on one backend. ``timer`` is called in the same session after all cases passed.

    ``tell`` hears which case is next.
    """

    exercise: Exercise
    compiled: CompiledSubmission
    book: CaseBook
    cases: Sequence[Case]
    backend: Backend
    limits: Limits
    timer: Timer | None = None
    tell: Callable[[str], None] = lambda words: None


@contextmanager
def started(backend: Backend) -> Iterator[None]:
    """Start the backend's child early, and end it where it was not used after all."""
    try:
        backend.start()
        yield
    finally:
        backend.close()


def run_job(job: Job) -> Report:
    """Run the cases in order; the first that fails is the last, except that a race lets the others go on."""
    outcomes: list[Outcome] = []
    stop: WarpgradeError | None = None
    speed: Speed | None = None
    sandbox = "landlock"
    try:
        with job.backend.open(job.compiled.program, job.limits) as session:
            sandbox = session.sandbox
            for outcome in _outcomes(job, session):
                outcomes.append(outcome)
            if job.timer is not None and all(_fine(outcome) for outcome in outcomes):
                job.tell("timing")
                speed = _timed(job.timer, session)
    except (SubmissionError, Unsupported, GraderFault) as error:
        stop = error
    return Report(job.backend.name, tuple(outcomes), stop, speed, sandbox)


def _timed(timer: Timer, session: Session) -> Speed | None:
    """The timing. Raises SubmissionError where a timed launch shows a wrong output or a stray write."""
    try:
        speed = timer(session)
    except Unsupported as error:  # the answer was right; it is this machine that cannot time it
        return Speed("unsupported", error.message)
    if speed is not None and speed.word not in TIMING_WORDS:
        raise SubmissionError(speed.word, speed.detail, diagnostics=speed.diagnostics)
    return speed


def _outcomes(job: Job, session: Session) -> Iterator[Outcome]:
    for number, case in enumerate(job.cases, start=1):
        job.tell(f"case {number} of {len(job.cases)}")
        outcome = _with_time(job, session, run_case(job, session, case))
        yield outcome
        if outcome.wrong is not None or outcome.word not in (None, "race"):
            return


def _with_time(job: Job, session: Session, outcome: Outcome) -> Outcome:
    """A few integers agree by chance with what old inputs give: real values of the same size tell for certain."""
    case, wrong = outcome.case, outcome.wrong
    if not job.exercise.host or wrong is None or outcome.word or case.values == "real" or has_time(wrong):
        return outcome
    try:
        again = run_case(job, session, replace(case, values="real"))
    except WarpgradeError:  # what was found stays true
        return outcome
    return replace(outcome, wrong=as_with(wrong, again.wrong))


def _fine(outcome: Outcome) -> bool:
    return outcome.word is None and outcome.wrong is None


def run_case(job: Job, session: Session, case: Case) -> Outcome:
    """Run one case and compare its outputs. Raises Unsupported, GraderFault; a submission's own error is an outcome."""
    data = job.book.data(case)
    try:
        plan = plan_of(job.exercise, case, job.compiled, job.backend.device_limits)
        execution = session.run(case_run(job.exercise, case, data, plan))
    except SubmissionError as error:
        return Outcome(case, job.backend.name, error.verdict, diagnostics=error.diagnostics)
    word = failure_word(execution)
    source = job.compiled.program.source
    wrong = _wrong(job, case, data, plan, execution) if word in (None, "race") else None
    if wrong is not None and (word == "race" or any(one.kind == "uninitialised_read" for one in execution.diagnostics)):
        wrong = replace(wrong, message=_without_guess(wrong))
    if wrong is not None and not job.exercise.host:  # there the host file may have left it where it was
        wrong = clearer(wrong, source, plan)
    launches = execution.launches
    if case.counters and word is None:
        launches = with_shape(Shaped(job.exercise, job.compiled, case.size, job.backend.device_limits), launches)
    found = tuple(clearer(one, source, plan) for one in execution.diagnostics)
    if wrong is not None or word in MISREAD_SHOWS:
        reads = misreads(job.exercise, job.compiled, plan)
        found = with_note(found, reads)
        wrong = replace(wrong, hint=found[-1].hint) if wrong is not None and reads else wrong
    if wrong is not None or word is not None:
        found = (*found, *uneven_passes(found, plan))
    return Outcome(
        case, job.backend.name, word, wrong, found, launches, execution.printed,
        execution.timeline, execution.host_counters,
    )  # fmt: skip


def _without_guess(wrong: Diagnostic) -> str:
    """What is wrong, without a guess at the arithmetic: a race, or memory that nobody wrote, explains the values."""
    from grader.compare.guesses import without_values

    return without_values(wrong.message)


def _wrong(job: Job, case: Case, data: CaseData, plan: LaunchPlan, execution: Execution) -> Diagnostic | None:
    """What is wrong with the outputs, or with the inputs that should have stayed as they were."""
    from grader.compare import compare

    exercise = job.exercise
    found = compare(
        exercise, case.size, case.values, execution.outputs, data.expected, data.inputs, plan=plan,
        beside=partial(inputs_there, exercise, case, job.book),
    )  # fmt: skip
    if found is not None:
        return with_time(_told(found), exercise, case, job.book, execution.outputs)
    return _overwritten(exercise, execution.inputs_changed[0]) if execution.inputs_changed else None


def _overwritten(exercise: Exercise, name: str) -> Diagnostic:
    if exercise.host:  # its kernels work on copies, most often: the host file is likelier
        return Diagnostic("wrong", f"run() has changed the input {name} in host memory", array=name, hint=_KEEP_ON_HOST)
    return Diagnostic("wrong", f"the kernel overwrote its input {name}", array=name, space="global", hint=_KEEP)


_KEEP = "declare inputs as const pointers; the compiler then finds the line that writes"
_KEEP_ON_HOST = (
    "look for what writes there: a copy from the GPU, a line of the host file, or a kernel that works on host memory "
    "itself"
)


def _told(found: Mismatch) -> Diagnostic:
    block, thread = found.likely_writer or (None, None)
    return Diagnostic(
        kind="wrong",
        message=found.message,
        block=None if block is None else (block, 0, 0),
        thread=None if thread is None else (thread, 0, 0),
        space="global",
        array=found.array,
        index=found.index,
    )
