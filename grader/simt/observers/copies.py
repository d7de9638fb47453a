"""Asynchronous copies in shadow memory: the stamps of a copy in flight, and its stamps after the wait.

From its start to its wait a copy's target is stamped as written, and its source as read, by the thread that started it,
at a clock that is after all others. So every access to the target, by any thread, is a conflict, and so is every write
to the source. At the wait both become an ordinary write and read of that thread.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated_once
from grader.simt.engine.layout import COPY, COPY_QUEUE, COPY_QUEUE_BYTES, WARP, WORKER, Stamp
from grader.simt.engine.values import I1, I32, I64, PTR, Value, vec
from grader.simt.observers.base import Completion

IN_FLIGHT: Mapping[str, int] = {
    "global": Stamp.MAX_CLOCK << Stamp.CLOCK,
    "shared": Stamp.MAX_CLOCK << Stamp.CLOCK | 1 << Stamp.SEVERAL,
}
"""Bits in the stamps of an asynchronous copy until its wait. No warp's clock is so high, so that no access is ordered
after the copy; and "several" makes an access to the target by its own thread a conflict. For a source this bit is not
free, because it means several readers (see `is_in_flight`).
"""


def is_in_flight(stamps: Value) -> Value:
    """Whether stamps are those of copies in flight."""
    return (stamps & IN_FLIGHT["global"]).eq(IN_FLIGHT["global"])


def stamps_at(f: Builder, warp: Value, worker: Value, clock: Value, line: Value) -> Value:
    """Stamps of the warp's 32 lanes at one of its clocks."""
    serial = WORKER.load(f, worker, "serial") << Stamp.SERIAL
    first = WARP.load(f, warp, "index").zext(I64) << (Stamp.THREAD + 5)
    common = serial | first | (clock.zext(I64) << Stamp.CLOCK) | (line.zext(I64) << Stamp.LINE)
    return f.splat(common) | f.iota(I64, 1 << Stamp.THREAD)


def landed(copy: Completion) -> None:
    """Stamp the target as written, and the source as read, now, by the thread that started the copy."""
    f = copy.f
    now = stamps_at(f, copy.warp, copy.worker, copy.clock, COPY.load(f, copy.slot, "line"))
    for side, space, which in (("target", "shared", "writes"), ("source", "global", "reads")):
        with f.loop(copy.size.zext(I64).udiv(copy.granule[space])) as k:
            shadow = f.address(WORKER.load(f, copy.worker, f"{space}_{which}"))
            places = f.pointer((COPY.row(f, copy.slot, f"{side}_cell") + k << 3) + shadow)
            if side == "target":
                f.scatter(now, places, copy.lanes.as_lanes(), 8)
            else:
                _end_reads(copy, places, now, k)


def _end_reads(copy: Completion, places: Value, now: Value, k: Value) -> None:
    """Stamp the cells that still have this copy as their reader, and keep their flag of several readers."""
    f = copy.f
    start = (k * copy.granule["global"]).trunc(I32)
    lanes = copy.lanes & COPY.row(f, copy.slot, "bytes").ugt(start).as_mask()
    old = f.gather(vec(I64), places, lanes.as_lanes(), f.const(vec(I64), 0), 8)
    flag = old & (1 << Stamp.SEVERAL)
    own = (old ^ flag).eq(now | IN_FLIGHT["global"]).as_mask() & lanes
    f.scatter(now | flag, places, own.as_lanes(), 8)


def as_started(module: ir.IRModule, granule: int) -> ir.IRFunction:
    """as_started(warp, worker, cells, stamps, lanes) -> the stamps, with the start's clock if the start is not ordered.

    If even the start of a copy is not ordered before this access, then a barrier is missing and not a wait: the stamp
    gets the start's clock, and is that of an ordinary write.
    """
    return generated_once(
        module, "as_started", vec(I64), [PTR, PTR, vec(I64), vec(I64), I32], lambda f: _build_as_started(f, granule),
        "noinline cold",
    )  # fmt: skip


def _build_as_started(f: Builder, granule: int) -> None:
    warp, worker, cells, stamps, lanes = f.args
    places, table = f.array(I64, 32), f.array(I64, 32)
    f.store(cells, places, align=64)
    f.store(stamps, table, align=64)
    known = f.at(WORKER.load(f, worker, "known"), WARP.load(f, warp, "index").zext(I64) * 128)
    in_flight = (stamps & IN_FLIGHT["shared"]).eq(IN_FLIGHT["shared"]).as_mask()
    with f.each_lane(lanes & in_flight) as lane:
        at = lane.zext(I64) * 8
        stamp = f.load(I64, f.at(table, at))
        clock = _started(f, worker, stamp, f.load(I64, f.at(places, at)), granule)
        of_warp = (stamp >> (Stamp.THREAD + 5)) & 31
        own = ((stamp >> Stamp.THREAD) & 1023).eq(WARP.load(f, warp, "index").zext(I64) * 32 + lane.zext(I64))
        unordered = clock.uge(f.load(I32, f.at(known, of_warp * 4))) & ~own
        earlier = (stamp & ~IN_FLIGHT["shared"]) | (clock.zext(I64) << Stamp.CLOCK)
        f.store(unordered.select(earlier, stamp), f.at(table, at))
    f.ret(f.load(vec(I64), table, align=64))


def _started(f: Builder, worker: Value, stamp: Value, cell: Value, granule: int) -> Value:
    """The clock at the start of the copy that stamped a cell; 0 if the copy is not found."""
    warp = (stamp >> (Stamp.THREAD + 5)) & 31
    lane = (stamp >> Stamp.THREAD) & 31
    queue = f.at(WORKER.load(f, worker, "copies"), warp * COPY_QUEUE_BYTES)
    rest, clock = f.var(COPY_QUEUE.load(f, queue, "used")), f.var(f.const(I32, 0))
    with f.while_(lambda: rest.get().ne(0)):
        index = f.intrinsic("llvm.cttz.i64", I64, rest.get(), f.const(I1, 0))
        rest.set(rest.get() & (rest.get() - 1))
        slot = f.at(queue, index * COPY.size + COPY_QUEUE.size)
        here = (COPY.load(f, slot, "lanes").zext(I64) >> lane) & 1
        reaches = (cell - COPY.load(f, slot, "target_cell", lane)).ult(
            COPY.load(f, slot, "size").udiv(granule).zext(I64)
        )
        with f.if_(here.ne(0) & reaches):
            clock.set(f.overloaded("llvm.umax", clock.get(), COPY.load(f, slot, "clock")))
    return clock.get()
