"""Results as other graders' systems read them: Gradescope, Classroom 50, JUnit. Pure.

    gradescope(row, book) -> {"score": …, "tests": […]}       results.json of one student
    classroom50(row, book) -> {"schema": …, "max-score": …}   result.json of one student: integers, hyphenated keys
    class_junit(book) -> str                                  a suite for each student and exercise

A grade that is open fails no test: it has no points, and its words say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from grader.classroom.gradebook import OPEN, Grade, Gradebook, Row
from grader.render.classroom.shown import ExerciseFacts
from grader.render.classroom.student import OPEN_WORDS, reasons, seen_verdict
from grader.render.json import plain, read_verdict
from grader.render.junit import to_junit
from grader.text import cut, safe
from grader.verdict import Diagnostic, StageResult, Status, Verdict

LONGEST = 20_000  # characters of a test's output
FINDINGS_SHOWN = 8
VISIBLE = "visible"


def gradescope(
    row: Row, book: Gradebook, facts: Mapping[str, ExerciseFacts], private: Sequence[str] = (), remark: str = ""
) -> dict[str, Any]:
    """Return ``results.json``: a test for each exercise, with what the student may see."""
    tests = []
    for number, grade in enumerate(row.grades, start=1):
        output = _output(grade, book, facts, private)
        test = {
            "name": _line(grade.exercise), "number": str(number), "max_score": grade.max_points, "output": output,
            "output_format": "text", "visibility": VISIBLE, "tags": [_line(grade.verdict or grade.state)],
        }  # fmt: skip
        tests.append(test if grade.points is None else test | {"score": grade.points, "status": _status(grade)})
    document: dict[str, Any] = plain({
        "score": row.total,
        "execution_time": _seconds(row),
        "output": " ".join(filter(None, (safe(remark), f"{OPEN_WORDS} ({row.open})" if row.open else ""))),
        "output_format": "text",
        "test_output_format": "text",
        "visibility": VISIBLE,
        "stdout_visibility": "hidden",
        "extra_data": {"assignment": book.assignment.name, "open": row.open, "sandbox": _sandbox(row)},
        "tests": tests,
    })  # fmt: skip
    return document


def _status(grade: Grade) -> str:
    return "passed" if _has_passed(grade) else "failed"


def _has_passed(grade: Grade) -> bool:
    """Whether it has all points, or lost some only by being late."""
    return (grade.points or 0.0) >= grade.max_points or (grade.state == "graded" and grade.verdict == "pass")


def _seconds(row: Row) -> float:
    results = [grade.attempt.result for grade in row.grades if grade.attempt and grade.attempt.result]
    return round(sum((result.ended - result.started).total_seconds() for result in results), 3)


def _sandbox(row: Row) -> str:
    """``none`` if one of the submissions ran without."""
    results = [grade.attempt.result for grade in row.grades if grade.attempt and grade.attempt.result]
    return max((result.sandbox for result in results), default="landlock")


def _output(grade: Grade, book: Gradebook, facts: Mapping[str, ExerciseFacts], private: Sequence[str]) -> str:
    """Verdict, reasons, findings and hints as plain text."""
    verdict = seen_verdict(grade, book.assignment.hidden, facts.get(grade.exercise, ExerciseFacts()), private)
    lines = [f"Verdict: {grade.verdict.replace('_', ' ')}"] if verdict else []
    lines += reasons(grade)
    lines += _found(verdict.diagnostics) if verdict else []
    if verdict and verdict.next_step:
        lines.append(f"Next: {verdict.next_step}")
    return cut("\n".join(safe(line, lines=True) for line in lines), LONGEST)


def _found(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    for found in diagnostics[:FINDINGS_SHOWN]:
        place = f"{found.file}:{found.line}: " if found.file and found.line else ""
        yield f"{place}{found.message}"
        if found.hint:
            yield f"  Hint: {found.hint}"


def _line(text: str) -> str:
    return cut(safe(text), 200)


# --------------------------------------------------------------------------------------------------------- Classroom 50


def classroom50(row: Row, book: Gradebook, *, classroom: str, made: datetime) -> dict[str, Any]:
    """Return ``result.json``; points are rounded to integers, and the score is their sum."""
    tests = [
        {
            "test-name": _line(grade.exercise), "passed": _has_passed(grade),
            "score": _integer(grade.points or 0.0), "max-score": _integer(grade.max_points),
        }
        for grade in row.grades
    ]  # fmt: skip
    document: dict[str, Any] = plain({
        "schema": "classroom50/result/v1",
        "classroom": _line(classroom),
        "assignment": book.assignment.name,
        "submission": _line(row.student.id),
        "commit": "",
        "release": "",
        "review": "",
        "datetime": _submitted(row, made).isoformat(),
        "score": sum(int(str(test["score"])) for test in tests),
        "max-score": sum(int(str(test["max-score"])) for test in tests),
        "tests": tests,
    })  # fmt: skip
    return document


def _integer(points: float) -> int:
    return int(points + 0.5)


def _submitted(row: Row, made: datetime) -> datetime:
    """The time of the newest submission that counts, else that of the document."""
    times = [grade.attempt.submission.submitted for grade in row.grades if grade.attempt]
    return max((time for time in times if time is not None and time.tzinfo), default=made)


# --------------------------------------------------------------------------------------------------------------- JUnit


def class_junit(book: Gradebook, *, made: datetime) -> str:
    """Return the document: a suite for each student and exercise, with the stages of the submission that counts."""
    verdicts = [_verdict(row, grade) for row in book.rows for grade in row.grades]
    return to_junit(verdicts, timestamp=made.isoformat(timespec="seconds"))


def _verdict(row: Row, grade: Grade) -> Verdict:
    name = f"{row.student.id}/{grade.exercise}"
    result = grade.attempt.result if grade.attempt else None
    if result is not None and grade.state not in OPEN:
        try:
            return replace(read_verdict(result.run), exercise=name, seed=None, printed="")
        except ValueError:
            pass
    status: Status = "failed" if grade.state in ("missing", "too_late") else "not_graded"
    why = "; ".join(grade.notes) or OPEN.get(grade.state, grade.state)
    return Verdict(name, "sim", grade.verdict or grade.state, 0, 0, None, (StageResult("graded", status, why),))
