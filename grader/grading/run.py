"""The stages `runs` and `correct` on one backend: every case in a child, its outputs compared in this process."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from grader.errors import GraderFault, RefusedProgram, SubmissionError, Unsupported, WarpgradeError
from grader.findings.kinds import MISREAD_SHOWS
from grader.findings.record import Finding
from grader.grading.cases import CaseBook, CaseData, case_run, plan_of
from grader.grading.causes import (
    inputs_there,
    misreads,
    note_on,
    order_dependent,
    since,
    uneven_passes,
    with_time,
    without_values,
)
from grader.grading.hints import UNEVEN_PASS, about_type, in_words
from grader.grading.hints.rules import Seen
from grader.grading.judge import TIMING_WORDS, failure_word
from grader.grading.records import BackendReport, Case, CaseOutcome, CompiledSubmission, Speed
from grader.grading.source_view import SourceView
from grader.grading.technique import Shaped, with_shape
from grader.grading.undefined import OTHER_BYTES, unused_reads, without_unused_lanes
from grader.launch.source import parameter_names

if TYPE_CHECKING:
    from grader.backends.base import Backend, Execution, Limits, Session
    from grader.exercise import Exercise
    from grader.launch import LaunchPlan

Timer = Callable[["Session"], Speed | None]


@dataclass(frozen=True)
class Job:
    """One submission on one backend. ``timer`` is called in the same session after all cases passed.

    ``given_kernel`` says that the `.cu` is the course's own; ``tell`` hears which case is next.
    """

    exercise: Exercise
    compiled: CompiledSubmission
    book: CaseBook
    cases: Sequence[Case]
    backend: Backend
    limits: Limits
    timer: Timer | None = None
    given_kernel: bool = False
    tell: Callable[[str], None] = lambda words: None


def run_job(job: Job) -> BackendReport:
    """Run the cases in order; the first that fails is the last, except that a race lets the others go on."""
    outcomes: list[CaseOutcome] = []
    stop: WarpgradeError | None = None
    speed: Speed | None = None
    sandbox = "landlock"
    try:
        with job.backend.open(job.compiled.program, job.limits) as session:
            sandbox = session.sandbox
            for number, case in enumerate(job.cases, start=1):
                job.tell(f"case {number} of {len(job.cases)}")
                outcomes.append(run_case(job, session, case, number))
                if outcomes[-1].wrong is not None or outcomes[-1].word not in (None, "race"):
                    break
            if any(outcome.has_state for outcome in outcomes) and not any(outcome.failed for outcome in outcomes):
                outcomes += filter(attrgetter("failed"), [second_launch(job, session)])
            if job.timer is not None and not any(outcome.failed for outcome in outcomes):
                job.tell("timing")
                speed = _timed(job.timer, session)
    except (SubmissionError, Unsupported, GraderFault) as error:
        stop = error
    return BackendReport(job.backend.name, tuple(outcomes), stop, speed, sandbox)


def _timed(timer: Timer, session: Session) -> Speed | None:
    """The timing. Raises SubmissionError where a timed launch shows a wrong output or a stray write."""
    try:
        speed = timer(session)
    except Unsupported as error:  # the answer was right; it is this machine that cannot time it
        return Speed("unsupported", error.message)
    if speed is not None and speed.word not in TIMING_WORDS:
        raise SubmissionError(speed.word, speed.detail, diagnostics=speed.diagnostics)
    return speed


@dataclass(frozen=True)
class Ran:
    """A case that ran, before what was found is put into words. ``wrong`` tells of a wrong output."""

    case: Case
    plan: LaunchPlan
    execution: Execution
    word: str | None
    wrong: Finding | None


def run_case(job: Job, session: Session, case: Case, number: int = 0) -> CaseOutcome:
    """Run one case, also in another order where that may change its result, and compare its outputs.

    ``number`` says which of the case's other orders that is. A submission's own error is an outcome. Raises
    Unsupported, GraderFault, and RefusedProgram, which is about no case.
    """
    try:
        ran = _in_another_order(job, session, _with_other_garbage(job, session, _ran(job, session, case)), number)
    except RefusedProgram:
        raise
    except SubmissionError as error:
        return CaseOutcome(case, job.backend.name, error.verdict, diagnostics=error.diagnostics)
    return _told(job, _with_time(job, session, ran))


def second_launch(job: Job, session: Session) -> CaseOutcome:
    """The first case of the largest small size, whose module variables hold what another case has left there."""
    case = _largest(job)
    try:
        ran = _ran(job, session, case, keeps_state=True)
    except SubmissionError as error:
        return CaseOutcome(case, job.backend.name, error.verdict, diagnostics=error.diagnostics)
    note = Finding("second_launch", file=job.compiled.program.name)
    return _told(job, replace(ran, execution=replace(ran.execution, findings=(*ran.execution.findings, note))))


def _largest(job: Job) -> Case:
    return max((case for case in job.cases if not case.counters), key=lambda case: math.prod(case.size.values()))


def _ran(
    job: Job,
    session: Session,
    case: Case,
    order: str = "usual",
    *,
    keeps_state: bool = False,
    garbage: int | None = None,
) -> Ran:
    data = job.book.data(case)
    plan = plan_of(job.exercise, case, job.compiled, job.backend.device_limits)
    run = replace(case_run(job.exercise, case, data, plan), order=order, keeps_state=keeps_state, garbage=garbage)
    execution = without_unused_lanes(session, run, session.run(run))
    word = failure_word(execution)
    wrong = _wrong(job, case, data, plan, execution) if word in (None, "race") else None
    unwritten = any(found.kind == "uninitialised_read" for found in execution.findings)
    if wrong is not None and (word == "race" or unwritten):  # which explains the values
        wrong = without_values(wrong)
    return Ran(case, plan, execution, word, wrong)


def _with_other_garbage(job: Job, session: Session, ran: Ran) -> Ran:
    """A case that is right although it reads what nothing has written is run again with other values there.

    It must be right with each of them: then no output depends on such a value.
    """
    unwritten = any(found.kind == "uninitialised_read" for found in ran.execution.findings)
    if not unwritten or job.exercise.host or ran.word is not None or ran.wrong is not None:
        return ran
    for byte in OTHER_BYTES:
        again = _ran(job, session, replace(ran.case, counters=False), garbage=byte)
        if again.word is not None or again.wrong is not None:
            return replace(again, case=ran.case)
    return replace(ran, execution=unused_reads(ran.execution))


def _in_another_order(job: Job, session: Session, ran: Ran, number: int) -> Ran:
    """A case that is right is run again in other orders of warps, blocks and stores, in which it must be right, too.

    The cases take turns with the orders; those of the largest small size run in all of them. Where a run ends for want
    of time or room, nothing is known.
    """
    orders = ran.execution.other_orders
    if ran.word is not None or ran.wrong is not None or ran.case.counters or not orders:
        return ran
    for order in orders if ran.case.size == _largest(job).size else orders[number % len(orders) :][:1]:
        again = _ran(job, session, ran.case, order)
        if again.wrong is not None or again.word not in (None, "timeout", "limit"):
            execution, found = ran.execution, again.execution.findings
            one = order_dependent(job.compiled.program, execution.unordered, again.wrong, found)
            return replace(ran, word="race", execution=replace(execution, findings=(one, *execution.findings)))
    return ran


def _with_time(job: Job, session: Session, ran: Ran) -> Ran:
    """A few integers agree by chance with what old inputs give: real values of the same size tell for certain."""
    wrong = ran.wrong
    if not job.exercise.host or wrong is None or ran.word or ran.case.values == "real" or "since" in wrong.facts:
        return ran
    try:
        again = _ran(job, session, replace(ran.case, values="real")).wrong
    except WarpgradeError:  # what was found stays true
        return ran
    return (
        ran if again is None or "since" not in again.facts else replace(ran, wrong=since(wrong, again.facts["since"]))
    )


def _told(job: Job, ran: Ran) -> CaseOutcome:
    """The outcome in words: of each finding its sentence, and the hint of the first rule that speaks."""
    execution, failed = ran.execution, ran.wrong is not None or ran.word is not None
    explains = ran.wrong is not None or ran.word in MISREAD_SHOWS
    reads = misreads(job.exercise, job.compiled, ran.plan) if explains else ()
    seen = Seen(SourceView(job.compiled.program.source), ran.plan, reads, job.exercise.host, job.given_kernel)
    found = [about_type(one, seen) for one in execution.diagnostics]
    found += [in_words(one, seen) for one in execution.findings]
    found += [in_words(note_on(reads), seen)] if reads else []
    if failed and not any(one.rule == UNEVEN_PASS for one in found):
        found += [in_words(one, seen) for one in uneven_passes(ran.plan)]
    launches = execution.launches
    if ran.case.counters and ran.word is None:
        launches = with_shape(Shaped(job.exercise, job.compiled, ran.case.size, job.backend.device_limits), launches)
    wrong = None if ran.wrong is None else in_words(ran.wrong, seen)
    return CaseOutcome(
        ran.case, job.backend.name, ran.word, wrong, tuple(found), launches, execution.printed,
        execution.timeline, execution.host_counters, execution.has_state,
    )  # fmt: skip


def _wrong(job: Job, case: Case, data: CaseData, plan: LaunchPlan, execution: Execution) -> Finding | None:
    """What is wrong with the outputs, or with the inputs that should have stayed as they were."""
    from grader.compare import compare

    exercise = job.exercise
    found = compare(
        exercise, case.size, case.values, execution.outputs, data.expected, data.inputs, plan=plan,
        beside=partial(inputs_there, exercise, case, job.book),
    )  # fmt: skip
    if found is not None:
        found = replace(found, names=_known_as(job, plan, found.array))
        return with_time(found, exercise, case, job.book, execution.outputs)
    changed = next(iter(execution.inputs_changed), None)
    if changed is None:
        return None
    if exercise.host:
        return Finding("wrong", "overwritten_in_host_memory", array=changed)
    return Finding("wrong", "overwritten", array=changed, space="global")


def _known_as(job: Job, plan: LaunchPlan, array: str | None) -> tuple[str, ...]:
    """What the kernels call an array."""
    source = job.compiled.program.source
    pairs = (
        pair
        for launch in plan.launches
        for pair in zip(parameter_names(source, launch.kernel), launch.args, strict=False)
    )
    return tuple(dict.fromkeys(name for name, argument in pairs if name and argument == array))
