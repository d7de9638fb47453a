"""A race although there is a wait: the hint names the wait, and where its event was recorded."""

from __future__ import annotations

import pytest

from tests.standin.device.rig import Ran, Rig, integer


def hint(ran: Ran) -> str:
    (found,) = [found for found in ran.report.findings if found.kind == "missing_wait"]
    return found.hint


@pytest.mark.parametrize(("recorded_on", "named"), [(0, "the default stream"), (3, "stream 3")])
def test_an_event_that_was_recorded_on_another_stream_is_named(recorded_on: int, named: str) -> None:
    rig = Rig()
    rig.pin("x")
    up, comp, other = rig.streams(3)
    x, y = rig.device(2)
    event = rig.m.event_create(29, 0, False)
    with rig.run() as ran:
        rig.m.copy(30, x, rig.at("x"), rig.bytes, up, False)
        rig.m.event_record(31, event, other if recorded_on else 0)
        rig.m.stream_wait_event(33, comp, event)
        rig.launch(34, "twice", x, y, integer(rig.n), stream=comp)
        rig.m.synchronize(35, "device", 0)
    assert hint(ran).startswith(
        f"stream 2 does wait for an event (line 33), but that was recorded on {named} (line 31), not on stream 1 "
        "behind the copy (line 30): wait for one that is recorded there"
    )


def test_an_event_that_was_recorded_before_the_operation_is_named() -> None:
    rig = Rig()
    rig.pin("x")
    up, comp = rig.streams(2)
    x, y = rig.device(2)
    event = rig.m.event_create(29, 0, False)
    with rig.run() as ran:
        rig.m.event_record(31, event, up)
        rig.m.copy(32, x, rig.at("x"), rig.bytes, up, False)
        rig.m.stream_wait_event(33, comp, event)
        rig.launch(34, "twice", x, y, integer(rig.n), stream=comp)
        rig.m.synchronize(35, "device", 0)
    assert hint(ran).startswith(
        "stream 2 does wait for an event (line 33), but that was recorded on stream 1 (line 31) before the copy (line "
        "32) was queued: wait for an event that was recorded behind it"
    )


def test_a_wait_with_a_purpose_of_its_own_is_not_accused() -> None:
    rig = Rig()
    rig.pin("x", "out")
    up, comp, down = rig.streams(3)
    x, y = rig.device(2)
    with rig.run() as ran:
        rig.m.fill(29, y, 0, rig.bytes, down, False)
        rig.m.copy(30, x, rig.at("x"), rig.bytes, up, False)
        rig.behind(33, down, comp)  # the result's buffer is free
        rig.launch(34, "twice", x, y, integer(rig.n), stream=comp)
        rig.m.synchronize(35, "device", 0)
    assert hint(ran).startswith("record an event on stream 1 behind the copy (line 30)")


def test_a_wait_for_a_place_of_the_run_before_is_not_accused() -> None:
    rig = Rig()
    rig.pin("x")
    up, comp, down = rig.streams(3)
    x, y = rig.device(2)
    event = rig.m.event_create(28, 0, False)
    for _ in range(2):
        with rig.run() as ran:
            rig.m.copy(30, x, rig.at("x"), rig.bytes, up, False)
            rig.m.stream_wait_event(33, comp, event)
            rig.launch(34, "twice", x, y, integer(rig.n), stream=comp)
            rig.m.event_record(36, event, down)
            rig.m.synchronize(37, "device", 0)
    assert hint(ran).startswith("record an event on stream 1 behind the copy (line 30)")


def test_a_wait_that_came_before_both_is_not_accused() -> None:
    rig = Rig()
    rig.pin("x")
    up, comp = rig.streams(2)
    x, y = rig.device(2)
    with rig.run() as ran:
        rig.behind(29, up, comp)
        rig.m.copy(30, x, rig.at("x"), rig.bytes, up, False)
        rig.launch(34, "twice", x, y, integer(rig.n), stream=comp)
        rig.m.synchronize(35, "device", 0)
    assert hint(ran).startswith("record an event on stream 1 behind the copy (line 30)")
