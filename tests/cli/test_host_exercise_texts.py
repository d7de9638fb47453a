"""What `grade start`, `show` and `list` say of exercises with a host file, on a machine without a GPU."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.catalog.courses import CourseExercise
from grader.catalog.exercises import load_catalog
from grader.cli.course import to_edit
from grader.cli.grading import GradeOptions, tasks_of
from grader.cli.paths import needs_note
from grader.compile.toolchain import find_toolchain
from grader.errors import UsageError
from grader.gpus.models import simulable

HOST = [one for one in load_catalog().exercises if one.exercise.host]


@pytest.mark.parametrize("one", HOST, ids=lambda one: one.name)
def test_the_files_to_edit_are_those_in_which_something_is_left_to_write(one: CourseExercise):
    files = to_edit(one)
    assert files
    assert all(b"YOUR CODE" in path.read_bytes() for path in files)
    assert {path.name for path in files} <= {f"{one.name}.cu", f"{one.name}_host.py"}


def test_start_names_the_file_to_edit_and_the_complete_one_beside_it(tmp_path, monkeypatch, capsys):
    from grader.cli.practice import start_exercise

    one = next(one for one in HOST if [path.suffix for path in to_edit(one)] == [".py"])
    monkeypatch.chdir(tmp_path)
    start_exercise(one.name, (), force=False)
    said = capsys.readouterr().out
    assert f"Open ./{one.name}_host.py and write your code where it says YOUR CODE." in said
    assert f"./{one.name}.cu belongs to it. It is complete" in said
    assert {path.name for path in tmp_path.iterdir()} == {f"{one.name}.cu", f"{one.name}_host.py"}


def test_show_names_the_file_to_edit(tmp_path, monkeypatch, capsys):
    from grader.cli.course import show_statement
    from grader.cli.practice import start_exercise

    one = next(one for one in HOST if [path.suffix for path in to_edit(one)] == [".py"])
    monkeypatch.chdir(tmp_path)
    start_exercise(one.name, (), force=False)
    show_statement(one.name, (), full=False, no_color=True)
    assert f"Edit ./{one.name}_host.py; `grade {one.name}` grades it." in " ".join(capsys.readouterr().out.split())
    (tmp_path / f"{one.name}_host.py").unlink()
    show_statement(one.name, (), full=False, no_color=True)
    assert f"`grade start {one.name}` copies the stub here" in " ".join(capsys.readouterr().out.split())


@pytest.fixture
def pinned(tmp_path, monkeypatch):
    from grader.cli.practice import start_exercise

    monkeypatch.chdir(tmp_path)
    start_exercise("pinned_copy", (), force=False)
    return tmp_path


@pytest.mark.parametrize("names", [("pinned_copy_host.py",), ("./pinned_copy_host.py",)])
def test_the_host_file_names_its_exercise(pinned, names):
    (task,) = tasks_of(load_catalog(), GradeOptions(names))
    assert (task.entry.name, task.path.name) == ("pinned_copy", "pinned_copy.cu")
    assert task.host.name == "pinned_copy_host.py"


def test_a_host_file_may_be_the_file_to_grade(pinned):
    (pinned / "mine_host.py").write_text("")
    (task,) = tasks_of(load_catalog(), GradeOptions(("pinned_copy",), file=Path("mine_host.py")))
    assert (task.path, task.host) == (Path("pinned_copy.cu"), Path("mine_host.py"))


@pytest.mark.parametrize("gone", ["pinned_copy.cu", "pinned_copy_host.py"])
def test_a_host_file_without_its_kernel_is_told_what_is_missing(pinned, gone):
    (pinned / gone).unlink()
    with pytest.raises(UsageError, match=f"there is no .*{gone}"):
        tasks_of(load_catalog(), GradeOptions(("pinned_copy",), file=Path("pinned_copy_host.py")))


def test_a_host_file_of_no_exercise_is_no_exercise(pinned):
    (pinned / "reduce_v1_host.py").write_text("")
    with pytest.raises(UsageError, match="is a file, not the name of an exercise"):
        tasks_of(load_catalog(), GradeOptions(("reduce_v1_host.py",)))


def test_a_copy_of_a_file_is_told_the_command_that_grades_it(pinned):
    (pinned / "reduce_v1_2b.cu").write_text("")
    with pytest.raises(UsageError) as caught:
        tasks_of(load_catalog(), GradeOptions(("./reduce_v1_2b.cu",)))
    assert caught.value.hint == "`grade reduce_v1 --file reduce_v1_2b.cu` grades it for the exercise reduce_v1"


def test_watch_names_and_watches_both_files(pinned):
    from grader.cli.watching import _files_of, _named_files

    (task,) = tasks_of(load_catalog(), GradeOptions(("pinned_copy",)))
    assert [path.name for path in _files_of(task)] == ["pinned_copy.cu", "pinned_copy_host.py"]
    assert _named_files(task) == "pinned_copy.cu and pinned_copy_host.py"
    (pinned / "v2.cu").write_text("")
    (other,) = tasks_of(load_catalog(), GradeOptions(("pinned_copy",), file=Path("v2.cu")))
    assert [path.name for path in _files_of(other)] == ["v2.cu", "pinned_copy_host.py"]


@pytest.mark.parametrize("one", [one for one in HOST if simulable(one.exercise.requires)], ids=lambda one: one.name)
def test_the_list_asks_for_no_gpu_where_the_stand_in_serves(one: CourseExercise):
    assert needs_note(one) == ""


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_missing_wait_is_shown_in_the_host_file_in_the_drawing_on_the_page_and_in_the_document(tmp_path):
    one = load_catalog().find("streams_overlap")
    shutil.copy(one.solution, tmp_path / "streams_overlap.cu")
    host_file = tmp_path / "streams_overlap_host.py"
    host_file.write_text(
        one.solution_host_file.read_text().replace(
            'work["kernel"](grid, (BLOCK,), (x_device',
            'work["kernel"](grid, (BLOCK,), stream=ELSEWHERE, args=(x_device',
        )
        + "\n\nELSEWHERE = cupy.cuda.Stream(non_blocking=True)\n"
    )
    line = next(n for n, text in enumerate(host_file.read_text().splitlines(), 1) if "stream=ELSEWHERE" in text)
    command = [sys.executable, "-m", "grader.cli", "streams_overlap", "--backend", "sim", "--no-color", "--no-record"]
    done = subprocess.run([*command, "--html", "page.html"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout
    assert "✘ RACE  streams_overlap" in done.stdout
    assert f"  ▶ {line} │" in done.stdout
    assert f"▲ comes too early (line {line})" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert f"comes too early (line {line})" in page
    assert "The host file" in page
    assert '<span class="path">streams_overlap_host.py</span>' in page
    told = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    first = json.loads(told.stdout)["results"][0]["diagnostics"][0]
    assert (first["kind"], first["file"], first["line"]) == ("missing_wait", "streams_overlap_host.py", line)
    assert "stream=ELSEWHERE" in first["source"]


def graded_zero_copy(tmp_path, kernel=("", ""), host=("", "")) -> dict:
    """The first finding on the solution of zero_copy with a piece of each file replaced."""
    one = load_catalog().find("zero_copy")
    for source, name, (old, new) in (
        (one.solution, "zero_copy.cu", kernel),
        (one.solution_host_file, "zero_copy_host.py", host),
    ):
        text = source.read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new) if old else text)
    command = [sys.executable, "-m", "grader.cli", "zero_copy", "--backend", "sim", "--no-record", "--json"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    return json.loads(told.stdout)["results"][0]["diagnostics"][0]


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_read_beyond_the_end_of_one_array_is_not_told_of_the_next(tmp_path):
    found = graded_zero_copy(tmp_path, kernel=("f < frames; f += warps", "f <= frames; f += warps"))
    assert (found["kind"], found["array"], found["index"]) == ("out_of_bounds", "x", 1024)


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
def test_a_null_pointer_is_told_with_the_launch_in_the_host_file(tmp_path):
    found = graded_zero_copy(tmp_path, host=("    cupy.cuda.runtime.hostRegister(", "    (lambda *_: None)("))
    text = (tmp_path / "zero_copy_host.py").read_text().splitlines()
    line = next(n for n, words in enumerate(text, 1) if 'call["kernel"](call["grid"]' in words)
    assert found["kind"] == "null"
    assert f"the launch at zero_copy_host.py:{line} passes here" in found["hint"]
