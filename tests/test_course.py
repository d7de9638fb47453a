"""The course itself: `grade dev check`, one test for each exercise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise, course_at, exercise_files, read_exercise
from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.dev.check import CheckReport, run, start_check
from grader.dev.grading import CourseGrader

CATALOG = load_catalog()
NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


@pytest.fixture(scope="module")
def report_of(request: pytest.FixtureRequest) -> Iterator[Callable[[CourseExercise], CheckReport]]:
    """Begins with every exercise that is selected, so that all processors are busy while the first is waited for."""
    calls = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    chosen = [call.params["one"] for call in calls if call is not None and "one" in call.params]
    with CourseGrader() as grader:
        checks = {one.name: start_check(one, grader) for one in chosen}
        yield lambda one: checks[one.name]()


@NO_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("one", CATALOG.exercises, ids=[one.name for one in CATALOG.exercises])
def test_stub_solution_and_wrong_answers_are_as_the_exercise_says(
    one: CourseExercise, report_of: Callable[[CourseExercise], CheckReport]
) -> None:
    assert [str(problem) for problem in report_of(one).problems] == []


@NO_COMPILER
@pytest.mark.slow
def test_the_miniature_course_of_the_tests_is_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    course = course_at(Path(__file__).parent / "course")
    read = [read_exercise(path, course) for path in exercise_files(course.exercises)]
    exercises = [one for one in read if isinstance(one, CourseExercise)]
    assert (len(read), len(exercises)) == (2, 2)
    assert run(exercises) == 0, capsys.readouterr().out


def test_every_exercise_can_be_read() -> None:
    assert [str(one.error) for one in CATALOG.broken] == []


def test_the_course_has_exercises_with_a_stub_and_a_solution() -> None:
    pairs = [one.name for one in CATALOG.exercises if one.stub.is_file() and one.solution is not None]
    assert len(pairs) >= 6
