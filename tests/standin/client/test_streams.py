"""Streams, events and graphs as host files use them, and what they ask the device for."""

from __future__ import annotations

import threading

import numpy as np
import pytest


def test_the_current_stream_follows_with_and_use(standin):
    cuda = standin.cupy.cuda
    first, second = cuda.Stream(non_blocking=True), cuda.Stream()
    with first:
        assert cuda.get_current_stream() == first
        with second:
            assert cuda.get_current_stream() == second
        assert cuda.get_current_stream() == first
    assert cuda.get_current_stream() == cuda.Stream.null
    second.use()
    assert cuda.get_current_stream() == second


def test_each_thread_has_a_current_stream_of_its_own(standin):
    standin.cupy.cuda.Stream().use()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(standin.cupy.cuda.get_current_stream().ptr))
    thread.start()
    thread.join()
    assert seen == [0]


def test_the_default_stream_is_the_current_devices(standin):
    with standin.cupy.cuda.Device(1):
        standin.cupy.cuda.Stream.null.synchronize()
    assert standin.device.named("synchronize") == [("stream", -1)]


def test_a_stream_of_another_device_cannot_be_current(standin):
    stream = standin.cupy.cuda.Stream()
    with standin.cupy.cuda.Device(1), pytest.raises(RuntimeError, match="of device 0, and the current device is 1"):
        stream.use()


def test_what_is_dropped_is_destroyed_with_the_next_call(standin):
    stream, event = standin.cupy.cuda.Stream(), standin.cupy.cuda.Event()
    handles = stream.ptr, event.ptr
    del stream, event
    assert standin.device.named("stream_destroy") == []
    standin.cupy.cuda.runtime.getDeviceCount()
    assert (standin.device.named("stream_destroy"), standin.device.named("event_destroy")) == (
        [(handles[0],)], [(handles[1],)],
    )  # fmt: skip


def test_a_record_and_a_wait_name_their_streams_and_the_line(standin):
    first, second = standin.cupy.cuda.Stream(), standin.cupy.cuda.Stream()
    event = first.record(standin.cupy.cuda.Event(disable_timing=True))
    second.wait_event(event)
    here = second.wait_event.__code__.co_firstlineno  # of the stand-in; never told
    wait = standin.device.calls[-1]
    assert wait[0] == "stream_wait_event"
    assert wait[2:] == (second.ptr, event.ptr)
    assert wait[1] == test_a_record_and_a_wait_name_their_streams_and_the_line.__code__.co_firstlineno + 3 != here


def test_elapsed_time_and_done_come_from_the_machine(standin):
    cuda = standin.cupy.cuda
    start, end = cuda.Event(), cuda.Event()
    start.record()
    end.record(cuda.Stream.null)
    assert cuda.get_elapsed_time(start, end) == 1.5
    assert not end.done
    assert not cuda.Stream.null.done


def test_the_default_stream_of_a_thread_is_one_on_each_device(standin):
    cuda, runtime = standin.cupy.cuda, standin.cupy.cuda.runtime
    for device in (0, 1, 0):
        with cuda.Device(device):
            cuda.Stream(ptds=True).synchronize()
    made = standin.device.named("stream_create")
    assert made == [(0, False, 0), (1, False, 0)]
    handles = [handle for _, handle in standin.device.named("synchronize")]
    assert handles[0] == handles[2] != handles[1]
    thread = threading.Thread(target=runtime.streamSynchronize, args=(runtime.streamPerThread,))
    thread.start()
    thread.join()
    assert len(standin.device.named("stream_create")) == 3


def test_a_graph_is_captured_and_launched(standin):
    stream = standin.cupy.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    assert stream.is_capturing()
    graph = stream.end_capture()
    graph.upload(stream)
    graph.launch(stream)
    with stream:
        graph.launch()
    assert standin.device.named("graph_launch") == [(graph.graphExec, stream.ptr)] * 2


def test_the_mode_of_a_capture_is_told(standin):
    stream = standin.cupy.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    stream.begin_capture(standin.cupy.cuda.runtime.streamCaptureModeGlobal)
    assert [mode for _, mode in standin.device.named("capture_begin")] == [2, 0]


def test_the_legacy_stream_cannot_be_captured(standin):
    with pytest.raises(RuntimeError, match="cannot be captured"):
        standin.cupy.cuda.Stream.null.begin_capture()


def test_arrays_refuse_to_copy_while_their_stream_is_captured_as_in_cupy(standin):
    there, here = standin.cupy.empty(4, np.float32), np.zeros(4, np.float32)
    stream = standin.cupy.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    with stream, pytest.raises(RuntimeError, match="capturing, so H2D transfers are disallowed") as caught:
        there.set(here)
    assert "memcpyAsync" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="capturing, so D2H transfers are disallowed"):
        there.get(stream=stream, out=here, blocking=False)
    standin.cupy.cuda.runtime.memcpyAsync(there.data.ptr, here.ctypes.data, 16, 4, stream.ptr)
    stream.end_capture()
    there.set(here)
