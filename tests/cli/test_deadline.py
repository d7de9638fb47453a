"""A reader that does not end, or ends the process, ends one file's grading: the command answers, and goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a process's threads have used"),
    pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed"),
]
CLONE = Path(__file__).resolve().parents[2]  # has the tests; with a wheel installed, the package is not below it
SOLUTION = Path(str(load_catalog().find("vector_add").solution)).read_text()


def graded(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(CLONE), "WARPGRADE_DATA": str(folder / "data")}
    return subprocess.run(
        [sys.executable, "-m", "tests.cli.slow_reader", *words, "--backend", "sim"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def written(folder: Path, *words: str) -> None:
    """Solutions of vector_add, in files and below names that say what happens to their reader."""
    for word in words:
        (folder / f"{word}.cu").write_text(f"// {word}\n{SOLUTION}")


def runs_of(document: str) -> list[dict[str, Any]]:
    return list(json.loads(document)["results"])


@pytest.mark.parametrize(
    ("word", "reason"), [("HANG", "used more than 1 s of processor time"), ("DIE", "was ended by SIGSEGV")]
)
def test_a_reader_that_hangs_or_dies_is_an_error_that_says_what_where_and_what_next(
    word: str, reason: str, tmp_path: Path
) -> None:
    written(tmp_path, word)
    ended = graded(tmp_path, "vector_add", "--file", f"{word}.cu", "--json")
    assert ended.returncode == 5
    (run,) = runs_of(ended.stdout)
    assert run["verdict"] == "error"
    (found,) = run["diagnostics"]
    assert found["message"].startswith(f"the process that graded {word}.cu {reason} in ")
    assert "(grading/grade.py, line " in found["message"]
    assert "Please report it" in run["next_step"]


def test_the_files_before_and_after_it_are_graded_as_usual_and_recorded_once(tmp_path: Path) -> None:
    course = tmp_path / "vector_add.cu", tmp_path / "saxpy_grid_stride.cu"
    course[0].write_text(f"// HANG\n{SOLUTION}")
    course[1].write_text(Path(str(load_catalog().find("saxpy_grid_stride").solution)).read_text())
    ended = graded(tmp_path, "saxpy_grid_stride", "vector_add", "saxpy_grid_stride")
    assert ended.returncode == 5
    reports = [line.split()[1:3] for line in ended.stdout.splitlines() if line.startswith(("✔", "✘"))]
    assert reports == [["PASS", "saxpy_grid_stride"], ["ERROR", "vector_add"], ["PASS", "saxpy_grid_stride"]]
    document = graded(tmp_path, "saxpy_grid_stride", "vector_add", "--json", "--no-record").stdout
    assert [run["verdict"] for run in runs_of(document)] == ["pass", "error"]


def test_ctrl_c_ends_a_command_whose_reader_hangs(tmp_path: Path) -> None:
    """The reader keeps Python's lock: no handler of its own process could run."""
    written(tmp_path, "HANG")
    environment = os.environ | {"PYTHONPATH": str(CLONE), "SLOW_READER_SAYS": "1"}
    words = [sys.executable, "-m", "tests.cli.slow_reader", "vector_add", "--file", "HANG.cu", "--no-record"]
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"reading\n"
        one.send_signal(signal.SIGINT)
        assert one.wait(60) == 130
