"""The verdict from what the backends found; pure.

The verdict is the word of the first stage that did not pass; later stages are ``skipped``, except that ``correct`` is
still told after a ``race``. What nobody grades stays ``not_graded``, so that the maximum depends on the exercise and
the machine, never on the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.errors import SubmissionError, Unsupported, WarpgradeError
from grader.findings import record
from grader.findings.kinds import kind_of
from grader.grading import technique
from grader.grading.hints import told
from grader.grading.hints.rules import Seen
from grader.grading.records import Finding, Outcome, Report, Request
from grader.grading.shape import question_of
from grader.grading.texts import NOTHING_READ, Texts
from grader.grading.words import failure_stage
from grader.host_counters import is_host_counter
from grader.text import bytes_words
from grader.verdict import STAGES, CaseResult, Diagnostic, LaunchRecord, StageResult, Status, Timeline

if TYPE_CHECKING:
    from pathlib import Path

    from grader.compile import Program
    from grader.exercise import Exercise


def ungraded(request: Request) -> Mapping[str, str]:
    """Return the stages that this exercise on this machine has no grade for, each with the reason."""
    exercise = request.exercise
    reasons = {
        "technique": "this exercise asks for no particular technique"
        if not exercise.technique
        else ""
        if request.services.simulator is not None
        else "only the simulator counts, and it did not run",
        "fast": "this exercise is not timed"
        if exercise.target is None or exercise.timed is None
        else ""
        if request.services.gpu is not None
        else request.services.why_no_gpu,
    }
    return {stage: reason for stage, reason in reasons.items() if reason}


def findings(request: Request, reports: Sequence[Report], compiled: str) -> tuple[Finding, ...]:
    """Return a finding for each stage; the simulator's report comes first. ``compiled`` says what the compiler made."""
    left_out = {name: Finding(name, "not_graded", detail=why) for name, why in ungraded(request).items()}
    return (
        compiles(reports, compiled),
        runs(reports),
        correct(reports),
        left_out.get("technique") or technique_finding(request, reports),
        left_out.get("fast") or fast(reports),
    )


def compiles(reports: Sequence[Report], compiled: str) -> Finding:
    """The file was compiled; whether its launch lines fit is known only when they are resolved, size by size."""
    return _first_failure("compiles", reports) or Finding("compiles", "passed", detail=compiled)


def runs(reports: Sequence[Report]) -> Finding:
    """The first backend's failure that is about running: a fault, a hang, a stray access, a race."""
    return _first_failure("runs", reports) or Finding("runs", "passed", detail=_counted(reports))


def _first_failure(stage: str, reports: Sequence[Report]) -> Finding | None:
    for report in reports:
        failed = next((outcome for outcome in report.outcomes if outcome.word and _ends(outcome.word, stage)), None)
        if failed is not None:
            assert failed.word is not None
            return _failed(stage, failed.word, failed.diagnostics)
        if report.stop is not None and _stage_of(report) == stage:
            return _stopped(stage, report)
    return None


def _ends(word: str, stage: str) -> bool:
    """Whether a case's word belongs to ``stage``: of a case, everything but a launch that does not fit is running."""
    return stage == ("compiles" if failure_stage(word) == "compiles" else "runs")


def correct(reports: Sequence[Report]) -> Finding:
    """The first wrong output: of the smallest size, on the first backend that shows it."""
    wrong = [outcome for report in reports for outcome in report.outcomes if outcome.wrong is not None]
    if wrong:
        first = min(wrong, key=lambda outcome: sum(outcome.case.size.values()))
        assert first.wrong is not None
        return Finding("correct", "failed", "wrong", first.wrong.message, (first.wrong,))
    stopped = next((report for report in reports if report.stop is not None and _stage_of(report) == "correct"), None)
    if stopped is not None:
        return _stopped("correct", stopped)
    ran = [outcome for report in reports for outcome in report.outcomes if outcome.word in (None, "race")]
    return Finding("correct", "passed" if ran else "skipped", detail=_counted(reports))


def technique_finding(request: Request, reports: Sequence[Report]) -> Finding:
    """The exercise's expectations on the counters of the simulated size."""
    exercise, launches, host = request.exercise, counted_launches(reports), host_counters(reports)
    if not launches and not host:
        return Finding("technique", "skipped", detail="the simulated size did not run")
    if not launches:
        return _by_the_host(request, None)
    if host.get("host_written_bytes", 0.0) > HOST_PART * _output_bytes(exercise):
        return _by_the_host(request, int(host["host_written_bytes"]))
    met = [technique.evaluate(expect, launches, exercise.simulated, host) for expect in exercise.technique]
    missed = [miss for miss in met if miss is not None]
    if missed:
        question = question_of(launches)
        records = (
            technique.finding(miss, _file_of(miss, request), _note(miss.expect.note, reports), question)
            for miss in missed
        )
        found = tuple(told(record, Seen()) for record in records)
        return Finding("technique", "failed", "technique", found[0].message, found)
    counted = dict.fromkeys(technique.counted(expect.counter, launches, host) for expect in exercise.technique)
    return Finding("technique", "passed", detail="; ".join(counted))


def _by_the_host(request: Request, count: int | None) -> Finding:
    """A host file whose answer is right, and whose kernels had little to do with it; None: it launched none."""
    outputs = " and ".join(f"`{array.name}`" for array in request.exercise.arrays if array.role == "out")
    facts = {} if count is None else {"computed": bytes_words(count), "outputs": outputs}
    file = request.submission.host_file.name if request.submission.host_file is not None else None
    cause = "no_kernel" if count is None else "by_the_host"
    found = told(record.Finding("technique", cause, file=file, facts=facts), Seen())
    return Finding("technique", "failed", "technique", found.message, (found,))


HOST_PART = 0.1
"""Of the outputs, what a host file may compute by itself: a border, or what is left over at an end."""


def _output_bytes(exercise: Exercise) -> int:
    """Bytes of the outputs at the simulated size."""
    from grader.inputs import element_bytes, element_count

    return sum(
        element_count(array, exercise.simulated) * element_bytes(array)
        for array in exercise.arrays if array.role == "out"
    )  # fmt: skip


def _file_of(miss: technique.Miss, request: Request) -> str:
    """The file that an expectation is about: the host file, where it is about what the host did."""
    if not is_host_counter(miss.expect.counter):
        return request.submission.path.name
    return (
        request.submission.host_file.name
        if request.submission.host_file is not None
        else f"{request.exercise.name}_host.py"
    )


def _note(kind: str, reports: Sequence[Report]) -> Diagnostic | None:
    """The note of that kind with a hint, of the counted run."""
    notes = (note for outcome in _counted_outcomes(reports) for note in outcome.diagnostics)
    return next((note for note in notes if note.kind == kind and note.hint), None)


def fast(reports: Sequence[Report]) -> Finding:
    """The timing's word. Inconclusive or impossible here, it leaves the maximum: nothing was shown either way."""
    gpu = next(report for report in reports if report.backend == "gpu")
    if gpu.speed is None:
        return _stopped("fast", gpu) if gpu.stop and _stage_of(gpu) == "fast" else Finding("fast", "skipped")
    speed = gpu.speed
    if speed.word == "unlined":
        return Finding("fast", "not_graded", detail=speed.detail)
    found = speed.diagnostics or ((Diagnostic(speed.word, speed.detail),) if speed.word != "pass" else ())
    return Finding("fast", _SPEED_STATUS.get(speed.word, "failed"), speed.word, speed.detail, found)


_SPEED_STATUS: Mapping[str, Status] = {
    "pass": "passed",
    "inconclusive": "not_graded",
    "unsupported": "not_graded",
}


def counted_launches(reports: Iterable[Report]) -> tuple[LaunchRecord, ...]:
    """The launches of the simulated size, with their counters."""
    return next((outcome.launches for outcome in _counted_outcomes(reports)), ())


def host_counters(reports: Iterable[Report]) -> Mapping[str, float]:
    """What the host file did at the simulated size."""
    return next((outcome.host_counters for outcome in _counted_outcomes(reports)), {})


def _counted_outcomes(reports: Iterable[Report]) -> Iterator[Outcome]:
    """What the simulator counted."""
    return (o for report in reports if report.backend == "sim" for o in report.outcomes if o.case.counters)


def timeline(word: str, reports: Sequence[Report], failing: CaseResult | None) -> Timeline | None:
    """The run to draw: the failing case's; where all are right the timed one, unless the counters are the point."""
    outcomes = [outcome for report in reports for outcome in report.outcomes if outcome.timeline is not None]
    if failing is not None:
        return next((outcome.timeline for outcome in outcomes if outcome.result == failing), None)
    timed = [report.speed.timeline for report in reports if report.speed is not None]
    counted = [outcome.timeline for outcome in outcomes if outcome.case.counters]
    known = [*counted, *timed] if word == "technique" else [*timed, *counted]
    return next((one for one in known if one is not None), None)


def failing(outcomes: Sequence[Outcome], diagnostics: Sequence[Diagnostic]) -> CaseResult | None:
    """The case whose own first finding is the first of all."""
    firsts = ((outcome, next(iter((*outcome.errors, outcome.wrong)), None)) for outcome in outcomes)
    return next((outcome.result for outcome, first in firsts if first and first in diagnostics[:1]), None)


def printed(outcomes: Sequence[Outcome], failing: CaseResult | None) -> tuple[str, CaseResult | None]:
    """What the kernel printed in the failing case, and that case; else in the smallest case that printed anything."""
    printing = [outcome for outcome in outcomes if outcome.printed]
    printing.sort(key=lambda outcome: outcome.result != failing)  # stable: the smallest stay first
    return (printing[0].printed, printing[0].result) if printing else ("", None)


def settle(found: Sequence[Finding]) -> tuple[str, tuple[StageResult, ...]]:
    """Return the verdict word and the stages as they are shown: what follows the first failure is skipped."""
    word = "pass"
    shown = []
    for finding in found:
        status = finding.status
        if word != "pass" and status != "not_graded" and not (word == "race" and finding.name == "correct"):
            status = "skipped"
        shown.append(StageResult(finding.name, status, finding.detail if status != "skipped" else ""))
        word = finding.word if word == "pass" else word
    return word, tuple(shown)


def ordered(found: Sequence[Finding], reports: Sequence[Report], word: str) -> list[Diagnostic]:
    """Every diagnostic once: what settled the verdict, a wrong output beside a race, then warnings and notes.

    A launch whose arguments are misread comes first where that may be the cause.
    """
    decisive = [finding for finding in found if finding.word == word]
    beside = [finding for finding in found if word == "race" and finding.word == "wrong"]
    errors = [item for finding in (*decisive[:1], *beside) for item in finding.diagnostics]
    outcomes = [outcome for report in reports for outcome in report.outcomes]
    every = [item for outcome in outcomes for item in outcome.diagnostics if _belongs(item, outcome, word)]
    softer = {_place(item): item for item in reversed(every) if item.severity != "error"}
    causes = [item for item in reversed(softer.values()) if word in kind_of(item.kind).first_beside]
    rest = [item for item in reversed(softer.values()) if item not in causes]
    return [*causes, *dict.fromkeys(errors), *rest]


def _belongs(item: Diagnostic, outcome: Outcome, word: str) -> bool:
    """Whether a note is about this verdict; of what is counted, the one of the counted run is."""
    kind = kind_of(item.kind)
    return (kind.beside is None or word in kind.beside) and (not kind.counted or outcome.case.counters)


def with_source(
    diagnostics: Iterable[Diagnostic], program: Program, host_file: Path | None = None, texts: Texts = NOTHING_READ
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with the text of their line, where the line is the submission's own."""
    lines = {program.name: program.source.splitlines()}

    def completed(item: Diagnostic) -> Diagnostic:
        if host_file is not None and item.file == host_file.name and item.file not in lines:
            lines[item.file] = texts.shown(host_file).splitlines()
        known = lines.get(item.file or "", ())
        own = item.line is not None and item.source is None and 1 <= item.line <= len(known)
        return replace(item, source=known[(item.line or 0) - 1]) if own else item

    return tuple(map(completed, diagnostics))


def _place(item: Diagnostic) -> tuple[object, ...]:
    return item.kind, item.severity, item.file, item.line, item.array, item.kernel


def cut_short(request: Request, stage: str, word: str, detail: str) -> tuple[StageResult, ...]:
    """All stages of a grading that ended in ``stage``.

    The later ones are skipped; where the end is not the submission's fault, nothing is graded from there on.
    """
    if word in ("unsupported", "error"):
        at = STAGES.index(stage)
        before = tuple(StageResult(name, "passed") for name in STAGES[:at])
        return (*before, *(StageResult(name, "not_graded", detail) for name in STAGES[at:]))
    left_out = ungraded(request)
    ended = Finding(stage, "failed", word, detail)
    later = (
        Finding(name, "not_graded" if name in left_out else "skipped", detail=left_out.get(name, ""))
        for name in STAGES[STAGES.index(stage) + 1 :]
    )
    return settle((ended, *later))[1]


def _failed(stage: str, word: str, diagnostics: Sequence[Diagnostic]) -> Finding:
    errors = tuple(item for item in diagnostics if item.severity == "error")
    detail = errors[0].message if errors else word
    return Finding(stage, "failed", word, detail, errors or (Diagnostic(kind=word, message=_PLAIN.format(word)),))


_PLAIN = "the run ended with {!r}"


def _stopped(stage: str, report: Report) -> Finding:
    """The finding of what ended a session."""
    stop = report.stop
    assert stop is not None
    word, found = trouble(stop)
    return Finding(stage, "failed", word, stop.message, found)


def trouble(error: WarpgradeError) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return the verdict word and the diagnostics of an error that ended a grading."""
    if isinstance(error, SubmissionError):
        return error.verdict, error.diagnostics
    if isinstance(error, Unsupported):
        return "unsupported", error.diagnostics
    return "error", (Diagnostic("error", error.message, hint=error.hint),)


def _stage_of(report: Report) -> str:
    return failure_stage(report.stop.verdict) if isinstance(report.stop, SubmissionError) else "runs"


def _counted(reports: Sequence[Report]) -> str:
    words = {"sim": "the simulator", "gpu": "the GPU"}
    counts = [(sum(o.word is None for o in report.outcomes), words[report.backend]) for report in reports]
    from grader.text import counted

    return ", ".join(f"{counted(count, 'case')} on {where}" for count, where in counts if count)
