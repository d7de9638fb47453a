"""`assignment.toml`: what is graded, until when, and what counts. It holds no secret and may be handed out.

    assignment.toml ──read_assignment──▶ Assignment          assignment_text(…) ──▶ the file that `class init` writes

Each mistake in the file is a UsageError that names the file, the field and what is allowed. A field that is left out
has the value that the written file shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

from grader.catalog.exercises import Catalog, load_catalog
from grader.classroom.records import AssignedExercise, Assignment, LateRule
from grader.errors import UsageError
from grader.expressions import did_you_mean
from grader.frozen import dataclass

FILE = "assignment.toml"
UNLIMITED = "unlimited"  # LateRule.days is None
EXAMPLE_DEADLINE = "2026-12-06T23:59:00+01:00"
ZONE_HINT = f"write the time zone, too: {EXAMPLE_DEADLINE}, or …Z for UTC"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

COUNTS = ("last", "best", "first")
BACKENDS = ("auto", "gpu", "sim")
HIDDEN = ("all", "sizes", "verdict")


@dataclass(frozen=True)
class _Field:
    """A field of the file: whether a value is allowed, and the words for what is."""

    allows: Callable[[Any], bool]
    allowed: str


def _one_of(words: Sequence[str]) -> _Field:
    return _Field(lambda value: value in words, " or ".join(f'"{word}"' for word in words))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_count(value: object, least: int = 0) -> bool:
    return type(value) is int and value >= least


def _is_line(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable() and len(value) <= 200


def is_name(value: object) -> bool:
    """Whether it can name an assignment."""
    return isinstance(value, str) and NAME.fullmatch(value) is not None


_NAME = _Field(is_name, "a short name of letters, digits, - and _")
_ASSIGNMENT: Mapping[str, _Field] = {
    "name": _NAME,
    "title": _Field(_is_line, "one line of text"),
    "exercises": _Field(lambda value: isinstance(value, list) and bool(value), "a list of exercises: [[exercises]]"),
    "deadline": _Field(
        lambda value: isinstance(value, datetime) and value.tzinfo is not None, "a date and time with a time zone"
    ),
    "late": _Field(lambda value: isinstance(value, dict), "a table: [late]"),
    "counts": _one_of(COUNTS),
    "backend": _one_of(BACKENDS),
    "attempts": _Field(lambda value: _is_count(value, 1) and value <= 20, "a number from 1 to 20"),
    "hidden": _one_of(HIDDEN),
    "variants": _Field(lambda value: isinstance(value, bool), "true or false"),
}  # fmt: skip
_LATE: Mapping[str, _Field] = {
    "grace_minutes": _Field(_is_count, "a number of minutes, 0 or more"),
    "percent_per_day": _Field(lambda value: _is_number(value) and 0 <= value <= 100, "a number from 0 to 100"),
    "days": _Field(
        lambda value: value == UNLIMITED or _is_count(value), f'a number of days, 0 or more, or "{UNLIMITED}"'
    ),
}
_EXERCISE: Mapping[str, _Field] = {
    "name": _Field(_is_line, "the name of an exercise"),
    "points": _Field(lambda value: _is_number(value) and value > 0, "a positive number"),
}


def read_assignment(folder: Path, courses: Sequence[Path] = (), catalog: Catalog | None = None) -> Assignment:
    """The assignment of a class folder. Raises UsageError (``bad_assignment``; ``not_a_class`` without the file).

    Its exercises are those of ``catalog``, else of the built-in course and ``courses``.
    """
    path = folder / FILE
    require_class(folder)
    table = _checked(path, _document(path), _ASSIGNMENT, "")
    late = _checked(path, table.pop("late", {}), _LATE, "late.")
    if late.get("days") == UNLIMITED:
        late["days"] = None
    for needed in ("name", "exercises"):
        if needed not in table:
            raise _bad(path, needed, "is missing", _ASSIGNMENT[needed].allowed)
    table["exercises"] = _exercises(path, table["exercises"], catalog or load_catalog(courses))
    table.setdefault("title", table["name"])
    return Assignment(late=LateRule(**late), **table)


def require_class(folder: Path) -> None:
    """Raise UsageError (``not_a_class``) unless the folder has an assignment."""
    if not (folder / FILE).is_file():
        hint = f"`grade class init {folder}` makes one"
        raise UsageError(f"{folder} is no class: it has no {FILE}", code="not_a_class", hint=hint)


def _document(path: Path) -> dict[str, Any]:
    from tomllib import TOMLDecodeError, loads

    try:
        return loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text", code="bad_assignment", hint="save it as UTF-8") from None
    except TOMLDecodeError as error:
        hint = 'texts stand in quotes, each field in a line of its own: `name = "week4"`'
        raise UsageError(f"{path} is not valid TOML: {error}", code="bad_assignment", hint=hint) from None


def _checked(path: Path, table: Mapping[str, Any], known: Mapping[str, _Field], prefix: str) -> dict[str, Any]:
    """The table, if each of its fields is known and has an allowed value."""
    for name, value in table.items():
        if name not in known:
            hint = did_you_mean(name, known) or f"the fields are {', '.join(known)}"
            raise UsageError(f"{path}: there is no field {prefix}{name}", code="bad_assignment", hint=hint)
        if not known[name].allows(value):
            raise _bad(path, prefix + name, f"cannot be {_shown(value)}", known[name].allowed)
    return dict(table)


def _bad(path: Path, field: str, why: str, allowed: str) -> UsageError:
    hint = ZONE_HINT if field == "deadline" else ""
    return UsageError(f"{path}: {field} {why}; it must be {allowed}", code="bad_assignment", hint=hint)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a table"
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _exercises(path: Path, entries: Sequence[Any], catalog: Catalog) -> tuple[AssignedExercise, ...]:
    """The exercises; an entry is a table with name and points, or a name alone."""
    found: dict[str, AssignedExercise] = {}
    for number, entry in enumerate(entries, start=1):
        where = f"exercises, entry {number}: "
        table = {"name": entry} if isinstance(entry, str) else entry
        if not isinstance(table, dict):
            raise _bad(path, f"exercises, entry {number}", f"cannot be {_shown(entry)}", "a name, or name and points")
        table = _checked(path, table, _EXERCISE, where)
        if "name" not in table:
            raise _bad(path, f"{where}name", "is missing", "the name of an exercise")
        name = table["name"]
        _require_known(path, name, catalog)
        if name in found:
            raise UsageError(f"{path}: {where}{name} is there twice", code="bad_assignment", hint="delete one of them")
        found[name] = AssignedExercise(name, float(table.get("points", AssignedExercise(name).points)))
    return tuple(found.values())


def _require_known(path: Path, name: str, catalog: Catalog) -> None:
    """Raise UsageError unless this is the full name of an exercise."""
    if any(entry.name == name for entry in catalog.exercises):
        return
    try:
        found = catalog.find(name)  # by its number, a part of its name, or an old name
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", code=error.code, hint=error.hint) from None
    message = f"{path}: exercises: {name!r} is not the full name of an exercise"
    raise UsageError(message, code="bad_assignment", hint=f"write {found.name!r}")


# ------------------------------------------------------------------------------------------------------------- writing

_TEXT = """\
# An assignment of warpgrade. This file holds no secret: it can be handed out to students.
# A field that is deleted has the value that is shown here; `name` and the exercises are needed.

# A short name of letters, digits, - and _. It is in file names and gradebooks. Do not change it once submissions are
# graded: the hidden inputs are derived from it and from class.key.
name = {name}

# What people read.
title = {title}

# The end of the time for submitting, with the time zone: +01:00, or Z for UTC. Without a deadline nothing is late.
{deadline}

# Which of several submissions of one exercise counts: "last", "best" (the one with most points) or "first".
counts = "{a.counts}"

# Where submissions run: "sim" (the simulator: correctness and technique, no times), "gpu", or "auto": the simulator,
# and also the GPU if the machine has one.
backend = "{a.backend}"

# How often a submission whose times vary too much is timed again; what then is still inconclusive is listed for you.
attempts = {a.attempts}

# What students see of a failed case whose inputs are hidden: "all" (also the wrong value and where it is), "sizes"
# (the case's sizes and the kind of failure) or "verdict" (nothing but the verdict).
hidden = "{a.hidden}"

# true: each student gets a form of their own of an exercise that has variants; `grade show NAME` lists them.
variants = {variants}

# Submissions after the deadline.
[late]
grace_minutes = {a.late.grace_minutes}      # this many minutes cost nothing
percent_per_day = {a.late.percent_per_day:g}    # of its points, for each day after the deadline that has begun
days = {days}               # after so many days it gets no points; 0: a late submission gets none; "unlimited": never

# The exercises, in the order in which they are shown. `points` are for a submission that passes every stage; one that
# passes some of them gets a part. `grade list` shows the names.
"""

_EXERCISE_TEXT = "[[exercises]]\nname = {name}\npoints = {points:g}\n"


def assignment_text(assignment: Assignment) -> str:
    """The file `assignment.toml` for an assignment, each field with a comment."""
    deadline = assignment.deadline
    text = _TEXT.format(
        a=assignment,
        name=_quoted(assignment.name),
        title=_quoted(assignment.title),
        deadline=f"deadline = {deadline.isoformat()}" if deadline else f"# deadline = {EXAMPLE_DEADLINE}",
        variants=str(assignment.variants).lower(),
        days=f'"{UNLIMITED}"' if assignment.late.days is None else assignment.late.days,
    )
    entries = (_EXERCISE_TEXT.format(name=_quoted(each.name), points=each.points) for each in assignment.exercises)
    return text + "\n".join(entries)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
