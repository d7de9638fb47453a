"""The verdict from what the backends found: stages, words, points, diagnostics in order. Pure.

The verdict is the word of the first stage that did not pass; later stages are ``skipped``, except that ``correct`` is
still shown after a ``race``. A stage that cannot be graded is ``not_graded``, so that the maximum depends on the
exercise and the machine, not on the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from grader.counters import HOST_COUNTERS
from grader.errors import GraderFault, SubmissionError, Unsupported, WarpgradeError
from grader.exercise import BugLine
from grader.findings.kinds import kind_of, word_of_kind
from grader.findings.record import Finding
from grader.grading import answers, habits, technique
from grader.grading.hints import in_words
from grader.grading.hints.rules import Seen
from grader.grading.records import BackendReport, CaseOutcome, Request, SourceTexts, StageOutcome
from grader.grading.source_view import SourceView
from grader.text import bytes_words, counted
from grader.verdict import STAGES, VERDICTS, CaseResult, Diagnostic, LaunchRecord, StageResult, Status, Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from grader.backends.base import Execution
    from grader.compile import Program
    from grader.grading.needed import Unneeded

# ------------------------------------------------------------------------------------------------- words and stages


def word_of(diagnostic: Diagnostic | Finding) -> str | None:
    """The verdict word of an error; None for a warning or a note."""
    if diagnostic.severity != "error":
        return None
    word = word_of_kind(diagnostic.kind)
    if word not in VERDICTS:
        raise GraderFault(f"a backend reported {diagnostic.kind!r}, for which there is no verdict word")
    return word


def failure_word(execution: Execution) -> str | None:
    """The verdict word of a case that failed: the backend's own word, else that of its diagnostics; None if it ran."""
    if execution.failure is None:
        words = (*map(word_of, execution.diagnostics), *map(word_of, execution.findings))
        return next(filter(None, words), None)
    word = word_of_kind(execution.failure)
    if word not in VERDICTS or word == "pass":
        raise GraderFault(f"a backend said that a run failed with {execution.failure!r}, which is no failure")
    return word


TIMING_WORDS = ("pass", "slow", "inconclusive", "cheat", "unsupported", "unlined")
"""The words of the stage `fast`; `unsupported`: the exercise cannot be timed on this GPU; `unlined`: it was timed, but
there is no pass line.
"""

_STAGES: Mapping[str, str] = {
    **dict.fromkeys(("compile_error", "invalid", "policy"), "compiles"),
    "wrong": "correct",
    "technique": "technique",
    **dict.fromkeys(("pass", "slow", "inconclusive", "cheat"), "fast"),
}


def failure_stage(word: str) -> str:
    """The stage that fails with a backend's word: ``runs`` unless the word belongs to another stage."""
    return _STAGES.get(word, "runs")


def ungraded(request: Request) -> Mapping[str, str]:
    """The stages that cannot be graded for this exercise on this machine, each with the reason."""
    exercise, services = request.exercise, request.services
    reasons = {}
    if not exercise.technique and not exercise.answers:
        reasons["technique"] = "this exercise asks for no particular technique"
    elif services.simulator is None and not (
        any(isinstance(answer, BugLine) for answer in exercise.answers)
        or any(map(technique.is_in_code, exercise.technique))
    ):
        reasons["technique"] = "only the simulator counts, and it did not run"
    if exercise.target is None or exercise.timed is None:
        reasons["fast"] = "this exercise is not timed"
    elif services.gpu is None:
        shows = f"; only the time shows {exercise.only_timed}" if exercise.only_timed else ""
        reasons["fast"] = f"{services.why_no_gpu}{shows}"
    return reasons


def judge_stages(
    request: Request, reports: Sequence[BackendReport], compiled: str, code: Sequence[LaunchRecord] = ()
) -> tuple[StageOutcome, ...]:
    """The outcome of each stage; the simulator's report comes first. ``compiled`` is the detail of ``compiles``.

    ``code`` are the launches with the counters of the kernels' code, where no simulator ran.
    """
    left_out = {name: StageOutcome(name, "not_graded", detail=why) for name, why in ungraded(request).items()}
    return (
        # Launch lines are checked when they are resolved, at each size.
        _first_failure("compiles", reports) or StageOutcome("compiles", "passed", detail=compiled),
        _first_failure("runs", reports) or StageOutcome("runs", "passed", detail=_counted(reports)),
        correct(reports),
        left_out.get("technique")
        or with_answers(technique_outcome(request, reports, code), answers_of(request, reports)),
        left_out.get("fast") or fast(reports),
    )


def _first_failure(stage: str, reports: Sequence[BackendReport]) -> StageOutcome | None:
    """The first backend's failure in ``compiles``, or in ``runs``: a fault, a hang, a stray access, a race."""
    for report in reports:
        for outcome in report.outcomes:
            # Every failure of a case belongs to `runs`, except a launch that does not fit.
            if outcome.word and stage == ("compiles" if failure_stage(outcome.word) == "compiles" else "runs"):
                unnamed = (Diagnostic(outcome.word, f"the run ended with {outcome.word!r}"),)
                detail = outcome.errors[0].message if outcome.errors else outcome.word
                return StageOutcome(stage, "failed", outcome.word, detail, outcome.errors or unnamed)
        if stopped := _stopped(stage, report):
            return stopped
    return None


def _stopped(stage: str, report: BackendReport) -> StageOutcome | None:
    """The outcome of ``stage`` if the error that ended the report's session belongs to it; else None."""
    stop = report.stop
    if stop is None or stage != (failure_stage(stop.verdict) if isinstance(stop, SubmissionError) else "runs"):
        return None
    word, diagnostics = trouble(stop)
    return StageOutcome(stage, "failed", word, stop.message, diagnostics)


def trouble(error: WarpgradeError) -> tuple[str, tuple[Diagnostic, ...]]:
    """The verdict word and the diagnostics of an error that ended a grading."""
    if isinstance(error, SubmissionError):
        return error.verdict, error.diagnostics
    if isinstance(error, Unsupported):
        return "unsupported", error.diagnostics
    return "error", (Diagnostic("error", error.message, hint=error.hint),)


def correct(reports: Sequence[BackendReport]) -> StageOutcome:
    """The first wrong output: of the smallest size, on the first backend that shows it."""
    wrong = [outcome for report in reports for outcome in report.outcomes if outcome.wrong is not None]
    if wrong:
        first = min(wrong, key=lambda outcome: sum(outcome.case.size.values())).wrong
        assert first is not None
        return StageOutcome("correct", "failed", "wrong", first.message, (first,))
    for report in reports:
        if stopped := _stopped("correct", report):
            return stopped
    ran = any(outcome.word in (None, "race") for report in reports for outcome in report.outcomes)
    return StageOutcome("correct", "passed" if ran else "skipped", detail=_counted(reports))


def _counted(reports: Sequence[BackendReport]) -> str:
    words = {"sim": "the simulator", "gpu": "the GPU"}
    counts = [(sum(o.word is None for o in report.outcomes), words[report.backend]) for report in reports]
    return ", ".join(f"{counted(count, 'case')} on {where}" for count, where in counts if count)


HOST_PART = 0.1
"""The part of the outputs that a host file may compute by itself: a border, or a remainder."""


def technique_outcome(
    request: Request, reports: Sequence[BackendReport], code: Sequence[LaunchRecord] = ()
) -> StageOutcome:
    """The exercise's expectations on the counters of the simulated size, or without a simulator on the code's."""
    from grader.inputs import element_bytes, element_count

    if request.services.simulator is None:
        return _by_the_code(request, code)
    exercise, launches, host = request.exercise, counted_launches(reports), host_counters(reports)
    if not launches and not host:
        return StageOutcome("technique", "skipped", detail="the simulated size did not run")
    if not launches:
        return _by_the_host(request, None)
    output_bytes = sum(element_count(a, exercise.simulated) * element_bytes(a) for a in exercise.outputs)
    if host.get("host_written_bytes", 0.0) > HOST_PART * output_bytes:
        return _by_the_host(request, int(host["host_written_bytes"]))
    strictest = technique.strictest(exercise.technique)
    misses = [technique.evaluate(expect, launches, exercise.simulated, host) for expect in strictest]
    missed = technique.without_consequences([miss for miss in misses if miss is not None], launches)
    question = technique.question_of(launches)
    seen = Seen(SourceView(request.submission.texts.shown(request.submission.path)))
    found = tuple(
        in_words(technique.finding(miss, _file_of(miss, request), _note(miss.expect.note, reports), question), seen)
        for miss in missed
    )
    if not found:
        found = _elsewhere(request, reports, launches)
    found += tuple(in_words(technique.padding(one, request.submission.path.name), Seen()) for one in _unneeded(reports))
    if found:
        return StageOutcome("technique", "failed", "technique", found[0].message, found)
    words = (technique.graded(one, launches, exercise.simulated, host) for one in strictest)
    return StageOutcome("technique", "passed", detail="; ".join(words))


def with_answers(outcome: StageOutcome, given: Sequence[answers.Judged]) -> StageOutcome:
    """The outcome of ``technique``, or the first comment that is not right where the counters are."""
    found = tuple(in_words(one.finding, Seen()) for one in given if one.finding is not None)
    if outcome.status != "passed" or not found:
        return outcome
    return StageOutcome("technique", "failed", "technique", found[0].message, found)


def answers_of(request: Request, reports: Sequence[BackendReport]) -> tuple[answers.Judged, ...]:
    """The comments that the exercise asks for, in the file as it was when grading began.

    Those about counters are judged only if the kernel was counted, and so was the changed one.
    """
    path, stub, exercise = request.submission.path, request.submission.stub, request.exercise
    changed = next((report.changed for report in reports if report.changed), ())
    counted = answers.Counted(exercise.simulated, counted_launches(reports), changed)
    asked = [one for one in exercise.answers if isinstance(one, BugLine) or (counted.given and counted.changed)]
    if not asked or stub is None:
        return ()
    failed = (_first_failure("compiles", reports), _first_failure("runs", reports))
    passes = not any(failed) and correct(reports).status == "passed"
    texts = answers.Texts(request.submission.texts.shown(path), _NOTHING_READ.shown(stub), path.name, passes)
    return answers.judged(asked, texts, counted)


def _by_the_code(request: Request, launches: Sequence[LaunchRecord]) -> StageOutcome:
    """The expectations that need no run."""
    exercise = request.exercise
    asked = technique.strictest([expect for expect in exercise.technique if technique.is_in_code(expect)])
    misses = [technique.evaluate(expect, launches, exercise.simulated) for expect in asked]
    file = request.submission.path.name
    found = tuple(in_words(technique.finding(miss, file), Seen()) for miss in misses if miss is not None)
    if found:
        return StageOutcome("technique", "failed", "technique", found[0].message, found)
    words = (technique.graded(one, launches, exercise.simulated) for one in asked)
    return StageOutcome("technique", "passed", detail="; ".join(words))


def _elsewhere(
    request: Request, reports: Sequence[BackendReport], launches: Sequence[LaunchRecord]
) -> tuple[Diagnostic, ...]:
    """The expectations that only the simulated size meets."""
    exercise, file = request.exercise, request.submission.path.name
    every = (outcome for report in reports if report.backend == "sim" for outcome in report.outcomes)
    outcomes = (outcome for outcome in every if outcome.case.confirms and outcome.word is None)
    misses = (
        technique.evaluate_elsewhere(
            expect, outcome.launches, outcome.case.size, launches, exercise.simulated, tails=not outcome.case.small
        )
        for outcome in outcomes
        for expect in exercise.technique
    )
    return tuple(in_words(technique.finding_elsewhere(miss, file), Seen()) for miss in misses if miss is not None)


def _unneeded(reports: Iterable[BackendReport]) -> Iterator[Unneeded]:
    return (one for report in reports for one in report.unneeded)


def _by_the_host(request: Request, count: int | None) -> StageOutcome:
    """The outcome for a host file that computed the right answer mostly without kernels; ``count`` None: with none."""
    outputs = " and ".join(f"`{array.name}`" for array in request.exercise.outputs)
    facts = {} if count is None else {"computed": bytes_words(count), "outputs": outputs}
    file = request.submission.host_file.name if request.submission.host_file is not None else None
    cause = "no_kernel" if count is None else "by_the_host"
    found = in_words(Finding("technique", cause, file=file, facts=facts), Seen())
    return StageOutcome("technique", "failed", "technique", found.message, (found,))


def _file_of(miss: technique.Miss, request: Request) -> str:
    """The file of a missed expectation: the host file, if the counter is one of the host."""
    if miss.expect.counter not in HOST_COUNTERS:
        return request.submission.path.name
    host_file = request.submission.host_file
    return host_file.name if host_file is not None else f"{request.exercise.name}_host.py"


def _note(kind: str, reports: Sequence[BackendReport]) -> Diagnostic | None:
    """The note of this kind with a hint, of the counted run; None if there is none."""
    notes = (note for outcome in _counted_outcomes(reports) for note in outcome.diagnostics)
    return next((note for note in notes if note.kind == kind and note.hint), None)


def fast(reports: Sequence[BackendReport]) -> StageOutcome:
    """The outcome of timing. If it is inconclusive or impossible here, its points do not count in the maximum."""
    gpu = next(report for report in reports if report.backend == "gpu")
    if gpu.speed is None:
        return _stopped("fast", gpu) or StageOutcome("fast", "skipped")
    speed = gpu.speed
    if speed.word == "unlined":
        return StageOutcome("fast", "not_graded", detail=speed.detail)
    found = speed.diagnostics or ((Diagnostic(speed.word, speed.detail),) if speed.word != "pass" else ())
    return StageOutcome("fast", _SPEED_STATUS.get(speed.word, "failed"), speed.word, speed.detail, found)


_SPEED_STATUS: Mapping[str, Status] = {"pass": "passed", "inconclusive": "not_graded", "unsupported": "not_graded"}


def settle(found: Sequence[StageOutcome]) -> tuple[str, tuple[StageResult, ...]]:
    """The verdict word, and the stages for the report: those after the first failure are skipped."""
    word = "pass"
    shown = []
    for stage in found:
        status = stage.status
        if word != "pass" and status != "not_graded" and not (word == "race" and stage.name == "correct"):
            status = "skipped"
        shown.append(StageResult(stage.name, status, stage.detail if status != "skipped" else ""))
        word = stage.word if word == "pass" else word
    return word, tuple(shown)


def cut_short(request: Request, stage: str, word: str, detail: str) -> tuple[StageResult, ...]:
    """All stages of a grading that ended in ``stage``.

    Later stages are skipped; if the end is not the submission's fault, this and later stages are not graded.
    """
    at = STAGES.index(stage)
    if word in ("unsupported", "error"):
        before = tuple(StageResult(name, "passed") for name in STAGES[:at])
        return (*before, *(StageResult(name, "not_graded", detail) for name in STAGES[at:]))
    left_out = ungraded(request)
    later = (
        StageOutcome(name, "not_graded" if name in left_out else "skipped", detail=left_out.get(name, ""))
        for name in STAGES[at + 1 :]
    )
    return settle((StageOutcome(stage, "failed", word, detail), *later))[1]


NEEDED = {"correct": ("runs", "correct"), "technique": ("technique",), "fast": ("fast",)}
"""The stages that must pass to earn the points of each: a right answer with a race earns none."""


def score(points: tuple[int, int, int], stages: Sequence[StageResult]) -> tuple[int, int]:
    """(score, maximum); ``points`` are `Exercise.points`: correct, technique, fast.

    The maximum is without stages that are not graded, so that 80 of 80 on a machine without a GPU is a full score.
    """
    status = {stage.name: stage.status for stage in stages}
    graded = {name: worth for name, worth in zip(NEEDED, points, strict=True) if status[name] != "not_graded"}
    earned = (worth for name, worth in graded.items() if all(status[need] == "passed" for need in NEEDED[name]))
    return sum(earned), sum(graded.values())


# ---------------------------------------------------------------------------------------------------- the report


def counted_launches(reports: Iterable[BackendReport]) -> tuple[LaunchRecord, ...]:
    """The launches of the simulated size, with their counters."""
    return next((outcome.launches for outcome in _counted_outcomes(reports)), ())


def host_counters(reports: Iterable[BackendReport]) -> Mapping[str, float]:
    """The counters of the host file at the simulated size."""
    return next((outcome.host_counters for outcome in _counted_outcomes(reports)), {})


def _counted_outcomes(reports: Iterable[BackendReport]) -> Iterator[CaseOutcome]:
    """The outcomes of cases with counters."""
    return (o for report in reports if report.backend == "sim" for o in report.outcomes if o.case.counters)


def timeline(word: str, reports: Sequence[BackendReport], failing: CaseResult | None) -> Timeline | None:
    """The run to draw: of the failing case; if all are right the timed run, but after ``technique`` the counted one."""
    outcomes = [outcome for report in reports for outcome in report.outcomes if outcome.timeline is not None]
    if failing is not None:
        return next((outcome.timeline for outcome in outcomes if outcome.result == failing), None)
    timed = [report.speed.timeline for report in reports if report.speed is not None]
    counted = [outcome.timeline for outcome in outcomes if outcome.case.counters]
    known = [*counted, *timed] if word == "technique" else [*timed, *counted]
    return next((each for each in known if each is not None), None)


def failing(outcomes: Sequence[CaseOutcome], diagnostics: Sequence[Diagnostic]) -> CaseResult | None:
    """The case whose first finding is the first of ``diagnostics``; None if there is none."""
    firsts = ((outcome, next(iter((*outcome.errors, outcome.wrong)), None)) for outcome in outcomes)
    return next((outcome.result for outcome, first in firsts if first and first in diagnostics[:1]), None)


def printed(outcomes: Sequence[CaseOutcome], failing: CaseResult | None) -> tuple[str, CaseResult | None]:
    """The output of the failing case, and the case; if it has none, of the smallest case with output."""
    printing = [outcome for outcome in outcomes if outcome.printed]
    printing.sort(key=lambda outcome: outcome.result != failing)  # stable: smaller cases stay first
    return (printing[0].printed, printing[0].result) if printing else ("", None)


def beside(request: Request, reports: Sequence[BackendReport], word: str) -> tuple[Diagnostic, ...]:
    """The notes on the file: the bug's line is right, but the kernel fails; the kernel works, but without a promise."""
    path = request.submission.path
    note = answers.found_note(answers_of(request, reports), path.name)
    kinds = [kind for kind in ("barrier_in_branch", "active_mask") if word in (kind_of(kind).beside or ())]
    text, launches = request.submission.texts.shown(path), counted_launches(reports)
    found = [*([note] if note else ()), *(habits.notes(text, path.name, launches) if kinds else ())]
    return tuple(in_words(one, Seen()) for one in found if word in (kind_of(one.kind).beside or ()))


def ordered(found: Sequence[StageOutcome], reports: Sequence[BackendReport], word: str) -> list[Diagnostic]:
    """Every diagnostic once: those that decide the verdict, a wrong output beside a race, then warnings and notes.

    A warning on misread arguments comes first if it may be the cause.
    """
    decisive = [stage for stage in found if stage.word == word]
    beside = [stage for stage in found if word == "race" and stage.word == "wrong"]
    errors = [item for stage in (*decisive[:1], *beside) for item in stage.diagnostics]
    outcomes = [outcome for report in reports for outcome in report.outcomes]

    def belongs(item: Diagnostic, outcome: CaseOutcome) -> bool:
        """Whether a note is shown with this verdict; notes on counters only if they are of the counted run."""
        kind = kind_of(item.kind)
        return (kind.beside is None or word in kind.beside) and (not kind.counted or outcome.case.counters)

    every = [item for outcome in outcomes for item in outcome.diagnostics if belongs(item, outcome)]
    softer = {_SAME_NOTE(item): item for item in reversed(every) if item.severity != "error"}
    reads = {_PLACE(item) for item in softer.values() if item.kind == "uninitialised_read"}
    softer = {at: item for at, item in softer.items() if item.kind != "unused_read" or _PLACE(item) not in reads}
    causes = [item for item in reversed(softer.values()) if word in kind_of(item.kind).first_beside]
    rest = [item for item in reversed(softer.values()) if item not in causes]
    return [*causes, *dict.fromkeys(errors), *rest]


_SAME_NOTE = attrgetter("kind", "severity", "file", "line", "array", "kernel")
_PLACE = attrgetter("file", "line", "array")
"""Of a read: where an output depends on it in one case, that none does in another says nothing."""


_NOTHING_READ = SourceTexts()


def with_source(
    diagnostics: Iterable[Diagnostic],
    program: Program,
    host_file: Path | None = None,
    texts: SourceTexts = _NOTHING_READ,
) -> tuple[Diagnostic, ...]:
    """The diagnostics with the text of their lines, if these are lines of the submission."""
    lines = {program.name: program.source.splitlines()}

    def completed(item: Diagnostic) -> Diagnostic:
        if host_file is not None and item.file == host_file.name and item.file not in lines:
            lines[item.file] = texts.shown(host_file).splitlines()
        known = lines.get(item.file or "", ())
        own = item.line is not None and item.source is None and 1 <= item.line <= len(known)
        return replace(item, source=known[(item.line or 0) - 1]) if own else item

    return tuple(map(completed, diagnostics))
