"""A class folder: what `grade class init` writes, and what is read from it."""

from __future__ import annotations

import pytest

from grader.classroom.assignment import read_assignment
from grader.classroom.folder import init_class, read_class, safe_name
from grader.classroom.key import read_key
from grader.errors import UsageError
from tests.classroom.conftest import ASSIGNMENT

FILES = ["assignment.toml", "class.key", "roster.csv", ".gitignore"]


def test_a_new_class_has_no_students_and_no_submissions(folder):
    record = read_class(folder)
    assert record.assignment == ASSIGNMENT
    assert (record.roster, record.submissions, record.results) == ((), (), ())


def test_the_key_and_what_is_personal_are_left_out_of_version_control(folder):
    ignored = (folder / ".gitignore").read_text().splitlines()
    assert {"/class.key", "/results.sqlite*", "/submissions/"} <= set(ignored)
    assert read_key(folder).hex() not in (folder / "assignment.toml").read_text()


def test_nothing_is_overwritten(folder):
    before = {name: (folder / name).read_bytes() for name in FILES}
    assert init_class(folder, ASSIGNMENT) == dict.fromkeys(FILES, False)
    assert {name: (folder / name).read_bytes() for name in FILES} == before


def test_a_lost_key_is_not_replaced_once_there_are_results(folder):
    (folder / "class.key").unlink()
    assert init_class(folder, ASSIGNMENT)["class.key"]
    (folder / "class.key").unlink()
    (folder / "results.sqlite").touch()
    with pytest.raises(UsageError, match=r"there is no .*class\.key"):
        init_class(folder, ASSIGNMENT)


def test_the_command_makes_a_class_that_can_be_read(run, tmp_path):
    folder = tmp_path / "Week 4"
    code, out, _ = run("class", "init", folder, "--exercises", "vector_add,403", "--deadline", "2026-12-06T23:59+01:00")
    assert code == 0
    assert all(str(folder / name) in out for name in FILES)
    made = read_assignment(folder)
    assert [each.name for each in made.exercises] == ["vector_add", "reduce_v3"]
    assert (made.name, made.deadline.isoformat()) == ("Week-4", "2026-12-06T23:59:00+01:00")
    assert run("class", "init", folder)[:2] == (0, out.replace("toml\n", "toml   (was there, and is unchanged)\n", 1)
        .replace("key\n", "key   (was there, and is unchanged)\n", 1)
        .replace("csv\n", "csv   (was there, and is unchanged)\n", 1)
        .replace("ignore\n", "ignore   (was there, and is unchanged)\n", 1))  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--deadline", "2026-12-06T23:59"], "--deadline '2026-12-06T23:59' has no time zone"),
        (["--deadline", "Sunday"], "--deadline 'Sunday' is no date and time"),
        (["--exercises", "vectr_add"], "there is no exercise 'vectr_add'"),
    ],
)
def test_the_command_explains_a_wrong_option(run, tmp_path, words, message):
    code, _, err = run("class", "init", tmp_path / "new", *words)
    assert code == 2
    assert message in err
    assert not (tmp_path / "new").exists()


def test_options_for_an_assignment_that_exists_are_refused(run, folder):
    code, _, err = run("class", "init", folder, "--title", "New")
    assert code == 2
    assert "assignment.toml is already there, and is not changed" in err


@pytest.mark.parametrize("student", ["ada", "a-1_b.c@x.org"])
def test_a_harmless_id_is_its_own_folder(student):
    assert safe_name(student) == student


def test_no_two_students_share_a_folder():
    ids = ["ada", "Ada", "ADA", "a/b", "a_b", "a\\b", "..", ".", "", "con", "CON", "å", "nul.txt"]
    names = [safe_name(student) for student in ids]
    assert len({name.casefold() for name in names}) == len(ids)
    assert all(name and "/" not in name and not name.startswith(".") for name in names)
