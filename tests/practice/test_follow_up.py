"""The questions after the code of an interview."""

from __future__ import annotations

from grader.catalog.exercises import load_catalog
from grader.practice.follow_up import follow_ups

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
