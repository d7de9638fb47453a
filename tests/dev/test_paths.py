"""What `grade dev check` says of `Exercise.after` and `Exercise.paths`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.paths import path_report


def made(scale: CourseExercise, name: str, order: int, *after: str, **more) -> CourseExercise:
    return replace(scale, exercise=replace(scale.exercise, name=name, order=order, after=after, **more))


def messages(*exercises: CourseExercise) -> list[str]:
    report = path_report(exercises, exercises)
    return [] if report is None else list(map(str, report.problems))


def test_the_course_itself_is_in_order():
    exercises = load_catalog().exercises
    report = path_report(exercises, exercises)
    assert report is not None
    assert report.problems == ()
    assert "6 paths" in report.summary


def test_exercises_without_both_have_no_report(scale):
    assert path_report([scale], [scale]) is None


def test_an_unknown_name_is_answered_with_the_nearest(scale):
    (message,) = messages(made(scale, "a", 1), made(scale, "b_long", 2, "b_lang"))
    assert message == "b_long/exercise.py: after names 'b_lang', which no course has: did you mean 'b_long'?"


def test_an_exercise_may_build_on_one_of_another_course(scale):
    mine = [made(scale, "mine", 9001, "vector_add"), made(scale, "other", 9002)]
    report = path_report(mine, [*load_catalog().exercises, *mine])
    assert report is not None
    assert report.problems == ()
    assert report.summary == "0 paths; 1 of 2 exercises build on others"
    assert path_report(mine[:1], [*load_catalog().exercises, *mine]) is None


def test_a_circle_is_found_however_long_it_is(scale):
    said = messages(made(scale, "a", 1, "c"), made(scale, "b", 2, "a"), made(scale, "c", 3, "b"))
    assert "a/exercise.py: a and c build on each other" in said
    assert messages(made(scale, "a", 1, "a")) == ["a/exercise.py: after names the exercise itself"]


def test_nothing_builds_on_a_later_exercise(scale):
    (message,) = messages(made(scale, "a", 1, "b"), made(scale, "b", 2))
    assert message == "a/exercise.py: after names b, which comes later in the course"


@pytest.mark.parametrize(("requires", "problems"), [("sm_90", 0), ("sm_80", 1)])
def test_but_one_that_needs_the_same_newer_gpu(scale, requires, problems):
    said = messages(made(scale, "a", 1, "b", requires=requires), made(scale, "b", 2, requires="sm_90a"))
    assert len(said) == problems


def test_a_path_needs_a_sentence_and_a_sentence_a_path(scale):
    entry = made(scale, "a", 1, paths=("mine",))
    assert messages(entry) == ["course.toml: [paths] has no sentence for 'mine'"]
    table = scale.course.exercises / "course.toml"
    table.write_text('[paths]\nmine = "my own"\nother = "of nobody"\n')
    assert messages(entry) == ["course.toml: no exercise belongs to the path 'other'"]
    table.write_text("[paths")
    assert len(messages(entry)) == 1
