"""`list --path`, `next --path`, and what a person reads about the exercises that one builds on."""

from __future__ import annotations

import json
import re

import pytest

from grader.catalog.exercises import load_catalog
from grader.catalog.paths import find_path, sentences
from grader.cli.paths import path_standing
from grader.practice.chosen import FILE, choose, chosen_name, chosen_path
from grader.practice.history import key_of, next_after, next_exercise, progress
from grader.practice.progress import Run, now

CATALOG = load_catalog()
INTERVIEW = find_path(CATALOG, "interview")
NAMES = [entry.name for entry in INTERVIEW.exercises]


@pytest.fixture(autouse=True)
def here(empty_folder, monkeypatch):
    """An empty folder to work in, nothing graded yet, and no GPU."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("grader.practice.history._gpus", lambda: 0)
    return empty_folder


def passing(*names: str) -> None:
    for name in names:
        course, exercise, version = key_of(CATALOG.find(name))
        progress().record(Run(now(), course, exercise, "pass", 80, 80, "sim", course_version=version))


def flat(text: str) -> str:
    return " ".join(text.split())


# ---------------------------------------------------------------------------------------------------------------- list


def test_list_shows_how_long_each_exercise_takes_and_the_paths(run):
    _, out, _ = run("list")
    assert re.search(r"^ *102  vector_add +10 min  one thread", out, flags=re.MULTILINE)
    assert "Paths through the course: interview, memory, " in out
    assert "Paths through" not in run("list", "1")[1]


def test_a_path_is_listed_in_order_with_ticks_and_with_what_is_missing(run):
    passing("vector_add", "reduce_v10")
    code, out, _ = run("list", "--path", "interview")
    assert code == 0
    assert out.startswith("interview: what an interview")
    assert [line.split()[-1] for line in re.findall(r"^[✔ ] +\d+  \w+", out, flags=re.MULTILINE)] == NAMES
    assert re.findall(r"^✔ +\d+  (\w+)", out, flags=re.MULTILINE) == ["vector_add"]
    minutes = sum(entry.exercise.minutes or 0 for entry in INTERVIEW.exercises)
    assert f"1 of {len(NAMES)} exercises passed; the other {len(NAMES) - 1} take about" in out
    assert f"of {minutes // 60} h" in out
    assert "`grade next --path interview` makes it your path" in out


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        ((), "0 of 2 exercises passed; together about 30 min."),
        (("vector_add",), "1 of 2 exercises passed; the other takes about 20 min of 30 min."),
        (("vector_add", "coalescing_stride"), "2 of 2 exercises passed."),
    ],
)
def test_a_standing_says_what_is_left_of_the_time(passed, said):
    two = type(INTERVIEW)("two", INTERVIEW.exercises[1:3])
    assert path_standing(two, passed) == said


def test_a_path_says_on_what_it_builds_that_is_not_in_it(run, tmp_path):
    folder = tmp_path / "course" / "mine"
    folder.mkdir(parents=True)
    (folder / "exercise.py").write_text(
        "from grader import Array, Exercise\n"
        "EXERCISE = Exercise(name='mine', order=9001, idea='mine', after=('vector_add',), paths=('short',),\n"
        "    arrays=(Array('x', 'float32', 'n'), Array('y', 'float32', 'n', role='out')),\n"
        "    oracle='elementwise:add', small=({'n': 1},), simulated={'n': 4})\n"
    )
    out = run("list", "--path", "short", "--course", tmp_path / "course")[1]
    assert out.startswith("short\n")
    assert "0 of 1 exercise passed." in out
    assert "It also builds on vector_add." in out
    run("next", "--path", "short", "--course", tmp_path / "course")
    assert "No course here has your path short" in flat(run("next")[1])


def test_list_as_json_has_times_what_exercises_build_on_and_paths(run):
    document = json.loads(run("list", "--json")[1])
    one = next(one for one in document["exercises"] if one["name"] == "reduce_v3")
    assert (one["minutes"], one["after"], one["paths"]) == (20, ["reduce_v1"], ["interview", "attention", "debugging"])
    assert [path["name"] for path in document["paths"]][:2] == ["interview", "memory"]
    document = json.loads(run("list", "--path", "interview", "--json")[1])
    assert [one["name"] for one in document["exercises"]] == NAMES
    (path,) = document["paths"]
    assert path["exercises"] == NAMES
    assert path["sentence"].startswith("what an interview")


@pytest.mark.parametrize("command", ["list", "next"])
def test_an_unknown_path_is_refused_with_the_nearest_name(run, command):
    code, out, err = run(command, "--path", "memroy")
    assert (code, out) == (2, "")
    assert "there is no path 'memroy'" in err
    assert "did you mean 'memory'?" in err
    assert chosen_name() == ""


def test_a_chapter_and_a_path_cannot_be_listed_together(run):
    code, _, err = run("list", "4", "--path", "memory")
    assert code == 2
    assert "cannot be used together" in err


def test_all_is_the_whole_course_in_a_list_too(run):
    assert run("list", "--path", "all") == run("list")


def test_without_a_name_the_paths_are_listed_with_their_sentences(run):
    code, out, _ = run("list", "--path")
    assert code == 0
    words = " ".join(out.split())
    for path, sentence in sentences(load_catalog()).items():
        assert f"{path} {sentence}" in words
    assert "lists the exercises of one" in words
    assert "`grade list --path` explains them." in " ".join(run("list")[1].split())


@pytest.mark.parametrize("words", [["show", "interview"], ["host"]])
def test_a_path_that_is_taken_for_an_exercise_is_answered_with_its_list(run, words):
    code, _, err = run(*words)
    assert code == 2
    assert f"`grade list --path {words[-1]}` lists the exercises of the path {words[-1]}" in err
    assert "did you mean `grade list --path`?" in run("paths")[2]


# ---------------------------------------------------------------------------------------------------------------- next


def test_a_chosen_path_is_remembered_until_all_leaves_it(run):
    passing("saxpy_grid_stride")
    out = flat(run("next", "--path", "interview")[1])
    assert "Your path is now interview: what an interview" in out
    assert f"{NAMES[0]}: " in out
    assert f"Next in the path interview, 0 of {len(NAMES)} passed." in out
    passing(NAMES[0], NAMES[2])
    assert f" {NAMES[1]}: " in run("next")[1]
    assert "This is your path" in run("list", "--path", "interview")[1]
    out = flat(run("next", "--path", "all")[1])
    assert "You have left the path interview" in out
    assert f"Next after {NAMES[2]}" in out
    assert "You follow no path." in run("next", "--path", "all")[1]


def test_progress_ends_with_the_standing_in_the_chosen_path(run):
    passing("vector_add")
    assert "Your path" not in run("progress")[1]
    run("next", "--path", "interview")
    assert f"Your path interview: 1 of {len(NAMES)} exercises passed; the other" in flat(run("progress")[1])


def test_progress_shows_the_chosen_path_and_what_else_was_tried(run):
    whole = run("progress")[1]
    assert "saxpy_grid_stride" in whole
    run("next", "--path", "interview")
    passing("saxpy_grid_stride")
    lines = run("progress")[1].splitlines()
    assert [line.split()[1] for line in lines[1 : 1 + len(NAMES)]] == list(NAMES)
    beside = lines.index("Beside the path")
    assert "saxpy_grid_stride" in lines[beside + 1]
    assert not any("aos_to_soa" in line for line in lines)
    assert "`grade progress --all` shows the whole course." in lines
    assert any("aos_to_soa" in line for line in run("progress", "--all")[1].splitlines())


def test_next_with_start_copies_the_next_stub_of_the_path(run, here):
    run("next", "--path", "host", "--start")
    assert sorted(path.name for path in here.iterdir()) == ["pinned_copy.cu", "pinned_copy_host.py"]


def test_a_pass_proposes_the_next_exercise_of_the_path():
    choose("interview")
    assert next_after(CATALOG, CATALOG.find("saxpy_grid_stride")) == (NAMES[0], "")
    assert next_after(CATALOG, CATALOG.find(NAMES[0])) == (NAMES[1], "")
    passing(*NAMES[:-1])
    assert next_after(CATALOG, CATALOG.find(NAMES[-1])) == ("", "interview")


def test_a_finished_path_says_so_and_what_could_follow(run):
    run("next", "--path", "interview")
    passing(*NAMES)
    code, out, _ = run("next")
    out = flat(out)
    assert code == 0
    assert f"You have passed all {len(NAMES)} exercises of the path interview." in out
    left = sum(entry.name not in NAMES for entry in find_path(CATALOG, "memory").exercises)
    assert f"Other paths: memory ({left} left): how a kernel gets the bandwidth" in out
    assert "`grade next --path all` goes on with the whole course" in out


def test_a_path_that_needs_a_gpu_is_finished_as_far_as_this_machine_can_grade(run):
    run("next", "--path", "gemm")
    passing(*(entry.name for entry in find_path(CATALOG, "gemm").exercises if entry.exercise.requires < "sm_90"))
    assert "every exercise of the path gemm that this machine can grade" in flat(run("next")[1])


def test_when_all_paths_are_finished_the_course_remains(run):
    passing(*(entry.name for entry in CATALOG.exercises if entry.exercise.paths))
    out = flat(run("next", "--path", "memory")[1])
    assert "Other paths" not in out
    assert "`grade next --path all` goes on with the whole course" in out


@pytest.mark.parametrize("content", [b"", b"nonsense\n", b"\xff\xfe", b"all\n"])
def test_a_damaged_or_unknown_choice_is_no_choice(tmp_path, content):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE).write_bytes(content)
    assert chosen_path(CATALOG) is None
    assert next_exercise(CATALOG)[0] == CATALOG.exercises[0]


def test_a_choice_that_cannot_be_written_is_explained(run, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    code, _, err = run("next", "--path", "memory")
    assert code == 2
    assert "your path cannot be remembered: cannot write" in err


# --------------------------------------------------------------------------------------------------- what it builds on


def test_start_says_kindly_what_was_not_passed_and_copies_the_stub(run, here):
    code, out, _ = run("start", "sgemm_v2")
    assert code == 0
    assert (here / "sgemm_v2.cu").exists()
    said = "It builds on coalescing_stride and sgemm_v1, which you have not passed yet"
    assert f"{said}; `grade start coalescing_stride` would come first." in flat(out)
    passing("coalescing_stride", "sgemm_v1")
    assert "builds on" not in run("start", "sgemm_v2", "--force")[1]


def test_show_says_the_time_and_what_it_builds_on_below_the_title(run):
    assert run("show", "hello_index")[1].split()[:4] == ["hello_index", "About", "15", "min."]
    assert "About 10 min; builds on coalescing_stride and sgemm_v1, which you have not passed." in flat(
        run("show", "sgemm_v2")[1]
    )
    passing("sgemm_v1")
    out = flat(run("show", "sgemm_v2")[1])
    assert "builds on sgemm_v1, and on coalescing_stride, which you have not passed." in out
    passing("coalescing_stride")
    assert "builds on coalescing_stride and sgemm_v1." in flat(run("show", "sgemm_v2")[1])
