"""Paths: their exercises and order, their sentences, and those of the course."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.catalog.exercises import Catalog, load_catalog
from grader.catalog.paths import find_path, in_order, path_in, path_names, sentences
from grader.catalog.versions import CourseVersions, Move, versions_at, write_versions
from grader.errors import UsageError

EXERCISE_PY = """\
from grader import Array, Exercise
EXERCISE = Exercise(
    name={name!r}, order={order}, idea="an idea", after={after!r}, paths={paths!r},
    arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")),
    oracle="elementwise:add", small=({{"n": 1}},), simulated={{"n": 4}},
)
"""
Course = Callable[..., Path]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Write the exercises of a course as ``name="after after | path path"``, in their order."""

    def write(**exercises: str) -> Path:
        for at, (name, words) in enumerate(exercises.items()):
            after, _, paths = words.partition("|")
            folder = tmp_path / name
            folder.mkdir()
            text = EXERCISE_PY.format(name=name, order=9001 + at, after=(*after.split(),), paths=(*paths.split(),))
            (folder / "exercise.py").write_text(text)
        return tmp_path

    return write


def names_in(catalog: Catalog, path: str) -> list[str]:
    found = path_in(catalog, path)
    assert found is not None
    return [entry.name for entry in found.exercises]


def test_a_path_is_in_the_order_of_the_course(course: Course) -> None:
    catalog = load_catalog([course(first="| mine", second="", third="first | mine other")])
    assert names_in(catalog, "mine") == ["first", "third"]
    assert path_names(catalog)[-2:] == ["mine", "other"]
    assert path_in(catalog, "nothing") is None


def test_what_an_exercise_builds_on_comes_before_it(course: Course) -> None:
    catalog = load_catalog([course(a="d c | p", b="| p", c="d | p", d="| p", e="| p")])
    assert names_in(catalog, "p") == ["d", "c", "a", "b", "e"]


def test_a_circle_keeps_every_exercise_once(course: Course) -> None:
    catalog = load_catalog([course(a="b | p", b="c | p", c="a | p")])
    assert sorted(names_in(catalog, "p")) == ["a", "b", "c"]


def test_a_course_may_add_to_a_path_of_another(course: Course) -> None:
    catalog = load_catalog([course(mine="vector_add | interview")])
    assert names_in(catalog, "interview")[-1] == "mine"


@pytest.mark.parametrize("text", ["interview", " interview ", "Interview"])
def test_a_path_is_found_by_its_name(text: str) -> None:
    assert find_path(load_catalog(), text).name == "interview"


@pytest.mark.parametrize(
    ("text", "hint"), [("intervew", "did you mean 'interview'?"), ("xyz", "the paths are interview")]
)
def test_an_unknown_path_is_answered_with_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match=f"there is no path '{text}'") as caught:
        find_path(load_catalog(), text)
    assert hint in caught.value.hint
    assert caught.value.code == "unknown_path"


def test_a_course_without_paths_says_so() -> None:
    with pytest.raises(UsageError) as caught:
        find_path(Catalog(()), "interview")
    assert caught.value.hint == "the course has no paths"


def test_a_course_describes_its_paths_beside_its_exercises(course: Course) -> None:
    folder = course(mine="| warps")
    assert "warps" not in sentences(load_catalog([folder]))
    (folder / "course.toml").write_text('version = 1\n\n[paths]\nwarps = "what a warp is"\n')
    assert sentences(load_catalog([folder]))["warps"] == "what a warp is"


@pytest.mark.parametrize(
    ("text", "said"),
    [("[paths", "course.toml: "), ("paths = 3", "a sentence for each path"), ("[paths]\na = 3", "a sentence for each"),
     ("[paths]\nall = 'x'", "no path can be called 'all'")],
)  # fmt: skip
def test_a_bad_table_of_paths_is_named(course: Course, text: str, said: str) -> None:
    folder = course(mine="| warps")
    (folder / "course.toml").write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        sentences(load_catalog([folder]))
    assert caught.value.code == "bad_course"


# ----------------------------------------------------------------------------------------------------------- the course

CATALOG = load_catalog()


@pytest.mark.parametrize("path", path_names(CATALOG))
def test_a_path_of_the_course_comes_after_nothing_that_it_builds_on(path: str) -> None:
    done: set[str] = set()
    for entry in find_path(CATALOG, path).exercises:
        assert done >= set(entry.exercise.after), entry.name
        done.add(entry.name)


def test_the_path_to_an_interview_has_about_twelve_exercises() -> None:
    assert 10 <= len(find_path(CATALOG, "interview").exercises) <= 14


def test_every_exercise_of_the_course_says_how_long_it_takes() -> None:
    assert [entry.name for entry in CATALOG.exercises if not 5 <= (entry.exercise.minutes or 0) <= 240] == []


def test_every_path_of_the_course_has_a_sentence() -> None:
    assert list(sentences(CATALOG)) == path_names(CATALOG)


def test_the_whole_course_in_the_order_of_what_it_builds_on_is_nearly_its_own() -> None:
    moved = {"tma_copy"}  # a Hopper GPU is needed for it, and for those that it precedes
    ordered = [entry.name for entry in in_order(CATALOG.exercises) if entry.name not in moved]
    assert ordered == [entry.name for entry in CATALOG.exercises if entry.name not in moved]


def test_the_sentences_stay_when_a_version_is_written(course: Course) -> None:
    folder = course(mine="| warps")
    (folder / "course.toml").write_text('version = 1\n\n[paths]\nwarps = "what a warp is"\n')
    write_versions(folder, CourseVersions(2, (Move(1, "old", "mine"),)))
    assert sentences(load_catalog([folder]))["warps"] == "what a warp is"
    assert versions_at(folder).version == 2
