"""The order between blocks: releases and acquires, by fences with atomic and volatile accesses.

A *release* is a fence and then an atomic, or a volatile store, of the same warp. It covers the accesses before the
fence, and those that the warp knows from other warps' fences. A block records a release as a row of its warps' clocks,
with a time: all atomics and volatile stores of the launch are numbered. An *acquire* is an atomic, or a volatile load
and then a fence: the warp gets its time, and so acquires all earlier releases, of any block.

An access of another block is ordered before the present one if the first release that covers it is not later than the
warp's acquired time; barriers pass this time on. A block keeps its last few releases, and the time of its first one for
all those that are not kept: so a race may be missed, but no false race is reported.
"""

from __future__ import annotations

from grader.simt.engine import ir
from grader.simt.engine.barriers import make_room
from grader.simt.engine.builder import Builder, generated, generated_once
from grader.simt.engine.layout import FENCES_BYTES, KEPT_RELEASES, RELEASES, ROW, WARP, WORKER, Stamp
from grader.simt.engine.values import I32, I64, PTR, VOID, Value, vec


@generated("fence", VOID, PTR, PTR)
def fence(module: ir.IRModule, f: Builder) -> None:
    """fence(worker, warp), of the device: the warp's accesses can be released now; what it observed is acquired."""
    worker, warp = f.args
    f.call(make_room(f.module), worker, warp)
    clock = WARP.load(f, warp, "clock") + 1
    WARP.store(f, warp, "clock", clock)
    fences, index = WORKER.load(f, worker, "fences"), WARP.load(f, warp, "index").zext(I64)
    with f.if_(WORKER.load(f, worker, "fenced").eq(0)):
        WORKER.store(f, worker, "fenced", 1)
        f.memset(fences, 0, f.const(I64, FENCES_BYTES))
    own = f.at(fences, index * ROW)
    f.store(_row(f, f.at(WORKER.load(f, worker, "known"), index * ROW)), own, align=64)
    f.store(clock, f.at(own, index * 4))
    together = f.at(fences, 32 * ROW)
    f.store(f.overloaded("llvm.umax", _row(f, together), _row(f, own)), together, align=64)
    acquire(f, warp)


def acquire(f: Builder, warp: Value) -> None:
    """The warp acquires what it has observed."""
    WARP.store(f, warp, "acquired", f.overloaded("llvm.umax", WARP.load(f, warp, "acquired"),
                                                 WARP.load(f, warp, "observed")))  # fmt: skip


def publish(module: ir.IRModule, kind: str) -> ir.IRFunction:
    """publish_KIND(worker, warp): an atomic, which also acquires, or a volatile store."""

    def build(f: Builder) -> None:
        worker, warp = f.args
        now = WORKER.load(f, worker, "sequence") + 1
        WORKER.store(f, worker, "sequence", now)
        if kind == "atomic":
            WARP.store(f, warp, "acquired", now)
        with f.if_(WORKER.load(f, worker, "fenced").ne(0)):
            _release(f, worker, warp, now)

    return generated_once(module, f"publish_{kind}", VOID, [PTR, PTR], build)


def _release(f: Builder, worker: Value, warp: Value, now: Value) -> None:
    index = WARP.load(f, warp, "index").zext(I64)
    fences = WORKER.load(f, worker, "fences")
    known = _row(f, f.at(WORKER.load(f, worker, "known"), index * ROW))
    of_others = f.overloaded("llvm.umin", known, _row(f, f.at(fences, 32 * ROW)))
    covered = f.overloaded("llvm.umax", of_others, _row(f, f.at(fences, index * ROW)))
    ring, order = _ring(f, worker, WORKER.load(f, worker, "serial"))
    with f.if_(RELEASES.load(f, ring, "owner").ne(order + 1)):
        f.memset(ring, 0, f.const(I64, RELEASES.size))
        RELEASES.store(f, ring, "owner", order + 1)
    count = RELEASES.load(f, ring, "count")
    last = _row(f, _release_row(f, ring, count - 1))  # zeros before the first release
    row = f.overloaded("llvm.umax", covered, last)
    with f.if_(row.ne(last).as_mask().ne(0)):
        f.store(row, _release_row(f, ring, count), align=64)
        RELEASES.store(f, ring, "times", now, count & (KEPT_RELEASES - 1))
        with f.if_(count.eq(0)):
            RELEASES.store(f, ring, "first", now)
        RELEASES.store(f, ring, "count", count + 1)


@generated("ordered", I32, PTR, PTR, I64)
def is_ordered(module: ir.IRModule, f: Builder) -> None:
    """ordered(worker, warp, stamp) -> whether an access of another block of the launch happened before now."""
    worker, warp, stamp = f.args
    acquired = WARP.load(f, warp, "acquired")
    ring, order = _ring(f, worker, stamp >> Stamp.SERIAL)
    owner = RELEASES.load(f, ring, "owner")
    with f.if_(acquired.eq(0) | owner.ule(order)):  # this warp has acquired nothing, or that block released nothing
        f.ret(f.const(I32, 0))
        f.enter(f.block("kept"))
    with f.if_(owner.ne(order + 1)):  # a later block uses the ring: the order is unknown
        f.ret(f.const(I32, 1))
        f.enter(f.block("own"))
    clock = ((stamp >> Stamp.CLOCK) & Stamp.MAX_CLOCK).trunc(I32)
    of_warp = (stamp >> (Stamp.THREAD + 5)) & 31
    count = RELEASES.load(f, ring, "count")
    most = f.const(I64, KEPT_RELEASES)
    first = f.var(f.const(I64, -1))
    with f.loop(count.ult(most).select(count, most)) as i:
        k = count - 1 - i
        covers = f.load(I32, f.at(_release_row(f, ring, k), of_warp * 4)).ugt(clock)
        time = RELEASES.load(f, ring, "times", k & (KEPT_RELEASES - 1))
        oldest = (i + 1).eq(most) & count.ugt(most)
        first.set(covers.select(oldest.select(RELEASES.load(f, ring, "first"), time), first.get()))
    f.ret(first.get().ule(acquired).zext(I32))


def _row(f: Builder, place: Value) -> Value:
    return f.load(vec(I32), place, align=64)


def _release_row(f: Builder, ring: Value, k: Value) -> Value:
    """The address of a block's ``k``-th release."""
    return f.at(RELEASES.at(f, ring, "rows"), (k & (KEPT_RELEASES - 1)) * ROW)


def _ring(f: Builder, worker: Value, serial: Value) -> tuple[Value, Value]:
    """A block's ring of releases, which it may share with other blocks, and its number in the launch."""
    order = serial - WORKER.load(f, worker, "serial_base")
    place = order.urem(WORKER.load(f, worker, "rings")) * RELEASES.size
    return f.at(WORKER.load(f, worker, "releases"), place), order
