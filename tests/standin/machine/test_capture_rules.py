"""What breaks a capture off, also where the host file goes on after the error; and what its mode forbids."""

from __future__ import annotations

import pytest

from grader.standin.protocol import CudaError
from tests.standin.machine.rig import Rig

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2


def begun(mode: int = RELAXED, *, non_blocking: bool = True) -> tuple[Rig, int, int]:
    """A rig with a stream that is being captured, and a buffer."""
    rig = Rig()
    (stream,) = rig.streams(1, non_blocking=non_blocking)
    (x,) = rig.device()
    rig.m.capture_begin(14, stream, mode)
    return rig, stream, x


def is_broken(rig: Rig, stream: int) -> bool:
    with pytest.raises(CudaError) as caught:
        rig.m.capture_end(20, stream)
    return caught.value.name == "cudaErrorStreamCaptureInvalidated"


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL])
def test_memory_is_not_allocated_during_a_capture_that_is_not_relaxed(mode):
    rig, stream, _ = begun(mode)
    with pytest.raises(CudaError, match="mode that is not relaxed") as caught:
        rig.m.malloc(15, 0, 64, False)
    assert caught.value.name == "cudaErrorStreamCaptureUnsupported"
    assert is_broken(rig, stream)


def test_memory_is_allocated_during_a_relaxed_capture():
    rig, stream, _ = begun(RELAXED)
    assert rig.m.malloc(15, 0, 64, False)
    rig.m.capture_end(20, stream)


def test_the_default_streams_implicit_wait_breaks_the_capture_off():
    rig, stream, x = begun(non_blocking=False)
    with pytest.raises(CudaError, match="the default stream waits for stream 1"):
        rig.m.fill(15, x, 0, 4, 0, False)
    assert is_broken(rig, stream)


def test_an_event_from_outside_breaks_the_capture_off():
    rig, stream, _ = begun()
    event = rig.m.event_create(15, 0, False)
    rig.m.event_record(15, event, 0)
    with pytest.raises(CudaError, match="recorded outside of the capture"):
        rig.m.stream_wait_event(16, stream, event)
    assert is_broken(rig, stream)


def test_an_event_of_another_capture_breaks_both_off():
    rig, stream, _ = begun()
    (other,) = rig.streams(1)
    rig.m.capture_begin(15, other, RELAXED)
    event = rig.m.event_create(16, 0, False)
    rig.m.event_record(16, event, other)
    with pytest.raises(CudaError) as caught:
        rig.m.stream_wait_event(17, stream, event)
    assert caught.value.name == "cudaErrorStreamCaptureMerge"
    assert is_broken(rig, stream)
    assert is_broken(rig, other)


def test_a_wait_in_a_capture_that_nobody_ended_names_the_line_where_it_began():
    rig, stream, _ = begun()
    with pytest.raises(CudaError, match="begin_capture on line 14 was not ended yet"):
        rig.m.synchronize(21, "stream", stream)
