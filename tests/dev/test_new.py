"""`grade dev new`: what it writes holds together, and nothing that exists is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog.courses import Course
from grader.catalog.exercises import load_catalog
from grader.cli import main
from grader.dev.check import run
from grader.dev.new import new_exercise
from grader.errors import UsageError


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path / "exercises", tmp_path / "solutions", tmp_path / "kernels_ref")


def made(course: Course) -> list:
    ours = course.exercises.resolve()
    return [one for one in load_catalog((course.exercises.parent,)).exercises if one.course.exercises == ours]


def test_a_new_exercise_passes_its_check_as_it_is(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    new_exercise("double_all", "02_memory", course, ())
    assert run(made(course)) == 0
    printed = capsys.readouterr().out
    assert "stub wrong, solution pass, 3 of 3 wrong answers as stated | README.md: " in printed
    assert "advice" not in printed


def test_numbers_follow_the_last_of_the_chapter(course: Course) -> None:
    new_exercise("first", "", course, ())
    new_exercise("second", "", course, made(course))
    new_exercise("other", "07_more", course, made(course))
    new_exercise("last", "", course, made(course))  # the course's last chapter is 07_more now
    assert {one.name: one.number for one in made(course)} == {"first": 101, "second": 102, "other": 701, "last": 702}


@pytest.mark.parametrize("name", ["", "Double", "1st", "a", "with space", "../up", "x" * 50, "a-b"])
def test_a_name_that_is_no_name_is_refused_and_nothing_is_written(course: Course, name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        new_exercise(name, "", course, ())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["double", "for", "static_assert"])
def test_a_word_of_cpp_is_no_name_of_a_kernel(course: Course, name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a keyword of C"):
        new_exercise(name, "", course, ())
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_another_chapter_is_taken(course: Course) -> None:
    new_exercise("first", "01_a", course, ())
    with pytest.raises(UsageError, match=r"01_a/first already exists"):
        new_exercise("first", "02_b", course, made(course))


def test_the_last_chapter_is_the_one_with_the_largest_number(course: Course) -> None:
    for name, chapter in (("one", "2_two"), ("two", "10_ten"), ("three", "")):
        new_exercise(name, chapter, course, made(course) if course.exercises.is_dir() else ())
    assert (course.exercises / "10_ten" / "three" / "exercise.py").is_file()


def test_a_plain_course_gets_its_first_chapter(tmp_path: Path) -> None:
    plain = tmp_path / "mine" / "old"
    plain.mkdir(parents=True)
    text = Path(__file__).parents[1].joinpath("course/exercises/01_first/scale/exercise.py").read_text()
    (plain / "exercise.py").write_text(text.replace('"scale"', '"old"'))
    assert main(["dev", "new", "fresh", "--course", str(tmp_path / "mine")]) == 0
    assert (tmp_path / "mine" / "01_first" / "fresh" / "exercise.py").is_file()


def test_an_empty_folder_of_exercises_is_a_new_course(tmp_path: Path) -> None:
    (tmp_path / "mine" / "exercises").mkdir(parents=True)
    assert main(["dev", "new", "first", "--course", str(tmp_path / "mine")]) == 0


@pytest.mark.parametrize("chapter", ["memory", "../01_up", "123_x", "01-x"])
def test_a_chapter_is_a_number_and_a_name(course: Course, chapter: str) -> None:
    with pytest.raises(UsageError, match="is not a chapter"):
        new_exercise("fine", chapter, course, ())


def test_what_is_there_stays_as_it_is(course: Course) -> None:
    new_exercise("first", "", course, ())
    (solution,) = course.solutions.rglob("first.cu")
    solution.write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        new_exercise("first", "", course, ())
    (course.exercises / "01_first" / "first" / "README.md").unlink()
    with pytest.raises(UsageError, match="already exists"):
        new_exercise("first", "", course, ())
    assert solution.read_text() == "mine"


def test_the_command_makes_a_course_where_there_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dev", "new", "first", "--course", str(tmp_path / "mine")]) == 0
    assert "dev check first --course" in capsys.readouterr().out
    assert (tmp_path / "mine" / "exercises" / "01_first" / "first" / "exercise.py").is_file()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "exercises").touch()
    assert main(["dev", "new", "first", "--course", str(tmp_path / "mine")]) == 2
    err = capsys.readouterr().err
    assert "cannot write" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "message"), [(["list"], "'list' is a command"), (["x y"], "cannot be called"), (["help"], "is a command")]
)
def test_the_command_refuses_what_cannot_be_typed(tmp_path: Path, words: list, message: str, capsys) -> None:
    assert main(["dev", "new", *words, "--course", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
