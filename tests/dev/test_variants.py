"""An exercise's variants for its author: texts, edits, checks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.cli import main
from grader.compile.toolchain import find_toolchain
from grader.dev.check import start_variant
from grader.dev.grading import CourseGrader
from grader.dev.variants import put_texts, variant_problems, write_variant
from tests.variant_course import EDIT, TASK, exercise_with_variant

NEEDS_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


@pytest.fixture
def scale(tmp_path: Path) -> CourseExercise:
    return exercise_with_variant(tmp_path / "course")


def edit(scale: CourseExercise, old: str, new: str) -> None:
    path = scale.folder / "variants/backwards.diff"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_texts_go_into_a_folder_and_come_back_as_the_edit(scale, tmp_path):
    paths, problems = put_texts(scale, "backwards", tmp_path / "texts")
    assert sorted(path.name for path in paths) == [
        "README.md", "hints.md", "interview.md", "scale.cu", "scale.solution.cu",
    ]  # fmt: skip
    assert problems == []
    for file in ("scale.cu", "scale.solution.cu"):
        path = tmp_path / "texts" / file
        path.write_text(path.read_text().replace("one thread for each element", "a thread for each"))
    written = write_variant(scale, "backwards", tmp_path / "texts").read_text()
    assert written.startswith(f"// variant: backwards\n// {TASK}\n--- scale.cu\n")
    assert "+// scale: y[i] = factor · x[n - 1 - i], a thread for each." in written
    assert list(variant_problems(scale, "backwards")) == []


def test_a_hunk_that_fits_no_place_any_more_is_named_and_the_rest_is_kept(scale, tmp_path):
    (scale.folder / "README.md").write_text("# scale\n\nAnother statement.\n")
    _, problems = put_texts(scale, "backwards", tmp_path / "texts")
    assert [problem.place for problem in problems] == ["README.md"]
    assert "x[n - 1 - i]" in (tmp_path / "texts/scale.solution.cu").read_text()


def test_the_check_names_an_edit_that_does_not_fit_and_a_stub_that_is_not_the_solution_minus_lines(scale):
    edit(scale, "-        y[i] = factor * x[i];", "-        y[i] = x[i];")
    assert [problem.place for problem in variant_problems(scale, "backwards")] == ["variants/backwards.diff"]
    path = scale.folder / "variants/backwards.diff"
    path.write_text(EDIT.replace("+// scale: y[i] = factor · x[n - 1 - i], one thread", "+// scale: backwards", 1))
    (problem,) = variant_problems(scale, "backwards")
    assert "scale.cu" in problem.message


@NEEDS_COMPILER
def test_a_variant_whose_own_solution_is_wrong_or_that_the_exercises_solution_passes_is_a_problem(scale):
    edit(scale, "+        y[i] = factor * x[n - 1 - i];", "+        y[i] = factor * x[i] * 1.0f;")
    variants = (replace(scale.exercise.variants[0], oracle="mini:scale"),)
    same = replace(scale, exercise=replace(scale.exercise, variants=variants))
    with CourseGrader() as grader:
        checks = [start_variant(one, "backwards", grader, ["sim"]) for one in (scale, same)]
        wrong, passes = ([problem.message for problem in check()] for check in checks)
    assert len(wrong) == 1
    assert wrong[0].startswith("solution scale.cu: the solution does not pass: wrong")
    assert passes == ["on sim, the exercise's own solution passes as this variant, too"]


def test_the_command_lists_writes_and_reads_a_variant(scale, tmp_path, capsys):
    course = str(scale.course.exercises.parent)
    assert main(["dev", "variant", "scale", "--course", course]) == 0
    assert TASK in capsys.readouterr().out
    for option in ("--into", "--edit"):
        assert main(["dev", "variant", "scale", "backwards", option, str(tmp_path / "t"), "--course", course]) == 0
    assert main(["dev", "variant", "scale", "sideways", "--edit", str(tmp_path / "t"), "--course", course]) == 2
    assert "exercise.py has no Variant('sideways', …)" in capsys.readouterr().err


def test_a_student_starts_a_variant_reads_its_statement_and_resets_it(scale, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    course = ["--course", str(scale.course.exercises.parent)]
    assert main(["start", "scale", "--variant", "backwards", *course]) == 0
    stub = (tmp_path / "scale.cu").read_text()
    assert stub.startswith("// variant: backwards\n")
    capsys.readouterr()
    assert main(["show", "scale", *course]) == 0
    assert "from the end" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "scale.cu").write_text(stub + "// mine\n")
    assert main(["reset", "scale", *course]) == 0
    assert (tmp_path / "scale.cu").read_text() == stub
    assert main(["show", "scale", "--variant", "plain", *course]) == 0
    assert "from the end" not in " ".join(capsys.readouterr().out.split())
