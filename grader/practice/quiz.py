"""A quiz: which question comes next, and when an answered one comes back.

    due cards, oldest first ─▶ new questions ─▶ numbers with new values, without end
              ▲                      ▲
              └── a wrong answer: after four other questions, and tomorrow

The days until a question comes back are those of FSRS (spaced repetition, the library `fsrs`), in whole days: no steps
of minutes. A question that is due some time today is due. A card belongs to a question of one exercise, by its text,
and is stored in the user's progress; after a course was renumbered, the former step's card counts. Numbers beyond those
that are due are practice: a right answer changes no card.

`Quiz` neither reads nor prints, and gets its clock and its seed: `grader.cli.quiz` is the conversation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import IntEnum
from itertools import chain, zip_longest
from random import Random
from typing import TYPE_CHECKING

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog, is_number
from grader.catalog.paths import path_in
from grader.errors import UsageError
from grader.frozen import dataclass
from grader.practice.history import keys_of
from grader.practice.progress import Key, Progress
from grader.practice.questions import Generator, NumericQuestion, Question, generators_of, questions_of
from grader.text import counted

if TYPE_CHECKING:
    from fsrs import Card

Clock = Callable[[], datetime]

OTHERS_BETWEEN = 4
"""A question that was answered wrong is asked again after so many others."""
LONGEST_DAYS = 180


class Grade(IntEnum):
    """How well an answer was known; the numbers are those of FSRS's ratings."""

    AGAIN = 1
    HARD = 2
    GOOD = 3
    EASY = 4


@dataclass(frozen=True)
class QuizItem:
    """A question, or a generator of questions, of an exercise."""

    entry: CourseExercise
    source: Question | Generator

    @property
    def text(self) -> str:
        """The text by which its card is found: of a generator, the one with names in it."""
        return self.source.text if isinstance(self.source, Question) else self.source.ask

    @property
    def key(self) -> tuple[Key, str]:
        return keys_of(self.entry)[0], self.text


def items_of(exercises: Iterable[CourseExercise]) -> Iterator[QuizItem]:
    """Yield what can be asked about the exercises, in their order, by turns a question and a number."""
    for entry in exercises:
        turns = zip_longest(questions_of(entry), generators_of(entry))
        yield from (QuizItem(entry, source) for source in chain.from_iterable(turns) if source is not None)


# --------------------------------------------------------------------------------------------------------------- topic


def on_topic(catalog: Catalog, exercises: Sequence[CourseExercise], topic: str) -> tuple[QuizItem, ...]:
    """What a topic asks about the exercises: a chapter, a ladder or a path, or else a word of questions or exercises.

    Only a word that is in none of these is looked for in the answers, where many words are mentioned.

    Raises UsageError if that is nothing.
    """
    word = _plain(topic)
    members = [entry for entry in exercises if _is_of(entry, word)]
    if not members and (path := path_in(catalog, word)) is not None:
        members = [entry for entry in exercises if entry in path.exercises]
    items = tuple(items_of(members))
    if not members and word and not is_number(word):
        all_items = tuple(items_of(exercises))
        items = tuple(item for item in all_items if word in _subject(item))
        items = items or tuple(item for item in all_items if word in _answer(item))
    if not items:
        hint = "a topic is a chapter (4, reduction), a ladder (reduce), a path (interview), or a word (occupancy)"
        raise UsageError(f"no question is about {topic!r}", code="unknown_topic", hint=hint)
    return items


def _is_of(entry: CourseExercise, word: str) -> bool:
    """Whether the word is the exercise's chapter, by number or name, or its ladder."""
    if is_number(word):
        return entry.number // 100 == int(word)
    chapter = entry.chapter.casefold()
    return word in {chapter, chapter.partition("_")[2].replace("_", " "), entry.exercise.ladder} - {""}


def _subject(item: QuizItem) -> str:
    """The words of what is asked, and of the exercise's name and idea."""
    exercise = item.entry.exercise
    return _plain(f"{item.text} {exercise.name.replace('_', ' ')} {exercise.idea}")


def _answer(item: QuizItem) -> str:
    return _plain(item.source.because if isinstance(item.source, Generator) else item.source.answer)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# ---------------------------------------------------------------------------------------------------------------- quiz


class Quiz:
    """One sitting: `next` gives a question, `graded` takes how it was answered and says when it comes back."""

    def __init__(
        self,
        items: Sequence[QuizItem],
        progress: Progress,
        *,
        clock: Clock,
        seed: int,
        first: frozenset[str] = frozenset(),
    ) -> None:
        """``first`` are names of exercises whose new questions come before the others: those that were passed."""
        self._progress, self._clock = progress, clock
        self._random = Random(seed)
        self._cards = _cards(items, progress.cards())
        due = [item for item in items if item.key in self._cards and self._days_left(item) <= 0]
        due.sort(key=lambda item: self._cards[item.key].due)
        new = sorted(
            (item for item in items if item.key not in self._cards), key=lambda item: item.entry.name not in first
        )
        self.due, self.new = len(due), len(new)
        self._queue = deque([*due, *new])
        self._again: deque[tuple[int, QuizItem]] = deque()  # from which number on, what was answered wrong
        self._numbers = [item for item in items if isinstance(item.source, Generator)]
        self._current: QuizItem | None = None
        self._grades: list[tuple[QuizItem, Grade]] = []
        self.beyond = False  # everything that is due was asked: numbers go on

    def next(self) -> QuizItem | None:
        """The next question; None if nothing is due and there are no numbers."""
        if self._again and (self._again[0][0] <= len(self._grades) or not self._queue):
            self._current = self._again.popleft()[1]
        elif self._queue:
            self._current = self._queue.popleft()
        else:
            self.beyond = True
            others = [item for item in self._numbers if item != self._current] or self._numbers
            self._current = self._random.choice(others) if others else None
        return self._current

    def drawn(self, generator: Generator) -> NumericQuestion:
        """A question with new values."""
        return generator.draw(self._random.getrandbits(64))

    def graded(self, item: QuizItem, grade: Grade) -> int:
        """Store how the answer was; returns in how many days the question comes back."""
        self._grades.append((item, grade))
        if grade is Grade.AGAIN:
            self._again.append((len(self._grades) + OTHERS_BETWEEN, item))
        if not self.beyond or grade is Grade.AGAIN:
            self._cards[item.key] = _reviewed(self._cards.get(item.key), grade, self._clock())
            self._progress.keep_card(*item.key, self._cards[item.key].to_json())
        return self._days_left(item)

    def summary(self) -> str:
        """``12 asked, 9 right; 3 come back tomorrow.``"""
        if not self._grades:
            return "No question was answered."
        right = sum(grade is not Grade.AGAIN for _, grade in self._grades)
        days = [self._days_left(item) for item in {item.key: item for item, _ in self._grades}.values()]
        tomorrow, soonest = sum(left <= 1 for left in days), min(days)
        back = f"{tomorrow} {'comes' if tomorrow == 1 else 'come'} back tomorrow"
        back = back if tomorrow else f"the first comes back {days_words(soonest)}"
        return f"{len(self._grades)} asked, {right} right; {back}."

    def _days_left(self, item: QuizItem) -> int:
        return (self._cards[item.key].due.astimezone().date() - self._clock().astimezone().date()).days


def keep_answer(entry: CourseExercise, text: str, grade: Grade, progress: Progress, at: datetime) -> None:
    """Store how a question was answered that something else than a quiz asked; what was not known is due at once.

    ``text`` is that of a `QuizItem`; nothing is stored if the exercise has no such question.
    """
    item = next((item for item in items_of([entry]) if item.text == text), None)
    if item is None:
        return
    card = _reviewed(_cards([item], progress.cards()).get(item.key), grade, at)
    if grade is Grade.AGAIN:
        card.due = at
    progress.keep_card(*item.key, card.to_json())


def due_today(exercises: Iterable[CourseExercise], progress: Progress, clock: Clock) -> int:
    """How many questions are due today; none is read before the first was asked, nor of a course with a broken file."""
    if not progress.cards():
        return 0
    try:
        return Quiz(tuple(items_of(exercises)), progress, clock=clock, seed=0).due
    except UsageError:
        return 0


def days_words(days: int) -> str:
    """``today``, ``tomorrow``, ``in 3 days``."""
    return "today" if days <= 0 else "tomorrow" if days == 1 else f"in {counted(days, 'day')}"


def utc_now() -> datetime:
    return datetime.now(UTC)


def _cards(items: Iterable[QuizItem], stored: Mapping[tuple[Key, str], str]) -> dict[tuple[Key, str], Card]:
    """The card of each item that has one, under its current key; a card that cannot be read is none."""
    from fsrs import Card

    cards: dict[tuple[Key, str], Card] = {}
    for item in items if stored else ():
        found = next((stored[key, item.text] for key in keys_of(item.entry) if (key, item.text) in stored), "")
        try:
            cards[item.key] = Card.from_json(found)
        except (ValueError, KeyError, TypeError):
            continue
    return cards


def _reviewed(card: Card | None, grade: Grade, at: datetime) -> Card:
    from fsrs import Card, Rating, Scheduler

    scheduler = Scheduler(
        learning_steps=(), relearning_steps=(), maximum_interval=LONGEST_DAYS, enable_fuzzing=False
    )  # fmt: skip
    return scheduler.review_card(card or Card(card_id=1, due=at), Rating(int(grade)), at)[0]
