"""assignment.toml: what is written can be read, and each mistake is explained."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from datetime import datetime

import pytest

from grader.classroom.assignment import FILE, assignment_text, read_assignment
from grader.classroom.records import AssignedExercise, Assignment, LateRule
from grader.errors import UsageError
from tests.classroom.conftest import catalog

LEAST = 'name = "w"\n[[exercises]]\nname = "vector_add"\n'
FULL = Assignment(
    name="week-4_b",
    title='Week "4": Größe',
    exercises=(AssignedExercise("vector_add", 40), AssignedExercise("reduce_v1", 2.5)),
    deadline=datetime.fromisoformat("2026-12-06T23:59:00+01:00"),
    late=LateRule(15, 12.5, None),
    counts="best",
    backend="sim",
    attempts=5,
    hidden="verdict",
    variants=True,
)


def read(folder, text):
    (folder / FILE).write_text(text, encoding="utf-8")
    return read_assignment(folder, catalog=catalog(()))


@pytest.mark.parametrize("assignment", [FULL, Assignment("w", "w", (AssignedExercise("vector_add"),))])
def test_what_is_written_is_read_again(tmp_path, assignment):
    assert read(tmp_path, assignment_text(assignment)) == assignment


def test_the_written_file_has_every_field_with_a_comment_before_it():
    text = assignment_text(FULL)
    assert set(tomllib.loads(text)) == {field.name for field in fields(Assignment)}
    assert set(tomllib.loads(text)["late"]) == {field.name for field in fields(LateRule)}
    lines = text.split("[late]")[0].splitlines()
    above = [lines[at - 1] for at, line in enumerate(lines) if line and not line.startswith("#")]
    assert len(above) == 8
    assert all(line.startswith("# ") for line in above)


def test_what_is_left_out_has_the_value_that_the_written_file_shows(tmp_path):
    assert read(tmp_path, LEAST) == Assignment("w", "w", (AssignedExercise("vector_add"),))
    assert tomllib.loads(assignment_text(read(tmp_path, LEAST)))["late"] == {
        "grace_minutes": 0, "percent_per_day": 0, "days": 0,
    }  # fmt: skip


def test_exercises_may_be_a_list_of_names(tmp_path):
    assert [each.name for each in read(tmp_path, 'name = "w"\nexercises = ["reduce_v1", "vector_add"]').exercises] == [
        "reduce_v1",
        "vector_add",
    ]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('name = "a b"\n', 'name cannot be "a b"; it must be a short name of letters, digits, - and _', ""),
        ('name = "../x"\n', 'name cannot be "../x"; it must be a short name of letters, digits, - and _', ""),
        ('exercises = ["vector_add"]', "name is missing; it must be a short name of letters, digits, - and _", ""),
        ('name = "w"', "exercises is missing; it must be a list of exercises: [[exercises]]", ""),
        ("dedline = 3\n" + LEAST, "there is no field dedline", "did you mean 'deadline'?"),
        ("size = 3\n" + LEAST, "there is no field size", "the fields are name, title, exercises, deadline, late, "
         "counts, backend, attempts, hidden, variants"),
        ("deadline = 2026-12-06T23:59:00\n" + LEAST, "deadline cannot be 2026-12-06 23:59:00; it must be a date and "
         "time with a time zone", "write the time zone, too: 2026-12-06T23:59:00+01:00, or …Z for UTC"),
        ("deadline = 2026-12-06\n" + LEAST, "deadline cannot be 2026-12-06; it must be a date and time with a time "
         "zone", "write the time zone, too: 2026-12-06T23:59:00+01:00, or …Z for UTC"),
        ('counts = "newest"\n' + LEAST, 'counts cannot be "newest"; it must be "last" or "best" or "first"', ""),
        ("attempts = true\n" + LEAST, "attempts cannot be true; it must be a number from 1 to 20", ""),
        ("variants = 1\n" + LEAST, "variants cannot be 1; it must be true or false", ""),
        (LEAST + "[late]\npercent_per_day = 101\n",
         "late.percent_per_day cannot be 101; it must be a number from 0 to 100", ""),
        (LEAST + "[late]\npercent_per_day = nan\n",
         "late.percent_per_day cannot be nan; it must be a number from 0 to 100", ""),
        (LEAST + '[late]\ndays = "never"\n',
         'late.days cannot be "never"; it must be a number of days, 0 or more, or "unlimited"', ""),
        (LEAST + "[late]\npercent = 1\n", "there is no field late.percent", "did you mean 'percent_per_day'?"),
        (LEAST + "points = 0\n", "exercises, entry 1: points cannot be 0; it must be a positive number", ""),
        (LEAST + '[[exercises]]\nname = "vector_add"\n', "exercises, entry 2: vector_add is there twice",
         "delete one of them"),
        (LEAST + "[[exercises]]\npoints = 3\n",
         "exercises, entry 2: name is missing; it must be the name of an exercise", ""),
        ('name = "w"\nexercises = [3]\n', "exercises, entry 1 cannot be 3; it must be a name, or name and points", ""),
        ('name = "w"\nexercises = ["vectr_add"]\n', "there is no exercise 'vectr_add'", "did you mean 'vector_add'?"),
        ('name = "w"\nexercises = ["403"]\n', "exercises: '403' is not the full name of an exercise",
         "write 'reduce_v3'"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_file_the_field_and_what_is_allowed(tmp_path, text, message, hint):
    with pytest.raises(UsageError) as raised:
        read(tmp_path, text)
    assert (raised.value.message, raised.value.hint) == (f"{tmp_path / FILE}: {message}", hint)


def test_a_file_that_is_no_toml_names_the_line(tmp_path):
    with pytest.raises(UsageError, match=r"assignment\.toml is not valid TOML: .*line 1"):
        read(tmp_path, "name = week4\n")


def test_a_folder_without_the_file_is_no_class(tmp_path):
    with pytest.raises(UsageError, match=r"is no class: it has no assignment\.toml") as raised:
        read_assignment(tmp_path)
    assert raised.value.hint == f"`grade class init {tmp_path}` makes one"
