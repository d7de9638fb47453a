"""The person's progress as the commands use it: which runs are recorded, and under which name an exercise is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.catalog.exercises import Catalog, CourseExercise, built_in_course
from grader.cli.output import print_line
from grader.practice.progress import BUILT_IN, Progress, Run, now, own_progress
from grader.verdict import Verdict

if TYPE_CHECKING:
    from grader.render.roofline_drawing import Point

HASHED_BYTES = 1 << 20  # what is larger is no source


def progress() -> Progress:
    """The progress of the person at the keyboard; a trouble with its file is one line on standard error."""
    return own_progress(tell_once)


@cache
def tell_once(message: str) -> None:
    """Print a trouble, once: `grade watch` would otherwise repeat it at each save."""
    print_line(f"grade: {message}", to_stderr=True)


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


def ladder_points(catalog: Catalog, entry: CourseExercise, verdict: Verdict) -> tuple[Point, ...]:
    """The person's best runs of the other steps of this ladder, on the GPU of this run: points of its roofline.

    All steps do the same work, so a step's point differs from this run's in its rate alone.
    """
    measured = verdict.measured
    if measured is None or measured.roof is None or not measured.fraction_of_peak or verdict.device is None:
        return ()
    from grader.practice.standings import best_fractions
    from grader.render.roofline_drawing import Point

    best = best_fractions(progress().runs(), verdict.device)
    unit = measured.roof.achieved / measured.fraction_of_peak
    others = [step for step in catalog.ladder(entry) if step.name != entry.name]
    return tuple(
        Point(step.name, measured.roof.intensity, best[key_of(step)] * unit) for step in others if key_of(step) in best
    )
