"""A course's Python files run with the person's rights: said once; and one that ends the program is no pass."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import main
from grader.compile.toolchain import find_toolchain

MINI = Path(__file__).parents[1] / "course"
ORACLES = "kernels_ref/mini.py"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A copy of the tests' course, and data of its own."""
    monkeypatch.setenv("WARPGRADE_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(MINI, tmp_path / "mine"))


def process(*words):
    command = [sys.executable, "-m", "grader.cli", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


# ------------------------------------------------------------------------------------------------------- what is said


def test_whose_rights_a_course_has_is_said_when_it_is_first_used(course, capsys):
    assert main(["list", "--course", str(course)]) == 0
    said = capsys.readouterr().err
    assert said == f"grade: the Python files of {course} run with your rights: use courses of people whom you trust\n"
    for words in (["list"], ["show", "total"]):
        assert main([*words, "--course", str(course)]) == 0
        assert capsys.readouterr().err == ""


def test_another_course_is_another_matter(course, tmp_path, capsys):
    second = shutil.copytree(MINI, tmp_path / "second")
    for folder in (course, second):
        main(["list", "--course", str(folder)])
        assert f"files of {folder} run" in capsys.readouterr().err


def test_a_document_and_the_built_in_course_stay_alone(course, capsys):
    assert main(["list", "--json", "--course", str(course)]) == 0
    assert main(["list"]) == 0
    assert capsys.readouterr().err == ""


def test_where_nothing_can_be_kept_it_is_said_each_time(course, monkeypatch, capsys):
    monkeypatch.setenv("WARPGRADE_DATA", "/dev/null/nowhere")
    for _ in range(2):
        assert main(["list", "--course", str(course)]) == 0
        assert "with your rights" in capsys.readouterr().err


# ----------------------------------------------------------------------------------------------------- ways to the end

ENDS = {
    "exit": "import sys; sys.exit(0)",
    "built-in exit": "raise SystemExit",
    "os._exit": "import os; os._exit(0)",
    "posix._exit": "import posix; posix._exit(0)",
    "another program": "import os; os.execv('/bin/true', ['true'])",
    "another program on the path": "import os; os.execlp('true', 'true')",
    "a thread": "import os, threading; t = threading.Thread(target=os._exit, args=(0,)); t.start(); t.join()",
}


@pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")
@pytest.mark.parametrize("where", ["when it is called", "when it is read"])
@pytest.mark.parametrize("end", ENDS)
def test_an_oracle_that_ends_the_program_is_no_pass(course, end, where):
    oracles = course / ORACLES
    text = oracles.read_text()
    if where == "when it is called":
        at = text.index("    return {", text.index("def total"))
        oracles.write_text(f"{text[:at]}    {ENDS[end]}\n{text[at:]}")
    else:
        oracles.write_text(f"{text}\n{ENDS[end]}\n")
    done = process("total", "--solution", "--backend", "sim", "--course", course)
    assert done.returncode in (2, 5), done.stderr
    assert "Traceback" not in done.stderr
    assert (
        "mini.py" in done.stdout + done.stderr
        or "ended by a file of the course" in done.stderr
        or ("a file of the course ends the program" in done.stderr)
    )


@pytest.mark.parametrize(
    ("end", "code"), [("raise SystemExit", 2), ("os._exit(0)", 5), ("os.execv('/bin/true', [''])", 5)]
)
def test_an_exercise_that_ends_the_program_is_no_pass_either(course, end, code):
    file = course / "exercises/01_first/total/exercise.py"
    file.write_text(f"from grader.errors import os\n{file.read_text()}\n{end}\n")
    assert process("show", "total", "--course", course).returncode == code


def test_an_oracle_that_keeps_on_running_is_the_same_as_before(course):
    from grader.catalog.courses import course_at, resolve_reference

    oracle = resolve_reference("mini:total", course_at(course))
    assert (oracle.__name__, oracle.__doc__ is None) == ("total", False)
