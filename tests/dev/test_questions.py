"""`grade dev check` of interview questions."""

from __future__ import annotations

import pytest

from grader.catalog.courses import CourseExercise
from grader.dev import questions
from grader.dev.questions import question_problems

GOOD = '[[number]]\nask = "{n}?"\ndraw = { n = [1, 2, 3] }\nanswer = "n"\nbecause = "So."\n'


def problems(entry: CourseExercise, toml: str) -> list[str]:
    entry.interview_numbers.write_text(toml)
    return [str(problem) for problem in question_problems(entry)]


def test_a_course_of_ones_own_needs_neither(scale):
    assert list(question_problems(scale)) == []
    scale.interview.unlink()
    assert list(question_problems(scale)) == []


def test_the_built_in_course_needs_both(scale, monkeypatch):
    monkeypatch.setattr(questions, "built_in_course", lambda: scale.course)
    assert problems(scale, GOOD) == [
        "interview.md: the question 'Why is there an `if` in the kernel?' has no line **Listens for:**",
        "interview.md: the question 'Is this kernel limited by arithmetic or by memory?' has no line **Listens for:**",
        "interview.toml: 1 generator; an exercise needs 2 or more",
    ]
    scale.interview.write_text("## Why?\n\nSo.\n\n**Listens for:** the reason.\n")
    assert problems(scale, GOOD + GOOD) == []


def test_what_one_listens_for_is_short(scale):
    scale.interview.write_text(f"## Why?\n\nSo.\n\n**Listens for:** {'word ' * 61}.\n")
    assert problems(scale, GOOD) == ["interview.md: 62 words of what one listens for at 'Why?'; at most 60"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[number]]", "[[number]", "is not TOML"),
        ("because", "becuase", "1st [[number]]: has no field 'becuase'; did you mean 'because'?"),
        ('"{n}?"', '"How many?"', "1st [[number]] asks the same and has different answers: it does not mention n"),
        ('"{n}?"', '"{n}, {m}?"', "cannot be drawn: there is no 'm'"),
        ('answer = "n"', 'answer = "n + k"', "cannot be drawn: there is no 'k' in 'n + k'; the names here are n"),
        ('answer = "n"', 'answer = "6 / (n - 2)"', "cannot be drawn: '6 / (n - 2)' divides by zero"),
        ('answer = "n"', 'answer = "min(n, 1)"', "always has the same answer"),
        ('answer = "n"', 'answer = "n / 7"', "has answers that are no integers"),
        ('answer = "n"', 'answer = "n / 7"\ndecimals = 1', "rounds 0.143 to 0.1: it needs more decimals"),
        ('answer = "n"', 'answer = "n"\nunit = "7 miles"', "does not accept its own answer, '1 7 mile"),
        ('"{n}?"', '"{n} sectors?"', "1st [[number]] says '1 sectors': {n:sectors} in braces counts in words"),
        ('"{n}?"', '"{n / 100000}?"', "says '1e-05'"),
        ("[1, 2, 3]", "{ low = 1, high = 100 }, m = { low = 1, high = 100 }", "has 10000 draws; at most 5000"),
    ],
)
def test_every_draw_is_made_and_what_fails_is_a_problem_in_every_course(scale, old, new, message):
    assert old in GOOD
    assert any(message in problem for problem in problems(scale, GOOD.replace(old, new)))
