"""Standard input, output and error may be closed, or take nothing: the verdict and the exit code stay what they are."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain

COMBINATIONS = [" ".join(filter(None, closed)) for closed in product(("", "<&-"), ("", ">&-"), ("", "2>&-"))][1:]
needs_nvrtc = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


def shell(redirections: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Python with what the shell's redirections leave open."""
    command = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def grade(redirections: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return shell(redirections, "-m", "grader.cli", *words)


@needs_nvrtc
@pytest.mark.parametrize("closed", COMBINATIONS)
def test_a_grading_with_closed_streams_has_its_verdict(tmp_path: Path, closed: str) -> None:
    page = tmp_path / "results.xml"
    done = grade(closed, "vector_add", "--solution", "--backend", "sim", "--no-record", "--junitxml", page)
    assert (done.returncode, 'failures="0"' in page.read_text()) == (0, True), done.stderr
    assert ("PASS" in done.stdout) is (">&-" not in closed.split())


@needs_nvrtc
def test_a_host_exercise_with_all_streams_closed_has_its_verdict() -> None:
    assert grade("<&- >&- 2>&-", "zero_copy", "--solution", "--backend", "sim", "--no-record").returncode == 0


@needs_nvrtc
def test_the_python_call_with_all_streams_closed_has_its_verdict(tmp_path: Path) -> None:
    solution, answer = load_catalog().find("vector_add").solution, tmp_path / "answer"
    code = (
        f"import grader, pathlib; verdict = grader.grade('vector_add', {str(solution)!r}, backend='sim').verdict; "
        f"pathlib.Path({str(answer)!r}).write_text(verdict)"
    )
    assert shell("<&- >&- 2>&-", "-c", code).returncode == 0
    assert answer.read_text() == "pass"


@pytest.mark.parametrize("closed", COMBINATIONS)
def test_other_commands_keep_their_exit_codes(closed: str) -> None:
    assert grade(closed, "list").returncode == 0
    assert grade(closed, "nosuch").returncode == 2


@pytest.mark.parametrize("stream", [">/dev/full", "1</dev/null"])
def test_an_output_that_takes_nothing_is_named_and_nobody_is_blamed(stream: str) -> None:
    done = grade(stream, "list")
    assert done.returncode == 2
    assert done.stderr.startswith("grade: cannot write to standard output: ")
    assert grade(f"2{stream.lstrip('1')}", "list", "--json").returncode == 0


def test_what_is_closed_becomes_the_null_device() -> None:
    code = (
        "import json, os, sys; from grader.process.standard import open_closed_streams as opened; opened(); opened(); "
        "reader, writer = os.pipe(); print('gone'); "
        "os.write(3, json.dumps([os.readlink(f'/proc/self/fd/{n}') for n in range(3)] + [min(reader, writer) > 2, "
        "sys.stdin.read()]).encode())"
    )
    done = shell("3>&1 <&- >&- 2>&-", "-c", code)
    assert json.loads(done.stdout) == ["/dev/null"] * 3 + [True, ""]
