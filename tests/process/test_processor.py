"""Processes that take turns run on one processor, and afterwards anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grader.process import processor
from grader.process.processor import one_processor

EVERYWHERE = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
SEVERAL = pytest.mark.skipif(len(EVERYWHERE) < 2, reason="one processor")


@pytest.fixture
def child() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


@SEVERAL
def test_both_run_on_one_processor_and_afterwards_on_all(child: int) -> None:
    with one_processor([child]):
        here = os.sched_getaffinity(0)
        assert len(here) == 1
        assert os.sched_getaffinity(child) == here
    assert os.sched_getaffinity(0) == os.sched_getaffinity(child) == EVERYWHERE


@SEVERAL
def test_an_error_leaves_them_on_all(child: int) -> None:
    with pytest.raises(KeyError), one_processor([child]):
        raise KeyError
    assert os.sched_getaffinity(0) == os.sched_getaffinity(child) == EVERYWHERE


@SEVERAL
def test_a_process_that_has_ended_is_left_alone(child: int) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    with one_processor([ended.pid, child]):
        assert len(os.sched_getaffinity(child)) == 1


@SEVERAL
def test_where_the_system_does_not_say_which_it_is_nothing_moves(child: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "_current", lambda: -1)
    with one_processor([child]):
        assert os.sched_getaffinity(child) == EVERYWHERE
