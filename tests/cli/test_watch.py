"""`grade watch` on a real terminal, and what `grade` itself records: the real compiler, simulator and processes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from itertools import takewhile
from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog
from grader.compile.toolchain import find_toolchain
from grader.practice.history import key_of
from grader.practice.progress import FILE, Progress, Run, now

pytestmark = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")

GOOD = """\
// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
"""
BAD = GOOD.replace("a[i] + b[i]", "a[i] - b[i]")
ENDLESS = GOOD.replace("if (i < n)", "while (1);")
FOOTER = "q quit"
JOB_SHELL = Path(__file__).resolve().parents[1] / "process" / "children" / "job_shell.py"


@pytest.fixture
def here(empty_folder):
    return empty_folder


@pytest.fixture
def progress(tmp_path):
    return Progress(tmp_path / "data" / FILE, pytest.fail)


def _takes_the_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests that `nohup` runs hand on that it is ignored


class Terminal:
    """A pseudo-terminal with a command in its foreground."""

    def __init__(self, *command: str) -> None:
        self.text = ""
        self._from = 0
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=os.environ | {"TERM": "xterm"},
            start_new_session=True, preexec_fn=_takes_the_terminal,
        )  # fmt: skip

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def until(self, words: str) -> str:
        """What was written since the last call, up to and with ``words``."""
        deadline = time.monotonic() + 60
        while (at := self.text.find(words, self._from)) < 0:
            if not self._read(deadline):
                raise AssertionError(f"{words!r} never came: {self.text[self._from :]!r}")
        start, self._from = self._from, at + len(words)
        return self.text[start : self._from]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def end(self) -> int:
        """Its exit code, negative for a signal; read what it still writes."""
        deadline = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self._read(time.monotonic() + 0.05)
        while self._read(time.monotonic()):
            pass
        return self.process.returncode

    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.slave) == self.before

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
        if ready:
            self.text += os.read(self.master, 4096).decode("utf-8", "replace")
        return bool(ready)


@pytest.fixture
def watching(here):
    """Start `grade watch` on a terminal of its own; ``through`` is a command that starts it."""
    opened = []

    def start(*words: str, through: tuple[str, ...] = ()) -> Terminal:
        opened.append(Terminal(*through, sys.executable, "-m", "grader.cli", "watch", "--backend", "sim", *words))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


def saved_in_place(path: Path, text: str) -> None:
    path.write_text(text)


def saved_by_replacing(path: Path, text: str) -> None:
    other = path.with_name(f".{path.name}.swp")
    other.write_text(text)
    other.rename(path)


def saved_with_a_backup(path: Path, text: str) -> None:
    path.rename(path.with_name(f"{path.name}~"))
    path.write_text(text)


def test_every_way_of_saving_is_graded_and_the_screen_cleared_between(here, watching, progress):
    path = here / "vector_add.cu"
    path.write_text(BAD)
    terminal = watching("vector_add")
    first = terminal.until(FOOTER)
    assert "WRONG" in first
    assert "grading vector_add … case 1 of " in first
    for save in (saved_in_place, saved_by_replacing, saved_with_a_backup):
        save(path, GOOD)
        report = terminal.until(FOOTER)
        assert "\x1b[2J\x1b[H" in report
        assert "PASS" in report
        save(path, BAD)
        assert "WRONG" in terminal.until(FOOTER)
    terminal.press("q")
    assert terminal.end() == 0
    assert terminal.is_as_before()
    assert [run.verdict for run in progress.runs()] == ["wrong", *["pass", "wrong"] * 3]


def test_keys_give_a_hint_the_list_and_the_next_exercise(here, watching):
    (here / "vector_add.cu").write_text(GOOD)
    terminal = watching()
    assert "PASS" in terminal.until(FOOTER)
    assert not terminal.is_as_before()  # no echo, no waiting for Enter
    terminal.press("h")
    assert "vector_add, hint 1 of" in terminal.until(FOOTER)
    terminal.press("s")
    assert "for every" in terminal.until(FOOTER).lower()
    terminal.press("\x1b[H\x1bOHl")  # Home is no h
    listed = terminal.until(FOOTER)
    assert "reduce_v3" in listed
    assert "hint 2" not in listed
    terminal.press("\n")
    assert "PASS" in terminal.until(FOOTER)
    terminal.press("?")
    assert "its stub is copied into this folder" in terminal.until(FOOTER)
    terminal.press("n")
    said = terminal.until(FOOTER)
    assert "Next after vector_add" in said
    assert "The stub was copied to ./" in said
    (started,) = set(here.glob("*.cu")) - {here / "vector_add.cu"}
    terminal.press("n")
    assert f"{started.stem} is not passed yet" in terminal.until(FOOTER)
    saved_in_place(here / "vector_add.cu", BAD)  # without a name, any exercise that is saved is graded
    report = terminal.until(FOOTER)
    assert "vector_add.cu, " in report
    assert "WRONG" in report
    terminal.press("Q")
    assert terminal.end() == 0
    assert terminal.is_as_before()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)]
)
def test_terminal_is_as_before_whatever_ends_it(here, watching, number, code):
    (here / "vector_add.cu").write_text(GOOD)
    terminal = watching("vector_add")
    terminal.until(FOOTER)
    terminal.process.send_signal(number)
    assert terminal.end() == code
    assert terminal.is_as_before()
    assert "Traceback" not in terminal.text


def test_ctrl_c_and_q_end_it_in_the_middle_of_a_grading(here, watching):
    (here / "vector_add.cu").write_text(ENDLESS)
    for keys, code in (("\x03", 130), ("q", 0)):
        terminal = watching("vector_add")
        terminal.until("vector_add.cu, ")
        terminal.press(keys)
        assert terminal.end() == code
        assert terminal.is_as_before()
        assert FOOTER not in terminal.text


def test_stopped_it_gives_the_terminal_back_and_takes_it_again(here, watching):
    (here / "vector_add.cu").write_text(GOOD)
    terminal = watching("vector_add", through=(sys.executable, str(JOB_SHELL)))
    for _ in range(2):
        terminal.press("h")
        terminal.until(FOOTER)
        assert not terminal.is_as_before()
        terminal.press("\x1a")
        terminal.until("job stopped")
        assert terminal.is_as_before()
        terminal.press("go on\n")
    terminal.press("h")
    assert "hint 3" in terminal.until("hint 3")
    terminal.press("\x04")
    assert terminal.end() == 0


def test_file_that_goes_and_comes_back_is_graded_again(here, watching):
    path = here / "vector_add.cu"
    path.write_text(GOOD)
    terminal = watching("vector_add")
    terminal.until(FOOTER)
    path.unlink()
    assert "./vector_add.cu no longer exists" in terminal.until(FOOTER)
    terminal.press("\n")
    assert "vector_add.cu" in terminal.until(FOOTER)
    path.write_text(BAD)
    assert "WRONG" in terminal.until(FOOTER)
    terminal.press("q")
    assert terminal.end() == 0


@pytest.fixture
def pinned(here):
    """The solution of a host exercise, in this folder; gives the host file's path and its right text."""
    one = load_catalog().find("pinned_copy")
    (here / "pinned_copy.cu").write_bytes(one.solution.read_bytes())
    return here / "pinned_copy_host.py", one.solution_host_file.read_text()


def test_save_while_something_is_graded_ends_that_and_the_new_text_is_graded(here, watching, progress, pinned):
    path, right = pinned
    path.write_text("def setup(*_):\n    while True: pass\n\ndef run(*_): pass\n")
    terminal = watching("pinned_copy", "--timeout", "3000")  # only the save ends it
    terminal.until("case 1 of ")
    path.write_text(right)
    report = terminal.until(FOOTER)
    assert "The file was saved again" in report
    assert "PASS" in report
    assert "TIMEOUT" not in report
    terminal.press("q")
    assert terminal.end() == 0
    assert [run.verdict for run in progress.runs()] == ["pass"]


def test_save_of_another_exercise_while_one_is_graded_goes_over_to_it(here, watching, progress, pinned):
    path, _ = pinned
    path.write_text("while True: pass\n")
    terminal = watching("--timeout", "3000", "--no-color")
    terminal.until("grading pinned_copy")
    (here / "vector_add.cu").write_text(GOOD)
    assert "PASS  vector_add" in terminal.until(FOOTER)
    terminal.press("q")
    assert terminal.end() == 0
    assert [run.exercise for run in progress.runs()] == ["vector_add"]


def test_report_says_to_save_and_not_to_run_a_command(here, watching):
    (here / "vector_add.cu").write_bytes(load_catalog().find("vector_add").stub.read_bytes())
    terminal = watching("vector_add")
    for text in (None, GOOD.replace("a[i]", "a[")):
        if text is not None:
            (here / "vector_add.cu").write_text(text)
        report = " ".join(terminal.until(FOOTER).split())
        assert "then save it: `grade watch` grades it then" in report
        assert "run `grade" not in report


def test_next_is_what_the_report_proposes_and_names_the_file_of_a_host_exercise_to_edit(here, watching, progress):
    (here / "vector_add.cu").write_text(GOOD)
    for course, name, version in takewhile(lambda key: key[1] != "pinned_copy", map(key_of, load_catalog().exercises)):
        progress.record(Run(now(), course, name, "pass", 80, 80, "sim", course_version=version))
    terminal = watching()
    assert "Next exercise: `grade start pinned_copy`" in terminal.until(FOOTER)
    terminal.press("n")
    said = " ".join(terminal.until(FOOTER).split())
    assert "copied to ./pinned_copy_host.py; it is graded when you save it" in said


def test_without_a_terminal_it_watches_without_keys(here):
    path = here / "vector_add.cu"
    path.write_text(BAD)
    command = [sys.executable, "-m", "grader.cli", "watch", "--backend", "sim"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            first = _until(running.stdout, "Ctrl-C ends it")
            path.write_text(GOOD)
            second = _until(running.stdout, "Ctrl-C ends it")
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 130
        finally:
            running.kill()
    assert "WRONG" in first
    assert "PASS" in second
    assert "\x1b" not in first + second


def _until(lines, words: str) -> str:
    text = ""
    for line in lines:
        text += line
        if words in line:
            return text
    raise AssertionError(text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["watch"], "this folder has no file of an exercise"),
        (["watch", "vector_add.cu"], "there is no file 'vector_add.cu'"),
        (["watch", "nothing_like_it"], "there is no exercise"),
    ],
)
def test_nothing_to_watch_is_explained(here, words, said):
    done = process(*words)
    assert done.returncode == 2
    assert said in done.stderr.decode()


# ----------------------------------------------------------------------------------------------------- what is recorded


def process(*words: str, **more) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "grader.cli", *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, **more)


def test_own_runs_are_recorded_and_others_are_not(here, progress):
    (here / "vector_add.cu").write_text(GOOD)
    assert process("vector_add", "--backend", "sim").returncode == 0
    process("vector_add", "--backend", "sim", "--solution")
    process("vector_add", "--backend", "sim", "--no-record")
    (run,) = progress.runs()
    assert (run.exercise, run.verdict, run.score, run.max_score, run.gpu) == ("vector_add", "pass", 80, 80, None)
    assert process("solution", "vector_add").returncode == 0


def test_damaged_progress_costs_one_line_and_no_verdict(here, tmp_path, progress):
    (here / "vector_add.cu").write_text(GOOD)
    (tmp_path / "data").mkdir()
    progress.path.write_bytes(b"no database " * 100)
    done = process("vector_add", "--backend", "sim", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["results"][0]["verdict"] == "pass"
    (line,) = done.stderr.decode().splitlines()
    assert "progress.sqlite3.damaged-1" in line
    assert len(progress.runs()) == 1


def test_run_whose_report_nobody_reads_is_recorded(here, progress):
    (here / "vector_add.cu").write_text(GOOD)
    command = [sys.executable, "-m", "grader.cli", "vector_add", "--backend", "sim"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.close()
    assert [run.verdict for run in progress.runs()] == ["pass"]
