"""``grade class collect``: what was found, as a table for the teacher and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.classroom.collect.collecting import Collection, Request, Stranger, collect
from grader.classroom.gradebook import lateness
from grader.classroom.records import Assignment, ClassSubmission
from grader.cli.deadline import ends_in_time
from grader.output import print_json, print_line, print_table, say, table_of
from grader.text import counted, listed, safe

SCHEMA = "warpgrade/collect/1"
SHOWN = 12  # lines of each list; --json has all


@ends_in_time
def collect_class(
    folder: Path, sources: tuple[Path, ...], form: str, roster: Path | None, times: Path | None,
    names: tuple[str, ...], courses: tuple[Path, ...], *, as_json: bool,
) -> int:  # fmt: skip
    """Collect, and say what was found."""
    found = collect(Request(folder, sources, form, roster, times, names, courses))
    if as_json:
        print_json(document(found))
        return 0
    print_table(_table(found))
    for line in _sections(found):
        print_line(line)
    say(_closing(folder, found))
    return 0


def document(found: Collection) -> dict[str, Any]:
    """The document of ``--json``."""
    return {
        "schema": SCHEMA,
        "assignment": found.assignment.name,
        "submissions": len(found.submissions),
        "new": sorted(found.new),
        "collected_before": found.again,
        "roster": {
            "path": found.roster.path, "students": len(found.roster.students), "columns": dict(found.roster.used),
        },
        "missing": [{"student": student, "exercises": list(names)} for student, names in found.missing.items()],
        "unknown": [
            {
                "name": one.unknown.word, "ambiguous": one.unknown.is_ambiguous, "near": list(one.unknown.near),
                "files": list(one.origins),
            }
            for one in found.strangers
        ],
        "not_on_the_roster": list(found.off_roster),
        "skipped": [
            {"file": one.origin, "reason": one.reason, "student": one.student or None} for one in found.skipped
        ],
        "several": [
            {"student": one.student, "exercise": one.exercise, "versions": number, "counts": which}
            for one, number, which in _several(found)
        ],
        "named_otherwise": [_short(one) for one in found.unsure],
        "unchanged_stubs": [_short(one) for one in found.unchanged],
        "completed": [_short(one) | {"file_of_the_handout": name} for one, name in found.from_stub],
        "order_unknown": [{"student": student, "exercise": exercise} for student, exercise in found.unordered],
        "late_without_time": [_short(one) for one in _late_without_time(found)],
        "unknown_in_times": list(found.times_unknown),
    }  # fmt: skip


def _short(one: ClassSubmission) -> dict[str, Any]:
    return {"student": one.student, "exercise": one.exercise, "origin": one.origin}


def _table(found: Collection) -> Any:
    table = table_of("exercise", "students", "submissions", "new", "late", "without a time", "missing")
    for each in found.assignment.exercises:
        mine = [one for one in found.submissions if one.exercise == each.name]
        late = [one for one in mine if one.marked_late or _days_late(found.assignment, one)]
        counts = (
            len({one.student for one in mine}), len(mine), sum(one.key in found.new for one in mine), len(late),
            sum(one.submitted is None for one in mine), sum(each.name in names for names in found.missing.values()),
        )  # fmt: skip
        table.add_row(each.name, *map(str, counts[:-1]), str(counts[-1]) if found.roster.students else "–")
    return table


def _days_late(assignment: Assignment, one: ClassSubmission) -> int:
    return lateness(assignment.late, assignment.deadline, one.submitted).days


def _sections(found: Collection) -> Iterator[str]:
    """The lists below the table, each with its heading; an empty list is left out."""
    yield from _listed("Missing", list(_missing(found)))
    hint = "not on the roster, not collected; a column `alias` in roster.csv can hold the name"
    yield from _listed(f"Unknown ({hint})", [_stranger_line(one) for one in found.strangers])
    yield from _listed(
        "Collected before, and not on the roster (correct roster.csv, or delete submissions.json and collect again)",
        found.off_roster,
    )
    yield from _listed(
        "Several versions",
        [f"{one.student}: {number} of {one.exercise}; {which}" for one, number, which in _several(found)],
    )
    yield from _listed(
        "Nothing says which version is later (a time in --times would)",
        [f"{student}: {exercise}" for student, exercise in found.unordered],
    )
    yield from _listed(
        "Taken for the exercise, though the name is another",
        [f"{one.student}: {one.origin} is {one.exercise}" for one in found.unsure],
    )
    yield from _listed(
        "Unchanged stubs, collected all the same",
        [f"{who}: {listed(names)}" for who, names in _by_student(found.unchanged).items()],
    )
    yield from _listed(
        "Only one of the two files; the other is the handout's",
        [f"{one.student}: {name} was not submitted" for one, name in found.from_stub],
    )
    yield from _listed(
        "Late, but the LMS's names do not say how late (a time in --times would)",
        [f"{who}: {listed(names)}" for who, names in _by_student(_late_without_time(found)).items()],
    )
    yield from _listed("In --times, but not in the class", found.times_unknown)
    by_reason: dict[str, list[str]] = defaultdict(list)
    for skipped in found.skipped:
        by_reason[skipped.reason].append(skipped.origin)
    for reason, origins in by_reason.items():
        yield from _listed(f"Skipped: {reason}", origins)


def _missing(found: Collection) -> Iterator[str]:
    """Who has not submitted what; with the student's files that were skipped, because one of them may be meant."""
    names = {student.id: student.name for student in found.roster.students}
    skipped: dict[str, list[str]] = defaultdict(list)
    for one in found.skipped:
        skipped[one.student].append(one.name)
    for who, exercises in found.missing.items():
        there = f"; there is {', '.join(skipped[who])}" if who in skipped else ""
        yield f"{who}{f' ({names[who]})' if names[who] else ''}: {_what(found, exercises)}{there}"


def _by_student(submissions: Sequence[ClassSubmission]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = defaultdict(list)
    for one in submissions:
        grouped[one.student].append(one.exercise)
    return grouped


def _listed(heading: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield f"{heading}: {len(lines)}"
    yield from (f"  {safe(line)}" for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"  … and {len(lines) - SHOWN} more; --json has all"
    yield ""


def _what(found: Collection, names: Sequence[str]) -> str:
    return "everything" if len(names) == len(found.assignment.exercises) else listed(names)


def _stranger_line(stranger: Stranger) -> str:
    unknown = stranger.unknown
    near = f"may be any of {listed(unknown.near)}" if unknown.is_ambiguous else f"near: {', '.join(unknown.near)}"
    return f"{unknown.word} ({counted(len(stranger.origins), 'file')})" + (f"; {near}" if unknown.near else "")


def _several(found: Collection) -> Iterator[tuple[ClassSubmission, int, str]]:
    """Students with several submissions of one exercise: the last of them, how many, and which counts."""
    counts = found.assignment.counts
    last = {(one.student, one.exercise): one for one in found.submissions}
    first = {(one.student, one.exercise): one for one in reversed(found.submissions)}
    for place, one in last.items():
        if one.number > 1:
            chosen = first[place] if counts == "first" else one
            which = "the best counts" if counts == "best" else f"the {counts} counts: {chosen.origin}"
            yield one, one.number, which


def _late_without_time(found: Collection) -> list[ClassSubmission]:
    return [one for one in found.submissions if one.marked_late and one.submitted is None]


def _closing(folder: Path, found: Collection) -> str:
    total = counted(len(found.submissions), "submission")
    words = f"{len(found.new)} new, {found.again} collected before; {total} in {folder}/submissions.json."
    if not found.new and not found.again:
        words = f"Nothing was collected; {total} in {folder}/submissions.json."
    if found.roster.students:
        used = ", ".join(f"{what} from {heading!r}" for what, heading in found.roster.used.items())
        words += f" The roster has {counted(len(found.roster.students), 'student')} ({used})."
    else:
        words += f" {folder}/roster.csv has no students: everybody who submitted is in the class."
    untimed = sum(one.submitted is None for one in found.submissions)
    if untimed and found.assignment.deadline:
        words += f" {counted(untimed, 'submission')} without a time will not count as late: --times gives times."
    if any(one.time_from == "git" for one in found.submissions):
        words += " Times from git are what the authors' machines said; --times has the last word."
    if found.submissions:
        words += f" Next: `grade class run {folder}`."
    return words
