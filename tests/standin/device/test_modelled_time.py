"""The modelled clock: engines, overlap, and what the host waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from grader.standin.device import A100
from grader.standin.protocol import CudaRefusal
from tests.standin.device.rig import Ran, Rig, integer

Beside = Callable[[Rig, int, int], None]
SCALED = replace(A100, scale=10_000.0)


def pipeline(streams: int, *, pinned: bool = True, chunks: int = 4, beside: Beside = lambda *_: None) -> Ran:
    """x in chunks: in, kernel, out; over so many streams. ``beside`` puts more on another stream, for each chunk."""
    rig = Rig(64_000, model=SCALED)
    if pinned:
        rig.pin("x", "out")
    x, y, idle = rig.device(3)
    used, other = rig.streams(streams), rig.streams(1)[0]
    rig.fresh()
    step, n = rig.bytes // chunks, rig.n // chunks
    with rig.run() as ran:
        for i in range(chunks):
            stream, at = used[i % streams], i * step
            rig.m.copy(10, x + at, rig.at("x") + at, step, stream, False)
            rig.launch(11, "twice", x + at, y + at, integer(n), stream=stream)
            rig.m.copy(12, rig.at("out") + at, y + at, step, stream, False)
            beside(rig, idle, other)
        rig.m.synchronize(13, "device", 0)
    assert ran.kinds == []
    return ran


def test_chunks_on_several_streams_overlap_and_on_one_they_do_not() -> None:
    one, several = pipeline(1), pipeline(4)
    assert several.report.timeline.elapsed_s < 0.7 * one.report.timeline.elapsed_s
    assert several.counted["modelled_overlap"] > 0.7
    assert one.counted["modelled_overlap"] < 0.55


def exchange(streams: int) -> Ran:
    """A device fetches four pieces from another and computes with each; on one stream, or copies on a second one."""
    rig = Rig(64_000, model=SCALED, devices=2)
    (there,), (inbox, out) = rig.device(device=1), rig.device(2)
    used = rig.streams(streams)
    rig.m.enable_peer(3, 0, 1)
    rig.m.fill(4, there, 0, rig.bytes, -1, False)
    rig.m.synchronize(5, "device", 1)
    step, n = rig.bytes // 4, rig.n // 4
    with rig.run() as ran:
        for at in range(0, rig.bytes, step):
            rig.m.copy(6, inbox + at, there + at, step, used[-1], False)
            if streams == 2:
                rig.behind(7, used[-1], used[0])
            rig.launch(8, "twice", inbox + at, out + at, integer(n), stream=used[0])
        rig.m.synchronize(9, "device", 0)
    assert ran.kinds == []
    return ran


def test_kernels_beside_copies_between_devices_are_counted() -> None:
    assert exchange(1).counted["modelled_peer_overlap"] == 0
    assert 0.7 < exchange(2).counted["modelled_peer_overlap"] < 0.8  # all but the last piece's


def useless_fills(rig: Rig, idle: int, other: int) -> None:
    for _ in range(24):
        rig.m.fill(20, idle, 0, rig.bytes, other, False)


def useless_kernels(rig: Rig, idle: int, other: int) -> None:
    for _ in range(64):
        rig.launch(20, "add_one", idle, integer(rig.n), stream=other)


def useless_prefetches(rig: Rig, idle: int, other: int) -> None:
    managed = rig.m.malloc(20, 0, rig.bytes, True)
    rig.floats(managed, rig.n)[:] = 1  # the host has the pages
    rig.m.prefetch(21, managed, rig.bytes, 0, other)


@pytest.mark.parametrize("beside", [useless_fills, useless_kernels, useless_prefetches])
def test_what_nobody_needs_does_not_make_a_pipeline_on_one_stream_look_overlapped(beside: Beside) -> None:
    ran = pipeline(1, beside=beside)
    assert len(ran.bars) > 12
    assert ran.counted["modelled_overlap"] < 0.55


def test_the_same_work_in_more_pieces_is_not_more_work() -> None:
    few, many = pipeline(1), pipeline(1, chunks=64)
    assert many.report.timeline.elapsed_s > few.report.timeline.elapsed_s
    assert many.counted["modelled_overlap"] < few.counted["modelled_overlap"]


def test_pageable_copies_do_not_overlap() -> None:
    pageable = pipeline(4, pinned=False)
    assert pageable.report.timeline.elapsed_s > 2 * pipeline(4).report.timeline.elapsed_s


def test_an_engine_does_one_thing_at_a_time_and_streams_keep_their_order() -> None:
    bars = pipeline(4).bars
    for kind in ("to_device", "kernel", "to_host"):
        mine = [bar for bar in bars if bar.kind == kind]
        assert len(mine) == 4
        assert all(a.end_s <= b.start_s for a, b in pairwise(mine))
    for stream in (1, 2, 3, 4):
        mine = [bar for bar in bars if bar.stream == stream]
        assert [bar.kind for bar in mine] == ["to_device", "kernel", "to_host"]
        assert all(a.end_s <= b.start_s for a, b in pairwise(mine))


def test_bars_have_names_lines_and_bytes_and_the_clock_its_label() -> None:
    ran = pipeline(2)
    timeline = ran.report.timeline
    assert {(b.kind, b.name, b.line) for b in timeline.operations} == {
        ("to_device", "x", 10), ("kernel", "twice", 11), ("to_host", "out", 12),
    }  # fmt: skip
    assert {b.bytes for b in timeline.operations if b.kind != "kernel"} == {64_000}
    assert timeline.modelled
    assert timeline.device == "A100 (PCIe 4), with 10000 times the simulated work in the same number of calls"
    assert max(b.end_s for b in timeline.operations) <= timeline.elapsed_s


def test_a_pinned_copy_takes_the_links_time() -> None:
    rig = Rig(100_000, model=SCALED)
    rig.pin("x")
    (x,) = rig.device()
    with rig.run() as ran:
        rig.m.copy(1, x, rig.at("x"), rig.bytes, 0, True)
    (bar,) = ran.bars
    assert bar.end_s - bar.start_s == pytest.approx(rig.bytes * 10_000 / A100.link_bytes_per_s, rel=1e-3)


def test_events_have_modelled_times() -> None:
    rig = Rig(100_000, model=SCALED)
    rig.pin("x")
    (x,) = rig.device()
    begin, end, plain = (rig.m.event_create(1, 0, timing) for timing in (True, True, False))
    with rig.run() as ran:
        rig.m.event_record(2, begin, 0)
        rig.m.copy(3, x, rig.at("x"), rig.bytes, 0, False)
        rig.m.event_record(4, end, 0)
        rig.m.event_record(4, plain, 0)
        with pytest.raises(CudaRefusal, match="still pending"):
            rig.m.elapsed_ms(begin, end)
        rig.m.synchronize(5, "event", end)
        took = rig.m.elapsed_ms(begin, end)
        with pytest.raises(CudaRefusal, match="disable_timing"):
            rig.m.elapsed_ms(begin, plain)
    (bar,) = ran.bars
    assert took == pytest.approx(1e3 * (bar.end_s - bar.start_s), rel=0.01)


def test_a_graph_costs_the_host_one_call() -> None:
    rig = Rig(64)
    (x,) = rig.device()
    (stream,) = rig.streams(1)
    rig.m.capture_begin(1, stream, 2)
    for _ in range(50):
        rig.launch(2, "add_one", x, integer(rig.n), stream=stream)
    graph = rig.m.capture_end(3, stream)
    with rig.run() as loop:
        for _ in range(50):
            rig.launch(4, "add_one", x, integer(rig.n), stream=stream)
        rig.m.synchronize(5, "stream", stream)
    with rig.run() as replayed:
        rig.m.graph_launch(6, graph, stream)
        rig.m.synchronize(7, "stream", stream)
    assert loop.report.timeline.elapsed_s > 3 * replayed.report.timeline.elapsed_s


def test_waits_count_when_the_host_goes_on_afterwards() -> None:
    rig = Rig()
    (x,) = rig.device()
    with rig.run() as ran:
        for line in (1, 2, 3):
            rig.m.fill(line, x, 0, rig.bytes, 0, False)
            rig.m.synchronize(line, "stream", 0)
            rig.m.synchronize(line, "stream", 0)  # nothing is left to wait for
    assert ran.counted["host_waits"] == 2
