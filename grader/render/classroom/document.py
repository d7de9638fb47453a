"""The class as one JSON document, schema ``warpgrade/class/1``: docs/class-json.md, class.schema.json.

It is the teacher's: it names students. It has no seed, no source text, and of each result only what a gradebook needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from grader.classroom.gradebook import Attempt, Grade, Gradebook, Row
from grader.classroom.records import Assignment, ClassSubmission, Override, Result, SimilarPair
from grader.render.json import plain

SCHEMA = "warpgrade/class/1"


def class_document(
    book: Gradebook,
    *,
    made: datetime,
    versions: Mapping[str, str | None],
    similar: Sequence[SimilarPair] = (),
    pseudonyms: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the document, with JSON values only; ``pseudonyms`` by id, if there is a leaderboard."""
    document: dict[str, Any] = plain({
        "schema": SCHEMA,
        "made": _time(made),
        "assignment": _assignment(book.assignment),
        "max_points": book.max_points,
        "students": [_student(row, pseudonyms or {}) for row in book.rows],
        "stray": [_submission(one) | {"exercise": one.exercise, "student": one.student} for one in book.stray],
        "similar": [_pair(pair) for pair in similar],
        "versions": dict(versions),
    })  # fmt: skip
    return document


def _time(moment: datetime | None) -> str | None:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat() if moment else None


def _assignment(assignment: Assignment) -> dict[str, Any]:
    late = assignment.late
    return {
        "name": assignment.name,
        "title": assignment.title,
        "exercises": [{"name": one.name, "points": one.points} for one in assignment.exercises],
        "deadline": _time(assignment.deadline),
        "late": {"grace_minutes": late.grace_minutes, "percent_per_day": late.percent_per_day, "days": late.days},
        "counts": assignment.counts,
        "backend": assignment.backend,
        "hidden": assignment.hidden,
        "variants": assignment.variants,
    }


def _student(row: Row, pseudonyms: Mapping[str, str]) -> dict[str, Any]:
    student = row.student
    return {
        "id": student.id,
        "name": student.name,
        "email": student.email,
        "columns": dict(student.columns),
        "known": row.known,
        "pseudonym": pseudonyms.get(student.id),
        "points": row.total,
        "open": row.open,
        "grades": [_grade(grade) for grade in row.grades],
    }


def _grade(grade: Grade) -> dict[str, Any]:
    at = next((i for i, attempt in enumerate(grade.attempts) if attempt is grade.attempt), None)
    return {
        "exercise": grade.exercise,
        "state": grade.state,
        "points": grade.points,
        "max_points": grade.max_points,
        "verdict": grade.verdict or None,
        "counts": at,
        "override": _override(grade.override) if grade.override else None,
        "notes": list(grade.notes),
        "submissions": [_attempt(attempt) for attempt in grade.attempts],
    }


def _override(override: Override) -> dict[str, Any]:
    return {"points": override.points, "reason": override.reason, "made": _time(override.made)}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    late = attempt.lateness
    return _submission(attempt.submission) | {
        "state": attempt.state,
        "points": attempt.points,
        "earned": attempt.earned,
        "late_s": late.by.total_seconds() if late.known else None,
        "late_days": late.days if late.known else None,
        "deductions": [{"kind": d.kind, "points": d.points, "reason": d.reason} for d in attempt.deductions],
        "result": _result(attempt.result) if attempt.result else None,
    }


def _submission(submission: ClassSubmission) -> dict[str, Any]:
    return {
        "number": submission.number,
        "files": [{"path": file.path, "sha256": file.sha256} for file in submission.files],
        "submitted": _time(submission.submitted),
        "time_from": submission.time_from or None,
        "origin": submission.origin,
        "marked_late": submission.marked_late,
    }


def _result(result: Result) -> dict[str, Any]:
    measured = result.run.get("measured") or {}
    return {
        "verdict": result.verdict,
        "points": result.points,
        "max_points": result.max_points,
        "attempts": result.attempts,
        "started": _time(result.started),
        "ended": _time(result.ended),
        "worker": result.worker,
        "sandbox": result.sandbox,
        "machine": dict(result.machine),
        "versions": dict(result.versions),
        "median_s": measured.get("median_s"),
        "fraction_of_peak": measured.get("fraction_of_peak"),
        "findings": [_finding(found) for found in result.run.get("diagnostics") or ()],
    }


def _finding(found: Mapping[str, Any]) -> dict[str, Any]:
    words = {name: str(found.get(name) or "") for name in ("kind", "severity", "cause", "rule", "message", "hint")}
    return words | {"file": found.get("file"), "line": found.get("line")}


def _pair(pair: SimilarPair) -> dict[str, Any]:
    return {
        "exercise": pair.exercise,
        "first": pair.first,
        "second": pair.second,
        "similarity": pair.similarity,
        "by": pair.by,
        "shared": [{"first": list(one.first), "second": list(one.second)} for one in pair.shared],
    }
