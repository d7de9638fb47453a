"""Checks of an exercise's interview questions: what an interviewer listens for, and every draw of every generator.

The built-in course has a line `**Listens for:**` for every question, and two generators or more for every exercise.
Other courses may leave out both; a generator that cannot be read or drawn is a problem in every course.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.catalog.courses import CourseExercise, built_in_course
from grader.dev.markdown import cuts
from grader.dev.report import Problem
from grader.errors import UsageError
from grader.expressions import ExpressionError
from grader.practice.questions import (
    LISTENS_FOR,
    MOST_DRAWS,
    Generator,
    NumericQuestion,
    expressions_in,
    generators_of,
    questions_of,
)
from grader.text import counted, listed, ordinal

GENERATORS = 2
"""The minimum number of generators of an exercise."""
MOST_LISTENED_WORDS = 60
MOST_ROUNDED = 0.05
"""The largest part of an answer that rounding may change: more, and a wrong answer is taken for the right one."""
_ONE_OF_MANY = re.compile(
    r"(?<![\w.,])(?<![-+−·×*/÷^%] )(?<![-+−·×*/÷^%])(?<!\d )"
    r"1 (?!(?:is|has|was|ms|uses|begins|flips|takes|lies)\b)[a-z]{2,}s\b"
)  # "1 sectors", and not "32 + 1 words" or "1 048 576 halves"
_EXPONENT = re.compile(r"\d(?:\.\d+)?e[+-]\d+")


def question_problems(entry: CourseExercise) -> Iterator[Problem]:
    """Yield the problems of the exercise's interview questions, beyond missing questions and answers."""
    ours = entry.course == built_in_course()
    for question in questions_of(entry):
        words = len(question.listens_for.split())
        if ours and not words:
            yield Problem(entry.interview.name, f"the question {question.text!r} has no line {LISTENS_FOR}")
        if words > MOST_LISTENED_WORDS:
            message = f"{words} words of what one listens for at {question.text!r}; at most {MOST_LISTENED_WORDS}"
            yield Problem(entry.interview.name, message)
    numbers = entry.interview_numbers.name
    try:
        generators = generators_of(entry)
    except UsageError as error:
        yield Problem(numbers, error.message + (f"; {error.hint}" if error.hint else ""))
        return
    if ours and len(generators) < GENERATORS:
        yield Problem(numbers, f"{counted(len(generators), 'generator')}; an exercise needs {GENERATORS} or more")
    for at, generator in enumerate(generators, start=1):
        for message in generator_problems(generator):
            yield Problem(numbers, f"the {ordinal(at)} [[number]] {message}")


def generator_problems(generator: Generator) -> Iterator[str]:
    """Yield what is wrong with a generator, of which every draw is made."""
    if generator.count > MOST_DRAWS:
        yield f"has {generator.count} draws; at most {MOST_DRAWS} can be checked"
        return
    try:
        drawn = [generator.question(at) for at in range(generator.count)]
    except ExpressionError as error:
        yield f"cannot be drawn: {error.message}" + (f"; {error.hint}" if error.hint else "")
        return
    if len({question.answer for question in drawn}) < 2:
        yield "always has the same answer"
    if len({(question.text, question.answer) for question in drawn}) > len({question.text for question in drawn}):
        unmentioned = generator.names - set(re.findall(r"[A-Za-z_]\w*", " ".join(expressions_in(generator.ask))))
        yield f"asks the same and has different answers: it does not mention {listed(sorted(unmentioned))}"
    yield from dict.fromkeys(message for question in drawn for message in _answer_problems(question))
    yield from dict.fromkeys(message for question in drawn for message in _wording_problems(question))
    yield from (f"says: {message}" for text in (drawn[0].text, drawn[0].because) for _, message in cuts(text))


def _wording_problems(question: NumericQuestion) -> Iterator[str]:
    text = f"{question.text}\n{question.because}"
    for slip in _ONE_OF_MANY.findall(text):
        yield f"says {slip!r}: {{n:{slip.partition(' ')[2]}}} in braces counts in words"
    for slip in _EXPONENT.findall(text):
        yield f"says {slip!r}: people write 0.001 or 268 million"


def _answer_problems(question: NumericQuestion) -> Iterator[str]:
    if question.is_right(question.shown_answer) is not True:
        yield f"does not accept its own answer, {question.shown_answer!r}"
    if question.decimals is None and not float(question.answer).is_integer():
        yield "has answers that are no integers: `decimals` says how they are rounded"
    elif abs(round(question.answer, question.decimals) - question.answer) > MOST_ROUNDED * abs(question.answer):
        yield f"rounds {question.answer:.3g} to {question.shown_answer}: it needs more decimals"
