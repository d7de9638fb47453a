"""What the stand-in says of copies and kernels that hold each other up."""

from __future__ import annotations

from dataclasses import replace

from grader.findings.record import Finding
from grader.standin.device import A100
from tests.standin.device.rig import Ran, Rig, integer

SCALED = replace(A100, scale=10_000.0)
CHUNKS = 10


def causes(ran: Ran) -> Finding | None:
    assert ran.kinds == []
    return next((found for found in ran.report.findings if found.kind == "no_overlap"), None)


class Chunks:
    """x in ten chunks, on two streams in turn: copy in at line 10, kernel at 11, copy out at 12."""

    def __init__(self, *, non_blocking: bool = True, scale: float = 10_000.0) -> None:
        self.rig = rig = Rig(64_000, model=replace(A100, scale=scale))
        rig.pin("x", "out")
        self.x, self.y = rig.device(2)
        self.streams = rig.streams(2, non_blocking=non_blocking)
        rig.fresh()

    def copy_in(self, i: int) -> None:
        at, step = self._part(i)
        self.rig.m.copy(10, self.x + at, self.rig.at("x") + at, step, self.streams[i % 2], False)

    def kernel(self, i: int, stream: int | None = None) -> None:
        at, step = self._part(i)
        where = self.streams[i % 2] if stream is None else stream
        self.rig.launch(11, "twice", self.x + at, self.y + at, integer(step // 4), stream=where)

    def copy_out(self, i: int, *, blocking: bool = False) -> None:
        at, step = self._part(i)
        self.rig.m.copy(12, self.rig.at("out") + at, self.y + at, step, self.streams[i % 2], blocking)

    def _part(self, i: int) -> tuple[int, int]:
        step = self.rig.bytes // CHUNKS
        return i * step, step

    def wait(self) -> None:
        self.rig.m.synchronize(13, "device", 0)


def test_a_pipeline_in_which_nothing_is_in_the_way_has_no_note() -> None:
    work = Chunks()
    with work.rig.run() as ran:
        for i in range(CHUNKS):
            work.copy_in(i)
            work.kernel(i)
            work.copy_out(i)
        work.wait()
    assert causes(ran) is None


def test_kernels_on_the_default_stream_are_named_with_their_line() -> None:
    work = Chunks(non_blocking=False)
    with work.rig.run() as ran:
        for i in range(CHUNKS):
            work.copy_in(i)
            work.kernel(i, stream=0)
            work.copy_out(i)
        work.wait()
    found = causes(ran)
    assert found is not None
    assert (found.cause, found.line) == ("default_stream", 11)
    assert found.facts["causes"] == [{"cause": "default_stream", "counts": {"kernel": 10}, "lines": [11]}]


def test_the_default_stream_is_not_blamed_where_the_others_do_not_wait_for_it() -> None:
    work = Chunks(non_blocking=True)
    with work.rig.run() as ran:
        for i in range(CHUNKS):
            work.copy_in(i)
            work.rig.behind(20, work.streams[i % 2], 0)
            work.kernel(i, stream=0)
            work.rig.behind(21, 0, work.streams[i % 2])
            work.copy_out(i)
        work.wait()
    assert causes(ran) is None


def test_waits_of_the_host_are_named_with_their_line_and_the_last_one_is_none() -> None:
    work = Chunks()
    with work.rig.run() as ran:
        for i in range(CHUNKS):
            work.copy_in(i)
            work.kernel(i)
            work.copy_out(i, blocking=True)
        work.wait()
    found = causes(ran)
    assert found is not None
    assert found.facts["causes"] == [{"cause": "host_waits", "count": 9, "lines": [12]}]
    assert (found.line, ran.counted["host_waits"]) == (12, 9)


def test_all_copies_queued_before_all_kernels_are_a_matter_of_order() -> None:
    work = Chunks()
    with work.rig.run() as ran:
        for step in (work.copy_in, work.kernel, work.copy_out):
            for i in range(CHUNKS):
                step(i)
        work.wait()
    found = causes(ran)
    assert found is not None
    assert found.facts["causes"] == [
        {"cause": "stage_by_stage", "before": "to_device", "count": 2, "lines": [11]},
    ]


def test_a_stream_for_each_role_is_no_wrong_order() -> None:
    work = Chunks()
    out, *_ = work.rig.streams(1)
    into, compute = work.streams
    with work.rig.run() as ran:
        for i in range(CHUNKS):
            work.streams = [into, into]
            work.copy_in(i)
            work.rig.behind(20, into, compute)
            work.kernel(i, stream=compute)
            work.rig.behind(21, compute, out)
            work.streams = [out, out]
            work.copy_out(i)
        work.wait()
    assert causes(ran) is None


def test_one_stream_and_few_pieces_are_both_told() -> None:
    work = Chunks()
    work.streams = [work.streams[0]] * 2
    with work.rig.run() as ran:
        for i in range(3):
            work.copy_in(i)
            work.kernel(i)
            work.copy_out(i)
        work.wait()
    found = causes(ran)
    assert found is not None
    assert [one["cause"] for one in found.facts["causes"][:2]] == ["one_stream", "few_pieces"]


def test_a_host_that_hardly_keeps_up_is_told_to_queue_fewer_pieces() -> None:
    work = Chunks(scale=1.0)
    with work.rig.run() as ran:
        for i in range(CHUNKS):
            work.copy_in(i)
            work.kernel(i)
            work.copy_out(i)
        work.wait()
    found = causes(ran)
    assert found is not None
    assert (found.cause, found.facts["causes"][0]["operations"]) == ("busy_host", 30)
