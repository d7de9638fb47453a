"""The line that says how far a grading is: seen on a terminal, and nowhere else."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest

from grader.output import ERASE, waiting


class Stream(io.StringIO):
    """Standard error, of a terminal or not."""

    encoding = "utf-8"

    def __init__(self, *, terminal: bool = True) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")


def shown(stream: Stream, *, quiet: bool = False) -> str:
    with waiting("reduce_v1", quiet=quiet, stream=stream) as tell:
        tell("compiling")
        tell("case 1 of 26")
    tell("too late")
    return stream.getvalue()


def test_line_is_written_over_and_gone_at_the_end():
    found = shown(Stream())
    assert found == f"{ERASE}grading reduce_v1 … compiling{ERASE}grading reduce_v1 … case 1 of 26{ERASE}"


def test_line_is_gone_after_a_failure_too():
    stream = Stream()
    with suppress(KeyError), waiting("reduce_v1", stream=stream) as tell:
        tell("compiling")
        raise KeyError
    assert stream.getvalue().endswith(ERASE)


def test_nothing_is_written_where_nobody_looks():
    assert shown(Stream(terminal=False)) == ""
    assert shown(Stream(), quiet=True) == ""


def test_terminal_that_cannot_erase_gets_one_plain_line(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert shown(Stream()) == "grading reduce_v1 …\n"


def test_line_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert max(len(line) for line in shown(Stream()).split(ERASE)) == 19
