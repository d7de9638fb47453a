"""What breaks a capture off, also where the host file goes on after the error; and what its mode forbids."""

from __future__ import annotations

import pytest

from grader.standin.protocol import CudaRefusal
from tests.standin.device.rig import Ran, Rig, integer

GLOBAL, THREAD_LOCAL, RELAXED = 0, 1, 2


def begun(mode: int = RELAXED, *, non_blocking: bool = True) -> tuple[Rig, int, int]:
    """A rig with a stream that is being captured, and a buffer."""
    rig = Rig()
    (stream,) = rig.streams(1, non_blocking=non_blocking)
    (x,) = rig.device()
    rig.m.capture_begin(14, stream, mode)
    return rig, stream, x


def is_broken(rig: Rig, stream: int) -> bool:
    with pytest.raises(CudaRefusal) as caught:
        rig.m.capture_end(20, stream)
    return caught.value.name == "cudaErrorStreamCaptureInvalidated"


@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL])
def test_memory_is_not_allocated_during_a_capture_that_is_not_relaxed(mode):
    rig, stream, _ = begun(mode)
    with pytest.raises(CudaRefusal, match="mode that is not relaxed") as caught:
        rig.m.malloc(15, 0, 64, False)
    assert caught.value.name == "cudaErrorStreamCaptureUnsupported"
    assert is_broken(rig, stream)


def test_memory_is_allocated_during_a_relaxed_capture():
    rig, stream, _ = begun(RELAXED)
    assert rig.m.malloc(15, 0, 64, False)
    rig.m.capture_end(20, stream)


def test_the_default_streams_implicit_wait_breaks_the_capture_off():
    rig, stream, x = begun(non_blocking=False)
    with pytest.raises(CudaRefusal, match="on the captured stream, too") as caught:
        rig.m.fill(15, x, 0, 4, 0, False)
    assert caught.value.name == "cudaErrorStreamCaptureImplicit"
    assert is_broken(rig, stream)


def test_an_event_from_outside_breaks_the_capture_off():
    rig, stream, _ = begun()
    event = rig.m.event_create(15, 0, False)
    rig.m.event_record(15, event, 0)
    with pytest.raises(CudaRefusal, match="recorded outside the capture") as caught:
        rig.m.stream_wait_event(16, stream, event)
    assert caught.value.name == "cudaErrorStreamCaptureIsolation"
    assert is_broken(rig, stream)


def test_an_event_of_another_capture_breaks_both_off():
    rig, stream, _ = begun()
    (other,) = rig.streams(1)
    rig.m.capture_begin(15, other, RELAXED)
    event = rig.m.event_create(16, 0, False)
    rig.m.event_record(16, event, other)
    with pytest.raises(CudaRefusal) as caught:
        rig.m.stream_wait_event(17, stream, event)
    assert caught.value.name == "cudaErrorStreamCaptureMerge"
    assert is_broken(rig, stream)
    assert is_broken(rig, other)


def test_waiting_for_an_event_of_the_capture_breaks_it_off():
    rig, stream, _ = begun()
    event = rig.m.event_create(15, 0, False)
    rig.m.event_record(15, event, stream)
    with pytest.raises(CudaRefusal, match="the host cannot wait for it") as caught:
        rig.m.synchronize(16, "event", event)
    assert caught.value.name == "cudaErrorCapturedEvent"
    assert is_broken(rig, stream)


def test_a_graph_within_a_graph_is_beyond_the_stand_in():
    rig, stream, x = begun()
    rig.m.fill(15, x, 0, 4, stream, False)
    graph = rig.m.capture_end(16, stream)
    rig.m.capture_begin(17, stream, RELAXED)
    with pytest.raises(CudaRefusal, match="cannot run a graph in a graph"):
        rig.m.graph_launch(18, graph, stream)
    assert is_broken(rig, stream)


def test_a_wait_in_a_capture_that_nobody_ended_names_the_line_where_it_began():
    rig, stream, _ = begun()
    with pytest.raises(CudaRefusal, match="begin_capture on line 14 was not ended yet"):
        rig.m.synchronize(21, "stream", stream)


def graph_without_its_kernel(*, wait: bool) -> Ran:
    """setup: the copies are captured, and the kernel goes to the default stream."""
    rig = Rig()
    rig.pin("x", "out")
    (stream,) = rig.streams(1)
    x, y = rig.device(2)
    rig.m.begin_setup(rig.arrays)
    rig.m.capture_begin(14, stream, RELAXED)
    rig.m.copy(15, x, rig.at("x"), rig.bytes, stream, False)
    rig.launch(16, "twice", x, y, integer(rig.n))
    rig.m.copy(17, rig.at("out"), y, rig.bytes, stream, False)
    graph = rig.m.capture_end(18, stream)
    if wait:
        rig.m.synchronize(19, "device", 0)
    rig.fresh()
    for graded in (False, True):
        with rig.run(graded=graded) as ran:
            rig.m.graph_launch(20, graph, stream)
            rig.m.synchronize(21, "stream", stream)
    return ran


def test_a_launch_outside_of_the_captured_stream_is_noted_with_what_the_graph_holds():
    ran = graph_without_its_kernel(wait=True)
    assert ran.kinds == []
    (left_out,), (graph,) = ran.of("not_captured"), ran.of("no_kernel_in_graph")
    assert (left_out.line, left_out.facts["captured"], left_out.facts["begun"]) == (16, 1, 14)
    assert graph.facts == {"begun": 14, "nodes": 2}


def test_a_race_with_a_launch_outside_of_the_captured_stream_says_where_it_belongs():
    ran = graph_without_its_kernel(wait=False)
    found = next(found for found in ran.report.findings if found.kind == "missing_wait")
    beside = found.facts["beside"]
    assert (beside["operation"]["name"], beside["captured"], beside["stream"]) == ("twice", 1, [0, 0])


@pytest.mark.parametrize("ended", [True, False])
def test_a_capture_that_setup_left_open_is_noted_once(ended: bool):
    rig, stream, x = begun()
    rig.m.begin_setup(rig.arrays)
    rig.m.fill(15, x, 0, 4, stream, False)
    if ended:
        rig.m.capture_end(16, stream)
    for graded in (False, True):
        with rig.run(graded=graded) as ran:
            pass
        assert [found.facts for found in ran.of("still_capturing")] == (not ended) * [{"stream": 1}]


def test_a_copy_that_is_not_captured_is_told_how_to_be():
    rig, stream, x = begun()
    rig.pin("x")
    rig.m.begin_setup(rig.arrays)
    rig.m.copy(15, x, rig.at("x"), rig.bytes, 0, True)
    rig.m.copy(16, x, rig.at("x"), rig.bytes, stream, False)
    rig.m.capture_end(17, stream)
    with rig.run() as ran:
        pass
    (found,) = ran.report.findings
    assert (found.kind, found.line, found.severity) == ("not_captured", 15, "note")
    assert found.facts["operation"]["kind"] == "to_device"
