"""The commands ``grade class …``, from a new class to its report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from grader.classroom.assignment import EXAMPLE_DEADLINE, FILE, ZONE_HINT
from grader.classroom.folder import init_class
from grader.classroom.records import AssignedExercise, Assignment
from grader.classroom.roster import FILE as ROSTER
from grader.classroom.roster import Roster, read_roster
from grader.cli.course import find, load
from grader.errors import UsageError
from grader.output import print_line, say
from grader.text import counted, listed, safe

# ---------------------------------------------------------------------------------------------------------------- init


def init(folder: Path, exercises: str, title: str, deadline: str | None, courses: Sequence[Path]) -> int:
    """Write the files of a new class; what is there stays as it is."""
    names = [find(load(courses), name).name for name in filter(None, map(str.strip, exercises.split(",")))]
    if (folder / FILE).exists() and (names or title or deadline):
        message = f"{folder / FILE} is already there, and is not changed"
        raise UsageError(message, code="exists", hint="edit it; or run the command without --exercises and the like")
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-_")[:64] or "assignment"
    assigned = tuple(map(AssignedExercise, dict.fromkeys(names or ["vector_add"])))
    made = Assignment(name, title or name, assigned, _deadline(deadline))
    for file, is_new in init_class(folder, made).items():
        print_line(f"  {folder / file}{'' if is_new else '   (was there, and is unchanged)'}")
    print_line("")
    say(_NEXT.format(folder=folder, file=FILE))
    return 0


_NEXT = (
    "Next: read {folder}/{file}, which explains each field; put your students into {folder}/roster.csv, or copy your "
    "LMS's export there. `grade class handout {folder} --to DIR` writes what students get. {folder}/class.key is the "
    "secret of the hidden inputs: keep a copy, and give it to nobody."
)


def _deadline(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        deadline = datetime.fromisoformat(text)
    except ValueError:
        message = f"--deadline {text!r} is no date and time"
        raise UsageError(message, code="bad_deadline", hint=f"write {EXAMPLE_DEADLINE}") from None
    if deadline.tzinfo is None:
        raise UsageError(f"--deadline {text!r} has no time zone", code="bad_deadline", hint=ZONE_HINT)
    return deadline


# ------------------------------------------------------------------------------------------------------------- handout


def handout(folder: Path, to: Path, courses: Sequence[Path], *, common: bool) -> int:
    """Write what students get; what is there already stays as it is."""
    from grader.classroom.assignment import read_assignment
    from grader.classroom.handout import handouts, write_handout
    from grader.classroom.key import assignment_key, read_key

    catalog = load(courses)
    assignment = read_assignment(folder, catalog=catalog)
    roster = read_roster(folder / ROSTER)
    students = roster.students
    _require_recipients(folder, assignment, common=common, any_students=bool(students))
    entries = [catalog.find(each.name) for each in assignment.exercises]
    key = assignment_key(read_key(folder), assignment.name) if assignment.variants else b""
    made = handouts(assignment, entries, () if common else students, key)
    results = [write_handout(to, one) for one in made]
    others = [path for _, paths in results for path in paths]
    who = "everybody" if common else counted(len(made), "student")
    say(f"{counted(sum(written for written, _ in results), 'new file')} for {who} in {to}.")
    if others:
        say(f"{counted(len(others), 'file')} there {'is' if len(others) == 1 else 'are'} different, and unchanged:")
        for path in others[:SHOWN]:
            print_line(f"  {path}")
        more = f"… and {len(others) - SHOWN} more. " if len(others) > SHOWN else ""
        say(f"{more}Delete them and run the command again, or give --to another folder.")
    if not common:
        say(_ids_line(roster))
    say(
        _AFTER_HANDOUT.format(
            what=f"everybody the files in {to}" if common else "each student their folder", folder=folder
        )
    )
    return 0


_AFTER_HANDOUT = (
    "Next: give {what}. Put what comes back into a folder, or download it from your LMS: "
    "`grade class collect {folder} SOURCE` reads it."
)


def _ids_line(roster: Roster) -> str:
    """Which column became the id, and who is no student."""
    left_out = f" Left out, because it is no student: {listed(roster.left_out)}." if roster.left_out else ""
    return safe(f"The ids are from the column {roster.used['id']!r} of {roster.path}.{left_out}")


SHOWN = 8  # paths


def _require_recipients(folder: Path, assignment: Assignment, *, common: bool, any_students: bool) -> None:
    if common and assignment.variants:
        hint = "leave --common away, or write `variants = false` into assignment.toml"
        raise UsageError("variants are different for each student", code="usage", hint=hint)
    if not common and not any_students:
        hint = "put your students there, or write one folder for all with --common"
        raise UsageError(f"{folder}/roster.csv has no students", code="no_students", hint=hint)
