"""A grading that another thread stops: every wait for a child ends, and with it the child."""

from __future__ import annotations

import os
from threading import Timer

import pytest

from grader.process.channel import Channel, ChannelTimeout, Stopped, Stopper
from grader.process.child import spawn

PATIENCE_S = 60.0  # a deadline that only a wait that goes on reaches


@pytest.fixture
def silent():
    """What makes a channel on which nothing ever arrives."""
    pipes, channels = [], []

    def make() -> Channel:
        pipes.append((os.pipe(), os.pipe()))
        channels.append(Channel(pipes[-1][0][0], pipes[-1][1][1]))
        return channels[-1]

    yield make
    for channel in channels:
        channel.close()
    for (_, feed), (spare, _) in pipes:
        os.close(feed)
        os.close(spare)


def test_a_wait_for_a_child_ends_when_its_grading_is_stopped(silent):
    with Stopper() as stopper:
        channel = silent()
    Timer(0.01, stopper.stop).start()
    with pytest.raises(Stopped):
        channel.receive(PATIENCE_S)
    with pytest.raises(Stopped):  # it stays stopped
        channel.receive(PATIENCE_S)


def test_channels_of_other_gradings_go_on(silent):
    before = silent()
    with Stopper() as stopper:
        stopper.stop()
    with Stopper():
        after = silent()
    for channel in (before, after, silent()):
        with pytest.raises(ChannelTimeout):
            channel.receive(0.0)


def test_the_child_of_a_stopped_grading_is_gone():
    with Stopper() as stopper, spawn("grader.process.tool") as child:
        stopper.stop()
        with pytest.raises(Stopped):
            child.channel.receive(PATIENCE_S)
    assert child.returncode is not None


def test_nobody_takes_a_stop_for_a_fault_of_the_grader():
    assert not issubclass(Stopped, Exception)
