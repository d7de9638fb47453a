"""The course itself: `grade dev check`, one test for each exercise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise, course_at, exercise_files, read_exercise
from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.dev.check import CheckReport, run, start_check
from grader.dev.grading import CourseGrader
from grader.dev.wrong import WrongAnswer
from grader.gpus.models import simulable
from grader.verdict import Verdict

CATALOG = load_catalog()
SIMULATED = [one for one in CATALOG.exercises if simulable(one.exercise.requires)]
NO_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


class Grader(CourseGrader):
    """Keeps what it grades."""

    def __init__(self) -> None:
        super().__init__()
        self.gradings: dict[Path, Future[Verdict]] = {}

    def simulated(self, entry: CourseExercise, file: Path | WrongAnswer) -> Future[Verdict]:
        grading = super().simulated(entry, file)
        if isinstance(file, Path):
            self.gradings[file] = grading
        return grading


@dataclass(frozen=True)
class Course:
    """The checks of all exercises that are selected, in progress."""

    grader: Grader
    checks: dict[str, Callable[[], CheckReport]]


@pytest.fixture(scope="module")
def course(request: pytest.FixtureRequest) -> Iterator[Course]:
    """Begins with every exercise that is selected, so that all processors are busy while the first is waited for."""
    calls = [getattr(item, "callspec", None) for item in request.session.items if item.path == request.path]
    chosen = {
        call.params["one"].name: call.params["one"] for call in calls if call is not None and "one" in call.params
    }
    with Grader() as grader:
        yield Course(grader, {name: start_check(one, grader) for name, one in chosen.items()})


@NO_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("one", CATALOG.exercises, ids=[one.name for one in CATALOG.exercises])
def test_stub_solution_and_wrong_answers_are_as_the_exercise_says(one: CourseExercise, course: Course) -> None:
    assert [str(problem) for problem in course.checks[one.name]().problems] == []


@NO_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("one", SIMULATED, ids=[one.name for one in SIMULATED])
def test_an_untouched_stub_is_told_that_it_is_the_stub(one: CourseExercise, course: Course) -> None:
    verdict = course.grader.gradings[one.stub].result()
    assert verdict.exit_code == 1
    assert verdict.next_step.startswith("This is still the untouched stub")
    may_be = {"warning"} if one.exercise.answers else set()  # where the bug is one that a warning reports
    assert {found.severity for found in verdict.diagnostics} - may_be == {"error"}  # no notes of unused variables
    asks = "where it says YOUR CODE" if one.exercise.host else "write the kernel"
    works = verdict.verdict in ("technique", "slow") or one.exercise.answers
    assert (f"do what `grade show {one.name}` asks" if works else asks) in verdict.next_step


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
