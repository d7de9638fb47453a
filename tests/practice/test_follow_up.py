"""The questions after the code of an interview."""

from __future__ import annotations

import pytest

from grader.catalog.exercises import load_catalog
from grader.practice.follow_up import FollowUp, follow_ups
from grader.practice.interview import Attempt
from grader.practice.questions import generators_of, questions_of

CATALOG = load_catalog()


def what_next(name: str, following: str) -> str:
    """The model answer to the last question, what to try next."""
    last = follow_ups(CATALOG.find(name), (), (), (), CATALOG.find(following), seed=1)[-1]
    assert last.text.startswith("What would you try next")
    return last.model


def test_the_next_step_is_proposed_where_it_is_faster() -> None:
    model = what_next("transpose_v2", "transpose_v3")
    assert model.startswith("The course tries this next: `transpose_v3`")
    assert "`excess_wavefronts`" in model


def test_where_time_does_not_tell_the_steps_apart_the_answer_may_be_that_nothing_more_pays() -> None:
    model = what_next("reduce_v8", "reduce_v9")
    assert "nothing more pays" in model
    assert "0.94" in model


def test_after_the_last_step_of_a_ladder_nobody_asks_for_the_next() -> None:
    entry = CATALOG.find("transpose_v5")
    texts = [question.text for question in follow_ups(entry, (), (), (), None, seed=1)]
    assert not any(text.startswith("What would you try next") for text in texts)


def asked_about(name: str, seed: int) -> tuple[FollowUp, ...]:
    """The questions after a passed attempt with an ordinary kernel."""
    entry = CATALOG.find(name)
    passed = Attempt(60.0, "pass", 80, 80, "sim", kernel=name, threads=256, shared_bytes=1024, registers=32)
    return follow_ups(entry, (passed,), questions_of(entry), generators_of(entry), None, seed)


@pytest.mark.parametrize("name", ["softmax_v1", "transpose_v4", "vector_add", "sgemm_v1", "reduce_v3"])
def test_no_two_questions_are_of_one_kind_where_others_are_left(name: str) -> None:
    for seed in range(30):
        asked = asked_about(name, seed)
        kinds = [question.kind for question in asked if question.kind is not None]
        assert len(kinds) == len(set(kinds)), [question.text for question in asked]


def test_where_all_questions_are_of_one_kind_as_many_are_asked() -> None:
    asked = asked_about("bank_conflicts", 1)
    assert sum(bool(question.card) for question in asked) == 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How many of its blocks are resident on one SM?", "How many such blocks fit on a multiprocessor of an H100?"),
        ("It reads 8 rows. How many MB (10^6 bytes) does it load?", "How many µs at least, at 4800 GB/s?"),
        ("How many bytes must it move?", "How many MB do its warps load and store?"),
        ("What bounds it: memory or computing?", "Is the product limited by memory or by arithmetic?"),
    ],
)
def test_questions_with_the_same_calculation_are_of_one_kind(one: str, other: str) -> None:
    assert FollowUp(one, "").kind == FollowUp(other, "").kind is not None


def test_a_question_about_bytes_in_flight_is_not_one_about_bytes_that_are_moved() -> None:
    flight, moved = FollowUp("How many KB must be in flight to load 2 TB/s?", ""), FollowUp("MB that it loads?", "")
    assert flight.kind != moved.kind


def test_a_question_of_the_exercise_has_the_text_of_its_card() -> None:
    entry = CATALOG.find("vector_add")
    cards = {question.card for question in asked_about("vector_add", 3)} - {""}
    assert cards <= {one.text for one in questions_of(entry)} | {one.ask for one in generators_of(entry)}
    assert len(cards) == 4
