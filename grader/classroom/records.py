"""The frozen records of a class.

assignment + roster + submissions ──run──▶ results (+ overrides) ──▶ ClassRecord ──gradebook──▶ pages, exports
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from grader.frozen import dataclass


@dataclass(frozen=True)
class AssignedExercise:
    """An exercise of an assignment; ``points`` are for a submission that passes every stage."""

    name: str
    points: float = 100.0


@dataclass(frozen=True)
class LateRule:
    """What a submission after the deadline loses: ``percent_per_day`` of its points for each day that has begun, after
    ``grace_minutes`` that cost nothing. After ``days`` it gets no points; None: it is never too late.
    """

    grace_minutes: int = 0
    percent_per_day: float = 0.0
    days: int | None = 0


@dataclass(frozen=True)
class Assignment:
    """What `assignment.toml` says; its comments there explain each field."""

    name: str  # a short name without blanks: in file names, gradebooks and the derived secrets
    title: str
    exercises: tuple[AssignedExercise, ...]
    deadline: datetime | None = None  # with its time zone
    late: LateRule = field(default_factory=LateRule)
    counts: Literal["last", "best", "first"] = "last"  # of several submissions of one exercise: the one that counts
    backend: Literal["auto", "gpu", "sim"] = "auto"
    attempts: int = 3  # timed attempts of one submission; what then stays inconclusive is listed for the teacher
    hidden: Literal["all", "sizes", "verdict"] = "sizes"  # what students see of a case that is not published
    variants: bool = False  # whether exercises with parameters get values of their own for each student


@dataclass(frozen=True)
class Student:
    """A row of the roster. ``id`` is unique in the class; ``columns`` are all cells of the row, by column."""

    id: str
    name: str = ""
    email: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SubmittedFile:
    """A file as it was collected: its path below the class folder, and the SHA-256 of its bytes."""

    path: str
    sha256: str


@dataclass(frozen=True)
class ClassSubmission:
    """One submission of one exercise by one student.

    ``submitted`` is None if neither the LMS's name, nor git, nor a CSV says when; a file's own date never counts.
    ``origin`` says where it was found, for people: an archive and the path in it.
    """

    student: str
    exercise: str
    number: int  # from 1, in the order of submission
    files: tuple[SubmittedFile, ...]  # the .cu first, then a host file
    submitted: datetime | None = None
    time_from: Literal["", "lms", "git", "csv"] = ""
    origin: str = ""
    marked_late: bool = False  # the LMS says that it is late, and not when it came (Canvas: LATE in the name)

    @property
    def key(self) -> str:
        """What names it in the store: the same submission collected again has the same key."""
        return "/".join((self.student, self.exercise, *(file.sha256[:16] for file in self.files)))


@dataclass(frozen=True)
class Result:
    """The result of one submission. ``run`` is its document of schema ``warpgrade/run/1``, one entry of ``results``.

    ``verdict`` is a word of `grader.verdict.VERDICTS`, or ``set_aside`` if it ended several workers. ``machine`` names
    GPU, driver, processor and host; ``versions`` warpgrade and the course.
    """

    submission: str  # ClassSubmission.key
    verdict: str
    points: float | None  # of max_points, as the run says; None if nothing could be graded
    max_points: float | None
    run: Mapping[str, Any]
    started: datetime
    ended: datetime
    attempts: int = 1
    worker: str = ""
    sandbox: str = "landlock"
    machine: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Override:
    """A teacher's decision on one exercise of one student; ``points`` replace those of the assignment."""

    student: str
    exercise: str
    points: float
    reason: str
    made: datetime


@dataclass(frozen=True)
class SharedLines:
    """Lines of two files that are alike, from the first line to the last, from 1."""

    first: tuple[int, int]
    second: tuple[int, int]


@dataclass(frozen=True)
class SimilarPair:
    """Two submissions of an exercise, by different students, that are close; a reason to look, not an accusation.

    ``similarity`` is the part of the smaller one that is in the other, from 0 to 1, without what was handed out.
    ``by`` says what was compared: the tokens of the source, or the PTX, which looks through names, macros and order.
    """

    exercise: str
    first: str  # ClassSubmission.key
    second: str
    similarity: float
    shared: tuple[SharedLines, ...] = ()
    by: Literal["tokens", "ptx"] = "tokens"


@dataclass(frozen=True)
class ComparedExercise:
    """The comparison of all submissions of one exercise.

    ``too_small`` are the keys of those that were not compared: too little is left of them without what was handed out.
    ``identical`` are groups of the same text, by different students, however small; of a group only the first is in
    ``pairs``.
    """

    exercise: str
    students: int
    submissions: int
    too_small: tuple[str, ...]
    pairs: tuple[SimilarPair, ...]
    identical: tuple[tuple[str, ...], ...] = ()

    @property
    def all_pairs(self) -> tuple[SimilarPair, ...]:
        """Identical files first, each with the first one of its group; then ``pairs``."""
        same = [SimilarPair(self.exercise, group[0], key, 1.0) for group in self.identical for key in group[1:]]
        return (*same, *self.pairs)


@dataclass(frozen=True)
class ClassRecord:
    """All of a class: what pages and exports are made from. A submission without a result has not been graded."""

    assignment: Assignment
    roster: tuple[Student, ...]
    submissions: tuple[ClassSubmission, ...]
    results: tuple[Result, ...] = ()
    overrides: tuple[Override, ...] = ()
    similar: tuple[SimilarPair, ...] = ()  # the closest first
    unchanged: frozenset[str] = frozenset()  # ClassSubmission.key of those that are the stub as it was handed out
