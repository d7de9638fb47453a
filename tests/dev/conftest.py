from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog.courses import Course, CourseExercise, course_at, read_exercise
from grader.exercise import Target

MINIATURE = Path(__file__).resolve().parent.parent / "course"
Read = Callable[[str], CourseExercise]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A copy of the miniature course, to be spoilt by a test."""
    shutil.copytree(MINIATURE, tmp_path / "course")
    return course_at(tmp_path / "course")


@pytest.fixture
def exercise(course: Course) -> Read:
    """Read an exercise of that copy by its name."""

    def read(name: str) -> CourseExercise:
        found = read_exercise(course.exercises / "01_first" / name / "exercise.py", course)
        assert isinstance(found, CourseExercise), found
        return found

    return read


@pytest.fixture
def scale(exercise: Read) -> CourseExercise:
    """One launch, a float parameter and an expectation on a counter; not timed."""
    return exercise("scale")


@pytest.fixture
def timed(scale: CourseExercise) -> CourseExercise:
    """The same with a pass line. The course has no trusted check for it, so it cannot be timed."""
    target = Target(unit="bandwidth", fraction=0.5, note="tests")
    return replace(scale, exercise=replace(scale.exercise, timed={"n": 2**24}, target=target))
