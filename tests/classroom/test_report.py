"""`grade class report` and `grade class export`: a class folder becomes pages and files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from class_samples import DEADLINE, result, submission
from verdict_samples import PASSED, RACY, SOURCE

from grader.classroom.folder import init_class
from grader.classroom.key import assignment_key, read_key, seed
from grader.classroom.records import AssignedExercise, Assignment, Override, SubmittedFile
from grader.classroom.store import Store
from grader.classroom.submissions import write_submissions

ASSIGNED = Assignment(
    "week4", "Week 4", (AssignedExercise("vector_add", 40), AssignedExercise("reduce_v3", 60)), DEADLINE
)


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Ada passed and raced, Bob was decided by hand, Eve is not on the roster."""
    folder = tmp_path / "week4"
    init_class(folder, ASSIGNED)
    (folder / "roster.csv").write_text("id,name,email\nada,Ada Lovelace,ada@x.org\nbob,Bob,b@x.org\n")
    made = [collected(folder, submission(*what)) for what in (("ada",), ("ada", "reduce_v3"), ("eve",))]
    write_submissions(folder, "week4", made)
    secret = seed(assignment_key(read_key(folder), "week4"), "reduce_v3")
    leaking = replace(RACY, printed=f"{secret} {folder}", file="reduce_v3.cu")
    with Store.open(folder) as store:
        for one, verdict in zip(made, (PASSED, leaking, PASSED), strict=True):
            store.add(result(one, verdict))
        store.add_override(Override("bob", "vector_add", 12.5, "shown in person", DEADLINE))
    return folder


def collected(folder: Path, one):
    path, text = folder / one.files[0].path, f"{SOURCE}// {one.student} {one.exercise}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return replace(one, files=(SubmittedFile(one.files[0].path, sha256(text.encode()).hexdigest()),))


def test_a_report_has_a_page_for_the_teacher_for_each_student_and_the_document(graded, run):
    code, said, _ = run("class", "report", graded, "--leaderboard")
    files = sorted(str(path.relative_to(graded / "report")) for path in (graded / "report").rglob("*.*"))
    assert (code, files) == (
        0, ["class.json", "index.html", "leaderboard.html", *(f"students/{n}.html" for n in ("ada", "bob", "eve"))]
    )  # fmt: skip
    assert "index.html in a browser" in said
    page = (graded / "report/students/ada.html").read_text()
    assert "extern __shared__ float partial[];" in page
    secret = seed(assignment_key(read_key(graded), "week4"), "reduce_v3")
    for path in (graded / "report").rglob("*.*"):
        text = path.read_text()
        assert str(secret) not in text
        assert read_key(graded).hex() not in text
        assert str(graded) not in text


def test_a_file_that_was_changed_since_is_not_quoted(graded, run):
    (graded / "submissions/ada/1/reduce_v3.cu").write_text("// other lines\n")
    run("class", "report", graded)
    page = (graded / "report/students/ada.html").read_text()
    assert "other lines" not in page
    assert "// ada vector_add" in page


def test_json_prints_the_document_and_writes_nothing(graded, run):
    code, said, _ = run("class", "report", graded, "--json")
    document = json.loads(said)
    assert (code, document["schema"], document["assignment"]["name"]) == (0, "warpgrade/class/1", "week4")
    assert [student["points"] for student in document["students"]] == [40, 12.5, 40]
    assert not (graded / "report").exists()


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (("csv",), "eve,,,no,40,pass,0,0,missing,,40,100,0"),
        (("canvas", "--exercise", "vector_add"), "Bob,,,bob,,12.5"),
        (("moodle", "--match", "email", "--exercise", "vector_add"),
         "b@x.org,12.5,Your teacher gave 12.5 of 40 points: shown in person Nothing was submitted."),
    ],
)  # fmt: skip
def test_tables_are_printed(graded, run, words, last):
    code, said, _ = run("class", "export", graded, *words)
    assert (code, said.splitlines()[-1]) == (0, last)


def test_canvas_is_filled_beside_the_instructors_file_which_stays(graded, run, tmp_path):
    export = tmp_path / "export.csv"
    content = "Student,ID,SIS User ID,SIS Login ID,Section,Week 4 (12)\nX,1,,ada,A,\nY,2,,bob,A,\n"
    export.write_text(content)
    code, said, told = run("class", "export", graded, "canvas", "--into", export)
    filled = tmp_path / "export-filled.csv"
    assert (code, export.read_text()) == (0, content)
    assert [row[-1] for row in csv.reader(filled.open())] == ["Week 4 (12)", "40", "12.5"]
    assert "2 cells filled" in said
    assert "left out: eve: not on the roster" in told


def test_gradescope_classroom50_and_junit_are_written(graded, run, tmp_path):
    for system, name in (("gradescope", "results.json"), ("classroom50", "result.json")):
        assert run("class", "export", graded, system, "--output", tmp_path / system)[0] == 0
        assert json.loads((tmp_path / system / "ada" / name).read_text())["score"] == 40
        assert sorted(path.name for path in (tmp_path / system).iterdir()) == ["ada", "bob"]
    assert run("class", "export", graded, "junit", "--output", tmp_path / "all.xml")[0] == 0
    assert "ada/reduce_v3" in (tmp_path / "all.xml").read_text()


def test_a_moodle_file_with_nobody_in_it_is_not_written_and_says_which_match_would_work(graded, run, tmp_path):
    (graded / "roster.csv").write_text("id,name\nada,Ada Lovelace\nbob,Bob\n")
    code, _, told = run("class", "export", graded, "moodle", "--match", "email", "--output", tmp_path / "m.csv")
    assert (code, (tmp_path / "m.csv").exists()) == (2, False)
    assert "roster.csv has no email of any student" in told
    assert "--match idnumber names 2 students" in " ".join(told.split())
    words = ("moodle", "--exercise", "reduce_v3", "--missing", "blank", "--output", tmp_path / "m.csv")
    (graded / "roster.csv").write_text("id,name\nbob,Bob\n")
    code, _, told = run("class", "export", graded, *words)
    assert (code, (tmp_path / "m.csv").exists(), "nobody has a grade to export" in told) == (2, False, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("csv", "--into", "x.csv"), "--into and --column are for canvas"),
        (("canvas", "--column", "x"), "--column needs --into"),
        (("gradescope",), "gradescope gets a file for each student"),
        (("csv", "--exercise", "vector_ad"), "'vector_ad' is not assigned"),
        (("canvas", "--into", "nowhere.csv"), "nowhere.csv cannot be read"),
    ],
)
def test_options_that_do_not_fit_are_refused(graded, run, words, said):
    code, _, told = run("class", "export", graded, *words)
    assert (code, said in told) == (2, True)


def test_a_class_without_results_has_a_report(tmp_path, run):
    init_class(tmp_path / "new", ASSIGNED)
    assert run("class", "report", tmp_path / "new")[0] == 0
    assert "Grades" in (tmp_path / "new/report/index.html").read_text()
