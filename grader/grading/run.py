"""The stages `runs` and `correct` on one backend: every case in a child, its outputs compared in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from grader.backends.conditions import USUAL
from grader.errors import GraderFault, RefusedProgram, SubmissionError, Unsupported, WarpgradeError
from grader.findings.kinds import MISREAD_SHOWS
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.grading import large
from grader.grading.cases import CaseBook, CaseData, case_run, elements, plan_of
from grader.grading.causes import (
    inputs_there,
    misreads,
    note_on,
    since,
    uneven_passes,
    with_time,
    without_values,
)
from grader.grading.hints import UNEVEN_PASS, about_type, in_words
from grader.grading.hints.rules import Seen
from grader.grading.judge import TIMING_WORDS, failure_word
from grader.grading.needed import Trials, Unneeded, asked, unneeded
from grader.grading.records import BackendReport, Case, CaseOutcome, CompiledSubmission, Speed
from grader.grading.repeats import Ran, after_another_case, in_other_orders, with_other_values, without_unused_lanes
from grader.grading.source_view import SourceView
from grader.grading.technique import Shaped, evaluate, with_shape
from grader.launch.source import parameter_names

if TYPE_CHECKING:
    from grader.backends.base import Backend, CaseRun, Execution, Limits, Session
    from grader.backends.conditions import Conditions
    from grader.exercise import Exercise
    from grader.launch import LaunchPlan
    from grader.verdict import LaunchRecord

Timer = Callable[["Session"], Speed | None]


@dataclass(frozen=True)
class Job:
    """One submission on one backend. ``timer`` is called in the same session after all cases passed.

    ``large`` is a case that is run last; ``given_kernel``: the `.cu` is the course's own, ``given_launches``: its
    launch lines are; ``tell`` is called with the next case.
    """

    exercise: Exercise
    compiled: CompiledSubmission
    book: CaseBook
    cases: Sequence[Case]
    backend: Backend
    limits: Limits
    timer: Timer | None = None
    large: Case | None = None
    given_kernel: bool = False
    given_launches: bool = False
    tell: Callable[[str], None] = lambda words: None


def run_job(job: Job) -> BackendReport:
    """Run the cases in order, up to the first that fails; after a race the others are still run."""
    outcomes: list[CaseOutcome] = []
    stop: WarpgradeError | None = None
    speed: Speed | None = None
    sandbox = "landlock"
    padded: tuple[Unneeded, ...] = ()
    changed: tuple[LaunchRecord, ...] = ()
    try:
        with job.backend.open(job.compiled.program, job.limits) as session:
            sandbox = session.sandbox
            for number, case in enumerate(job.cases, start=1):
                job.tell(f"case {number} of {len(job.cases)}")
                outcomes.append(run_case(job, session, case, number))
                if outcomes[-1].wrong is not None or outcomes[-1].word not in (None, "race"):
                    break
            if _all_right(outcomes):
                outcomes += _further_outcomes(job, session, outcomes)
            if _all_right(outcomes):
                padded = _unneeded(job, session, outcomes)
            if job.timer is not None and _all_right(outcomes):
                job.tell("timing")
                speed = _timed(job.timer, session)
        changed = _changed_launches(job) if _all_right(outcomes) else ()
    except (SubmissionError, Unsupported, GraderFault) as error:
        stop = error
    return BackendReport(job.backend.name, tuple(outcomes), stop, speed, sandbox, padded, changed)


def _changed_launches(job: Job) -> tuple[LaunchRecord, ...]:
    """The launches of the counted size with the changed kernel, in a session of its own; () if nothing asks for it."""
    case = next((case for case in job.cases if case.counters), None)
    if job.compiled.changed is None or case is None:
        return ()
    changed = replace(job, compiled=job.compiled.changed)
    with job.backend.open(changed.compiled.program, job.limits) as session:
        return session.run(replace(_case_run(changed, case), counters=True)).launches


def _all_right(outcomes: Sequence[CaseOutcome]) -> bool:
    return not any(outcome.failed for outcome in outcomes)


def _further_outcomes(job: Job, session: Session, outcomes: Sequence[CaseOutcome]) -> Iterator[CaseOutcome]:
    """The first failure, if there is one, of a second launch of a right case; then what the large case shows."""
    if any(outcome.has_state for outcome in outcomes):
        for outcome in _second_launches(job, session):
            if outcome.failed:
                yield outcome
                return
    of_large = None if job.large is None or _misses(job, outcomes) else _of_large_case(job, session, job.large)
    if of_large is not None:
        yield of_large


def _unneeded(job: Job, session: Session, outcomes: Sequence[CaseOutcome]) -> tuple[Unneeded, ...]:
    """The expectations that are met only by instructions on which no output depends."""
    counted = next((one for one in outcomes if one.execution is not None and one.execution.sites), None)
    if counted is None or counted.execution is None:
        return ()
    size = max(job.exercise.small, key=elements)
    small = _case_run(job, Case(size, "real"))
    try:
        trials = Trials(session, (small, session.run(small)), (_case_run(job, counted.case), counted.execution))
        found = [
            unneeded(expect, counted.execution.sites, counted.case.size, job.book.seed, trials.change_nothing)
            for expect in asked(job.exercise)
        ]
    except SubmissionError:  # the time for all cases is over: earlier findings remain true
        return ()
    return tuple(filter(None, found))


def _case_run(job: Job, case: Case) -> CaseRun:
    return case_run(job.exercise, case, job.book.data(case), _plan(job, case))


def _plan(job: Job, case: Case) -> LaunchPlan:
    return plan_of(job.exercise, case, job.compiled, job.backend.device_limits)


def _timed(timer: Timer, session: Session) -> Speed | None:
    """The timing. Raises SubmissionError if a timed launch has a wrong output or a stray write."""
    try:
        speed = timer(session)
    except Unsupported as error:  # the answer is right, but this machine cannot time it
        return Speed("unsupported", error.message)
    if speed is not None and speed.word not in TIMING_WORDS:
        raise SubmissionError(speed.word, speed.detail, diagnostics=speed.diagnostics)
    return speed


def run_case(job: Job, session: Session, case: Case, number: int = 0, *, before: Case | None = None) -> CaseOutcome:
    """Run one case, also under other conditions if these may change its result, and compare its outputs.

    ``number`` selects one of the other orders. Module variables have their first values, or those that the case
    ``before`` leaves in them. A submission's own error is an outcome. Raises Unsupported, GraderFault, and
    RefusedProgram, which does not belong to a case.
    """
    again, file = partial(_ran, job, session, case), job.compiled.program.name
    try:
        if before is None:
            ran = with_other_values(again(), again)
        else:
            again = partial(after_another_case, partial(_ran, job, session, before), again, file)
            ran = again()
        orders = _orders(job, ran, number) if before is None or before.size == case.size else ()
        ran = in_other_orders(ran, again, orders, file, explains=not job.exercise.host)
    except RefusedProgram:
        raise
    except SubmissionError as error:
        return CaseOutcome(case, job.backend.name, error.verdict, diagnostics=error.diagnostics)
    return _told(job, _with_time(job, session, ran))


def _second_launches(job: Job, session: Session) -> Iterator[CaseOutcome]:
    """A small and a large case after one of another size, and after one of the same size with other values; the latter
    in other orders, too.
    """
    largest, larger = _largest(job), [case for case in job.cases if not (case.small or case.counters)][:1]
    for case, other in zip((largest, *larger), (*larger, largest), strict=True):
        if other is not case:
            yield run_case(job, session, case, before=other)
        yield run_case(job, session, case, before=replace(case, values="exact" if case.values == "real" else "real"))


def _orders(job: Job, ran: Ran, number: int) -> Sequence[str]:
    """The other orders of a case: small cases have one each, in turn; those of the largest small size have all.

    With a host file, whose cases are two runs, only the largest small one has some, and none with given kernels.
    """
    orders = ran.execution.other_orders
    if not ran.case.small or job.given_kernel or (job.exercise.host and ran.case != _largest(job)):
        return ()
    return orders if ran.case.size == _largest(job).size else orders[number % max(1, len(orders)) :][:1]


def _largest(job: Job) -> Case:
    return max((case for case in job.cases if case.small), key=lambda case: elements(case.size))


def _ran(job: Job, session: Session, case: Case, conditions: Conditions = USUAL) -> Ran:
    data = job.book.data(case)
    plan = _plan(job, case)
    usual = conditions == USUAL
    counters, by_site = usual and (case.counters or case.confirms), usual and case.counters
    run = replace(case_run(job.exercise, case, data, plan), counters=counters, conditions=conditions)
    run = replace(run, by_site=by_site and bool(asked(job.exercise)))
    execution = without_unused_lanes(session, run, session.run(run))
    word = failure_word(execution)
    ran = Ran(case, plan, execution, word, _wrong(job, case, data, plan, execution) if word in (None, "race") else None)
    unset = ran.found("uninitialised_read")
    if ran.wrong is not None and (word == "race" or unset):  # this explains the values
        return replace(ran, wrong=without_values(ran.wrong, unset=unset))
    return ran


def _misses(job: Job, outcomes: Sequence[CaseOutcome]) -> bool:
    """Whether the technique is missed: that comes first."""
    launches = next((outcome.launches for outcome in outcomes if outcome.case.counters), ())
    return any(evaluate(expect, launches, job.exercise.simulated) for expect in job.exercise.technique)


def _of_large_case(job: Job, session: Session, case: Case) -> CaseOutcome | None:
    """The outcome of the large case if it shows an error, or right values; else None, as of a run that ends early."""
    data = job.book.data(case)
    try:
        plan = plan_of(job.exercise, case, job.compiled, job.backend.device_limits)
        if not large.fits(plan):
            return None
        execution = session.run(large.large_run(job.exercise, case, data, plan))
    except SubmissionError as error:
        too_narrow = large.is_narrow(error)
        return CaseOutcome(case, job.backend.name, error.verdict, diagnostics=error.diagnostics) if too_narrow else None
    shown = large.certain(execution)
    ran = Ran(case, plan, shown, failure_word(shown), None)
    final = ran.word is None and large.are_final(job.exercise, plan, execution)
    if final:
        wrong = large.wrong_value(job.exercise, case, data, execution.outputs, plan)
        ran = replace(ran, wrong=wrong and replace(wrong, names=_known_as(job, plan, wrong.array)))
    if not ran.is_right:
        return _told(job, ran)
    is_shown = final and execution.failure is None
    return CaseOutcome(case, job.backend.name, part="three of its blocks") if is_shown else None


def _with_time(job: Job, session: Session, ran: Ran) -> Ran:
    """The case with the time of its inputs. A few integers may agree by chance, so a case with real values decides."""
    wrong = ran.wrong
    if not job.exercise.host or wrong is None or ran.word or ran.case.values == "real" or "since" in wrong.facts:
        return ran
    try:
        again = _ran(job, session, replace(ran.case, values="real")).wrong
    except WarpgradeError:  # the finding remains true
        return ran
    return (
        ran
        if again is None or "since" not in again.facts
        else replace(ran, wrong=since(wrong, again.facts["since"], again.facts["warm_up"]))
    )


def _told(job: Job, ran: Ran) -> CaseOutcome:
    """The outcome, with the sentence and the hint of each finding."""
    execution, failed = ran.execution, ran.wrong is not None or ran.word is not None
    explains = ran.wrong is not None or ran.word in MISREAD_SHOWS
    reads = misreads(job.exercise, job.compiled, ran.plan) if explains else ()
    source = SourceView(job.compiled.program.source)
    seen = Seen(source, ran.plan, reads, job.exercise.host, job.given_kernel, job.given_launches)
    found = [about_type(one, seen) for one in execution.diagnostics]
    found += [in_words(one, seen) for one in execution.findings]
    found += [in_words(note_on(reads), seen)] if reads else []
    if failed and not any(one.rule == UNEVEN_PASS for one in found):
        found += [in_words(one, seen) for one in uneven_passes(ran.plan)]
    launches = execution.launches
    if (ran.case.counters or ran.case.confirms) and ran.word is None:
        launches = with_shape(Shaped(job.exercise, job.compiled, ran.case.size, job.backend.device_limits), launches)
    wrong = None if ran.wrong is None else in_words(ran.wrong, seen)
    return CaseOutcome(
        ran.case, job.backend.name, ran.word, wrong, tuple(found), launches, execution.printed,
        execution.timeline, execution.host_counters, execution.has_state, execution if execution.sites else None,
    )  # fmt: skip


def _wrong(job: Job, case: Case, data: CaseData, plan: LaunchPlan, execution: Execution) -> Finding | None:
    """The finding on a wrong output or a changed input; None if all are right."""
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
    """The names of an array in the kernels."""
    source = job.compiled.program.source
    pairs = (
        pair
        for launch in plan.launches
        for pair in zip(parameter_names(source, launch.kernel), launch.args, strict=False)
    )
    return tuple(dict.fromkeys(name for name, argument in pairs if name and argument == array))
