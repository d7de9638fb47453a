"""An exercise that gives a header: who gets it, who reads it, and which one counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.catalog.courses import Broken, CourseExercise, course_at, read_exercise
from grader.catalog.exercises import load_catalog
from grader.classroom.handout import handouts
from grader.classroom.records import AssignedExercise, Assignment
from grader.dev.static import source_problems
from grader.grading.grade import changed_headers
from grader.grading.services import Hardware, Task

ENTRY = load_catalog().find("splitk_gemm")
NAME = "tile_product.cuh"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_start_copies_the_header_and_reset_leaves_it(run, here):
    _, said, _ = run("start", ENTRY.name)
    assert f"./{NAME} is given: include it and read it." in said
    assert (here / NAME).read_bytes() == (ENTRY.folder / NAME).read_bytes()
    (here / NAME).unlink()
    assert run("start", ENTRY.name)[0] == 0
    assert (here / NAME).is_file()
    assert run("start", ENTRY.name)[0] == 2
    assert NAME not in run("reset", ENTRY.name)[1]


def test_show_names_the_header_and_prints_it_in_full(run):
    said = " ".join(run("show", ENTRY.name)[1].split())
    assert f"comes with {NAME}" in said
    assert f"`grade show {ENTRY.name} --full` also explains each report and prints {NAME}." in said
    assert "tile_product(const float* A" not in said
    assert "tile_product(const float* A" in run("show", ENTRY.name, "--full")[1]


def test_a_class_gets_the_header_with_the_stub():
    assignment = Assignment("week5", "Week 5", (AssignedExercise(ENTRY.name),))
    assert handouts(assignment, [ENTRY], [], b"")[0].files[NAME] == (ENTRY.folder / NAME).read_bytes()


def test_a_changed_copy_is_not_what_counts_and_the_report_says_so(run, here):
    run("start", ENTRY.name)
    request = Hardware("sim", None, "").request(Task(ENTRY, here / "splitk_gemm.cu"))
    assert changed_headers(request) == ()
    assert request.submission.headers == {NAME: (ENTRY.folder / NAME).read_text(encoding="utf-8")}
    (here / NAME).write_text("#error mine\n")
    (note,) = changed_headers(request)
    assert note.startswith(f"your {NAME} differs from the course's, which was compiled")


@pytest.mark.parametrize(
    ("headers", "words"),
    [('("../tile.cuh",)', "names like"), ('"tile.cuh"', "names like"), ('("tile.cuh",)', "neither in its folder nor")],
)
def test_headers_are_files_of_the_exercises_folder_or_its_chapters(here, headers, words):
    text = (ENTRY.folder / "exercise.py").read_text(encoding="utf-8").replace(f'("{NAME}",)', headers)
    folder = here / "course" / ENTRY.name
    folder.mkdir(parents=True)
    (folder / "exercise.py").write_text(text)
    (here / "tile.cuh").write_text("")
    broken = read_exercise(folder / "exercise.py", course_at(here / "course"))
    assert isinstance(broken, Broken)
    assert words in broken.error.message


def test_exercises_of_a_chapter_share_a_header_in_its_folder(here):
    folder = here / "course" / ENTRY.name
    shutil.copytree(ENTRY.folder, folder)
    shared = (folder / NAME).rename(here / "course" / NAME)
    entry = read_exercise(folder / "exercise.py", course_at(here / "course"))
    assert isinstance(entry, CourseExercise)
    assert entry.headers == (shared,)


def test_the_course_check_finds_a_header_that_nobody_gets_or_the_stub_does_not_include(here):
    folder = here / "course" / ENTRY.name
    shutil.copytree(ENTRY.folder, folder)
    (folder / "other.cuh").write_text("")
    (folder / "splitk_gemm.cu").write_text("// YOUR CODE\n")
    entry = read_exercise(folder / "exercise.py", course_at(here / "course"))
    assert isinstance(entry, CourseExercise)
    assert [str(problem) for problem in source_problems(entry)] == [
        "other.cuh: this header is not in headers= of exercise.py: nobody gets it",
        f"splitk_gemm.cu: the stub does not include {NAME}",
    ]
