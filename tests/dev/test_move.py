"""`grade dev move`: a step gets another name in a new version of its course."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog.courses import course_at
from grader.catalog.exercises import load_catalog
from grader.catalog.versions import FILE, hashed_lines, versions_at
from grader.dev.move import version_problems
from grader.errors import UsageError
from tests.two_versions import first_version, kernel, move, second_version


@pytest.fixture
def course(tmp_path) -> Path:
    return first_version(tmp_path / "course", host=True)


def moves(course: Path) -> list[tuple[int, str, str | None]]:
    return [(move.version, move.name, move.to) for move in versions_at(course / "exercises").moves]


def test_step_has_its_new_name_everywhere_in_its_own_files(course):
    wrong = course / "exercises" / "01_sums" / "sum_v3" / "wrong"
    wrong.mkdir()
    (wrong / "short.diff").write_text("--- sum_v3.cu\n+++ sum_v3.cu\n-sum_v3_host.py sum_v33 my_sum_v3\n")
    move(course, "sum_v3", "sum_v4", 2)
    files = {path.relative_to(course).as_posix() for path in course.rglob("*") if path.is_file()}
    assert not any("sum_v3" in file for file in files)
    assert {"exercises/01_sums/sum_v4/sum_v4_host.py", "solutions/01_sums/sum_v4_host.py"} <= files
    folder = course / "exercises" / "01_sums" / "sum_v4"
    assert (folder / "sum_v4.cu").read_text() == kernel("a_warp", "sum_v4")
    assert (course / "solutions/01_sums/sum_v4.cu").read_text() == kernel("a_warp", "sum_v4", solved=True)
    diff = (folder / "wrong" / "short.diff").read_text()
    assert diff == "--- sum_v4.cu\n+++ sum_v4.cu\n-sum_v4_host.py sum_v33 my_sum_v3\n"
    assert load_catalog([course]).find("sum_v4").exercise.name == "sum_v4"


def test_exercises_that_build_on_the_step_name_it_anew(course):
    other = course / "exercises" / "01_sums" / "sum_v1" / "exercise.py"
    other.write_text(other.read_text().replace('ladder="sum",', 'ladder="sum", after=("sum_v3", "sum_v33"),'))
    move(course, "sum_v3", "sum_v4", 2)
    assert load_catalog([course]).find("sum_v1").exercise.after == ("sum_v4", "sum_v33")


def test_course_remembers_the_version_the_names_and_the_old_lines(course):
    second_version(course, host=True)
    versions = versions_at(course / "exercises")
    assert (versions.version, moves(course)) == (2, [(1, "sum_v3", "sum_v4"), (1, "sum_v2", "sum_v3")])
    warp = versions.moves[0].files
    assert sorted(warp) == [".cu", ".py"]
    assert warp[".cu"].stub == hashed_lines(kernel("a_warp", "sum_v3").encode())
    assert warp[".cu"].stub | warp[".cu"].solution > hashed_lines(kernel("a_warp", "sum_v3", solved=True).encode())


def test_step_that_moves_twice_in_one_version_is_remembered_under_its_oldest_name(course):
    second_version(course)
    move(course, "sum_v4", "sum_v5", 2)
    assert moves(course) == [(1, "sum_v2", "sum_v3"), (1, "sum_v3", "sum_v5")]
    move(course, "sum_v5", "sum_v4", 2)
    move(course, "sum_v3", "sum_v3b", 2)
    move(course, "sum_v3b", "sum_v2b", 2)
    assert sorted(moves(course)) == [(1, "sum_v2", "sum_v2b"), (1, "sum_v3", "sum_v4")]


def test_step_that_moves_back_or_is_new_in_this_version_needs_no_move(course):
    second_version(course)
    move(course, "sum_v2", "sum_v2a", 2)  # new in version 2
    move(course, "sum_v3", "sum_v2", 2)
    assert moves(course) == [(1, "sum_v3", "sum_v4")]


def test_next_version_begins_with_its_first_move(course):
    second_version(course)
    move(course, "sum_v4", "sum_warp", 3)
    assert versions_at(course / "exercises").version == 3
    assert moves(course)[-1] == (2, "sum_v4", "sum_warp")


@pytest.mark.parametrize(("version", "words"), [(1, "--version must be 2"), (3, "--version must be 2")])
def test_version_is_the_next_one(course, version, words):
    with pytest.raises(UsageError, match=words):
        move(course, "sum_v3", "sum_v4", version)
    assert not (course / "exercises" / FILE).exists()


def test_name_that_is_taken_is_refused_before_anything_is_written(course):
    with pytest.raises(UsageError, match="already exists"):
        move(course, "sum_v2", "sum_v3", 2)
    assert not (course / "exercises" / FILE).exists()


def test_step_that_goes_leaves_its_files_to_the_author(course):
    move(course, "sum_v3", None, 2)
    assert moves(course) == [(1, "sum_v3", None)]
    assert (course / "exercises" / "01_sums" / "sum_v3").is_dir()


def test_course_check_finds_a_move_to_a_step_that_does_not_exist(course):
    second_version(course)
    assert list(version_problems(course_at(course))) == []
    (course / "exercises/01_sums/sum_v4/exercise.py").unlink()
    (problem,) = version_problems(course_at(course))
    assert str(problem) == "course.toml: version 1's sum_v3 is said to be sum_v4, which does not exist"


def test_course_check_finds_a_file_beside_the_folder_of_exercises(course):
    (course / FILE).write_text("version = 2\n")
    (problem,) = version_problems(course_at(course))
    assert "its place is in" in str(problem)


def test_course_check_finds_a_file_that_cannot_be_read(course):
    (course / "exercises" / FILE).write_text("version = ?")
    (problem,) = version_problems(course_at(course))
    assert "Invalid value" in str(problem)
