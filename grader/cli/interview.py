"""``grade interview``: the questions of an exercise's interview page, and their answers for who asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from grader.cli.course import find, load, print_paged
from grader.errors import UsageError
from grader.output import screen, wrapped


def show_interview(name: str, courses: Sequence[Path], *, answers: bool, no_color: bool) -> int:
    """Print the questions of one exercise, numbered; with ``answers``, each with its answer."""
    from grader.practice.questions import questions_in
    from grader.render.statement import statement_text

    entry = find(load(courses), name)
    try:
        questions = questions_in(entry.interview.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        questions = ()
    if not questions:
        hint = f"`grade show {entry.name}` explains the task"
        raise UsageError(f"{entry.name} has no interview questions", code="no_questions", hint=hint)
    shown = screen(no_color=no_color)
    page = "\n\n".join(
        f"**{number}.** {question.text}" + (f"\n\n{question.answer}" if answers else "")
        for number, question in enumerate(questions, start=1)
    )
    title = f"# {entry.name}: interview\n\n"
    text = statement_text(title + page, width=shown.width, color=shown.color, unicode=shown.unicode)
    closing = (
        "" if answers else f"Answer aloud first; `grade interview {entry.name} --answers` shows what a good answer has."
    )
    print_paged(text, wrapped(closing, width=shown.width))
    return 0
