"""``grade quiz``: interview questions one at a time, or as a page with their answers.

A number is typed and checked; any other answer is typed or thought, set beside the model answer, and graded by the
person. Without a terminal the answers are the lines of standard input. End of input and Ctrl-C end with a summary.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import groupby
from pathlib import Path
from random import SystemRandom
from threading import current_thread, main_thread

from grader.cli.course import find, load, print_paged, shown_statement
from grader.errors import UsageError
from grader.output import print_line, print_text, say, screen
from grader.practice.history import passed_names, progress
from grader.practice.questions import Generator, NumericQuestion, Question, questions_of
from grader.practice.quiz import Grade, Quiz, QuizItem, days_words, items_of, on_topic, utc_now
from grader.text import counted, safe, to_ascii

GRADES = {"a": Grade.AGAIN, "h": Grade.HARD, "g": Grade.GOOD, "e": Grade.EASY}
LEAVING = frozenset({"q", "quit", "exit"})


def show_quiz(
    names: Sequence[str], courses: Sequence[Path], *, topic: str | None, answers: bool, no_color: bool
) -> int:
    """Ask until the person leaves; with ``answers``, print the questions with their answers instead."""
    catalog = load(courses)
    exercises = [find(catalog, name) for name in dict.fromkeys(names)] or list(catalog.exercises)
    items = tuple(items_of(exercises)) if topic is None else on_topic(catalog, exercises, topic)
    if not items:
        [name] = {entry.name for entry in exercises[:1]} or {"the course"}
        hint = f"`grade show {name}` explains the task"
        raise UsageError(f"{name} has no interview questions", code="no_questions", hint=hint)
    if answers:
        if not names and topic is None:
            hint = "`grade quiz vector_add --answers`; --topic names a chapter, a ladder or a word"
            raise UsageError("the answers of which exercise?", code="usage", hint=hint)
        return _print_answers(items, no_color=no_color)
    quiz = Quiz(items, progress(), clock=utc_now, seed=seed(), first=passed_names(catalog.exercises))
    return Conversation(quiz, no_color=no_color).hold(len(items))


def seed() -> int:
    """What the values are drawn from: others each time."""
    return SystemRandom().getrandbits(64)


# ------------------------------------------------------------------------------------------------------------ --answers


def _print_answers(items: Sequence[QuizItem], *, no_color: bool) -> int:
    """Print the questions of each exercise, numbered as on its page, with answers and what interviewers listen for."""
    page = []
    for entry, members in groupby(items, key=lambda item: item.entry):
        asked = [item.source for item in members]
        numbered = enumerate(questions_of(entry), start=1)
        shown = [
            _with_answer(f"**{number}.** {question.text}", question)
            for number, question in numbered
            if question in asked
        ]
        page += [f"# {entry.name}: interview", *shown] if shown else []
    numbers = sum(isinstance(item.source, Generator) for item in items)
    closing = f"`grade quiz` also asks {counted(numbers, 'question')} for a number, with new values each time."
    print_paged(shown_statement("\n\n".join(page), no_color=no_color), closing if numbers else "")
    return 0


def _with_answer(heading: str, question: Question) -> str:
    listens_for = f"**An interviewer listens for:** {question.listens_for}" if question.listens_for else ""
    return "\n\n".join(filter(None, (heading, question.answer, listens_for)))


# -------------------------------------------------------------------------------------------------------- one at a time


def not_a_number(question: NumericQuestion) -> str:
    """What to say to an answer that cannot be read."""
    unit = f"; the unit is {question.unit}" if question.unit else ""
    return f"That is not a number. Numbers look like 128, 0.5, 3/4, 2^20 or 1e6{unit}."


class Leaving(Exception):
    """Raised when the person ends the quiz, or the input ends."""


class Conversation:
    """Prints the questions of a quiz and reads the answers, a line each."""

    def __init__(self, quiz: Quiz, *, no_color: bool) -> None:
        self._quiz = quiz
        self._no_color = no_color

    def hold(self, count: int) -> int:
        """Ask until the person leaves or nothing is left; returns the exit code."""
        say(f"{counted(count, 'question')}: {self._quiz.due} due, {self._quiz.new} new.")
        say(
            "A number is checked; with another question you compare your answer with a good one, and say how well you "
            "knew it. Enter alone shows the answer; q or Ctrl-D ends."
        )
        with suppress(ImportError):
            import_module("readline")  # then the arrow keys edit what is typed
        with suppress(Leaving), _ctrl_c_leaves():
            self._ask_all()
        say(self._quiz.summary())
        return 0

    def _ask_all(self) -> None:
        asked, told = 0, False
        while (item := self._quiz.next()) is not None:
            if self._quiz.beyond and not told:
                told = True
                say("\nThat was everything that is due. Numbers go on, with new values, as long as you like.")
            asked += 1
            print_line(f"\n── {asked} · {item.entry.name} " + "─" * 20)
            grade = self._number(item.source) if isinstance(item.source, Generator) else self._question(item.source)
            days = self._quiz.graded(item, grade)
            soon = "in a while, and " if grade is Grade.AGAIN else ""
            say(f"This question comes back {soon}{days_words(days)}.")

    def _number(self, generator: Generator) -> Grade:
        question = self._quiz.drawn(generator)
        self._show(question.text)
        right = self._check(question)
        mark = {True: "✔ Right", False: "✘ No", None: "The answer"}[right]
        print_line("")
        self._show(f"{mark}: **{question.shown_answer}**. {question.because}")
        return Grade.GOOD if right else Grade.AGAIN

    def _check(self, question: NumericQuestion) -> bool | None:
        """Whether the typed number is right; None if the person wants to see the answer."""
        while (typed := _read(f"{question.unit}> ".lstrip())) not in ("", "?"):
            right = question.is_right(typed)
            if right is not None:
                return right
            say(f"{not_a_number(question)} Enter alone shows the answer.")
        return None

    def _question(self, question: Question) -> Grade:
        self._show(f"**{question.text}**")
        _read("> ")
        print_line("")
        self._show(_with_answer("", question))
        while True:
            typed = _read("How well did you know it? a = again, h = hard, g = good, e = easy [g] > ").casefold()
            grade = GRADES.get(typed[:1] or "g")
            if grade is not None and (len(typed) <= 1 or grade.name.casefold().startswith(typed)):
                return grade
            say("Type a, h, g or e; Enter alone is g.")

    def _show(self, markdown: str) -> None:
        print_text(shown_statement(markdown, no_color=self._no_color) + "\n")


def _read(prompt: str) -> str:
    """One typed line. Raises Leaving at the end of input, at Ctrl-C, and when a line says so."""
    shown = safe(prompt)
    try:
        line = input(shown if screen().unicode else to_ascii(shown)).strip()
    except (EOFError, KeyboardInterrupt):
        print_line("")
        raise Leaving from None
    if not sys.stdin.isatty():
        print_line(line)  # what was piped in stands where it would have been typed
    if line.casefold() in LEAVING:
        raise Leaving
    return line


@contextmanager
def _ctrl_c_leaves() -> Iterator[None]:
    """Make Ctrl-C an exception here: elsewhere it ends the process at once."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:  # while something was printed
        raise Leaving from None
    finally:
        signal.signal(signal.SIGINT, before)
