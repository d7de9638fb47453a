"""The course's interview questions: each has what an interviewer listens for, each exercise numbers of its own."""

from __future__ import annotations

import pytest

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.dev.questions import question_problems

EXERCISES = load_catalog().exercises


@pytest.mark.parametrize("one", EXERCISES, ids=[one.name for one in EXERCISES])
def test_every_question_says_what_to_listen_for_and_every_number_can_be_drawn(one: CourseExercise) -> None:
    assert [str(problem) for problem in question_problems(one)] == []
