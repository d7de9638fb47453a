"""The course's interview questions: each has what an interviewer listens for, each exercise numbers of its own."""

from __future__ import annotations

import pytest

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.questions import question_problems

EXERCISES = load_catalog().exercises

NOT_YET = []
"""Exercises whose questions are older than numbers and "Listens for". The list may only become shorter."""
LADDERS_NOT_YET = ["reduce"]
NOT_YET += [one.name for one in EXERCISES if one.exercise.ladder in LADDERS_NOT_YET]


@pytest.mark.parametrize("one", EXERCISES, ids=[one.name for one in EXERCISES])
def test_questions_are_complete_or_wait_for_it(one: CourseExercise) -> None:
    problems = [str(problem) for problem in question_problems(one)]
    if one.name in NOT_YET:
        assert problems, f"{one.name} is complete: take it out of the list"
    else:
        assert problems == []


def test_only_exercises_wait() -> None:
    assert set(NOT_YET) <= {one.name for one in EXERCISES}
