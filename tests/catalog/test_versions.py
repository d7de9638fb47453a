"""A course's version and its moved steps, from ``course.toml``."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog.courses import built_in_course
from grader.catalog.versions import FILE, CourseVersions, Move, OldFile, versions_at, write_versions
from grader.errors import UsageError

THREE = CourseVersions(
    3,
    (
        Move(1, "sum_v2", "sum_v3", {".cu": OldFile(frozenset({"0a0a0a0a"}), frozenset({"0b0b0b0b", "0c0c0c0c"}))}),
        Move(1, "sum_v3", "sum_v4"),
        Move(1, "sum_v4", None),
        Move(2, "sum_v3", "sum_warp", {".cu": OldFile(frozenset({"1"})), ".py": OldFile(frozenset({"2"}))}),
    ),
)
"""In version 2 every step from the second on is one further, and the last is gone; in version 3 one is called anew."""


@pytest.mark.parametrize(
    ("name", "version", "now"),
    [
        ("sum_v1", 1, "sum_v1"),
        ("sum_v2", 1, "sum_warp"),  # moved twice
        ("sum_v3", 1, "sum_v4"),
        ("sum_v4", 1, None),
        ("sum_v3", 2, "sum_warp"),
        ("sum_v4", 2, "sum_v4"),
        ("sum_v3", 3, "sum_v3"),
    ],
)
def test_step_of_an_older_version_has_its_current_name(name, version, now):
    assert THREE.now(name, version) == now


@pytest.mark.parametrize(
    ("name", "former"),
    [
        ("sum_v1", [("sum_v1", 3), ("sum_v1", 2), ("sum_v1", 1)]),
        ("sum_warp", [("sum_warp", 3), ("sum_v3", 2), ("sum_warp", 2), ("sum_v2", 1), ("sum_warp", 1)]),
        ("sum_v2", [("sum_v2", 3), ("sum_v2", 2)]),  # new in version 2
        ("sum_v4", [("sum_v4", 3), ("sum_v4", 2), ("sum_v3", 1)]),
    ],
)
def test_step_has_its_former_names(name, former):
    assert list(THREE.former(name)) == former


def test_what_is_gone_is_known_by_its_old_name():
    assert THREE.gone() == {("sum_v4", 1)}


def test_file_is_read_back_as_it_was_written(tmp_path: Path):
    write_versions(tmp_path, THREE)
    assert versions_at(tmp_path) == THREE


def test_all_that_is_not_a_move_stays(tmp_path: Path):
    (tmp_path / FILE).write_text('# Our course.\nversion=1\ntitle = "Sums"\n')
    write_versions(tmp_path, THREE)
    write_versions(tmp_path, CourseVersions(4, THREE.moves[:1]))
    text = (tmp_path / FILE).read_text()
    assert text.startswith('# Our course.\nversion = 4\ntitle = "Sums"\n\n[[moved]]\nversion = 1\nfrom = "sum_v2"\n')
    assert text.count("[[moved]]") == 1
    (tmp_path / FILE).write_text(f'{text}[paths]\nshort = "A few."\n')
    write_versions(tmp_path, CourseVersions(4, THREE.moves))
    text = (tmp_path / FILE).read_text()
    assert (text.count("[[moved]]"), text.count('[paths]\nshort = "A few."\n')) == (4, 1)
    assert versions_at(tmp_path) == CourseVersions(4, THREE.moves)


def test_file_that_says_no_version_gets_one(tmp_path: Path):
    (tmp_path / FILE).write_text('[paths]\nversion = "no version of the course"\n')
    write_versions(tmp_path, THREE)
    assert versions_at(tmp_path) == THREE


def test_course_without_the_file_is_of_version_1(tmp_path: Path):
    assert versions_at(tmp_path) == CourseVersions(1, ())


def test_built_in_course_says_its_version():
    assert (built_in_course().exercises / FILE).is_file()
    assert versions_at(built_in_course().exercises).version >= 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("version = ", "Invalid value"),
        ("version = 0", "the version must be 1 or more, not 0"),
        ('version = "2"', "the version must be 1 or more, not '2'"),
        ("version = 2\n[[moved]]\nversion = 1", "'from' is missing"),
        ('version = 2\n[[moved]]\nversion = 2\nfrom = "a"', "is not an older one"),
        ('version = 2\n[[moved]]\nversion = 1\nfrom = "a"\n[[moved]]\nversion = 1\nfrom = "a"', "twice"),
        ('version = 2\nmoved = ["a"]', "indices must be integers"),
        ('version = 2\n[[moved]]\nversion = 1\nfrom = "a"\nstub = 3', "no attribute 'split'"),
    ],
)
def test_file_that_is_not_valid_is_named_with_the_reason(tmp_path: Path, text: str, why: str):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UsageError) as caught:
        versions_at(tmp_path)
    assert caught.value.code == "bad_course"
    assert why in caught.value.message
    assert str(tmp_path / FILE) in caught.value.message
