from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.dev.sources import first_alien, pair_problems, source_problems

SOLUTION = "int a;\n\n  // why\nint b;\nint c;\n"


def problems(folder: Path, stub: str, solution: str = SOLUTION) -> list[str]:
    (folder / "stub.cu").write_text(stub)
    (folder / "solution.cu").write_text(solution)
    return [str(problem) for problem in pair_problems(folder / "stub.cu", folder / "solution.cu")]


@pytest.mark.parametrize(
    "stub", ["int a;\n// YOUR CODE\nint c;\n", "// YOUR CODE: here\n", "int a;\n\n\n  // YOUR CODE\n\nint b;\n"]
)
def test_lines_may_be_missing_and_markers_and_blank_lines_added(tmp_path, stub):
    assert problems(tmp_path, stub) == []


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
    assert any(words in problem for problem in problems(tmp_path, stub))


def test_a_solution_has_no_marker_left(tmp_path):
    found = problems(tmp_path, "int a;\n// YOUR CODE\n", SOLUTION + "// YOUR CODE\n")
    assert found == ["stub.cu: the solution still has a `YOUR CODE`"]


def test_a_line_counts_once_for_each_time_it_is_there():
    assert first_alien(["a", "a"], ["a", "b", "a"]) is None
    assert first_alien(["a", "a"], ["a", "b"]) == "a"


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
