"""Whose file it is, by the names that systems give: each form reads an `Entry` as a `Claim`, or not.

    canvas       lovelaceada_LATE_77_901_vector_add-1.cu        the name, LATE, Canvas's number, the submission's
    moodle       Ada Lovelace_4711_assignsubmission_file_/vector_add.cu, or all in one name
    gradescope   submission_123/vector_add.cu, with submission_metadata.yml beside the folders
    tree         ada/vector_add.cu   ada/week4/vector_add.cu   ada.zip/src/vector_add.cu   (git: a repository ada)
    flat         ada_vector_add.cu   vector_add-ada.cu

With ``auto`` the first that fits is taken, in this order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from grader.classroom.collect.entries import Entry, TimeFrom, without_suffix
from grader.classroom.collect.exercises import Assigned
from grader.classroom.collect.gradescope import Submitted
from grader.classroom.collect.people import People
from grader.frozen import dataclass

_CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<id>\d+)_(?P<file>.+)")
_MOODLE = re.compile(r"(?P<name>.+)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?")
_GRADESCOPE = re.compile(r"submission_(?P<id>\d+)")


@dataclass(frozen=True)
class Claim:
    """A file as somebody's. ``words`` are all that may name the student, the best first; ``label`` is their id in a
    class without a roster. ``inside`` is the path below the student's folder.
    """

    entry: Entry
    words: tuple[str, ...]
    label: str
    inside: tuple[str, ...]
    order: int = 0  # of several files of one name: by the LMS's own numbers
    late: bool = False  # the LMS says so, without a time
    submitted: datetime | None = None
    time_from: TimeFrom = ""


@dataclass(frozen=True)
class Layout:
    """What the forms need to know of a whole source."""

    people: People
    assigned: Assigned
    metadata: Mapping[str, Submitted]  # Gradescope's, by the folder's name
    level: int | None = None  # which part of a path is the student's folder; None: all paths have the same folders
    by_title: bool = False  # whether folders of several assignments are below (nbgrader)


OTHER_ASSIGNMENT = "it is in the folder of another assignment"
NOBODYS = "nothing in its path says whose it is"


def claims_of(entry: Entry, form: str, layout: Layout) -> list[Claim] | str:
    """The claims of a file: one, or several for a group's submission. A text says why it is nobody's."""
    chosen = tuple(_FORMS) if form == "auto" else (form,)
    return next((claims for name in chosen if (claims := _FORMS[name](entry, layout))), NOBODYS)


def layout_of(
    entries: Sequence[Entry], people: People, assigned: Assigned, metadata: Mapping[str, Submitted]
) -> Layout:
    """The folders of students are on the level on which most of the roster are; else on the first that differs."""
    levels: Counter[int] = Counter()
    for at, name in {(at, name) for entry in entries for at, name in enumerate(_folders(entry))}:
        levels[at] += people.knows(assigned.without_title(name))
    best = max(levels, key=lambda at: (levels[at], -at), default=0)
    level = best if levels[best] else _first_different(entries)
    below = slice(0, 0) if level is None else slice(level + 1, level + 2)
    by_title = any(_folders(entry)[below] == [assigned.name] for entry in entries)
    return Layout(people, assigned, metadata, level, by_title)


def _folders(entry: Entry) -> list[str]:
    """The folders of a path, and its outermost student's archive, that may be named after a student."""
    return [without_suffix(part) for part in entry.parts[: min(entry.outer, len(entry.parts) - 1)]]


def _first_different(entries: Sequence[Entry]) -> int | None:
    """The first level on which the folders of a source have several names."""
    paths = [folders for entry in entries if (folders := _folders(entry))]
    depth = min(map(len, paths), default=0)
    return next((level for level in range(depth) if len({path[level] for path in paths}) > 1), None)


# ----------------------------------------------------------------------------------------------------------- the forms


def _canvas(entry: Entry, layout: Layout) -> list[Claim]:
    for at, part in enumerate(entry.parts[: entry.outer]):
        if match := _CANVAS.fullmatch(part):
            words = (match["user"], match["name"])
            inside = (match["file"], *entry.parts[at + 1 :])
            label = f"{match['name']}_{match['user']}"
            return [Claim(entry, words, label, inside, int(match["id"]), bool(match["late"]))]
    return []


def _moodle(entry: Entry, layout: Layout) -> list[Claim]:
    for at, part in enumerate(entry.parts[: entry.outer]):
        match = _MOODLE.fullmatch(part)
        inside = (*filter(None, (match["file"],)), *entry.parts[at + 1 :]) if match else ()
        if match and inside:
            words = (f"{match['name']} {match['user']}", match["name"], *match["name"].split("-", 1)[1:])
            return [Claim(entry, words, f"{match['name']}_{match['user']}", inside)]
    return []


def _gradescope(entry: Entry, layout: Layout) -> list[Claim]:
    for at, part in enumerate(entry.parts[: entry.outer]):
        match = _GRADESCOPE.fullmatch(part)
        submitted = layout.metadata.get(part) if match else None
        if match is None or submitted is None:
            continue
        inside, order, when = entry.parts[at + 1 :], int(match["id"]), submitted.at
        people = [tuple(filter(None, map(one.get, ("sid", "email", "name")))) for one in submitted.submitters]
        return [
            Claim(entry, words, words[0], inside, order, submitted=when, time_from="lms" if when else "")
            for words in people
            if words
        ]
    return []


def _tree(entry: Entry, layout: Layout) -> list[Claim] | str:
    folders = _folders(entry)
    at = _level_in(entry, folders, layout)
    if at is None:
        is_students = len(entry.parts) == 1 and layout.people.knows(entry.source)
        return [_folder_claim(entry, entry.source, entry.parts)] if is_students else []
    name = layout.assigned.without_title(folders[at])
    if entry.time_from == "git":
        name = _account(name, layout.people)
    if not layout.people.knows(name) and any(layout.people.knows(who) for who, _ in layout.assigned.split(entry.name)):
        return []  # section_1/ada_vector_add.cu
    if layout.by_title and folders[at + 1 : at + 2] not in ([], [layout.assigned.name]):
        return OTHER_ASSIGNMENT
    return [_folder_claim(entry, name, entry.parts[at + 1 :])]


def _account(repository: str, people: People) -> str:
    """The student's part of ``cs101-hw4-ada``, as GitHub's classrooms name repositories; the whole if none is known."""
    parts = repository.split("-")
    ends = ("-".join(parts[at:]) for at in range(len(parts)))
    return next((end for end in ends if people.knows(end)), repository)


def _level_in(entry: Entry, folders: Sequence[str], layout: Layout) -> int | None:
    """Which folder is the student's. If all files have the same folders, that above the assignment's (nbgrader)."""
    if layout.level is not None:
        return layout.level if layout.level < len(folders) else None
    if layout.assigned.name in folders[1:]:
        return folders.index(layout.assigned.name, 1) - 1
    return None if layout.assigned.split(entry.name) or not folders else 0


def _folder_claim(entry: Entry, name: str, inside: tuple[str, ...]) -> Claim:
    return Claim(entry, (name,), name, inside, submitted=entry.submitted, time_from=entry.time_from)


def _flat(entry: Entry, layout: Layout) -> list[Claim]:
    """A student and an exercise in one file name; of several readings the one with a known student."""
    if entry.outer < len(entry.parts):
        return []
    readings = layout.assigned.split(entry.name)
    known = [reading for reading in readings if layout.people.knows(reading[0])]
    return [_folder_claim(entry, name, (file,)) for name, file in (known or readings)[:1]]


_FORMS: Mapping[str, Callable[[Entry, Layout], list[Claim] | str]] = {
    "gradescope": _gradescope, "moodle": _moodle, "canvas": _canvas, "tree": _tree, "git": _tree, "flat": _flat,
}  # fmt: skip
