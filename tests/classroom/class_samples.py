"""Classes built by hand, which the tests of gradebook, pages and exports share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

from verdict_samples import PASSED, RACY, SOURCE, WASTEFUL, stages

from grader.classroom.gradebook import gradebook
from grader.classroom.records import (
    AssignedExercise,
    Assignment,
    ClassRecord,
    ClassSubmission,
    LateRule,
    Override,
    Result,
    SharedLines,
    SimilarPair,
    Student,
    SubmittedFile,
)
from grader.render.classroom.leaderboard import leaderboard_page
from grader.render.classroom.names import file_names, pseudonyms
from grader.render.classroom.shown import ExerciseFacts
from grader.render.classroom.student import student_page
from grader.render.classroom.teacher import teacher_page
from grader.render.json import plain
from grader.verdict import Diagnostic, Verdict

ZONE = ZoneInfo("Europe/Berlin")
DEADLINE = datetime(2026, 11, 8, 23, 59, tzinfo=ZONE)
SECRET = bytes(range(32))

ASSIGNMENT = Assignment(
    "hw2", "Homework 2: reductions", (AssignedExercise("vector_add", 40), AssignedExercise("reduce_v3", 60)),
    deadline=DEADLINE, late=LateRule(grace_minutes=10, percent_per_day=20, days=3),
)  # fmt: skip


def submission(student: str, exercise: str = "vector_add", number: int = 1, at: datetime | None = None, **more):
    """A submission whose bytes are its own; ``at`` is the deadline's day before, if it is not given."""
    digest = sha256(f"{student}{exercise}{number}".encode("utf-8", "surrogatepass")).hexdigest()
    file = SubmittedFile(f"submissions/{student}/{number}/{exercise}.cu", more.pop("sha256", digest))
    known = {"submitted": at or DEADLINE - timedelta(days=1), "time_from": "lms"} | more
    return ClassSubmission(student, exercise, number, (file,), **known)


def result(of: ClassSubmission, verdict: Verdict = PASSED, **more) -> Result:
    """The result of a submission with the verdict's points; ``more`` replaces fields of the result."""
    run = plain(replace(verdict, exercise=of.exercise, file=of.files[0].path).to_dict())
    started = DEADLINE + timedelta(hours=9)
    made = Result(
        of.key, verdict.verdict, verdict.score, verdict.max_score, run, started,
        started + timedelta(seconds=verdict.elapsed_s), machine={"processor": "AMD EPYC 9355", "host": "lab-04"},
        versions={"warpgrade": "0.1.0"}, worker="w1",
    )  # fmt: skip
    return replace(made, **more)


def record(*submissions: ClassSubmission, roster: str = "ada bob", **more) -> ClassRecord:
    """A class in which each submission passed, unless ``results`` are given."""
    students = tuple(Student(name, name.title(), f"{name}@example.org") for name in roster.split())
    known = {"results": tuple(map(result, submissions))} | more
    return ClassRecord(known.pop("assignment", ASSIGNMENT), students, submissions, **known)


# ------------------------------------------------------------------------------------------------------ a class of 30

NAMES = (
    "Ada Lovelace", "Alan Turing", "Annie Easley", "Barbara Liskov", "Bo Li", "Claude Shannon", "Corinna Cortes",
    "Dana Angluin", "Donald Knuth", "Edsger Dijkstra", "Emmy Noether", "Frances Allen", "Fei-Fei Li", "Grace Hopper",
    "Hedy Lamarr", "Ivan Sutherland", "Jean Bartik", "John Backus", "Katherine Johnson", "Ken Thompson", "Lynn Conway",
    "Mary Keller", "Niklaus Wirth", "Olga Ladyzhenskaya", "Parisa Tabriz", "Radia Perlman", "Shafi Goldwasser",
    "Tony Hoare", "Vint Cerf", "Zoë O’Neill-Ångström",
)  # fmt: skip

MISTAKES = (
    ("out_of_bounds", "past_the_end", "bounds.guard", 4, "x[1024] is read past the end: x has 1023 elements"),
    ("race", "missing_barrier", "races.barrier", 10, "race on shared partial[49]: thread 49 writes, thread 17 reads"),
    ("wrong", "off_by_one", "wrong.last_element", 6, "dst[3] is 0.5, but it should be 1.5"),
    ("compile_error", "undeclared", "", 5, "identifier `tid` is undefined"),
    ("timeout", "endless_loop", "hangs.loop", 8, "the kernel did not end: a loop at line 8 goes on for ever"),
)  # fmt: skip


def mistaken(at: int) -> Verdict:
    kind, cause, rule, line, message = MISTAKES[at % len(MISTAKES)]
    found = Diagnostic(
        kind,
        message,
        file="reduce_v3.cu",
        line=line,
        cause=cause,
        rule=rule,
        hint="compare the index with the size first",
    )
    return replace(RACY, verdict=kind, diagnostics=(found,), stages=stages("passed", "failed", *["skipped"] * 3))


def class_of_30() -> ClassRecord:
    """Every state once at least: late, too late, missing, unknown, open, overridden, suspicious, similar."""
    roster = tuple(
        Student(f"s{1000 + 37 * i}", name, f"{name.split()[0].lower()}{i}@example.org") for i, name in enumerate(NAMES)
    )
    made = [*_submissions_of_30(roster)]
    submissions = tuple(one for one, _ in made)
    results = tuple(one for _, one in made if one is not None)
    late = next(one for one in submissions if one.student == roster[3].id)
    pairs = tuple(
        SimilarPair("reduce_v3", a.key, b.key, similarity, (SharedLines((4, 10), (4, 10)),))
        for a, b, similarity in ((submissions[9], submissions[20], 0.97), (submissions[14], submissions[34], 0.81))
    )
    decided = Override(roster[20].id, "reduce_v3", 45, "Graded by hand: the kernel is right, only slow.", DEADLINE)
    return ClassRecord(
        replace(ASSIGNMENT, exercises=(AssignedExercise("vector_add", 40), AssignedExercise("reduce_v3", 60))),
        roster, (*submissions, submission("s9999")), (*results, result(submission("s9999"))),
        (decided, Override(late.student, "vector_add", 40, "Was ill.", DEADLINE)), pairs,
    )  # fmt: skip


def _submissions_of_30(roster: tuple[Student, ...]) -> Iterator[tuple[ClassSubmission, Result | None]]:
    for i, student in enumerate(roster):
        for exercise in ("vector_add", "reduce_v3"):
            if i == 28 or (i == 29 and exercise == "reduce_v3"):
                continue  # missing
            at = DEADLINE + timedelta(hours=5 * (i - 3)) if i in (3, 4, 20, 22) else DEADLINE - timedelta(hours=i)
            first = submission(student.id, exercise, 1, at)
            yield first, _result_of_30(first, i, exercise)
            if i % 7 == 2:  # again, and now it passes
                again = submission(student.id, exercise, 2, at + timedelta(hours=1))
                yield again, result(again, replace(PASSED, score=100))
    unsure = submission(roster[29].id, "reduce_v3", 1, submitted=None, time_from="")
    yield unsure, result(unsure, replace(PASSED, elapsed_s=0.4))


def _result_of_30(of: ClassSubmission, i: int, exercise: str) -> Result | None:
    if exercise == "vector_add":
        verdict = WASTEFUL if i % 4 == 1 else replace(PASSED, elapsed_s=1 + i % 5 / 10)
        return result(of, replace(verdict, max_score=100, score=60 if verdict is WASTEFUL else 100))
    if i == 5:
        return None
    if i in (6, 7, 8):
        word = ("inconclusive", "set_aside", "error")[i - 6]
        return replace(result(of, replace(RACY, verdict=word, diagnostics=())), verdict=word, attempts=3)
    if i in (11, 12):
        word = ("cheat", "policy")[i - 11]
        found = Diagnostic(word, f"this is about {word}", line=10, file="reduce_v3.cu")
        return result(of, replace(RACY, verdict=word, diagnostics=(found,)))
    if i == 13:
        return result(of, replace(RACY, verdict="limit", printed="x" * 70_000))
    if i % 3 == 0:
        return result(of, replace(mistaken(i // 3), elapsed_s=2 + i))
    assert PASSED.measured is not None
    seconds = 2.4e-4 if i == 25 else 8e-4 + 3e-5 * i
    return result(of, replace(PASSED, elapsed_s=2 + i / 10, measured=replace(PASSED.measured, median_s=seconds)))


def pages_of(made: ClassRecord) -> dict[str, str]:
    """All pages of a class by name: ``index``, ``leaderboard``, and ``student …``."""
    book, at, versions = gradebook(made), DEADLINE + timedelta(days=2), {"warpgrade": "0.1.0"}
    names = file_names(row.student.id for row in book.rows)
    who = pseudonyms(names, SECRET)
    texts = {one.key: {f"{one.exercise}.cu": SOURCE} for one in made.submissions}
    facts = {
        "reduce_v3": ExerciseFacts("a tree reduction in shared memory", ({"n": 1},)),
        "vector_add": ExerciseFacts("one thread, one element"),
    }
    pages = {
        "index": teacher_page(
            book, made=at, versions=versions, similar=made.similar, leaderboard="leaderboard.html",
            pages={student: f"students/{name}.html" for student, name in names.items()},
        ),
        "leaderboard": leaderboard_page(book, who, made=at),
    }  # fmt: skip
    for row in book.rows:
        pages[f"student {row.student.id}"] = student_page(
            row, book, made=at, texts=texts, facts=facts, versions=versions, pseudonym=who[row.student.id]
        )
    return pages
