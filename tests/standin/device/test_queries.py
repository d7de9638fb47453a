"""Asking whether work is done: nothing is done by a question alone."""

from __future__ import annotations

import numpy as np

from tests.standin.device.rig import Rig


def download(rig: Rig) -> tuple[int, int]:
    """A stream with a copy of zeros to `out`, and an event behind it."""
    rig.pin("out")
    (stream,) = rig.streams(1)
    (y,) = rig.device()
    rig.fresh()
    rig.m.fill(5, y, 0, rig.bytes, stream, False)
    rig.m.copy(6, rig.at("out"), y, rig.bytes, stream, False)
    event = rig.m.event_create(7, 0, False)
    rig.m.event_record(7, event, stream)
    return stream, event


def test_who_asks_once_and_does_not_wait_has_no_result() -> None:
    rig = Rig()
    with rig.run() as ran:
        stream, _ = download(rig)
        assert not rig.m.query(8, "stream", stream)
    assert ran.kinds == ["unfinished"]
    assert np.isnan(rig.view("out")).all()


def test_who_asks_until_it_is_done_has_waited() -> None:
    rig = Rig()
    with rig.run() as ran:
        _, event = download(rig)
        asked = 1
        while not rig.m.query(8, "event", event):
            asked += 1
        assert not rig.view("out").any()
    assert (ran.kinds, asked) == ([], 2)


def test_new_work_is_not_done_when_it_is_asked_about_first() -> None:
    rig = Rig()
    with rig.run():
        stream, _ = download(rig)
        (y,) = rig.device()
        answers = []
        for _ in range(3):
            answers.append(rig.m.query(8, "stream", stream))
            rig.m.fill(9, y, 0, rig.bytes, stream, False)
        assert answers == [False] * 3
        assert np.isnan(rig.view("out")).all()
        assert [rig.m.query(10, "stream", stream) for _ in range(2)] == [False, True]


def test_polling_is_a_wait_of_the_host() -> None:
    rig = Rig()
    (x,) = rig.device()
    with rig.run() as ran:
        for line in (1, 2, 3):
            rig.m.fill(line, x, 0, rig.bytes, 0, False)
            while not rig.m.query(line, "stream", 0):
                pass
    assert ran.counted["host_waits"] == 2  # the last one is nobody's loss


def test_a_question_before_a_wait_does_not_hide_the_wait() -> None:
    rig = Rig()
    (x,) = rig.device()
    with rig.run() as ran:
        for line in (1, 2, 3):
            rig.m.fill(line, x, 0, rig.bytes, 0, False)
            rig.m.query(line, "stream", 0)
            rig.m.synchronize(line, "stream", 0)
    assert ran.counted["host_waits"] == 2


def test_the_host_that_asked_once_may_not_write_over_what_is_still_read() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    staging = rig.m.host_alloc(4, rig.bytes, 0)
    with rig.run() as ran:
        rig.floats(staging, rig.n)[:] = 1
        rig.m.copy(10, x, staging, rig.bytes, stream, False)
        rig.m.query(11, "stream", stream)
        rig.floats(staging, rig.n)[:] = 2
        rig.m.synchronize(12, "stream", stream)
    assert ran.kinds == ["host_conflict"]
