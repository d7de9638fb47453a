"""The person's progress as the commands use it: which runs are recorded, and under which name an exercise is known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from grader.catalog.exercises import CourseExercise, built_in_course
from grader.output import tell_once
from grader.practice.progress import BUILT_IN, Progress, Run, now, own_progress
from grader.verdict import Verdict

HASHED_BYTES = 1 << 20  # what is larger is no source


def progress() -> Progress:
    """The progress of the person at the keyboard; a trouble with its file is one line on standard error."""
    return own_progress(tell_once)


def key_of(entry: CourseExercise) -> tuple[str, str]:
    """What an exercise is known by: its course and its name."""
    return BUILT_IN if entry.course == built_in_course() else str(entry.course.exercises), entry.name


def recorder(entry: CourseExercise, path: Path) -> Callable[[Verdict], None]:
    """Return what records a verdict on the file, as the file is now; for a file of the course's own, nothing does."""
    if _is_the_courses(entry, path):
        return lambda verdict: None
    course, name = key_of(entry)
    digest = _sha256(path)

    def record(verdict: Verdict) -> None:
        progress().record(_run(course, name, verdict, digest))

    return record


def _run(course: str, name: str, verdict: Verdict, digest: str | None) -> Run:
    measured = verdict.measured
    return Run(
        now(), course, name, verdict.verdict, verdict.score, verdict.max_score, verdict.backend,
        median_s=measured.median_s if measured else None,
        fraction_of_peak=measured.fraction_of_peak if measured else None,
        gpu=verdict.device if "gpu" in verdict.backend else None,
        file_sha256=digest,
    )  # fmt: skip


def _is_the_courses(entry: CourseExercise, path: Path) -> bool:
    """Whether the file is a solution or a wrong answer that ships with the course: its verdict is nobody's progress."""
    try:
        return entry.is_wrong_answer(path) or entry.course.solutions.resolve() in path.resolve().parents
    except (OSError, RuntimeError):  # a loop of links
        return False


def _sha256(path: Path) -> str | None:
    from hashlib import sha256

    try:
        if path.is_file() and path.stat().st_size <= HASHED_BYTES:
            return sha256(path.read_bytes()).hexdigest()
    except OSError:
        pass
    return None
