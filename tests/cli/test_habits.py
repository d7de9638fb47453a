"""`hint`, `reset`, `solution`, `next`, `progress` and the marks of `list`, as a person uses them."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog
from grader.cli.course import files_of
from grader.cli.grading import ladder_points
from grader.gpus.models import simulable
from grader.output import Screen
from grader.practice.history import key_of, next_after, progress, recorder
from grader.practice.progress import Run, now
from grader.practice.questions import questions_in
from grader.verdict import Measurement, Roof, Verdict
from tests.variant_course import course_with_variant

EXERCISE_PY = """\
from grader import Array, Exercise

EXERCISE = Exercise(
    name={name!r}, order={order}, idea="twice", oracle="elementwise:add", simulated={{"n": 64}},
    arrays=(Array("x", "float32", "n"), Array("y", "float32", "n", role="out")), small=({{"n": 1}},),
)
"""


@pytest.fixture(autouse=True)
def here(empty_folder, monkeypatch):
    """An empty folder to work in, and nothing graded yet."""
    monkeypatch.setenv("COLUMNS", "100")
    return empty_folder


@pytest.fixture
def course(tmp_path):
    """A teacher's course with one exercise and no solution."""
    place = tmp_path / "course" / "01_first" / "twice_it"
    place.mkdir(parents=True)
    (place / "exercise.py").write_text(EXERCISE_PY.format(name="twice_it", order=9001))
    (place / "twice_it.cu").write_text("// launch it\n")
    (place / "hints.md").write_text("## 1\n\nDouble \x1b[2Jit.\n")
    return tmp_path / "course"


catalog_of = cache(load_catalog)


def graded(name: str, verdict: str = "pass", *courses: Path, score: int = 80) -> None:
    course, exercise, version = key_of(catalog_of(courses).find(name))
    progress().record(Run(now(), course, exercise, verdict, score, 80, "sim", course_version=version))


# ---------------------------------------------------------------------------------------------------------------- hint


def test_each_hint_is_one_more_until_the_last(run):
    said = [run("hint", "reduce_v3") for _ in range(6)]
    assert [code for code, _, _ in said] == [0] * 6
    for number, (_, out, _) in enumerate(said[:5], start=1):
        assert out.startswith(f"reduce_v3, hint {number} of 5\n")
    assert "`grade hint reduce_v3` gives the next hint." in said[0][1]
    assert "--again" in said[1][1]
    assert "That was the last hint: `grade solution reduce_v3 --spoil` shows the solution" in said[4][1]
    assert "you have seen all 5 hints" in said[5][1]
    assert "hint 5 of 5" not in said[5][1]


def test_hints_of_one_exercise_are_not_those_of_another(run):
    run("hint", "reduce_v3")
    assert "vector_add, hint 1 of" in run("hint", "vector_add")[1]


def test_again_repeats_what_was_shown_and_no_more(run):
    assert "no hint yet" in run("hint", "reduce_v3", "--again")[1]
    run("hint", "reduce_v3")
    run("hint", "reduce_v3")
    out = run("hint", "reduce_v3", "--again")[1]
    assert [f"hint {number} of 5" in out for number in range(1, 6)] == [True, True, False, False, False]
    assert "hint 3 of 5" in run("hint", "reduce_v3")[1]


def test_without_a_name_the_hint_is_for_what_was_graded_last(run):
    code, _, err = run("hint")
    assert code == 2
    assert "nothing was graded yet" in err
    graded("vector_add")
    graded("reduce_v3", "race", score=0)
    assert "reduce_v3, hint 1 of 5" in run("hint")[1]


def test_exercise_graded_last_may_be_in_a_course_that_is_not_named(run, course):
    graded("twice_it", "wrong", course)
    code, _, err = run("hint")
    assert code == 2
    assert "in a course that needs --course" in err
    assert "twice_it, hint 1 of 1" in run("hint", "--course", course)[1]


def test_last_hint_of_an_exercise_without_solution_points_to_the_statement(run, course):
    out = run("hint", "twice_it", "--course", course)[1]
    assert "That was the last hint: `grade show twice_it`" in out
    assert "\x1b" not in out


def test_exercise_without_hints_is_explained(run, course):
    (course / "01_first" / "twice_it" / "hints.md").unlink()
    code, _, err = run("hint", "twice_it", "--course", course)
    assert code == 2
    assert "twice_it has no hints" in err


def test_hint_that_cannot_be_remembered_says_where_all_are(run, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WARPGRADE_DATA", str(tmp_path / "file" / "data"))
    code, out, err = run("hint", "reduce_v3")
    assert code == 0
    assert "hint 1 of 5" in out
    assert "hints.md" in out
    assert len(err.splitlines()) == 1


# ----------------------------------------------------------------------------------------------------------- interview


def test_every_exercise_has_questions_and_show_says_how_to_read_them(run):
    for one in load_catalog().exercises:
        assert len(questions_in(one.interview.read_text())) >= 3, one.name
    assert "`grade quiz reduce_v3`" in run("show", "reduce_v3")[1]


# --------------------------------------------------------------------------------------------------------------- start


def test_every_exercise_starts_with_copies_of_its_files(run, here):
    for one in load_catalog().exercises:
        assert run("start", one.name)[0] == 0
        for path in files_of(one):
            assert (here / path.name).read_bytes() == path.read_bytes()


# --------------------------------------------------------------------------------------------------------------- reset


def test_reset_brings_the_stub_back_and_keeps_every_earlier_text(run, here):
    stub = load_catalog().find("vector_add").stub.read_bytes()
    mine = here / "vector_add.cu"
    for text in ("first", "second", "third"):
        mine.write_text(text)
        code, out, _ = run("reset", "vector_add")
        assert (code, mine.read_bytes()) == (0, stub)
    assert "your version is in ./vector_add.cu.bak.3" in out
    kept = [(here / f"vector_add.cu.bak{number}").read_text() for number in ("", ".2", ".3")]
    assert kept == ["first", "second", "third"]


def test_reset_of_an_untouched_stub_keeps_nothing(run, here):
    run("start", "vector_add")
    assert "unchanged stub already" in run("reset", "vector_add")[1]
    assert [path.name for path in here.iterdir()] == ["vector_add.cu"]


def test_reset_takes_the_host_file_too(run, here):
    run("start", "zero_copy")
    for name in ("zero_copy.cu", "zero_copy_host.py"):
        (here / name).write_text("mine")
    assert run("reset", "zero_copy")[0] == 0
    assert (here / "zero_copy_host.py.bak").read_text() == "mine"
    assert (here / "zero_copy_host.py").read_bytes() == load_catalog().find("zero_copy").host_file.read_bytes()


def test_nothing_is_reset_where_one_of_the_files_is_missing(run, here):
    (here / "zero_copy.cu").write_text("mine")
    code, _, err = run("reset", "zero_copy")
    assert code == 2
    assert "there is no zero_copy_host.py" in err
    assert "`grade start zero_copy` copies the stub here, and keeps your ./zero_copy.cu" in err
    assert (here / "zero_copy.cu").read_text() == "mine"
    assert [run(command, "zero_copy")[0] for command in ("start", "reset")] == [0, 0]  # what it said works
    assert (here / "zero_copy.cu.bak").read_text() == "mine"


def test_reset_without_a_file_here_names_start(run, here):
    code, _, err = run("reset", "vector_add")
    assert code == 2
    assert "`grade start vector_add`" in err
    assert list(here.iterdir()) == []


def test_reset_through_a_link_keeps_what_the_link_led_to(run, here):
    (here / "elsewhere.cu").write_text("mine")
    (here / "vector_add.cu").symlink_to("elsewhere.cu")
    assert run("reset", "vector_add")[0] == 0
    assert (here / "vector_add.cu.bak").read_text() == "mine"
    assert (here / "elsewhere.cu").read_bytes() == load_catalog().find("vector_add").stub.read_bytes()


def test_courses_own_stub_is_not_reset(run, monkeypatch):
    one = load_catalog().find("vector_add")
    before = one.stub.read_bytes()
    monkeypatch.chdir(one.folder)
    code, _, err = run("reset", "vector_add")
    assert (code, one.stub.read_bytes()) == (2, before)
    assert "git checkout vector_add.cu" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_reset_that_cannot_keep_the_text_changes_nothing(run, here):
    (here / "vector_add.cu").write_text("mine")
    here.chmod(0o500)
    code, _, err = run("reset", "vector_add")
    here.chmod(0o700)
    assert code == 2
    assert "cannot write" in err
    assert (here / "vector_add.cu").read_text() == "mine"


# ------------------------------------------------------------------------------------------------------------ solution


def test_solution_opens_with_a_pass(run):
    graded("reduce_v3", "wrong", score=0)
    code, out, err = run("solution", "reduce_v3")
    assert (code, out) == (2, "")
    assert "you have not passed reduce_v3 yet" in err
    assert "--spoil" in err
    graded("reduce_v3")
    assert run("solution", "reduce_v3")[:2] == (0, load_catalog().find("reduce_v3").solution.read_text())


def test_pass_in_another_course_opens_nothing(run, course):
    progress().record(Run(now(), str(course), "reduce_v3", "pass", 80, 80, "sim"))
    assert run("solution", "reduce_v3")[0] == 2


def test_spoiled_solution_is_the_file_byte_for_byte(run, here):
    assert run("solution", "vector_add", "--spoil", "--output", "s.cu")[0] == 0
    assert (here / "s.cu").read_bytes() == load_catalog().find("vector_add").solution.read_bytes()


def test_solution_never_overwrites(run, here):
    (here / "vector_add.cu").write_text("mine")
    code, _, err = run("solution", "vector_add", "--spoil", "--output", "vector_add.cu")
    assert (code, (here / "vector_add.cu").read_text()) == (2, "mine")
    assert "another name" in err


def test_host_exercises_solution_is_two_files(run, here):
    out = run("solution", "zero_copy", "--spoil")[1]
    assert out.index("// zero_copy.cu") < out.index("__global__") < out.index("# zero_copy_host.py")
    run("solution", "zero_copy", "--spoil", "--output", "s.cu")
    assert sorted(path.name for path in here.iterdir()) == ["s.cu", "s_host.py"]


def test_course_without_a_solution_says_so(run, course):
    code, _, err = run("solution", "twice_it", "--spoil", "--course", course)
    assert code == 2
    assert "no solution of twice_it" in err


def test_solution_on_a_terminal_is_coloured_and_nothing_in_it_is_a_command(run, monkeypatch, tmp_path):
    from grader.cli.practice import _for_people

    path = tmp_path / "x.cu"
    text = "\tint a; // \x1b[2J " + "long " * 40 + "\n\nint b;\n"
    monkeypatch.setattr("grader.cli.practice.screen", lambda **how: Screen(40, True, True))
    colored = _for_people(text, path, no_color=False)
    assert "\x1b[" in colored
    assert "\x1b[2J" not in colored
    assert colored.count("\n") == text.count("\n")
    monkeypatch.setattr("grader.cli.practice.screen", lambda **how: Screen(40, False, True))
    assert _for_people(text, path, no_color=True) == text.replace("\t", "    ").replace("\x1b", "\\x1b")


# ---------------------------------------------------------------------------------------------------------------- next


def test_next_is_the_first_exercise_for_who_begins(run, here):
    first = load_catalog().exercises[0]
    code, out, _ = run("next")
    assert code == 0
    assert f"{first.number}  {first.name}: {first.exercise.idea}." in out
    assert f"`grade start {first.name}`" in out
    assert list(here.iterdir()) == []


def test_next_goes_on_behind_what_was_passed_last_and_says_what_is_left_open(run):
    names = [one.name for one in load_catalog().exercises]
    graded(names[2])
    _, out, _ = run("next")
    assert names[3] in out
    assert f"Next after {names[2]}, which you passed on" in out
    assert "2 exercises before it are not passed yet" in " ".join(out.split())


def test_next_with_start_copies_the_stub_once(run, here):
    first = load_catalog().exercises[0]
    assert "grades it" in run("next", "--start")[1]
    path = here / f"{first.name}.cu"
    assert path.read_bytes() == first.stub.read_bytes()
    path.write_text("mine")
    code, out, _ = run("next", "--start")
    assert (code, path.read_text()) == (0, "mine")
    assert f"You have ./{path.name} here" in out


def test_exercise_that_is_passed_again_is_the_one_passed_last(run):
    names = [one.name for one in load_catalog().exercises]
    for name in (names[0], names[5], names[0]):
        graded(name)
    _, out, _ = run("next")
    assert f" {names[1]}: " in out
    assert f"Next after {names[0]}, which you passed on" in out


@pytest.mark.parametrize("earlier", [(), (5,), (0, 1, 2, 5), (-1,)])
@pytest.mark.parametrize("passing", [0, 5, -1])
def test_report_of_a_pass_proposes_what_next_proposes_afterwards(run, earlier, passing):
    catalog = load_catalog()
    for at in earlier:
        graded(catalog.exercises[at].name)
    one = catalog.exercises[passing]
    proposed, finished_path = next_after(catalog, one)
    assert finished_path == ""
    graded(one.name)
    assert f" {proposed}: " in run("next")[1]


@pytest.mark.parametrize(("gpus", "waits"), [(0, True), (1, True), (2, False)])
def test_exercise_that_needs_more_gpus_than_there_are_comes_last(run, monkeypatch, gpus, waits):
    monkeypatch.setattr("grader.practice.history._gpus", lambda: gpus)
    monkeypatch.setattr("grader.practice.history._serves", lambda requires: True)
    exercises = load_catalog().exercises
    ring = next(one for one in exercises if one.exercise.gpus > 1)
    graded(exercises[exercises.index(ring) - 1].name)
    assert (f" {ring.name}: " not in run("next")[1]) is waits
    for one in exercises:
        if one is not ring:
            graded(one.name)
    assert f" {ring.name}: " in run("next")[1]


def test_next_with_start_puts_the_missing_file_of_a_host_exercise(run, here):
    names = [one.name for one in load_catalog().exercises]
    for name in names[: names.index("pinned_copy")]:
        graded(name)
    (here / "pinned_copy.cu").write_text("mine")
    assert "./pinned_copy_host.py" in run("next", "--start")[1]
    assert (here / "pinned_copy.cu").read_text() == "mine"
    assert "You have ./pinned_copy_host.py here: `grade pinned_copy` grades it" in " ".join(run("next")[1].split())


def test_next_leaves_out_what_needs_a_gpu_where_there_is_none(run, monkeypatch):
    monkeypatch.setattr("grader.practice.history._gpus", lambda: 0)
    for one in load_catalog().exercises:
        if simulable(one.exercise.requires):
            graded(one.name)
    assert "every exercise that needs no GPU" in run("next")[1]
    monkeypatch.setattr("grader.practice.history._gpus", lambda: 8)
    monkeypatch.setattr("grader.practice.history._serves", lambda requires: True)
    newer = [one.name for one in load_catalog().exercises if not simulable(one.exercise.requires)]
    assert newer[0] in run("next")[1]
    graded(newer[0])
    assert newer[1] in run("next")[1]
    for one in load_catalog().exercises:
        graded(one.name)
    assert "You have passed all" in run("next")[1]


# ------------------------------------------------------------------------------------------------------------ progress


def test_progress_shows_what_is_passed_and_where_it_is_kept(run, tmp_path):
    assert "`grade next` proposes one" in run("progress")[1]
    graded("vector_add")
    graded("reduce_v3", "race", score=0)
    code, out, _ = run("progress")
    lines = out.splitlines()
    assert code == 0
    assert any(line.startswith("✔  102  vector_add") and "80 of 80" in line for line in lines)
    assert any(line.startswith("○  403  reduce_v3") and "not yet" in line for line in lines)
    assert str(tmp_path / "data" / "progress.sqlite3") in lines[-1]


def test_progress_as_json_and_as_files(run, here):
    graded("vector_add")
    _, out, err = run("progress", "--json")
    document = json.loads(out)
    assert (document["schema"], err) == ("warpgrade/progress/1", "")
    assert document["totals"]["passed"] == 1
    assert "1 run written to p.JSON." in run("progress", "--export", "p.JSON")[1]
    assert json.loads((here / "p.JSON").read_text()) == document
    run("progress", "--export", "p.csv")
    (row,) = csv.DictReader((here / "p.csv").open())
    assert (row["exercise"], row["verdict"], row["score"]) == ("vector_add", "pass", "80")


@pytest.mark.parametrize(("name", "said"), [("p.txt", ".json"), ("nowhere/p.csv", "cannot write")])
def test_export_that_cannot_be_written_is_explained(run, name, said):
    code, _, err = run("progress", "--export", name)
    assert code == 2
    assert said in err


def test_list_marks_what_is_passed(run, course):
    graded("vector_add")
    graded("twice_it", "pass", course)
    out = run("list", "--course", course)[1]
    assert [line.split()[2] for line in out.splitlines()[:-1] if line.startswith("✔")] == ["vector_add", "twice_it"]
    assert out.splitlines()[-1].startswith("✔ marks")
    graded("reduce_v3", "wrong")
    assert run("list")[1].count("\n✔  ") == 1


def test_list_reads_no_database_where_there_is_none():
    code = (
        "import sys; from grader.cli import main; main(['list']);"
        "print([m for m in ('sqlite3', 'watchfiles', 'hashlib', 'rich', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# ----------------------------------------------------------------------------------------------------- what is recorded


def verdict(word: str = "pass", **more) -> Verdict:
    return Verdict("vector_add", more.pop("backend", "sim"), word, 80, 80, 1, (), **more)


def test_record_has_the_verdict_the_speed_and_the_files_hash(here):
    (here / "vector_add.cu").write_text("mine")
    measured = Measurement(2e-4, (1e-4, 3e-4), 30, "B", 3.4e12, 4.8e12, 0.71, None, None, "0.70 of peak", 0.7, False)
    record = recorder(load_catalog().find("vector_add"), Path("vector_add.cu"))
    (here / "vector_add.cu").write_text("saved while it was graded")
    record(verdict(backend="sim+gpu", device="NVIDIA H200", measured=measured))
    (found,) = progress().runs()
    assert (found.course, found.exercise, found.verdict, found.backend) == ("", "vector_add", "pass", "sim+gpu")
    assert (found.median_s, found.fraction_of_peak, found.gpu) == (2e-4, 0.71, "NVIDIA H200")
    assert found.file_sha256 == "3fd30542fe3f61b14bd4a4b2dc0b6fb30fa6f63ebce52dd1778aaa8c4dc02cff"


def test_simulated_device_is_no_gpu_and_a_course_is_known_by_its_folder(course):
    one = load_catalog([course]).find("twice_it")
    recorder(one, Path("gone.cu"))(verdict("wrong", device="simulated A100"))
    (found,) = progress().runs()
    assert (found.gpu, found.course, found.file_sha256) == (None, str(course), None)


def test_a_variant_counts_for_its_exercise(run, here, tmp_path):
    course_with_variant(tmp_path / "varied")
    Path("scale.cu").write_text("// variant: backwards\n")
    run("--course", tmp_path / "varied", "scale", "--variant", "backwards")
    [graded] = progress().runs()
    assert graded.course == str(tmp_path / "varied/exercises")


def test_solution_and_wrong_answers_of_the_course_are_nobodys_progress():
    one = load_catalog().find("vector_add")
    for path in (one.solution, *(one.folder / "wrong").iterdir()):
        recorder(one, path)(verdict())
    assert progress().runs() == ()
    recorder(one, one.stub)(verdict("wrong"))
    assert len(progress().runs()) == 1


# --------------------------------------------------------------------------------------------------- points of a ladder


def timed(exercise: str, fraction: float, gpu: str = "NVIDIA H200", word: str = "pass") -> Verdict:
    """A timed run of a reduction: 0.25 flop a byte, so a quarter of the bandwidth in flop a second."""
    roof = Roof(0.25, 0.25 * fraction * 4.8e12, 4.8e12, 66.9e12)
    measured = Measurement(
        1e-3, (1e-3, 1e-3), 30, "B", fraction * 4.8e12, 4.8e12, fraction, None, None, "none", 0.0, False, roof=roof
    )
    return Verdict(exercise, "sim+gpu", word, 100, 100, 1, (), measured=measured, device=gpu)


def test_the_best_runs_of_the_other_steps_are_points_of_this_runs_roofline(tmp_path: Path):
    catalog = load_catalog()
    mine = tmp_path / "mine.cu"
    mine.write_text("x")
    for name, fraction, gpu, word in (
        ("reduce_v1", 0.05, "NVIDIA H200", "slow"),
        ("reduce_v1", 0.08, "NVIDIA H200", "pass"),
        ("reduce_v2", 0.9, "another GPU", "pass"),
        ("reduce_v3", 0.18, "NVIDIA H200", "pass"),
        ("vector_add", 0.7, "NVIDIA H200", "pass"),
        ("reduce_v10", 3.0, "NVIDIA H200", "cheat"),
    ):
        recorder(catalog.find(name), mine)(timed(name, fraction, gpu, word))
    points = ladder_points(catalog, catalog.find("reduce_v3"), timed("reduce_v3", 0.2))
    assert [(p.label, p.intensity, pytest.approx(p.achieved)) for p in points] == [("reduce_v1", 0.25, 0.096e12)]


def test_a_run_that_was_not_timed_has_no_points():
    catalog = load_catalog()
    verdict = Verdict("reduce_v3", "sim", "pass", 80, 80, 1, ())
    assert ladder_points(catalog, catalog.find("reduce_v3"), verdict) == ()
