"""The whole of `grade class collect`: sources are read, claims become submissions, and new ones are written.

Files are written before `submissions.json` names them, under names that come from their contents: a collecting that was
killed leaves the old list, and the next one finishes it. Two at once wait for each other.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from grader.catalog.exercises import load_catalog
from grader.classroom.assignment import read_assignment
from grader.classroom.collect import merge
from grader.classroom.collect.entries import METADATA, TIMESTAMP, Entry, Skipped
from grader.classroom.collect.exercises import Assigned, Named
from grader.classroom.collect.forms import Claim, claims_of, layout_of
from grader.classroom.collect.gradescope import Submitted, read_metadata
from grader.classroom.collect.limits import Limits
from grader.classroom.collect.merge import Sighting, Upload
from grader.classroom.collect.people import People, Unknown
from grader.classroom.collect.sources import entries_of
from grader.classroom.collect.times import Times, read_times, read_timestamp
from grader.classroom.folder import new_roster, use_roster
from grader.classroom.records import Assignment, ClassSubmission, Student
from grader.classroom.roster import FILE as ROSTER
from grader.classroom.roster import Roster, read_roster
from grader.classroom.submissions import read_submissions, replace_file, write_submissions
from grader.errors import UsageError
from grader.frozen import dataclass


@dataclass(frozen=True)
class Stranger:
    """Files of somebody who is not on the roster; they are not collected."""

    unknown: Unknown
    origins: tuple[str, ...]


@dataclass(frozen=True)
class Collection:
    """What a collecting found. ``submissions`` are all of the class now, ``new`` the keys of those that were added."""

    assignment: Assignment
    roster: Roster
    submissions: tuple[ClassSubmission, ...]
    new: frozenset[str] = frozenset()
    again: int = 0  # found now, and collected before
    strangers: tuple[Stranger, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    unsure: tuple[ClassSubmission, ...] = ()  # taken for the exercise though the file has another name
    unchanged: tuple[ClassSubmission, ...] = ()  # found now: what the handout has, and nothing else
    from_stub: tuple[tuple[ClassSubmission, str], ...] = ()  # a host exercise's file that was not submitted
    unordered: tuple[tuple[str, str], ...] = ()  # student and exercise with versions of which nothing says the order
    times_unknown: tuple[str, ...] = ()  # who is in --times and not in the class

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """The exercises that a student of the roster has not submitted."""
        there = {(one.student, one.exercise) for one in self.submissions}
        wanted = [each.name for each in self.assignment.exercises]
        missing = {
            student.id: tuple(name for name in wanted if (student.id, name) not in there)
            for student in self.roster.students
        }
        return {student: names for student, names in missing.items() if names}

    @property
    def off_roster(self) -> tuple[str, ...]:
        """Who was collected before, and is not on today's roster."""
        known = {student.id for student in self.roster.students}
        return tuple(sorted({one.student for one in self.submissions} - known)) if known else ()


@dataclass(frozen=True)
class Request:
    """A collecting: the class folder, and what the command says."""

    folder: Path
    sources: tuple[Path, ...]
    form: str = "auto"
    roster: Path | None = None  # that is to become the roster of the class
    times: Path | None = None
    names: tuple[str, ...] = ()  # "vecadd.cu=vector_add": what else an exercise's file may be called
    courses: tuple[Path, ...] = ()
    limits: Limits = field(default_factory=Limits)


def collect(request: Request) -> Collection:
    """Add what the sources have to the class. Raises UsageError, and has then changed nothing."""
    catalog = load_catalog(request.courses)
    assignment = read_assignment(request.folder, catalog=catalog)
    assigned = Assigned(assignment, catalog, _names(assignment, request.names))
    roster = new_roster(request.roster) if request.roster else read_roster(request.folder / ROSTER)
    people = People(roster.students)
    zone = assignment.deadline.tzinfo if assignment.deadline else None
    times = read_times(request.times, people, assigned, zone) if request.times else Times({})
    for source in request.sources:
        _refuse_own(request.folder, source)
    found = _Found(assigned, people, read_submissions(request.folder))
    for number, source in enumerate(request.sources):
        found.add(number, source, request)
    with _locked(request.folder):
        if request.roster:
            roster = use_roster(request.folder, request.roster)
        return _added(request.folder, assignment, roster, found, times)


def _names(assignment: Assignment, pairs: Sequence[str]) -> dict[str, str]:
    """The exercises by further names of their files, without suffix. Raises UsageError."""
    names = {}
    for pair in pairs:
        file, _, exercise = map(str.strip, pair.partition("="))
        if not file or exercise not in (wanted := [each.name for each in assignment.exercises]):
            hint = f"write FILE=EXERCISE, for example --name hw4.cu={wanted[0]}; the exercises are {', '.join(wanted)}"
            raise UsageError(f"--name {pair!r} does not name a file and an exercise", code="bad_name", hint=hint)
        names[file.casefold().removesuffix(".cu")] = exercise
    return names


def _refuse_own(folder: Path, source: Path) -> None:
    own = (folder / merge.FOLDER).resolve()
    resolved = source.resolve()
    if own in (resolved, *resolved.parents) or resolved == folder.resolve():
        hint = f"put what you collect into another folder, such as {folder / 'incoming'}"
        message = f"{source} has the files that were collected, in {folder / merge.FOLDER}"
        raise UsageError(message, code="own_folder", hint=hint)


# ----------------------------------------------------------------------------------------------------- what was found


class _Found:
    """The uploads of all sources, and what is not one."""

    def __init__(self, assigned: Assigned, people: People, existing: Sequence[ClassSubmission]) -> None:
        self.assigned = assigned
        self.before = _by_content(existing)
        self.handed_out = {"README.md", *(f"{name}.md" for name in assigned.exercises)}
        self.people = people
        self.uploads: list[Upload] = []
        self.skipped: list[Skipped] = []
        self.strangers: dict[Unknown, list[str]] = defaultdict(list)

    def add(self, number: int, source: Path, request: Request) -> None:
        """Read one source."""
        entries: list[Entry] = []
        for item in entries_of(source, request.form, request.limits, request.folder.resolve()):
            if isinstance(item, Entry):
                entries.append(item)
            elif item.name not in self.handed_out:
                self.skipped.append(item)
        metadata = _metadata(entries)
        if request.form == "gradescope" and not metadata:
            hint = "export the submissions of the assignment: Review Grades, Export Submissions"
            raise UsageError(f"{source} has no {METADATA}", code="no_metadata", hint=hint)
        stamps = _timestamps(entries)
        files = [entry for entry in entries if entry.name not in (METADATA, TIMESTAMP)]
        layout = layout_of(files, self.people, self.assigned, metadata)
        for entry in files:
            claims = claims_of(_stamped(entry, stamps), request.form, layout)
            if isinstance(claims, str):
                self.skipped.append(Skipped(entry.origin, claims))
            else:
                self._claim(number, claims)

    def _claim(self, number: int, claims: Sequence[Claim]) -> None:
        for claim in claims:
            named = self.assigned.named(claim.inside)
            student = self.people.who(claim.words, claim.label)
            if isinstance(student, Student) and (isinstance(named, str) or not named.is_sure):
                named = self._collected_as(student, claim) or named
            if isinstance(named, str):
                whose = student.id if isinstance(student, Student) else ""
                self.skipped.append(Skipped(claim.entry.origin, named, whose))
            elif isinstance(student, Unknown):
                self.strangers[student].append(claim.entry.origin)
            else:
                self.uploads.append(Upload(student.id, named, claim, number, len(self.uploads)))

    def _collected_as(self, student: Student, claim: Claim) -> Named | None:
        """What the file was when it was collected before, perhaps because --name said so."""
        named = self.before.get((student.id, hashlib.sha256(claim.entry.content).hexdigest()))
        return named if named and named.exercise in self.assigned.exercises else None


def _by_content(submissions: Sequence[ClassSubmission]) -> dict[tuple[str, str], Named]:
    """What a student's files are, by their hashes; without those that are files of several exercises."""
    found: dict[tuple[str, str], set[Named]] = defaultdict(set)
    for one in submissions:
        for file in one.files:
            found[one.student, file.sha256].add(Named(one.exercise, is_host=file.path.endswith(".py")))
    return {place: next(iter(named)) for place, named in found.items() if len(named) == 1}


def _metadata(entries: Sequence[Entry]) -> dict[str, Submitted]:
    """Gradescope's own: a file of this name that a student uploads says nothing about others."""
    files = [entry for entry in entries if entry.name == METADATA and entry.outer == len(entry.parts)]
    first = min(files, key=lambda entry: len(entry.parts), default=None)
    return read_metadata(first.content, first.origin) if first and len(first.parts) <= 2 else {}


def _timestamps(entries: Sequence[Entry]) -> dict[tuple[str, ...], datetime]:
    """nbgrader's times, by the folder that they are in."""
    outside = [entry for entry in entries if entry.name == TIMESTAMP and entry.outer == len(entry.parts)]
    return {entry.parts[:-1]: time for entry in outside if (time := read_timestamp(entry.content))}


def _stamped(entry: Entry, stamps: dict[tuple[str, ...], datetime]) -> Entry:
    if entry.submitted is not None:
        return entry
    folders = (entry.parts[:depth] for depth in range(len(entry.parts) - 1, 0, -1))
    time = next((stamps[folder] for folder in folders if folder in stamps), None)
    return replace(entry, submitted=time, time_from="lms") if time else entry


# ------------------------------------------------------------------------------------------------------ what is added


def _added(folder: Path, assignment: Assignment, roster: Roster, found: _Found, times: Times) -> Collection:
    existing: dict[tuple[str, str], list[ClassSubmission]] = defaultdict(list)
    for submission in read_submissions(folder):
        existing[submission.student, submission.exercise].append(submission)
    before = {one.key for many in existing.values() for one in many}
    skipped, unsure, sightings, unordered = list(found.skipped), [], [], []
    unchanged: list[ClassSubmission] = []
    for place, uploads in merge.by_exercise(found.uploads).items():
        counted, doubtful, left_out = merge.sure_uploads(uploads)
        skipped += left_out
        mine = _timed(merge.together(counted, found.assigned.stubs(place[1])), times) if counted else []
        sightings += mine
        unsure += [one.submission for one in mine if doubtful]
        unchanged += [one.submission for one in mine if found.assigned.is_handout(place[1], one.contents)]
        unordered += [place] if _is_unordered(mine) else []
        first_counts = assignment.counts == "first"
        existing[place] = merge.merged(existing[place], mine, first_counts=first_counts)
    submissions = tuple(one for place in sorted(existing) for one in existing[place])
    _write(folder, assignment, submissions, sightings)
    keys = {one.submission.key for one in sightings}
    return Collection(
        assignment,
        roster,
        submissions,
        new=frozenset(keys - before),
        again=len(keys & before),
        strangers=tuple(Stranger(unknown, tuple(origins)) for unknown, origins in found.strangers.items()),
        skipped=tuple(skipped),
        unsure=tuple(unsure),
        unchanged=tuple(unchanged),
        from_stub=tuple((one.submission, one.from_stub) for one in sightings if one.from_stub),
        unordered=tuple(unordered),
        times_unknown=times.unknown,
    )


def _timed(sightings: list[Sighting], times: Times) -> list[Sighting]:
    """The last one with the time that the CSV has: an LMS's list has the latest submission of each student."""
    last = sightings[-1].submission
    time = times.of(last.student, last.exercise)
    if time is None:
        return sightings
    return [*sightings[:-1], replace(sightings[-1], submission=replace(last, submitted=time, time_from="csv"))]


def _is_unordered(sightings: Sequence[Sighting]) -> bool:
    """Whether there are versions without a time, and without a number of the LMS or of a copy."""
    untimed = {one.submission.key: one.order[:3] for one in sightings if one.submission.submitted is None}
    return max(Counter(untimed.values()).values(), default=0) > 1


def _write(
    folder: Path, assignment: Assignment, submissions: Sequence[ClassSubmission], sightings: Sequence[Sighting]
) -> None:
    for sighting in sightings:
        for path, content in sighting.contents.items():
            target = folder.joinpath(*PurePosixPath(path).parts)
            if target.exists():
                continue
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"cannot write {target.parent}: {error.strerror}", code="cannot_write") from None
            replace_file(target, content)
    write_submissions(folder, assignment.name, submissions)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Only one collecting at a time changes a class, where the system has locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
