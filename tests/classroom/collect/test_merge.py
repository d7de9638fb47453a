"""Several files of one student: what belongs together, which is later, and collecting again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from grader.classroom.assignment import read_assignment
from grader.classroom.collect.collecting import Request, collect
from grader.classroom.collect.merge import Sighting, merged
from grader.classroom.handout import handouts, write_handout
from grader.classroom.records import ClassSubmission, Student, SubmittedFile
from grader.classroom.submissions import read_submissions
from grader.errors import UsageError
from tests.classroom.conftest import catalog

START = datetime(2026, 12, 6, 20, tzinfo=UTC)


@pytest.fixture
def given(folder, tmp_path):
    """Collects files from a source of this name; all of the class, as student, exercise, number and contents."""

    def collecting(name, **files):
        for path, content in files.items():
            target = tmp_path / name / path.replace("__", "/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
        found = collect(Request(folder, (tmp_path / name,)))
        read = read_submissions(folder)
        assert read == found.submissions
        return [
            (one.student, one.exercise, one.number, *((folder / file.path).read_text() for file in one.files))
            for one in read
        ]

    return collecting


def test_copies_are_versions_in_the_order_of_their_numbers(given):
    assert given("in", **{"ada__vector_add-2.cu": "c", "ada__vector_add.cu": "a", "ada__vector_add (1).cu": "b"}) == [
        ("ada", "vector_add", 1, "a"),
        ("ada", "vector_add", 2, "b"),
        ("ada", "vector_add", 3, "c"),
    ]


def test_canvas_numbers_say_the_order(given):
    files = {"x_1_905_vector_add.cu": "b", "x_1_1001_vector_add-1.cu": "c", "x_1_77_vector_add-2.cu": "a"}
    assert [content for *_, content in given("in", **files)] == ["a", "b", "c"]


def test_collecting_again_adds_what_is_new_and_repeats_nothing(given, folder):
    first = given("monday", **{"ada__vector_add.cu": "a", "bob__vector_add.cu": "b"})
    before = (folder / "submissions.json").read_bytes()
    assert given("monday") == first
    assert (folder / "submissions.json").read_bytes() == before
    assert given("tuesday", **{"ada__vector_add.cu": "a2", "bob__vector_add.cu": "b"}) == [
        ("ada", "vector_add", 1, "a"),
        ("ada", "vector_add", 2, "a2"),
        ("bob", "vector_add", 1, "b"),
    ]
    assert given("monday") == given("tuesday")


def test_a_collecting_that_was_killed_is_finished_by_the_next(given, folder):
    whole = given("in", **{"ada__vector_add.cu": "a", "bob__vector_add.cu": "b"})
    (folder / "submissions.json").unlink()  # the files are written first
    assert given("in") == whole


def test_a_host_file_belongs_to_the_kernels_of_its_folder_and_number(given):
    files = {
        "ada__1__pinned_copy.cu": "k1", "ada__1__pinned_copy_host.py": "h1",
        "ada__2__pinned_copy.cu": "k2", "ada__2__pinned_copy_host.py": "h2",
        "bob__pinned_copy.cu": "k1", "bob__pinned_copy_host.py": "h1",
        "bob__pinned_copy (1).cu": "k2", "bob__pinned_copy_host (1).py": "h2", "bob__pinned_copy_host (2).py": "h3",
    }  # fmt: skip
    assert [entry[2:] for entry in given("in", **files)] == [
        (1, "k1", "h1"), (2, "k2", "h2"), (1, "k1", "h1"), (2, "k2", "h2"), (3, "k2", "h3"),
    ]  # fmt: skip


def test_a_host_file_alone_is_completed_by_the_handouts_kernel_and_the_other_way_round(folder, tmp_path):
    for name, file in (("ada", "pinned_copy_host.py"), ("bob", "pinned_copy.cu")):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / file).write_text("mine")
    found = collect(Request(folder, (tmp_path / "in",)))
    assert [missing for _, missing in found.from_stub] == ["pinned_copy.cu", "pinned_copy_host.py"]
    ada, bob = ([(folder / file.path) for file in one.files] for one in found.submissions)
    assert [path.name for path in ada + bob] == ["pinned_copy.cu", "pinned_copy_host.py"] * 2
    assert (ada[1].read_text(), bob[0].read_text()) == ("mine", "mine")
    assert "extern" in ada[0].read_text()


def test_what_was_only_handed_out_is_said_and_its_pages_are_no_noise(folder, tmp_path):
    assignment = read_assignment(folder, catalog=catalog(()))
    entries = [catalog(()).find(each.name) for each in assignment.exercises]
    for handout in handouts(assignment, entries, [Student("ada"), Student("bob")], b""):
        write_handout(tmp_path / "in", handout)
    kernel = tmp_path / "in" / "bob" / "vector_add.cu"
    kernel.write_bytes(kernel.read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / "in" / "bob" / "pinned_copy_host.py").write_text("# changed")
    found = collect(Request(folder, (tmp_path / "in",)))
    assert len(found.submissions) == 4
    assert [(one.student, one.exercise) for one in found.unchanged] == [
        ("ada", "pinned_copy"), ("ada", "vector_add"), ("bob", "vector_add"),
    ]  # fmt: skip
    assert found.skipped == ()


def test_versions_without_an_order_are_said(folder, tmp_path):
    (folder / "roster.csv").write_text("id\nada\n")
    for name in ("one", "two"):
        (tmp_path / "in" / "ada" / name).mkdir(parents=True)
        (tmp_path / "in" / "ada" / name / "vector_add.cu").write_text(name)
    assert collect(Request(folder, (tmp_path / "in",))).unordered == (("ada", "vector_add"),)


def test_files_are_below_submissions_whatever_a_student_is_called(given, folder):
    entries = given(
        "in", **{"..hidden__vector_add.cu": "a", "Ada L. & Söhne__vector_add.cu": "b", "con__vector_add.cu": "c"}
    )
    assert len(entries) == 3
    paths = [file.path for one in read_submissions(folder) for file in one.files]
    assert all((folder / path).resolve().is_relative_to(folder / "submissions") for path in paths)


def test_a_damaged_list_is_not_overwritten(folder, given):
    (folder / "submissions.json").write_text('{"schema": "warpgrade/submissions/1", "submissions": [{"student": 3}]}')
    with pytest.raises(UsageError, match=r"submissions\.json is damaged"):
        given("in", **{"ada__vector_add.cu": "a"})
    assert json.loads((folder / "submissions.json").read_text())["submissions"] == [{"student": 3}]


# ----------------------------------------------------------------------------------------------------- times and order


def version(content, hour=None):
    submitted = None if hour is None else START + timedelta(hours=hour)
    return ClassSubmission("ada", "vector_add", 0, (SubmittedFile(content, content),), submitted, "lms" if hour else "")


@pytest.mark.parametrize(
    ("seen", "counts", "order"),
    [
        ([("a", 1), ("b", 2)], "last", [("a", 1), ("b", 2)]),
        ([("b", 2), ("a", 1)], "last", [("a", 1), ("b", 2)]),
        ([("a", 1), ("a", 3)], "last", [("a", 1)]),  # handed in again unchanged: not later by that
        ([("a", 1), ("b", 2), ("a", 3)], "last", [("b", 2), ("a", 3)]),  # back to the first version: it is the last
        ([("a", 1), ("b", 2), ("a", 3)], "first", [("a", 1), ("b", 2)]),
        ([("a", None), ("a", 2)], "last", [("a", 2)]),
        ([("b", None), ("a", 2)], "last", [("b", None), ("a", 2)]),
    ],
)  # fmt: skip
def test_of_each_content_there_is_one_submission_with_its_time(seen, counts, order):
    for cut in range(len(seen) + 1):
        first = merged([], [Sighting(version(*one), {}, ()) for one in seen[:cut]], first_counts=counts == "first")
        found = merged(first, [Sighting(version(*one), {}, ()) for one in seen[cut:]], first_counts=counts == "first")
        hours = [one.submitted and (one.submitted - START) // timedelta(hours=1) for one in found]
        if len(seen) < 3 or counts == "first" or cut in (0, 2, 3):
            assert list(zip([one.files[0].path for one in found], hours, strict=True)) == order
        assert [one.number for one in found] == list(range(1, len(found) + 1))
