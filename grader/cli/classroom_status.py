"""``grade class status`` and ``override``: what is graded and left, what needs the teacher, what they decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.classroom.folder import read_class
from grader.classroom.records import ClassRecord, ClassSubmission, Override, Result, Student
from grader.classroom.run import NEEDS_A_TEACHER, SET_ASIDE
from grader.classroom.store import Store
from grader.cli.course import load
from grader.errors import UsageError
from grader.expressions import did_you_mean
from grader.output import print_json, print_line, say
from grader.text import counted, listed, safe

if TYPE_CHECKING:
    from grader.render.classroom.figures import Task

SCHEMA = "warpgrade/class-run/1"
IDS = 12  # in a list


def selected(record: ClassRecord, student: str | None, exercise: str | None) -> list[ClassSubmission]:
    """The submissions of assigned exercises, of one student or one exercise. Raises UsageError for an unknown one."""
    assigned = [one.name for one in record.assignment.exercises]
    if student is not None and student not in {one.student for one in record.submissions} | {
        one.id for one in record.roster
    }:
        hint = _meant(record, student)
        raise UsageError(f"this class has no student {student!r}", code="unknown_student", hint=hint)
    if exercise is not None and exercise not in assigned:
        hint = did_you_mean(exercise, assigned) or f"the assignment has {listed(assigned)}"
        raise UsageError(f"this class has no exercise {exercise!r}", code="unknown_exercise", hint=hint)
    unique = {submission.key: submission for submission in record.submissions}
    return [
        one
        for one in unique.values()
        if one.exercise in assigned and student in (None, one.student) and exercise in (None, one.exercise)
    ]


def _meant(record: ClassRecord, word: str) -> str:
    """Which id may be meant: by a similar id, a name, or what is before an @."""
    from grader.classroom.collect.people import People

    known = {one.id: one for one in record.roster}
    others = sorted({one.student for one in record.submissions} - known.keys())
    if near := People([*known.values(), *map(Student, others)]).near(word):
        return f"did you mean {' or '.join(near)}? Students are named by their id"
    if near_id := did_you_mean(word, [*known, *others]):
        return near_id
    return "roster.csv has the ids" if known else f"submissions are of {listed(others[:IDS]) or 'nobody'}"


def verdict_words(verdicts: Mapping[str, int]) -> str:
    """``31 pass, 12 wrong, 2 timeout``, the most frequent first."""
    ordered = sorted(verdicts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count} {word}" for word, count in ordered)


def _of(submissions: Sequence[ClassSubmission], results: Sequence[Result]) -> list[Result]:
    keys = {submission.key for submission in submissions}
    return [result for result in results if result.submission in keys]


ADVICE = {
    "inconclusive": "its time could not be measured well enough: grade it again on a quiet machine",
    "error": "the grader failed: the reason stands below",
    SET_ASIDE: "it ended the worker every time: read the file before you grade it again",
    "unsupported": "this machine cannot grade it: `grade doctor` says what is missing",
}
"""What a teacher reads of results that are not about the submission."""


def summary(
    record: ClassRecord, chosen: Sequence[ClassSubmission], store: Store, graded_now: int, elapsed_s: float
) -> dict[str, Any]:
    """What a run or `status` says, as one document. ``left`` also counts ``again``, what is to be graded again."""
    results, graded = _of(chosen, store.results()), store.graded()
    again = sum(result.submission not in graded for result in results)
    named = {submission.key: submission for submission in chosen}
    attention = [
        {
            "student": named[result.submission].student,
            "exercise": named[result.submission].exercise,
            "verdict": result.verdict,
            "reason": next((found["message"] for found in result.run.get("diagnostics", ())), ""),
            "advice": ADVICE[result.verdict],
        }
        for result in results
        if result.verdict in NEEDS_A_TEACHER
    ]
    return {
        "schema": SCHEMA,
        "assignment": record.assignment.name,
        "submissions": len(named),
        "graded": len(results),
        "left": sum(submission not in graded for submission in named),
        "again": again,
        "graded_now": graded_now,
        "elapsed_s": round(elapsed_s, 3),
        "verdicts": dict(sorted(Counter(result.verdict for result in results).items())),
        "for_the_teacher": attention,
        "remarks": remarks(results),
    }


def remarks(results: Sequence[Result]) -> list[str]:
    """What makes results hard to compare: unequal GPUs, several versions, no sandbox."""
    gpus = sorted({result.machine["gpu"] for result in results if result.machine.get("gpu")})
    some = any(result.machine.get("gpu") for result in results)
    without = sum("gpu" in result.machine and not result.machine["gpu"] for result in results)
    versions = sorted({f"{r.versions.get('warpgrade')}, course {r.versions.get('course')}" for r in results})
    open_ = sum(result.sandbox == "none" for result in results)
    said = (
        (len(gpus) > 1, f"The class was graded on unequal GPUs, so times do not compare: {listed(gpus)}."),
        (some and without > 0, f"{counted(without, 'result')} could not use a GPU, and others did."),
        (len(versions) > 1, f"The results are of several versions: {'; '.join(versions)}."),
        (open_ > 0, f"{counted(open_, 'submission')} ran without a sandbox."),
    )
    return [sentence for is_so, sentence in said if is_so]


def print_summary(document: Mapping[str, Any], folder: Path) -> None:
    print_line(f"{document['graded']} of {counted(document['submissions'], 'submission')} graded: "
               f"{verdict_words(document['verdicts']) or 'none'}")  # fmt: skip
    for one in document["for_the_teacher"]:
        print_line(f"  {one['student']} {one['exercise']}: {one['verdict']}, {one['advice']}")
        if one["reason"]:
            print_line(f"      {one['reason']}")
    for sentence in document["remarks"]:
        say(sentence)
    if document["for_the_teacher"]:
        say(AGAIN.format(folder=folder))
    if document["again"]:
        say(
            f"{document['again']} to grade again: `grade class run {folder}` continues. "
            "Until then the older results count."
        )
    if ungraded := document["left"] - document["again"]:
        left = counted(ungraded, "submission")
        say(f"{left} left: `grade class run {folder}` grades what has no result, and nothing twice.")


AGAIN = (
    "To grade one again: `grade class run {folder} --again --student NAME --exercise NAME`. To decide yourself: "
    "`grade class override {folder} NAME EXERCISE --points N --reason TEXT`."
)


def status(folder: Path, as_json: bool, courses: tuple[Path, ...]) -> int:
    """Say what is graded, what is left, what needs the teacher, and what the teacher decided."""
    from grader.classroom.gradebook import gradebook
    from grader.cli.classroom_report import NOTHING_COLLECTED, whole_record, with_unchanged
    from grader.render.classroom.figures import about_people

    record = with_unchanged(folder, whole_record(folder, courses), load(courses))
    chosen = selected(record, None, None)
    with Store.open(folder, make=False) as store:
        document = summary(record, chosen, store, 0, 0.0)
    tasks = about_people(gradebook(record)) if record.submissions else ()
    document["overrides"] = len(record.overrides)
    document["decisions"] = [
        {"student": one.student, "exercise": one.exercise, "points": one.points, "reason": one.reason}
        for one in record.overrides
    ]
    document["about_people"] = [{"what": task.what, "whom": list(task.whom)} for task in tasks]
    if as_json:
        print_json(document)
        return 0
    print_line(record.assignment.title)
    if not record.submissions:
        say(NOTHING_COLLECTED.format(folder=folder))
        return 0
    print_summary(document, folder)
    _print_by_exercise(record, chosen)
    for task in tasks:
        say(task_words(task))
    _print_decisions(record.overrides, folder)
    return 0


def task_words(task: Task) -> str:
    """``2 students submitted nothing: Ada; Bob``."""
    more = f"; and {len(task.whom) - IDS} more" if len(task.whom) > IDS else ""
    return f"{task.what}: {'; '.join(map(safe, task.whom[:IDS]))}{more}" if task.named else task.what


def _print_by_exercise(record: ClassRecord, chosen: Sequence[ClassSubmission]) -> None:
    results = {result.submission: result for result in record.results}
    width = max(len(exercise.name) for exercise in record.assignment.exercises)
    for exercise in record.assignment.exercises:
        mine = [submission for submission in chosen if submission.exercise == exercise.name]
        done = [results[submission.key] for submission in mine if submission.key in results]
        words = verdict_words(Counter(result.verdict for result in done))
        print_line(f"  {exercise.name:<{width}}  {len(done)} of {len(mine)}  {words}".rstrip())


def _print_decisions(overrides: Sequence[Override], folder: Path) -> None:
    if not overrides:
        return
    print_line(f"{counted(len(overrides), 'override')} by the teacher")
    for one in overrides:
        print_line(f"  {safe(one.student)} {one.exercise}: {one.points:g} points, {safe(one.reason)}")
    say(f"`grade class override {folder} NAME EXERCISE --undo` takes one back.")


def override(
    folder: Path, student: str, exercise: str, points: float | None, reason: str, undo: bool, courses: tuple[Path, ...]
) -> int:
    """Store a teacher's decision. Raises UsageError for an unknown student or exercise, or too many points."""
    record = read_class(folder, courses)
    selected(record, student, exercise)
    most = next(one.points for one in record.assignment.exercises if one.name == exercise)
    if undo:
        return _take_back(folder, student, exercise, points, reason)
    if points is None or not reason.strip():
        missing = "--points" if points is None else "--reason"
        hint = "the reason stands in the gradebook; `grade class override --help` shows the options"
        raise UsageError(f"{missing} is missing", code="no_points" if points is None else "no_reason", hint=hint)
    if not 0 <= points <= most:
        hint = "assignment.toml says how many points an exercise has"
        raise UsageError(f"{exercise} has from 0 to {most:g} points, not {points:g}", code="bad_points", hint=hint)
    with Store.open(folder) as store:
        store.add_override(Override(student, exercise, points, reason.strip(), datetime.now(UTC)))
    print_line(f"{student} has {points:g} of {most:g} points for {exercise}: {reason.strip()}")
    return 0


def _take_back(folder: Path, student: str, exercise: str, points: float | None, reason: str) -> int:
    if points is not None:
        raise UsageError("--undo and --points cannot be used together", code="usage", hint="use one of them")
    with Store.open(folder) as store:
        if (student, exercise) not in {(one.student, one.exercise) for one in store.overrides()}:
            hint = f"`grade class status {folder}` lists the overrides"
            raise UsageError(f"{student} has no override for {exercise}", code="no_override", hint=hint)
        store.take_back_override(student, exercise, reason.strip(), datetime.now(UTC))
    print_line(f"The override of {student} for {exercise} is taken back: the points of the grading count again.")
    return 0
