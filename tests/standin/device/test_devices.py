"""Events and launches belong to the device that is current; copies may be told from any."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.standin.protocol import CudaRefusal
from tests.standin.device.rig import Rig, integer, pointer

INVALID = "cudaErrorInvalidResourceHandle"


def refused(name: str, act: Callable[..., object], *args: object) -> str:
    with pytest.raises(CudaRefusal) as caught:
        act(*args)
    assert caught.value.name == name
    return caught.value.message


def test_an_event_of_another_device_cannot_be_recorded():
    rig = Rig(devices=2)
    stream, event = rig.m.stream_create(1, 1, True, 0), rig.m.event_create(2, 0, False)
    told = refused(INVALID, rig.m.event_record, 3, event, stream)
    assert "the event is of device 0, and the stream of device 1: make the event while device 1 is current" in told


def test_another_devices_stream_may_wait_for_an_event():
    rig = Rig(devices=2)
    first, second = (rig.m.stream_create(1, device, True, 0) for device in (0, 1))
    event = rig.m.event_create(2, 0, False)
    rig.m.event_record(3, event, first)
    rig.m.stream_wait_event(4, second, event)


def test_there_is_no_time_between_events_of_two_devices():
    rig = Rig(devices=2)
    events = [rig.m.event_create(1, device, True) for device in (0, 1)]
    for device, event in enumerate(events):
        rig.m.event_record(2, event, -device)
        rig.m.synchronize(3, "event", event)
    assert "devices 0 and 1" in refused(INVALID, rig.m.elapsed_ms, *events)


def test_a_launch_on_a_stream_of_a_device_that_is_not_current_is_refused():
    rig = Rig(devices=2)
    stream = rig.m.stream_create(1, 1, True, 0)
    (x,) = rig.device(1, device=1)
    given = [pointer(x), integer(1)]
    call = (5, "add_one", [1], [32], 0, given, ["array", "int32"], stream, False)
    assert "on a stream of device 1 while device 0 is current" in refused(INVALID, rig.m.launch, *call, 0)
    rig.m.launch(*call, 1)


def test_a_prefetch_to_another_device_is_an_operation_of_its_stream():
    rig = Rig(devices=2)
    address = rig.m.malloc(4, 0, rig.bytes, True)
    with rig.run() as ran:
        for device in (0, 1):
            rig.m.prefetch(5, address, rig.bytes, device, 0)
        rig.m.synchronize(6, "device", 0)
    assert ran.counted["streams"] == 1
    assert [(bar.kind, bar.device) for bar in ran.bars] == [("prefetch", 0)] * 2


def test_each_device_has_its_own_free_memory():
    rig = Rig(devices=2)
    rig.device(3, device=1)
    (free, total), (left, same) = (rig.m.memory_info(device) for device in (0, 1))
    assert (free, total) == (same, same)
    assert left == total - 3 * rig.bytes
    assert rig.m.attributes(0)["TotalGlobalMem"] == total


def test_where_there_are_several_devices_memory_is_told_with_its_device():
    rig = Rig(devices=2)
    (x,) = rig.device(1, device=1)
    assert rig.m.space.name(x) == "memory allocated at line 3 on device 1"
    rig.m.copy(4, x, rig.at("x"), rig.bytes, -1, True)
    assert rig.m.space.name(x) == "the copy of x on device 1"
