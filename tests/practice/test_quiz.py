"""A quiz: which question comes next, and when an answered one comes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.errors import UsageError
from grader.practice import quiz as quizzes
from grader.practice.progress import Progress
from grader.practice.questions import Generator, Question
from grader.practice.quiz import Grade, Quiz, QuizItem, days_words, items_of, keep_answer, on_topic

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
CATALOG = cache(load_catalog)
AGAIN, HARD, GOOD, EASY = Grade


@pytest.fixture
def entry() -> CourseExercise:
    return CATALOG().find("vector_add")


@pytest.fixture
def items(entry: CourseExercise) -> tuple[QuizItem, ...]:
    """Three questions, and a number."""
    number = Generator("{n}?", "n", (tuple({"n": n} for n in range(100)),), "", "So.")
    sources = (*(Question(f"{letter}?", "So.") for letter in "ABC"), number)
    return tuple(QuizItem(entry, source) for source in sources)


@pytest.fixture
def sitting(tmp_path: Path) -> Callable[..., Quiz]:
    """Makes a quiz on a day after noon of the first one, with the answers of earlier ones."""

    def make(items: tuple[QuizItem, ...], *, day: int = 0, **more) -> Quiz:
        at = NOON + timedelta(days=day)
        progress = Progress(tmp_path / "progress.sqlite3", pytest.fail)
        return Quiz(items, progress, clock=lambda: at, seed=1, **more)

    return make


def asked(quiz: Quiz, *grades: Grade) -> list[str]:
    """The texts of the next questions, which are graded like this."""
    texts = []
    for grade in grades:
        item = quiz.next()
        assert item is not None
        quiz.graded(item, grade)
        texts.append(item.text)
    return texts


def test_new_questions_come_in_order_then_numbers_without_end(items, sitting):
    quiz = sitting(items)
    assert (quiz.due, quiz.new) == (0, 4)
    assert asked(quiz, *[GOOD] * 4) == ["A?", "B?", "C?", "{n}?"]
    assert not quiz.beyond
    assert asked(quiz, *[GOOD] * 5) == ["{n}?"] * 5
    assert quiz.beyond
    assert quiz.summary() == "9 asked, 9 right; the first comes back in 2 days."


def test_without_numbers_a_quiz_ends(items, sitting):
    quiz = sitting(items[:2])
    asked(quiz, GOOD, GOOD)
    assert quiz.next() is None


def test_a_wrong_answer_comes_back_after_some_others_and_tomorrow(items, sitting):
    quiz = sitting((*items, *(replace(item, source=Question(f"{at}?", "So.")) for at, item in enumerate(items))))
    assert asked(quiz, AGAIN, *[GOOD] * 6) == ["A?", "B?", "C?", "{n}?", "0?", "A?", "1?"]
    assert quiz.summary() == "7 asked, 6 right; 1 comes back tomorrow."
    assert sitting(items, day=1).due == 1


def test_a_wrong_answer_comes_back_at_once_where_nothing_else_is_left(items, sitting):
    assert asked(sitting(items[:1]), AGAIN, AGAIN, GOOD) == ["A?"] * 3


def test_what_is_due_comes_first_the_oldest_before_others(items, sitting):
    asked(sitting(items), GOOD, AGAIN, EASY)
    later = sitting(items, day=3)
    assert (later.due, later.new) == (2, 1)
    assert asked(later, GOOD, GOOD, GOOD) == ["B?", "A?", "{n}?"]


def test_days_grow_with_each_answer_that_was_known(items, sitting):
    day, days = 0, []
    for _ in range(4):
        quiz = sitting(items[:1], day=day)
        item = quiz.next()
        assert item is not None
        days.append(quiz.graded(item, GOOD))
        day += days[-1]
    assert days == sorted(days)
    assert days[0] >= 2
    assert days[-1] > 30


def test_a_card_that_is_due_later_today_is_due(items, sitting, tmp_path):
    asked(sitting(items[:1]), AGAIN)
    morning = NOON + timedelta(days=1, hours=-4)
    quiz = Quiz(items[:1], Progress(tmp_path / "progress.sqlite3", pytest.fail), clock=lambda: morning, seed=1)
    assert quiz.due == 1


def test_practice_beyond_what_is_due_changes_no_card_unless_it_is_wrong(items, sitting):
    quiz = sitting(items[3:])
    asked(quiz, *[GOOD] * 10)
    assert sitting(items[3:], day=1).due == 0
    asked(quiz, AGAIN)
    assert sitting(items[3:], day=1).due == 1


def test_the_card_of_a_former_step_counts_and_is_kept_under_the_current_name(entry, items, sitting, monkeypatch):
    asked(sitting(items[:1]), GOOD)
    monkeypatch.setattr(quizzes, "keys_of", lambda _: (("", "vector_add", 2), ("", "vector_add", 1)))
    later = sitting(items[:1], day=2)
    assert later.due == 1
    asked(later, GOOD)
    monkeypatch.setattr(quizzes, "keys_of", lambda _: (("", "vector_add", 2),))
    assert (sitting(items[:1], day=3).due, sitting(items[:1], day=3).new) == (0, 0)


def test_a_damaged_card_is_a_new_question(items, sitting, tmp_path):
    progress = Progress(tmp_path / "progress.sqlite3", pytest.fail)
    for card in ("{}", "no JSON", '{"card_id": 1, "state": 9}'):
        progress.keep_card(*items[0].key, card)
        assert sitting(items[:1]).new == 1


def test_questions_of_passed_exercises_come_first(items, sitting):
    other = tuple(replace(item, entry=CATALOG().find("hello_index")) for item in items[:2])
    quiz = sitting((*other, *items[:2]), first=frozenset({"vector_add"}))
    first = [quiz.next() for _ in range(3)]
    assert [item.entry.name for item in first if item] == ["vector_add", "vector_add", "hello_index"]


def test_values_are_new_each_time_and_follow_from_the_seed(items, sitting):
    [number] = items[3:]
    values = [[quiz.drawn(number.source).text for _ in range(8)] for quiz in (sitting(items), sitting(items))]
    assert values[0] == values[1]
    assert len(set(values[0])) > 5


def test_nothing_asked_is_said(items, sitting):
    assert sitting(items).summary() == "No question was answered."
    assert [days_words(days) for days in (-2, 0, 1, 5)] == ["today", "today", "tomorrow", "in 5 days"]


# --------------------------------------------------------------------------------------------------------------- topics


def topic(word: str) -> tuple[QuizItem, ...]:
    return on_topic(CATALOG(), CATALOG().exercises, word)


def names(items: tuple[QuizItem, ...]) -> set[str]:
    return {item.entry.name for item in items}


@pytest.mark.parametrize("word", ["4", "04", "reduction", "Reduction", "04_reduction"])
def test_a_topic_is_a_chapter(word: str):
    assert names(topic(word)) == {one.name for one in CATALOG().exercises if one.chapter == "04_reduction"}


def test_a_topic_is_a_ladder():
    assert names(topic("reduce")) == {f"reduce_v{step}" for step in range(1, 11)}


def test_a_topic_is_a_path():
    assert names(topic("interview")) >= {"vector_add", "softmax_v1"}


def test_a_topic_is_a_word_of_questions_or_of_an_exercise():
    found = topic("Bank  conflict")
    assert {"bank_conflicts", "reduce_v3"} <= names(found)
    assert "aos_to_soa" not in names(found)  # an answer mentions it


def test_a_word_that_nobody_asks_about_is_looked_for_in_the_answers():
    assert "vector_add" in names(topic("Little's law"))


def test_questions_and_numbers_take_turns(entry):
    kinds = [type(item.source) for item in items_of([entry])]
    assert kinds[:4] == [Question, Generator, Question, Generator]


@pytest.mark.parametrize("word", ["99", "no such word", " "])
def test_a_topic_of_nothing_is_refused(word: str):
    with pytest.raises(UsageError) as refused:
        topic(word)
    assert refused.value.hint.startswith("a topic is a chapter")


def test_a_question_that_was_not_known_in_an_interview_is_due_at_once(entry, tmp_path):
    progress = Progress(tmp_path / "progress.sqlite3", pytest.fail)
    items = tuple(items_of([entry]))
    for item, grade in zip(items, (AGAIN, GOOD, HARD), strict=False):
        keep_answer(entry, item.text, grade, progress, NOON)
    keep_answer(entry, "Whose question is this?", AGAIN, progress, NOON)
    quiz = Quiz(items, progress, clock=lambda: NOON, seed=1)
    assert (quiz.due, quiz.new) == (1, len(items) - 3)
    assert quiz.next() == items[0]
    assert len(progress.cards()) == 3
