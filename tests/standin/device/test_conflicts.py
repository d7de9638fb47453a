"""Every pair of operations is looked at, however many there are."""

from __future__ import annotations

from tests.standin.device.rig import Rig, integer, pointer

CHUNKS = 200


def test_a_missing_wait_of_the_last_of_many_chunks_is_found():
    rig = Rig(CHUNKS * 32)
    rig.pin("x", "out")
    *streams, other = rig.streams(5)
    x, y = rig.device(2)
    size = rig.bytes // CHUNKS
    rig.fresh()
    with rig.run() as ran:
        for chunk in range(CHUNKS):
            at, stream = chunk * size, streams[chunk % 4]
            given, kinds = [pointer(x + at), pointer(y + at), integer(32)], ["array", "array", "int32"]
            last = chunk == CHUNKS - 1
            rig.m.copy(11 if last else 5, x + at, rig.at("x") + at, size, stream, False)
            on, line = (other, 12) if last else (stream, 6)
            rig.m.launch(line, "twice", [1], [32], 0, given, kinds, on, False, 0)
            rig.m.copy(7, rig.at("out") + at, y + at, size, on, False)
        for stream in (*streams, other):
            rig.m.synchronize(9, "stream", stream)
    assert ran.kinds == ["missing_wait"]
    assert ran.report.findings[0].line == 12


def test_operations_that_only_read_the_same_memory_or_lie_side_by_side_are_no_conflict():
    rig = Rig(64)
    rig.pin("x", "out")
    first, second = rig.streams(2)
    x, left, right = rig.device(3)
    rig.fresh()
    with rig.run() as ran:
        rig.m.copy(5, x, rig.at("x"), rig.bytes, first, True)
        rig.launch(6, "twice", x, left, integer(rig.n), stream=first)
        rig.launch(7, "twice", x, right, integer(rig.n), stream=second)
        half = 4 * 3  # two parts of one cell
        rig.m.copy(8, rig.at("out"), left, half, first, False)
        rig.m.copy(9, rig.at("out") + half, right + half, rig.bytes - half, second, False)
        for stream in (first, second):
            rig.m.synchronize(10, "stream", stream)
    assert ran.kinds == []
