"""What `grade start`, `show` and `list` say of exercises with a host file, on a machine without a GPU."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from grader.catalog import load_catalog
from grader.cli.course import needs_note, to_edit
from grader.compile.toolchain import find_toolchain
from grader.courses import CourseExercise
from grader.stages import simulable

HOST = [one for one in load_catalog().exercises if one.exercise.host]


@pytest.mark.parametrize("one", HOST, ids=lambda one: one.name)
def test_the_files_to_edit_are_those_in_which_something_is_left_to_write(one: CourseExercise):
    files = to_edit(one)
    assert files
    assert all(b"YOUR CODE" in path.read_bytes() for path in files)
    assert {path.name for path in files} <= {f"{one.name}.cu", f"{one.name}_host.py"}


def test_start_names_the_file_to_edit_and_the_complete_one_beside_it(tmp_path, monkeypatch, capsys):
    from grader.cli.course import start_exercise

    one = next(one for one in HOST if [path.suffix for path in to_edit(one)] == [".py"])
    monkeypatch.chdir(tmp_path)
    start_exercise(one.name, (), force=False)
    said = capsys.readouterr().out
    assert f"Open ./{one.name}_host.py and do that where it says YOUR CODE." in said
    assert f"./{one.name}.cu belongs to it; it is complete" in said
    assert {path.name for path in tmp_path.iterdir()} == {f"{one.name}.cu", f"{one.name}_host.py"}


def test_show_names_the_file_to_edit(tmp_path, monkeypatch, capsys):
    from grader.cli.course import show_statement, start_exercise

    one = next(one for one in HOST if [path.suffix for path in to_edit(one)] == [".py"])
    monkeypatch.chdir(tmp_path)
    start_exercise(one.name, (), force=False)
    show_statement(one.name, (), no_color=True)
    assert f"Edit ./{one.name}_host.py; `grade {one.name}` grades it." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("one", [one for one in HOST if simulable(one.exercise)], ids=lambda one: one.name)
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
    told = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    first = json.loads(told.stdout)["results"][0]["diagnostics"][0]
    assert (first["kind"], first["file"], first["line"]) == ("missing_wait", "streams_overlap_host.py", line)
    assert "stream=ELSEWHERE" in first["source"]
