"""Capture and replay."""

from __future__ import annotations

import numpy as np
import pytest

from grader.standin.protocol import CudaRefusal
from tests.standin.device.rig import Rig, integer


def test_a_graph_does_the_same_again_with_what_lies_there_now() -> None:
    rig = Rig()
    rig.pin("x", "out")
    (stream,) = rig.streams(1)
    x, y = rig.device(2)
    rig.m.capture_begin(10, stream, 2)
    assert rig.m.is_capturing(stream)
    rig.m.copy(11, x, rig.at("x"), rig.bytes, stream, False)
    rig.launch(12, "twice", x, y, integer(rig.n), stream=stream)
    rig.m.copy(13, rig.at("out"), y, rig.bytes, stream, False)
    graph = rig.m.capture_end(14, stream)
    assert not rig.m.is_capturing(stream)
    for seed in (1, 2, 3):
        rig.fresh(seed)
        with rig.run() as ran:
            rig.m.graph_launch(20, graph, stream)
            rig.m.synchronize(21, "stream", stream)
        assert ran.kinds == []
        assert np.array_equal(rig.view("out"), 2 * rig.view("x"))
        wanted = {"launch_calls": 1, "graph_launches": 1, "copies": 2, "streams": 1}
        assert {name: ran.counted[name] for name in wanted} == wanted
        assert len(ran.report.outcome.calls) == 1


def test_streams_join_a_capture_by_events_and_keep_their_order_in_the_graph() -> None:
    rig = Rig()
    rig.pin("x", "out")
    first, second = rig.streams(2)
    x, y = rig.device(2)
    rig.m.capture_begin(10, first, 2)
    rig.m.copy(11, x, rig.at("x"), rig.bytes, first, False)
    rig.behind(12, first, second)
    rig.launch(13, "twice", x, y, integer(rig.n), stream=second)
    rig.behind(14, second, first)
    rig.m.copy(15, rig.at("out"), y, rig.bytes, first, False)
    graph = rig.m.capture_end(16, first)
    rig.fresh()
    with rig.run() as ran:
        rig.m.graph_launch(20, graph, first)
        rig.m.synchronize(21, "stream", first)
    assert ran.kinds == []
    assert np.array_equal(rig.view("out"), 2 * rig.view("x"))
    assert [(bar.kind, bar.stream) for bar in ran.bars] == [("to_device", 1), ("kernel", 2), ("to_host", 1)]


def test_what_nothing_orders_in_a_graph_is_found_too() -> None:
    rig = Rig()
    rig.pin("x")
    first, second = rig.streams(2)
    x, y = rig.device(2)
    rig.m.capture_begin(10, first, 2)
    rig.behind(11, first, second)
    rig.m.copy(12, x, rig.at("x"), rig.bytes, first, False)
    rig.launch(13, "twice", x, y, integer(rig.n), stream=second)
    rig.behind(14, second, first)
    graph = rig.m.capture_end(15, first)
    with rig.run() as ran:
        rig.m.graph_launch(20, graph, first)
        rig.m.synchronize(21, "stream", first)
    assert ran.kinds == ["missing_wait"]
    assert ran.first.facts["operation"] == {"kind": "kernel", "name": "twice", "in_graph": True}
    assert (ran.first.places[0].stream, ran.first.line, ran.first.array) == (2, 13, "x")


@pytest.mark.parametrize("graph_first", [True, False])
def test_from_outside_a_graph_is_waited_for_as_a_whole(graph_first: bool) -> None:
    rig = Rig()
    first, second, other = rig.streams(3)
    (x,) = rig.device()
    rig.m.capture_begin(10, first, 2)
    rig.behind(11, first, second)
    rig.m.fill(12, x, 0, rig.bytes, second, False)
    rig.behind(13, second, first)
    graph = rig.m.capture_end(14, first)
    with rig.run() as ran:
        acts = [lambda: rig.m.graph_launch(20, graph, first), lambda: rig.m.fill(21, x, 1, rig.bytes, other, False)]
        for act in acts if graph_first else reversed(acts):
            act()
        rig.m.synchronize(22, "device", 0)
    assert ran.kinds == ["missing_wait"]
    first, second = ran.first.facts["first"], ran.first.facts["operation"]
    assert (first["in_graph"], second["in_graph"]) == (graph_first, not graph_first)


def test_launches_of_one_graph_follow_each_other_on_any_streams() -> None:
    rig = Rig()
    first, second = rig.streams(2)
    (x,) = rig.device()
    rig.m.fill(5, x, 0, rig.bytes, 0, False)
    rig.m.synchronize(6, "device", 0)
    rig.m.capture_begin(10, first, 2)
    rig.launch(11, "add_one", x, integer(rig.n), stream=first)
    graph = rig.m.capture_end(12, first)
    with rig.run() as ran:
        for stream in (first, second, first):
            rig.m.graph_launch(20, graph, stream)
        rig.m.synchronize(21, "device", 0)
        got = np.frombuffer(rig.m.fetch(22, x, rig.bytes, 0), np.float32)
    assert ran.kinds == []
    assert (got == 3).all()


def test_a_graph_keeps_an_address_that_was_freed() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    rig.m.capture_begin(10, stream, 2)
    rig.m.fill(11, x, 0, rig.bytes, stream, False)
    graph = rig.m.capture_end(12, stream)
    rig.m.free(13, x)
    for _ in range(2):
        with rig.run(graded=False) as ran:
            rig.m.graph_launch(20, graph, stream)
            rig.m.synchronize(21, "stream", stream)
        errors = [f for f in ran.report.findings if f.severity == "error"]
        assert [(f.kind, f.line, f.count) for f in errors] == [("use_after_free", 11, 1)]
        assert ran.first.facts["gone_at"] == 13


@pytest.mark.parametrize("forbidden", ["stream", "device", "query", "pageable", "blocking", "fetch"])
def test_what_waits_cannot_be_captured_and_breaks_the_capture_off(forbidden: str) -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    rig.m.capture_begin(10, stream, 2)
    calls = {
        "stream": lambda: rig.m.synchronize(11, "stream", stream),
        "device": lambda: rig.m.synchronize(11, "device", 0),
        "query": lambda: rig.m.query(11, "stream", stream),
        "pageable": lambda: rig.m.copy(11, x, bytes(4), 4, stream, False),
        "blocking": lambda: rig.m.copy(11, x, x, 4, stream, True),
        "fetch": lambda: rig.m.fetch(11, x, 4, stream),
    }
    with pytest.raises(CudaRefusal) as raised:
        calls[forbidden]()
    assert raised.value.name == "cudaErrorStreamCaptureUnsupported"
    assert "while stream 1 is being captured" in raised.value.message
    with pytest.raises(CudaRefusal) as raised:
        rig.m.capture_end(12, stream)
    assert raised.value.name == "cudaErrorStreamCaptureInvalidated"
    assert not rig.m.is_capturing(stream)


def test_a_stream_that_is_not_joined_again_is_named() -> None:
    rig = Rig()
    first, second = rig.streams(2)
    (x,) = rig.device()
    rig.m.capture_begin(10, first, 2)
    rig.behind(11, first, second)
    rig.m.fill(12, x, 0, rig.bytes, second, False)
    with pytest.raises(CudaRefusal) as raised:
        rig.m.capture_end(13, first)
    assert raised.value.name == "cudaErrorStreamCaptureUnjoined"
    assert "stream 2 is part of the capture (its last operation is on line 12)" in raised.value.message


def test_many_small_nodes_are_replayed() -> None:
    rig = Rig(64)
    (stream,) = rig.streams(1)
    (x,) = rig.device()
    rig.m.fill(5, x, 0, rig.bytes, stream, False)
    rig.m.capture_begin(10, stream, 2)
    for _ in range(200):
        rig.launch(11, "add_one", x, integer(rig.n), stream=stream)
    graph = rig.m.capture_end(12, stream)
    with rig.run() as ran:
        rig.m.graph_launch(20, graph, stream)
        got = np.frombuffer(rig.m.fetch(22, x, rig.bytes, stream), np.float32)
    assert (got == 200).all()
    assert len(ran.report.outcome.calls) == 200
    assert ran.counted["launch_calls"] == 1


def test_capturing_in_each_run_costs_as_many_calls_as_launching() -> None:
    rig = Rig()
    (stream,) = rig.streams(1)
    x, y = rig.device(2)
    with rig.run() as ran:
        rig.m.fill(9, x, 0, rig.bytes, stream, False)
        rig.m.capture_begin(10, stream, 2)
        for line in (11, 12, 13):
            rig.launch(line, "twice", x, y, integer(rig.n), stream=stream)
        rig.m.graph_launch(14, rig.m.capture_end(14, stream), stream)
        rig.m.synchronize(15, "stream", stream)
    assert (ran.counted["launch_calls"], ran.counted["graph_launches"]) == (4, 1)
