from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.dev.static import fact_problems, first_foreign, pair_problems, source_problems, text_problems
from grader.exercise import Expect, Large, Target, Tolerance

GOOD = Expect("sector_efficiency", at_least=0.99, why="waste", hint="do not")
TARGET = Target(unit="bandwidth", fraction=0.5, note="tests")


def problems(one, **changes) -> list[str]:
    changed = replace(one, exercise=replace(one.exercise, **changes))
    return [str(problem) for problem in fact_problems(changed)]


def test_the_exercises_of_the_miniature_course_are_in_order(exercise):
    assert problems(exercise("scale")) == []
    assert problems(exercise("total")) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"idea": ""}, "0 words"),
        ({"idea": "word " * 16}, "16 words"),
        ({"points": (60, 20, 10)}, "add up to 90"),
        ({"technique": (replace(GOOD, counter="sector_eficiency"),)}, "no counter 'sector_eficiency'"),
        ({"technique": (replace(GOOD, counter="host_waits"),)}, "host_waits is a counter of host files"),
        ({"technique": (replace(GOOD, at_most=1.0),)}, "either at_least or at_most"),
        ({"technique": (replace(GOOD, at_least=None),)}, "either at_least or at_most"),
        ({"technique": (replace(GOOD, hint=""),)}, "has no hint"),
        ({"technique": (GOOD,), "counted": ({"n": 12345},)}, "is counted, but is none of the small ones"),
        ({"technique": (replace(GOOD, why="", hint=""),)}, "has no why"),
        ({"oracle": "mini:nothing"}, "nothing"),
        ({"tolerance": Tolerance(absolute=1e9), "exact": False}, "passes although it holds zeros"),
        ({"target": replace(TARGET, note="")}, "does not say where the pass line comes from"),
        ({"target": replace(TARGET, fraction=0.0, note="to be measured")}, "it has no pass line"),
        ({"target": replace(TARGET, of="ceiling")}, "does not name one"),
        ({"target": replace(TARGET, ceiling="nowhere")}, "no ceiling 'nowhere'"),
        ({"target": TARGET, "compared": ("stub", "wrong/nowhere.diff")}, "there is no wrong/nowhere.diff"),
        ({"target": TARGET, "timed": {"n": 2**24}}, "no trusted check on the device for 'mini:scale'"),
        ({"target": TARGET}, "no timed size"),
        ({"large": Large({"n": 2**31}, period={"n": 33})}, "no array of the large size has more than 2^31"),
        ({"large": Large({"n": 2**32 + 1}, period={"n": 32})}, "x repeats after a power of 2"),
    ],
)
def test_a_fact_that_cannot_be_is_a_problem(scale, changes, words):
    assert any(words in problem for problem in problems(scale, **changes)), problems(scale, **changes)


SOLUTION = "int a;\n\n  // why\nint b;\nint c;\n"


def pair_messages(folder: Path, stub: str, solution: str = SOLUTION) -> list[str]:
    (folder / "stub.cu").write_text(stub)
    (folder / "solution.cu").write_text(solution)
    return [str(problem) for problem in pair_problems(folder / "stub.cu", folder / "solution.cu")]


@pytest.mark.parametrize(
    "stub", ["int a;\n// YOUR CODE\nint c;\n", "// YOUR CODE: here\n", "int a;\n\n\n  // YOUR CODE\n\nint b;\n"]
)
def test_lines_may_be_missing_and_markers_and_blank_lines_added(tmp_path, stub):
    assert pair_messages(tmp_path, stub) == []


@pytest.mark.parametrize(
    ("stub", "words"),
    [
        ("int a;\nint d;\n// YOUR CODE\n", "line 2 is not in the solution"),
        ("int c;\nint a;\n// YOUR CODE\n", "line 2 is not in the solution"),
        ("int  a;\n// YOUR CODE\n", "line 1 is not in the solution"),
        ("int a;\nint b;\n", "no `YOUR CODE`"),
        (SOLUTION + "// YOUR CODE\n", "the whole solution"),
    ],
)
def test_everything_else_in_a_stub_is_a_problem(tmp_path, stub, words):
    assert any(words in problem for problem in pair_messages(tmp_path, stub))


def test_a_solution_has_no_marker_left(tmp_path):
    found = pair_messages(tmp_path, "int a;\n// YOUR CODE\n", SOLUTION + "// YOUR CODE\n")
    assert found == ["stub.cu: the solution still has a `YOUR CODE`"]


def test_a_line_counts_once_for_each_time_it_is_there():
    assert first_foreign(["a", "a"], ["a", "b", "a"]) is None
    assert first_foreign(["a", "a"], ["a", "b"]) == "a"


def test_a_missing_stub_is_a_problem(scale):
    scale.stub.unlink()
    assert [str(problem) for problem in source_problems(scale)] == ["scale.cu: the stub is missing"]


def test_a_host_exercise_has_two_host_files(scale):
    host = replace(scale, exercise=replace(scale.exercise, host=True))
    assert any("host file is missing" in str(problem) for problem in source_problems(host))
    (host.folder / "scale_host.py").write_text("# YOUR CODE\n")
    assert any("no host file" in str(problem) for problem in source_problems(host))
    (host.course.solutions / "01_first" / "scale_host.py").write_text("def run(): pass\n")
    assert list(source_problems(host)) == []


def test_one_of_a_host_exercises_files_may_be_given_complete(scale):
    host = replace(scale, exercise=replace(scale.exercise, host=True))
    theirs = host.course.solutions / "01_first" / "scale_host.py"
    host.stub.write_bytes(host.solution.read_bytes())
    (host.folder / "scale_host.py").write_text("# YOUR CODE\n")
    theirs.write_text("def run(): pass\n")
    assert list(source_problems(host)) == []
    theirs.write_bytes((host.folder / "scale_host.py").read_bytes())
    assert any("still has a `YOUR CODE`" in str(problem) for problem in source_problems(host))


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


def text_messages(one: CourseExercise, statement: str = STATEMENT) -> list[str]:
    one.statement.write_text(statement)
    return [str(problem) for problem in text_problems(one)]


def test_the_texts_of_the_miniature_course_are_in_order(exercise):
    assert [str(problem) for name in ("scale", "total") for problem in text_problems(exercise(name))] == []


def test_a_statement_that_agrees_with_its_exercise_is_in_order(timed):
    assert text_messages(timed) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# scale", "# Scale", "does not begin with `# scale`"),
        (
            "`factor` | `float`",
            "`factor` | `double`",
            "no kernel of the stub has the parameter `factor` of type `double`",
        ),
        ("| `n` | `int` | number of elements |\n", "", "`n` of type `int` is not in the table"),
        ("at least 0.99", "at least 0.95", "requires 0.95 under technique"),
        ("0.5 of peak", "0.6 of peak", "the pass line is 0.6; the line on an H200 is 0.5"),
        ("| technique | sector efficiency of at least 0.99 |\n", "", "does not say which technique"),
        ("| fast |", "| speed |", "there is no stage 'speed'"),
        ("`wrong`, never", "`mistaken`, never", "'mistaken' is not a verdict word"),
        ("31, 33 |", "31, 33 and at secret sizes |", "mentions secret sizes"),
        ("31, 33 |", "31, 33, and of slices |", "mentions slices"),
    ],
)
def test_a_statement_that_says_something_else_than_its_exercise_is_a_problem(timed, old, new, words):
    assert old in STATEMENT
    assert any(words in problem for problem in text_messages(timed, STATEMENT.replace(old, new)))


def test_a_verdict_that_the_exercise_never_gives_is_not_explained(scale):
    untimed = replace(scale, exercise=replace(scale.exercise, target=None, technique=()))
    found = " ".join(text_messages(untimed, STATEMENT.replace("`wrong`, never", "`technique`")))
    assert "explains the verdict `slow`" in found
    assert "explains the verdict `technique`" in found


def test_the_pass_line_of_the_statement_is_that_of_the_target(scale):
    target = Target(unit="bandwidth", fraction=0.6, note="tests")
    assert text_messages(replace(scale, exercise=replace(scale.exercise, target=target))) != []


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
