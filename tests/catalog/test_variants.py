"""Variants of an exercise: who gets which, their files, and how a file that names one is graded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import grader
from grader.catalog.courses import CourseExercise
from grader.catalog.variants import chosen, entry_for, entry_with, forms, task_of, varied, written_in
from grader.compile.toolchain import find_toolchain
from grader.errors import UsageError
from tests.variant_course import EDIT, TASK, exercise_with_variant

NEEDS_COMPILER = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


@pytest.fixture
def scale(tmp_path: Path) -> CourseExercise:
    return exercise_with_variant(tmp_path / "course")


def test_the_files_of_a_variant_are_the_edited_ones_and_its_fields_the_changed_ones(scale):
    entry = entry_with(scale, "backwards")
    assert entry.exercise.oracle == "mini:backwards"
    assert entry.exercise.arrays == scale.exercise.arrays
    assert entry.stub.read_text().startswith("// variant: backwards\n// scale: y[i] = factor · x[n - 1 - i]")
    assert entry.solution is not None
    assert "y[i] = factor * x[n - 1 - i];" in entry.solution.read_text()
    statement = entry.statement.read_text()
    assert statement.startswith(f"# scale\n\nThis is the variant `backwards`: {TASK}.\n")
    assert "from the end" in statement
    assert entry.hints.read_bytes() == scale.hints.read_bytes()
    assert task_of(entry.exercise) == TASK
    assert entry_with(scale, "backwards").stub == entry.stub


def test_a_variant_is_not_timed_beside_the_exercises_wrong_answers(scale):
    timed = replace(scale.exercise, compared=("wrong/slow.diff",))
    assert varied(timed, timed.variants[0]).compared == ()


def test_the_plain_exercise_is_one_of_its_forms(scale):
    assert forms(scale.exercise) == ("plain", "backwards")
    plain = entry_with(scale, "plain")
    assert (plain.stub, plain.exercise.oracle, task_of(plain.exercise)) == (scale.stub, scale.exercise.oracle, "")
    assert {chosen(scale.exercise, seed) for seed in range(9)} == {"plain", "backwards"}


def test_an_unknown_variant_is_named_with_those_that_exist(scale):
    with pytest.raises(UsageError) as raised:
        entry_with(scale, "sideways")
    assert raised.value.message == "scale has no variant 'sideways'"
    assert raised.value.hint == "it has plain, backwards"


def test_an_edit_that_does_not_fit_names_its_file_and_hunk(scale):
    path = scale.folder / "variants/backwards.diff"
    path.write_text(EDIT.replace("-        y[i] = factor * x[i];", "-        y[i] = x[i];"))
    with pytest.raises(UsageError, match=r"backwards\.diff: hunk 2 .* does not apply"):
        entry_with(scale, "backwards")


def test_a_file_names_its_form_in_a_comment():
    assert written_in(b"\n  //variant:  backwards \nint x;") == ("backwards", 2)
    assert written_in(b"int variant; // variants: none") == ("", 0)


def test_a_file_is_graded_as_what_was_asked_for_else_as_what_it_names(scale):
    assert entry_for(scale, b"// variant: backwards\n").exercise.variant == "backwards"
    assert entry_for(scale, b"int x;").exercise.variant == "plain"
    assert entry_for(entry_with(scale, "plain"), b"// variant: backwards\n").exercise.variant == "plain"


@NEEDS_COMPILER
def test_a_copied_file_is_wrong_and_says_which_form_it_should_have(scale, tmp_path):
    from grader.grading.grade import grade
    from grader.grading.services import Hardware, Task

    backwards = entry_with(scale, "backwards")
    assert backwards.solution is not None
    assert scale.solution is not None
    own = grader.grade("scale", backwards.solution, backend="sim", courses=scale.course.exercises.parent, seed=1)
    assert own.verdict == "pass"
    hardware = Hardware.found("sim", 0)
    unnamed = grade(hardware.request(Task(backwards, scale.solution), seed=1))
    assert unnamed.verdict == "wrong"
    assert unnamed.next_step == f"This was to be the variant backwards, not the exercise itself: {TASK}."
    named = grade(hardware.request(Task(entry_with(scale, "plain"), backwards.solution), seed=1))
    assert named.verdict == "wrong"
    assert named.diagnostics[0].line == 1
    assert named.diagnostics[0].message == (
        "scale.cu is for the variant backwards of scale; what was asked for is the exercise itself"
    )
    invented = tmp_path / "scale.cu"
    invented.write_text("// variant: sideways\n")
    assert grade(hardware.request(Task(scale, invented), seed=1)).verdict == "invalid"
