"""The commands ``grade class …``, from a new class to its report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from grader.classroom.assignment import EXAMPLE_DEADLINE, FILE, ZONE_HINT
from grader.classroom.folder import init_class
from grader.classroom.records import AssignedExercise, Assignment
from grader.cli.course import find, load
from grader.errors import UsageError
from grader.output import print_line, say

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
