"""Time limits on a machine that is busy, by a clock and a child that a test sets."""

from __future__ import annotations

import os
import signal

import pytest

from grader.backends import time_limit
from grader.backends.time_limit import TimeLimit
from grader.process.child import spawn
from grader.process.sandbox import Sandbox


class Clock:
    """The wall's clock, and a child with a share of its time; ``share`` None: nobody can say."""

    def __init__(self, share: float | None, ready: bool = True) -> None:
        self.now_s, self.share, self.ready = 1000.0, share, ready

    def monotonic(self) -> float:
        return self.now_s

    def used_s(self) -> float | None:
        return None if self.share is None else 7.0 + (self.now_s - 1000.0) * self.share

    def is_ready(self) -> bool:
        return self.ready


@pytest.fixture
def limited(monkeypatch):
    """A function that starts a limit, of ten seconds, for a child with such a share of a processor."""

    def start(*share: float | bool | None, seconds: float = 10.0) -> tuple[TimeLimit, Clock]:
        clock = Clock(*share)
        monkeypatch.setattr(time_limit, "time", clock)
        return TimeLimit(clock, seconds), clock

    return start


def ends_after(limit: TimeLimit, clock: Clock) -> float:
    """Seconds by the wall's clock until it is over, for who waits as long as it says."""
    while not limit.is_over():
        clock.now_s += max(limit.left_s(), 1e-3)
    return clock.now_s - 1000.0


def test_a_child_with_a_processor_of_its_own_has_the_limits_time(limited):
    limit, clock = limited(1.0)
    assert ends_after(limit, clock) == 10.0
    assert not limit.is_starved()


def test_several_threads_make_a_limit_no_shorter(limited):
    assert ends_after(*limited(2.0)) == 10.0


def test_a_child_with_half_a_processor_has_nearly_twice_the_time(limited):
    limit, clock = limited(0.5)
    assert 19.0 <= ends_after(limit, clock) <= 20.0
    assert not limit.is_starved()


def test_who_never_gets_a_processor_comes_to_an_end_too(limited):
    limit, clock = limited(0.0)
    assert 30.0 <= ends_after(limit, clock) <= 40.0
    assert limit.is_starved()
    assert "0 s of processor time in " in limit.busy_machine().message


def test_in_the_last_moment_of_a_limit_of_all_together_no_processor_is_no_excuse(limited):
    limit, clock = limited(0.0, seconds=0.0005)
    clock.now_s += 0.001
    assert limit.is_over()
    assert not limit.is_starved()


def test_who_sleeps_gets_no_more_time_and_no_excuse(limited):
    limit, clock = limited(0.0, False)
    assert ends_after(limit, clock) == 10.0
    assert not limit.is_starved()


def test_where_the_system_does_not_say_only_the_walls_clock_counts(limited):
    assert ends_after(*limited(None)) == 10.0
    assert limited(None)[0].starved_s() == 0.0


def test_time_that_was_somebody_elses_does_not_count(limited):
    limit, clock = limited(1.0)
    clock.now_s += 6.0
    limit.add(5.0)
    assert limit.left_s() == 9.0


def test_time_without_a_processor_is_known_for_a_limit_of_all_together(limited):
    limit, clock = limited(0.5)
    clock.now_s += 4.0
    assert limit.starved_s() == 2.0


@pytest.fixture
def child(tmp_path, monkeypatch):
    (tmp_path / "endless.py").write_text("def main():\n    while True: pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with spawn("endless", sandbox=Sandbox()) as started:
        yield started


def test_a_child_that_works_is_ready_and_uses_time(child):
    while not child.used_s():
        pass
    assert child.is_ready()


def test_a_child_that_is_stopped_is_not_ready(child):
    os.kill(child.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED)
    assert not child.is_ready()


def test_of_a_child_that_is_gone_nothing_is_known(child):
    child.kill()
    assert (child.used_s(), child.is_ready()) == (None, False)
