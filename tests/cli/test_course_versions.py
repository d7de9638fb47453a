"""A person with files and passes of version 1 of a course, which is of version 2 now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grader
from grader.catalog.exercises import load_catalog
from grader.cli.grading import GradeOptions, tasks_of
from grader.errors import UsageError
from grader.practice.history import key_of, progress
from grader.practice.progress import Run
from tests.two_versions import first_version, host_file, kernel, second_version


@pytest.fixture(autouse=True)
def here(empty_folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return empty_folder


@pytest.fixture
def course(tmp_path) -> Path:
    return first_version(tmp_path / "course")


def passed(course: Path, name: str, day: str = "2026-11-21") -> None:
    (course_key, _, version) = key_of(load_catalog([course]).find(name))
    progress().record(Run(f"{day}T17:05:30Z", course_key, name, "pass", 80, 80, "sim", course_version=version))


def ticked(run, course: Path) -> list[str]:
    lines = run("list", "--course", course)[1].splitlines()
    return [line.split()[2] for line in lines if line.startswith("✔ ") and line.split()[2].startswith("sum")]


ANSWER = "grade: ./sum_v3.cu is version 1's sum_v3, which is sum_v4 in version 2 of the course\n"
WHAT_TO_TYPE = (
    "`mv sum_v3.cu sum_v4.cu` gives it its current name, and `grade sum_v4` grades it; then `grade start sum_v3` "
    "copies the current stub of sum_v3"
)

# -------------------------------------------------------------------------------------------------------------- passes


def test_passes_go_with_their_steps(run, course):
    passed(course, "sum_v1", "2026-11-19")
    passed(course, "sum_v2", "2026-11-20")
    assert ticked(run, course) == ["sum_v1", "sum_v2"]
    second_version(course)
    assert ticked(run, course) == ["sum_v1", "sum_v3"]
    _, out, _ = run("next", "--course", course)
    assert "sum_v4" in out
    assert "Next after sum_v3, which you passed on 2026-11-20 as version 1's sum_v2." in out
    out = run("progress", "--course", course)[1]
    assert "Your pass of version 1's sum_v2 counts for sum_v3: the step has that name now.\n" in out
    passed(course, "sum_v2")
    assert ticked(run, course) == ["sum_v1", "sum_v2", "sum_v3"]


def test_exports_name_both(run, course):
    passed(course, "sum_v2")
    second_version(course)
    document = json.loads(run("progress", "--json", "--course", course)[1])
    rows = {row["name"]: row for row in document["exercises"] if row["name"].startswith("sum")}
    assert {name: row["state"] for name, row in rows.items()} == {
        "sum_v1": "new", "sum_v2": "new", "sum_v3": "passed", "sum_v4": "new"
    }  # fmt: skip
    assert rows["sum_v3"]["passed_as"] == {"name": "sum_v2", "version": 1}
    (row,) = document["runs"]
    assert (row["exercise"], row["course_version"], row["exercise_now"]) == ("sum_v2", 1, "sum_v3")


def test_hints_and_the_solution_go_with_their_step(run, course):
    passed(course, "sum_v2")
    run("hint", "sum_v2", "--course", course)
    second_version(course)
    assert "hint 2 of 2" in run("hint", "sum_v3", "--course", course)[1]
    assert "hint 1 of 2" in run("hint", "sum_v2", "--course", course)[1]
    assert run("solution", "sum_v3", "--course", course)[0] == 0
    assert "you have not passed sum_v2 yet" in run("solution", "sum_v2", "--course", course)[2]


def test_hint_of_the_exercise_graded_last_is_of_its_current_name(run, course):
    passed(course, "sum_v3")
    second_version(course)
    assert run("hint", "--course", course)[1].startswith("sum_v4, hint 1")


# --------------------------------------------------------------------------------------------------------------- files


@pytest.fixture
def old_file(course) -> Path:
    """./sum_v3.cu, begun in version 1; the course is of version 2."""
    path = Path("sum_v3.cu")
    path.write_text(kernel("a_warp", "sum_v3", solved=True))
    second_version(course)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["sum_v3"], ["sum_v3.cu"], ["9003"], ["sum_v3", "--file", "sum_v3.cu"], ["sum_v1", "sum_v3"],
        ["start", "sum_v3"], ["watch", "sum_v3"], ["profile", "sum_v3"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_old_file_is_answered_and_left_alone(run, course, old_file, words):
    if "sum_v1" in words:
        Path("sum_v1.cu").write_text(kernel("one_thread", "sum_v1"))
    before = old_file.read_bytes()
    code, out, err = run(*words, "--course", course)
    assert (code, out) == (2, "")
    assert err.endswith(f"{ANSWER}       {WHAT_TO_TYPE}\n")
    assert old_file.read_bytes() == before
    assert progress().runs() == ()


def test_old_file_is_answered_in_json(run, course, old_file):
    code, out, _ = run("sum_v3", "--json", "--course", course)
    assert (code, json.loads(out)["error"]["code"]) == (2, "moved_exercise")


def test_old_file_is_graded_under_its_current_name(course, old_file):
    catalog = load_catalog([course])
    (task,) = tasks_of(catalog, GradeOptions(("sum_v4",), file=old_file))
    assert (task.entry.name, task.path) == ("sum_v4", old_file)
    old_file.rename("sum_v4.cu")
    (task,) = tasks_of(catalog, GradeOptions(("sum_v4",)))
    assert task.path == Path("sum_v4.cu")


def test_solution_of_the_course_is_never_an_old_file(course, old_file):
    (task,) = tasks_of(load_catalog([course]), GradeOptions(("sum_v3",), solution=True))
    assert task.path.parent == (course / "solutions" / "01_sums").resolve()


def test_show_and_next_say_what_the_file_here_is(run, course, old_file):
    said = f"{ANSWER.removeprefix('grade: ').strip()}: {WHAT_TO_TYPE}."
    assert said in " ".join(run("show", "sum_v3", "--course", course)[1].split())
    passed(course, "sum_v2")
    assert said in " ".join(run("next", "--course", course)[1].split())


def test_reset_keeps_the_old_file_and_says_what_it_is(run, course, old_file):
    text = old_file.read_text()
    _, out, _ = run("reset", "sum_v3", "--course", course)
    assert Path("sum_v3.cu.bak").read_text() == text
    assert "Your version is version 1's sum_v3, which is sum_v4 in version 2 of the course." in out
    assert old_file.read_text() == kernel("a_block", "sum_v3")


def test_old_host_file_is_answered_too(run, tmp_path):
    course = second_version(first_version(tmp_path / "hosts", host=True), host=True)
    Path("sum_v3_host.py").write_text(host_file("a_warp"))
    for words in (["start", "sum_v3"], ["sum_v3_host.py"]):
        Path("sum_v3.cu").unlink(missing_ok=True)
        if words[0] != "start":
            Path("sum_v3.cu").write_text(kernel("a_block", "sum_v3"))
        code, _, err = run(*words, "--course", course)
        assert code == 2
        assert "sum_v3_host.py is version 1's sum_v3" in err


def test_python_and_notebooks_are_answered_too(course, old_file):
    for given in ({"file": old_file}, {"source": old_file.read_text()}, {}):
        with pytest.raises(UsageError, match="is version 1's sum_v3, which is sum_v4") as caught:
            grader.grade("sum_v3", **given, courses=course)
        assert caught.value.code == "moved_exercise"


def test_name_of_an_older_version_is_answered_with_the_current_one(run, course):
    second_version(course)
    code, _, err = run("dev", "move", "sum_v1", "sum_alone", "--version", "2", "--course", course)
    assert code == 0, err
    for word in ("sum_v1", "sum_v1.cu"):
        _, _, err = run(word, "--course", course)
        assert "sum_v1 is version 1's sum_v1, which is sum_alone in version 2 of the course" in err
        assert "`grade sum_alone --file sum_v1.cu` grades a file of the old name" in err


# -------------------------------------------------------------------------------------------------------- `dev move`


def test_dev_move_says_what_is_left_to_do(run, course):
    code, out, _ = run("dev", "move", "sum_v3", "sum_v4", "--version", "2", "--course", course)
    assert code == 0
    assert "course.toml" in out
    assert "sum_v3 is sum_v4 now. Change its `order`; `git grep -w sum_v3` shows where else it is named." in out
    code, out, _ = run("dev", "move", "sum_v2", "--gone", "--version", "2", "--course", course)
    assert (code, "count for no step" in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["sum_v4", "--gone", "--version", "2"], "give either the new name or --gone"),
        (["--version", "2"], "give either the new name or --gone"),
        (["sum_v4", "--version", "3"], "the course is of version 1: --version must be 2"),
        (["list", "--version", "2"], "'list' is a command"),
        (["Sum", "--version", "2"], "cannot be called 'Sum'"),
        (["sum_v4"], "missing option '--version'"),
    ],
)
def test_dev_move_that_cannot_be_is_a_wrong_command(run, course, words, error):
    code, _, err = run("dev", "move", "sum_v3", *words, "--course", course)
    assert code == 2
    assert error in err
    assert not (course / "exercises" / "course.toml").exists()


def test_dev_move_changes_no_installed_package(run, tmp_path, monkeypatch):
    first_version(tmp_path / "grader" / "_course")
    monkeypatch.setattr("grader.catalog.courses.PACKAGE", tmp_path / "grader")
    code, _, err = run("dev", "move", "sum_v3", "sum_v4", "--version", "2")
    assert (code, "the built-in course is inside the installed package" in err) == (2, True)


def test_course_without_versions_has_version_1(run, course):
    passed(course, "sum_v2")
    assert [stored.course_version for stored in progress().runs()] == [1]
    assert run("progress", "--course", course)[1].count("version 1") == 0
