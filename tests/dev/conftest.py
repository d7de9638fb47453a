from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.courses import Course, CourseExercise, course_at, read_exercise

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
    """One launch, a float parameter, a target and an expectation on a counter."""
    return exercise("scale")
