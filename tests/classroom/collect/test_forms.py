"""Whose a file is, and which exercise: the names of every system, through the whole of collecting."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from grader.classroom.assignment import FILE, assignment_text
from grader.classroom.collect.collecting import Request, collect
from grader.classroom.collect.exercises import NO_EXERCISE, copies
from grader.classroom.collect.people import People, Unknown
from grader.classroom.records import AssignedExercise, Assignment, Student
from grader.errors import UsageError

ROSTER = """\
id,name,email,ID,alias
ada,Ada Lovelace,al@x.org,77,countess
noether,"Noether, Emmy",emmy@x.org,78,
dvorak,Antonín Dvořák,ad@x.org,79,
kim1,Min Kim,kim1@x.org,80,
kim2,Min Kim,kim2@x.org,81,
"""


@pytest.fixture
def found(folder, tmp_path):
    """Collects files by their paths, in a zip or a folder: student, exercise and content; then what was left out."""

    def collecting(paths, *, roster=ROSTER, form="auto", packed=True, name="download"):
        (folder / "roster.csv").write_text(roster, encoding="utf-8")
        root = tmp_path / name
        for number, path in enumerate(paths):
            content = paths[path] if isinstance(paths, dict) else f"{number}"
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        source = root
        if packed:
            source = tmp_path / f"{name}.zip"
            with zipfile.ZipFile(source, "w") as archive:
                for path in paths:
                    archive.write(root / path, path)
        result = collect(Request(folder, (source,), form))
        collected = [
            (one.student, one.exercise, (folder / one.files[0].path).read_text()) for one in result.submissions
        ]
        return collected, result

    return collecting


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "path",
    [
        "ada/vector_add.cu",
        "ADA/Vector-Add.CU",
        "Ada Lovelace/vectoradd.cu",
        "Lovelace, Ada/src/vector_add.cu",
        "al@x.org/vector_add.cu",
        "countess/vector_add.cu",
        "ada-week4/vector_add.cu",
        "week4_ada/vector_add.cu",
        "submitted/ada/week4/vector_add.cu",
        "class/2026/ada/week4/vector_add.cu",
        "ada/vector_add/kernel.cu",
        "ada_vector_add.cu",
        "vector_add-ada.cu",
        "Ada Lovelace - vector_add.cu",
        "section 1/ada_vector_add.cu",
        "lovelaceada_77_901_vector_add.cu",
        "lovelaceada_LATE_77_901_vector_add-1.cu",
        "someoneelse_77_901_vector_add.cu",
        "Ada Lovelace_4711_assignsubmission_file_/vector_add.cu",
        "Ada Lovelace_4711_assignsubmission_file/vector_add.cu",
        "Ada Lovelace_4711_assignsubmission_file_vector_add.cu",
        "Group A-Ada Lovelace_4711_assignsubmission_file_/vector_add.cu",
    ],
)
def test_a_student_and_an_exercise_are_recognised(found, path, packed):
    collected, result = found([path], packed=packed)
    assert collected == [("ada", "vector_add", "0")]
    assert (result.strangers, result.skipped) == ((), ())


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("noetheremmy_78_5_vector_add.cu", "noether"),
        ("noetheremmy_5555_5_vector_add.cu", "noether"),
        ("dvořákantonín_5555_5_vector_add.cu", "dvorak"),
        ("Antonin Dvorak/vector_add.cu", "dvorak"),
        ("Min Kim_81_assignsubmission_file_/vector_add.cu", None),
        ("kimmin_81_5_vector_add.cu", "kim2"),
    ],
)
def test_names_are_matched_without_accents_and_in_any_order_and_numbers_come_first(found, path, student):
    collected, result = found([path])
    assert [who for who, _, _ in collected] == ([student] if student else [])
    assert [one.unknown.is_ambiguous for one in result.strangers] == ([] if student else [True])


def test_who_is_unknown_is_not_collected_and_near_names_are_suggested(found):
    collected, result = found(["adda/vector_add.cu", "noether/vector_add.cu", "Min Kim/vector_add.cu"])
    assert [who for who, _, _ in collected] == ["noether"]
    unknown = {one.unknown.word: (one.unknown.near, one.origins) for one in result.strangers}
    assert unknown == {
        "adda": (("ada (Ada Lovelace)",), ("download.zip: adda/vector_add.cu",)),
        "Min Kim": (("kim1 (Min Kim)", "kim2 (Min Kim)"), ("download.zip: Min Kim/vector_add.cu",)),
    }


@pytest.mark.parametrize(
    ("paths", "students"),
    [
        (["week4/ada/vector_add.cu", "week4/Bob B./vector_add.cu"], ["Bob B.", "ada"]),
        (["kim_80_1_vector_add.cu", "kim_81_2_vector_add.cu"], ["kim_80", "kim_81"]),
        (["Min Kim_1_assignsubmission_file_/vector_add.cu"], ["Min Kim_1"]),
        (["x/ada_vector_add.cu", "x/bob_vector_add.cu"], ["ada", "bob"]),
        (["submitted/ada/week4/vector_add.cu"], ["ada"]),
    ],
)
def test_without_a_roster_everybody_who_submitted_is_a_student(found, paths, students):
    assert [who for who, _, _ in found(paths, roster="")[0]] == students


def test_several_folders_of_nbgrader_are_not_mixed(found):
    paths = ["ada/week4/vector_add.cu", "ada/week3/vector_add.cu", "noether/week4/vector_add.cu"]
    collected, result = found(paths)
    assert collected == [("ada", "vector_add", "0"), ("noether", "vector_add", "2")]
    assert [one.reason for one in result.skipped] == ["it is in the folder of another assignment"]


def test_a_students_archive_cannot_submit_for_somebody_else(found, tmp_path):
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("ada/vector_add.cu", "mine")
        archive.writestr("lovelaceada_77_901_vector_add.cu", "also mine")
        archive.writestr("submission_metadata.yml", "submission_1: {}")
    for path in ("noether.zip", "noether/all.zip", "noetheremmy_78_5_all.zip", "nobody.zip"):
        collected, _ = found({path: inner.read_bytes()}, name=path.replace("/", "-"))
        assert {who for who, _, _ in collected} <= {"noether"}
        assert ("noether", "vector_add", "mine") in collected or path == "nobody.zip"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("ada/vektor_ad.cu", f"{NO_EXERCISE}; did you mean 'vector_add'?"),
        ("ada/reduce_v1.cu", "reduce_v1 is no exercise of this assignment"),
        ("ada/vector_add_host.py", "vector_add has no host file"),
        ("ada/helper.py", "a .py file is of interest only as NAME_host.py, beside NAME.cu"),
        ("vector_add.cu", "nothing in its path says whose it is"),
        ("ada/vector_add/a.cu ada/vector_add/b.cu", "several files may be vector_add.cu: rename one"),
        ("ada/vector_add.cu ada/vector_add/b.cu", "another file of this student is vector_add.cu"),
    ],
)
def test_a_file_that_is_not_collected_says_why(found, path, reason):
    _, result = found(path.split())
    assert {one.reason for one in result.skipped} == {reason}


def test_a_name_that_the_teacher_gave_is_the_exercise(folder, found, tmp_path):
    found(["ada/hw4.cu", "noether/HW4 (1).cu", "kim1_hw4.cu"])
    result = collect(Request(folder, (tmp_path / "download",), names=("hw4.cu=vector_add",)))
    assert [(one.student, one.exercise) for one in result.submissions] == [
        ("ada", "vector_add"),
        ("noether", "vector_add"),
    ]
    with pytest.raises(UsageError, match="--name 'hw4=reduce_v1' does not name a file and an exercise"):
        collect(Request(folder, (tmp_path,), names=("hw4=reduce_v1",)))


def test_a_file_that_was_collected_under_a_name_of_the_teachers_is_known_again_without_it(folder, found, tmp_path):
    paths = {"ada/my_vector_add_final.cu": "a", "noether/my_vector_add_final.cu": "b"}
    found(paths)
    first = collect(Request(folder, (tmp_path / "download.zip",), names=("my_vector_add_final.cu=vector_add",)))
    again = collect(Request(folder, (tmp_path / "download.zip",)))
    assert (len(first.new), again.new, again.again, again.skipped) == (2, frozenset(), 2, ())
    _, changed = found(paths | {"ada/my_vector_add_final.cu": "changed"})
    assert [one.origin for one in changed.skipped] == ["download.zip: ada/my_vector_add_final.cu"]


def test_the_login_of_an_address_is_its_student_where_it_is_the_only_one(found):
    roster = "id,name\ndknuth@uni.edu,Donald Knuth\nada@uni.edu,Ada Lovelace\nada@x.org,Ada Byron\n"
    paths = ["dknuth/vector_add.cu", "week4-dknuth/pinned_copy.cu", "sub/dknuth_vector_add.cu", "ada/vector_add.cu"]
    collected, result = found(paths, roster=roster)
    assert {who for who, _, _ in collected} == {"dknuth@uni.edu"}
    assert [(one.unknown.word, one.unknown.is_ambiguous) for one in result.strangers] == [("ada", True)]


@pytest.mark.parametrize("word", ["dknut", "cs101-hw4-dknut", "donald", "d.knuth@gmail.com", "knuth_d"])
def test_somebody_unknown_is_told_with_near_names(word):
    people = People([Student("dknuth@uni.edu", "Donald Knuth"), Student("ada@uni.edu", "Ada Lovelace")])
    assert people.who((word,), word) in (
        Unknown(word, ("dknuth@uni.edu (Donald Knuth)",)), Student("dknuth@uni.edu", "Donald Knuth")
    )  # fmt: skip


def test_a_source_that_does_not_exist_is_no_skipped_file(run, folder, tmp_path):
    for name in ("submision-folder", "vector_add.cu", "week4.zip"):
        code, _, err = run("class", "collect", folder, tmp_path / name)
        assert code == 2
        assert f"there is no {tmp_path / name}" in " ".join(err.split())


def test_of_one_exercise_a_single_file_may_have_any_name(folder, found):
    (folder / FILE).write_text(assignment_text(Assignment("hw", "hw", (AssignedExercise("vector_add"),))))
    collected, result = found(["ada/homework 4 final.cu", "noether/a.cu", "noether/b.cu"])
    assert collected == [("ada", "vector_add", "0")]
    assert [one.origin for one in result.unsure] == ["download.zip: ada/homework 4 final.cu"]
    assert len(result.skipped) == 2


def test_a_folder_or_an_archive_with_a_students_name_can_be_a_source(found):
    assert found(["vector_add.cu"], packed=False, name="ada")[0] == [("ada", "vector_add", "0")]
    assert found(["pinned_copy.cu"], name="noether")[0][1:] == [("noether", "pinned_copy", "0")]


def test_a_form_that_is_named_is_the_only_one(found):
    path = "noetheremmy_78_5_vector_add.cu"
    assert found([path], form="flat")[1].skipped == ()
    assert found([path], form="moodle", name="b")[1].skipped[0].reason == "nothing in its path says whose it is"
    with pytest.raises(UsageError, match=r"has no submission_metadata\.yml"):
        found([path], form="gradescope", name="c")


@pytest.mark.parametrize(
    ("stem", "plain", "copy"),
    [("x (2)", "x", 2), ("x-13", "x", 13), ("x - Copy", "x", 1), ("x copy 3", "x", 3), ("x(1)-2", "x", 3),
     ("pinned_copy (2)", "pinned_copy", 2), ("reduce_v1", "reduce_v1", 0),
     ("photocopy", "photocopy", 0), ("-1", "-1", 0)],
)  # fmt: skip
def test_what_marks_a_copy_is_not_part_of_a_name(stem, plain, copy):
    assert (plain, copy) in copies(stem)


def test_links_pipes_and_the_collected_files_themselves_are_not_read(folder, tmp_path):
    source = tmp_path / "in"
    (source / "ada").mkdir(parents=True)
    (source / "ada" / "vector_add.cu").symlink_to("/etc/hostname")
    (source / "bob").symlink_to(folder)
    os.mkfifo(source / "ada" / "pinned_copy.cu")
    result = collect(Request(folder, (source,)))
    assert {Path(one.origin).name: one.reason for one in result.skipped} == {
        "vector_add.cu": "it is a link",
        "bob": "it is not a .cu file",
        "pinned_copy.cu": "it is not a regular file",
    }


def test_the_class_itself_is_no_source(folder, tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "vector_add.cu").write_text("x")
    for _ in range(2):
        assert [one.student for one in collect(Request(folder, (tmp_path,))).submissions] == ["ada"]
    for source in (folder, folder / "submissions", folder / "submissions" / "ada"):
        with pytest.raises(UsageError, match="has the files that were collected"):
            collect(Request(folder, (source,)))


def test_a_name_that_is_not_text_is_skipped_and_shown_with_escapes(folder, tmp_path):
    (tmp_path / "in").mkdir()
    (Path(os.fsdecode(bytes(tmp_path / "in") + b"/ada_vector_\xff\x1b.cu"))).write_text("x")
    skipped = collect(Request(folder, (tmp_path / "in",))).skipped
    assert [one.reason for one in skipped] == ["its name has control characters or invisible ones"]
    assert skipped[0].origin.isprintable()
