"""A race although there is a wait: the hint names the wait, and where its event was recorded."""

from __future__ import annotations

from typing import Any

import pytest

from tests.standin.device.rig import Ran, Rig, integer


def mistaken(ran: Ran) -> dict[str, Any] | None:
    """The wait that the finding names."""
    (found,) = ran.of("missing_wait")
    return found.facts.get("wait")


@pytest.mark.parametrize("recorded_on", [0, 3])
def test_an_event_that_was_recorded_on_another_stream_is_named(recorded_on: int) -> None:
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
    assert mistaken(ran) == {"line": 33, "recorded": 31, "stream": [recorded_on, 0], "too_early": False}


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
    assert mistaken(ran) == {"line": 33, "recorded": 31, "stream": [1, 0], "too_early": True}


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
    assert mistaken(ran) is None


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
    assert mistaken(ran) is None


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
    assert mistaken(ran) is None
