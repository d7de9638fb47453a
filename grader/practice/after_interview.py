"""After an interview: its answers count in `grade quiz`, and its report ends with what to practise next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import Catalog
from grader.catalog.variants import entry_with
from grader.practice.follow_up import FollowUp, follow_ups
from grader.practice.history import next_exercise, passed_names
from grader.practice.interview import Answer, Interview
from grader.practice.questions import generators_of, questions_of
from grader.practice.quiz import Grade
from grader.text import listed

OWN_VIEWS = {"missed": Grade.AGAIN, "partly": Grade.HARD, "well": Grade.GOOD}


def asked_in(catalog: Catalog, session: Interview) -> Sequence[FollowUp]:
    """The questions of a session, in order."""
    plain = catalog.find(session.exercise)
    entry = entry_with(plain, session.variant) if session.variant else plain
    ladder = catalog.ladder(plain)
    later = ladder[[one.name for one in ladder].index(plain.name) + 1 :]
    return follow_ups(
        entry, session.attempts, questions_of(entry), generators_of(plain), next(iter(later), None), session.seed
    )


def grade_of(answer: Answer) -> Grade | None:
    """How well an answer was known; None if nobody has judged it. A question that was left out was not known."""
    if not answer.typed:
        return Grade.AGAIN
    if answer.right is not None:
        return Grade.GOOD if answer.right else Grade.AGAIN
    return OWN_VIEWS.get(answer.judged)


def practise_next(catalog: Catalog, session: Interview, folder: Path) -> tuple[str, ...]:
    """What to practise after a session whose files are in ``folder``, a sentence each."""
    entry = catalog.find(session.exercise)
    passed = any(attempt.passed for attempt in session.attempts)
    code = _next_code(catalog) if passed else _same_code(catalog, entry, folder)
    lines = (*code, *_questions(session, asked_in(catalog, session)))
    return lines or ("Another interview: `grade interview`.",)


def _same_code(catalog: Catalog, entry: CourseExercise, folder: Path) -> Iterator[str]:
    yield f"The code, without a clock and with hints: `grade {entry.name} --file {folder / entry.stub.name}`."
    needed = [catalog.find(name) for name in entry.exercise.after]
    done = passed_names(needed)
    if missing := [one.name for one in needed if one.name not in done]:
        yield (
            f"{entry.name} builds on {listed(missing)}, which you have not passed: `grade start {missing[0]}` copies "
            "the stub."
        )


def _next_code(catalog: Catalog) -> Iterator[str]:
    following, _ = next_exercise(catalog)
    if following is not None:
        yield f"The next exercise is {following.name}: `grade start {following.name}` copies the stub."


def _questions(session: Interview, asked: Sequence[FollowUp]) -> Iterator[str]:
    """The questions that were missed: those of the exercise come back, others have a topic."""
    by_text = {question.text: question for question in asked}
    missed = [
        (number, by_text[answer.question])
        for number, answer in enumerate(session.answers, start=1)
        if answer.question in by_text and grade_of(answer) is Grade.AGAIN
    ]
    again = [number for number, question in missed if question.card]
    if again:
        them = "it" if len(again) == 1 else "them"
        yield f"{_numbered(again)}: `grade quiz {session.exercise}` asks {them} again, first of all."
    for number, question in missed:
        if question.topic:
            yield f"{_numbered([number])}: `grade quiz --topic {question.topic}` has more like it."


def _numbered(numbers: Sequence[int]) -> str:
    return f"Question{'' if len(numbers) == 1 else 's'} {listed(map(str, numbers))}"
