"""Work that is queued on memory which is gone when it is done."""

from __future__ import annotations

import pytest

from grader.standin.protocol import CudaRefusal
from tests.standin.device.rig import Rig, integer


def test_a_queued_copy_from_freed_memory_is_found() -> None:
    rig = Rig()
    rig.pin("out")
    (stream,) = rig.streams(1)
    (y,) = rig.device()
    with rig.run() as ran:
        rig.m.copy(10, rig.at("out"), y, rig.bytes, stream, False)
        rig.m.free(11, y)
        rig.m.synchronize(12, "stream", stream)
    assert ran.kinds == ["use_after_free"]
    assert (ran.first.cause, ran.first.line, ran.first.array, ran.first.facts["gone_at"]) == ("freed", 10, "out", 11)


def test_a_queued_kernel_on_freed_memory_is_found_and_ends_the_run() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    x, y = rig.device(2)
    with rig.run() as ran:
        rig.launch(10, "twice", x, y, integer(rig.n), stream=stream)
        rig.m.free(11, x)
        with pytest.raises(CudaRefusal) as raised:
            rig.m.synchronize(12, "stream", stream)
    assert raised.value.name == "cudaErrorIllegalAddress"
    assert ran.kinds == ["use_after_free"]
    assert (ran.report.findings[0].line, ran.report.complete) == (10, False)
    assert not ran.report.outcome.events


def test_memory_that_a_pool_gives_back_is_there_for_what_is_queued_and_gone_after_the_run() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    x, y = rig.device(2)
    rig.m.fill(5, x, 0, rig.bytes, stream, False)
    with rig.run(graded=False) as first:
        rig.launch(10, "twice", x, y, integer(rig.n), stream=stream)
        rig.m.give_back(9, x)
    assert (first.kinds, first.report.complete) == ([], True)
    with rig.run() as ran:
        rig.launch(10, "twice", x, y, integer(rig.n), stream=stream)
    assert ran.counted["device_bytes"] == rig.bytes
    found = ran.report.findings[0]
    assert (found.kind, found.cause, found.line) == ("use_after_free", "dropped", 10)
    assert (found.facts["memory"], found.facts["gone_at"]) == ("memory allocated at line 3", 9)


def test_a_graph_whose_array_is_gone_is_told_to_keep_it_beside_the_graph() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    rig.m.capture_begin(6, stream, 0)
    rig.m.fill(7, x, 0, rig.bytes, stream, False)
    graph = rig.m.capture_end(8, stream)
    with rig.run(graded=False):
        rig.m.give_back(0, x)
    with rig.run() as ran:
        rig.m.graph_launch(10, graph, stream)
    assert (ran.first.cause, ran.first.facts["operation"]["in_graph"]) == ("dropped", True)
