"""`grade class run`, `status` and `override`: what is shown, and what is refused."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from inline_snapshot import snapshot
from rich.console import Console

from grader.classroom.folder import init_class
from grader.classroom.records import AssignedExercise, Assignment, ClassSubmission, Result, SubmittedFile
from grader.classroom.run import InFlight, Watched
from grader.classroom.store import Basis, Store
from grader.classroom.submissions import write_submissions
from grader.cli import main
from grader.cli.classroom_run import pace, result_words, table_of_run
from grader.cli.classroom_status import remarks
from grader.cli.course import find, load

NOW = datetime(2026, 11, 21, 17, 5, tzinfo=UTC)


def a_submission(student: str, exercise: str = "vector_add") -> ClassSubmission:
    content = f"// {student}".encode()
    return ClassSubmission(student, exercise, 1, (SubmittedFile(f"{student}.cu", hashlib.sha256(content).hexdigest()),))


def a_result(submission: ClassSubmission, verdict: str = "pass", **more) -> Result:
    values = {"points": 80.0, "max_points": 80.0, "run": {"verdict": verdict}, "started": NOW} | more
    return Result(submission.key, verdict, ended=NOW + timedelta(seconds=1.4), **values)


@pytest.fixture
def week4(tmp_path):
    """A class of three; ada and bob have results."""
    folder = tmp_path / "week4"
    init_class(folder, Assignment("week4", "Week 4", (AssignedExercise("vector_add"),), backend="sim"))
    submissions = [a_submission(student) for student in ("ada", "bob", "eve")]
    write_submissions(folder, "week4", submissions)
    aside = {"diagnostics": [{"message": "3 workers ended while they graded this submission"}]}
    with Store.open(folder) as store:
        store.add(a_result(submissions[0]))
        store.add(a_result(submissions[1], "set_aside", points=None, max_points=None, run=aside))
    return folder


def shown(capsys) -> str:
    return capsys.readouterr().out.replace("\u00a0", " ")


def test_status_says_what_is_graded_what_is_left_and_what_needs_the_teacher(week4, monkeypatch, capsys):
    monkeypatch.chdir(week4.parent)
    assert main(["class", "status", "week4"]) == 0
    assert shown(capsys) == snapshot("""\
Week 4
2 of 3 submissions graded: 1 pass, 1 set_aside
  bob vector_add: set_aside, it ended the worker every time: read the file before you grade it again
      3 workers ended while they graded this submission
To grade one again:
`grade class run week4 --again --student NAME --exercise NAME`. To decide
yourself: `grade class override week4 NAME EXERCISE --points N --reason TEXT`.
1 submission left: `grade class run week4` grades what has no result, and
nothing twice.
  vector_add  2 of 3  1 pass, 1 set_aside
""")


def test_status_is_one_document_too(week4, capsys):
    assert main(["class", "status", str(week4), "--json"]) == 0
    document = json.loads(shown(capsys))
    assert document["schema"] == "warpgrade/class-run/1"
    assert (document["submissions"], document["graded"], document["left"]) == (3, 2, 1)
    assert [one["student"] for one in document["for_the_teacher"]] == ["bob"]


def test_an_override_is_stored_with_its_reason(week4, capsys):
    words = ["class", "override", str(week4), "bob", "vector_add", "--points", "70", "--reason", "shown in person"]
    assert main(words) == 0
    assert shown(capsys) == "bob has 70 of 100 points for vector_add: shown in person\n"
    with Store.open(week4) as store:
        (override,) = store.overrides()
    assert (override.points, override.reason) == (70.0, "shown in person")


def test_status_lists_the_overrides_and_one_can_be_taken_back(week4, capsys):
    decide = ["class", "override", str(week4), "bob", "vector_add"]
    assert main([*decide, "--points", "70", "--reason", "shown in person"]) == 0
    assert main(["class", "status", str(week4)]) == 0
    assert "  bob vector_add: 70 points, shown in person\n" in shown(capsys)
    assert main([*decide, "--undo"]) == 0
    assert "is taken back" in shown(capsys)
    assert main(["class", "status", str(week4), "--json"]) == 0
    assert json.loads(shown(capsys))["decisions"] == []
    assert main([*decide, "--points", "60", "--reason", "again"]) == 0
    with Store.open(week4) as store:
        assert [one.points for one in store.overrides()] == [60]


def test_status_names_who_is_unknown_who_is_missing_and_unchanged_stubs(week4, capsys):
    (week4 / "roster.csv").write_text("id,name\nada,\nbob,\nzoe,Zoe Z\n")
    stub = find(load(()), "vector_add").stub.read_bytes()
    (week4 / "ada.cu").write_bytes(stub)
    ada = ClassSubmission("ada", "vector_add", 1, (SubmittedFile("ada.cu", hashlib.sha256(stub).hexdigest()),))
    write_submissions(week4, "week4", [ada, a_submission("eve")])
    assert main(["class", "status", str(week4)]) == 0
    said = " ".join(shown(capsys).split())
    assert "2 students submitted nothing: bob; Zoe Z" in said
    assert "1 student not on the roster: eve" in said
    assert "1 submission without a change to the stub: ada, vector_add" in said


def test_status_after_a_killed_run_again_says_what_is_to_grade_again(week4, capsys):
    with Store.open(week4) as store:
        store.begin(Basis("1", "2", "3", "sim", "4"), again=[a_submission("ada").key])
    assert main(["class", "status", str(week4)]) == 0
    said = " ".join(shown(capsys).split())
    assert "1 to grade again: `grade class run" in said
    assert "1 submission left: `grade class run" in said


def test_a_class_with_nothing_collected_says_what_is_next(week4, capsys):
    write_submissions(week4, "week4", [])
    assert main(["class", "run", str(week4)]) == 2
    assert "`grade class collect" in capsys.readouterr().err
    for command in ("status", "report"):
        assert main(["class", command, str(week4)]) == 0
        assert "No submissions were collected yet: `grade class collect" in " ".join(shown(capsys).split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["override", "week4", "bib", "vector_add", "--points", "1", "--reason", "x"],
            "this class has no student 'bib'",
        ),
        (["override", "week4", "bob", "saxpy", "--points", "1", "--reason", "x"], "this class has no exercise 'saxpy'"),
        (
            ["override", "week4", "bob", "vector_add", "--points", "101", "--reason", "x"],
            "vector_add has from 0 to 100",
        ),
        (
            ["override", "week4", "bob", "vector_add", "--points", "nan", "--reason", "x"],
            "vector_add has from 0 to 100",
        ),
        (["override", "week4", "bob", "vector_add", "--points", "1", "--reason", " "], "--reason is missing"),
        (["override", "week4", "bob", "vector_add", "--points", "60"], "`grade class override --help`"),
        (["override", "week4"], "`grade class override --help`"),
        (["override", "week4", "bob", "vector_add", "--undo"], "bob has no override for vector_add"),
        (["override", "week4", "bob", "vector_add", "--undo", "--points", "1"], "cannot be used together"),
        (["run", "week4", "--student", "eva"], "this class has no student 'eva'"),
        (["run", "week4", "--jobs", "2", "--workers", "2"], "--jobs and --workers cannot be used together"),
        (["run", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(week4, monkeypatch, capsys, words, message):
    monkeypatch.chdir(week4.parent)
    assert main(["class", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("Hopper, Grace", "did you mean g2 (Hopper, Grace)?"),
        ("grace", "did you mean g2 (Hopper, Grace)?"),
        ("turing", "did you mean turing@x.org?"),
        ("bib", "did you mean 'bob'?"),
        ("zzzzz", "roster.csv has the ids"),
    ],
)
def test_a_student_who_is_not_named_by_the_id_is_suggested(week4, capsys, word, hint):
    (week4 / "roster.csv").write_text('id,name\nada,\ng2,"Hopper, Grace"\nturing@x.org,\n')
    assert main(["class", "run", str(week4), "--again", "--student", word]) == 2
    assert hint in capsys.readouterr().err


def test_without_landlock_a_class_is_refused(week4, monkeypatch, capsys):
    monkeypatch.setattr("grader.process.sandbox.available", lambda: "none")
    assert main(["class", "run", str(week4)]) == 4
    assert "no Landlock" in capsys.readouterr().err


def test_the_live_table_shows_progress_rate_time_left_and_what_is_in_flight():
    flying = InFlight(a_submission("eve\x1b[31m"), NOW - timedelta(seconds=3), 2)
    watched = Watched(200, 57, {"pass": 45, "wrong": 12}, (flying,), deaths=1)
    console = Console(file=StringIO(), width=90, color_system=None)
    run = {"stages": [{"name": "correct", "status": "passed"}, {"name": "fast", "status": "not_graded"}]}
    last = [result_words(a_result(a_submission("ada"), run=run), a_submission("ada"), 50)]
    console.print(table_of_run("Week 4, 2 at once here", watched, last, 120.0, NOW))
    assert console.file.getvalue() == snapshot("""\
Week 4, 2 at once here
━━━━━━━━╸                       57 of 200 graded, 28 a minute, about 5 min left
45 pass, 12 wrong; 1 worker died

in flight
eve\\x1b[31m  vector_add  3 s  attempt 2

last
ada vector_add  pass, 50 of 50 points (fast not graded)  1.4 s
""")


def test_the_pace_is_said_in_words():
    assert pace(Watched(200, 0, {}, ()), 0.0) == "0 of 200 graded"
    assert pace(Watched(200, 57, {}, ()), 120.0) == "57 of 200 graded, 28 a minute, about 5 min left"
    assert pace(Watched(200, 3, {}, ()), 120.0) == "3 of 200 graded, 1.5 a minute, about 2.2 h left"
    assert pace(Watched(200, 200, {}, ()), 120.0) == "200 of 200 graded, 100 a minute"


def test_what_makes_results_hard_to_compare_is_said():
    one = a_result(a_submission("ada"), machine={"gpu": "NVIDIA H200"}, versions={"warpgrade": "1", "course": "2"})
    other = a_result(a_submission("bob"), machine={"gpu": "NVIDIA A100"}, versions={"warpgrade": "1", "course": "3"})
    without = a_result(a_submission("eve"), machine={"gpu": ""}, sandbox="none", versions=one.versions)
    assert remarks([one]) == []
    assert remarks([one, other, without]) == snapshot(
        [
            "The class was graded on unequal GPUs, so times do not compare: NVIDIA A100 and NVIDIA H200.",
            "1 result could not use a GPU, and others did.",
            "The results are of several versions: 1, course 2; 1, course 3.",
            "1 submission ran without a sandbox.",
        ]
    )
