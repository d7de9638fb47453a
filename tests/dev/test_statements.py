from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.dev.statements import text_problems
from grader.exercise import Target

STATEMENT = """\
# scale

| parameter | type | meaning |
|---|---|---|
| `x` | `const float*` | input |
| `y` | `float*` | output |
| `factor` | `float` | what to multiply by |
| `n` | `int` | number of elements |

| stage | what it asks |
|---|---|
| correct | at n = 1, 31, 33 |
| technique | sector efficiency of at least 0.99 |
| fast | 0.5 of peak or more |

| report | meaning |
|---|---|
| `wrong`, never written | write it |
| `slow` | faster |
"""


def problems(one: CourseExercise, statement: str = STATEMENT) -> list[str]:
    one.statement.write_text(statement)
    return [str(problem) for problem in text_problems(one)]


def test_the_texts_of_the_miniature_course_are_in_order(exercise):
    assert [str(problem) for name in ("scale", "total") for problem in text_problems(exercise(name))] == []


def test_a_statement_that_agrees_with_its_exercise_is_in_order(timed):
    assert problems(timed) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# scale", "# Scale", "does not begin with `# scale`"),
        ("`factor` | `float`", "`factor` | `double`", "`factor` of type `double` is in no kernel"),
        ("| `n` | `int` | number of elements |\n", "", "`n` of type `int` is not in the table"),
        ("at least 0.99", "at least 0.95", "asks for 0.95 under technique"),
        ("0.5 of peak", "0.6 of peak", "its pass line is 0.6, that on an H200 0.5"),
        ("| technique | sector efficiency of at least 0.99 |\n", "", "does not say what technique"),
        ("| fast |", "| speed |", "there is no stage 'speed'"),
        ("`wrong`, never", "`mistaken`, never", "'mistaken' is no verdict word"),
        ("31, 33 |", "31, 33 and at secret sizes |", "speaks of secret sizes"),
    ],
)
def test_a_statement_that_says_something_else_than_its_exercise_is_a_problem(timed, old, new, words):
    assert old in STATEMENT
    assert any(words in problem for problem in problems(timed, STATEMENT.replace(old, new)))


def test_a_verdict_that_the_exercise_never_gives_is_not_explained(scale):
    untimed = replace(scale, exercise=replace(scale.exercise, target=None, technique=()))
    found = " ".join(problems(untimed, STATEMENT.replace("`wrong`, never", "`technique`")))
    assert "explains the verdict `slow`" in found
    assert "explains the verdict `technique`" in found


def test_the_pass_line_of_the_statement_is_that_of_the_target(scale):
    target = Target(unit="bandwidth", fraction=0.6, note="tests")
    assert problems(replace(scale, exercise=replace(scale.exercise, target=target))) != []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("hints.md", "", "missing, or empty"),
        ("hints.md", "## 1\n\nRead.\n", "1 hint;"),
        ("hints.md", "## 2\n\nRead.\n\n## 1\n\nWrite.\n", "numbered 2, 1"),
        ("hints.md", "## 1\n\nRead.\n\n## 3\n\nWrite.\n", "numbered 1, 3"),
        ("hints.md", "## 1\n\n## 2\n\nWrite.\n", "hint 1 is empty"),
        ("interview.md", "## Why?\n\nBecause.\n", "1 question;"),
        ("interview.md", "## Why?\n\n### Answer\n\n## How?\n\nSo.\n", "'Why?' has no answer"),
    ],
)
def test_hints_are_ordered_and_questions_answered(scale, name, text, words):
    (scale.folder / name).write_text(text)
    assert any(words in str(problem) for problem in text_problems(scale))


def test_a_numbered_list_inside_a_hint_is_no_hint(scale):
    Path(scale.hints).write_text("## 1\n\n1. a\n2. b\n\n## 2\n\nWrite.\n")
    assert list(text_problems(scale)) == []
