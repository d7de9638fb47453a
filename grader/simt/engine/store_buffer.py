"""A store buffer per warp in adversarial runs: for volatile and relaxed stores that other threads do not see yet.

    store ─▶ buffer, in order ─▶ memory     at a fence, a barrier, a `.sync` operation, a lane's end, while it waits

On a GPU other threads may see such stores late, and in another order, until a fence of the storing thread. A thread
sees its own stores at once. In the order that lets others run after stores, later stores overtake the oldest one.

A fence of the block orders stores for its own threads alone. So they stay in the buffer, until another thread of the
block reads memory, or executes a fence of the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import HELD, HELD_SLOTS, STORE_BUFFER, STORE_BUFFER_BYTES, SWITCH_AFTER, WARP, WORKER
from grader.simt.engine.values import I1, I32, I64, PTR, VOID, Value, vec

ROW = vec(I64)


@generated("hold", VOID, PTR, PTR, ROW, ROW, I32, I32, I32)
def hold(module: ir.IRModule, f: Builder) -> None:
    """hold(worker, warp, host addresses, values, lanes, bytes, element): buffer a store of the ``element``-th values of
    an instruction; a full buffer is drained first.
    """
    worker, warp, places, values, lanes, size, element = f.args
    buffer = _buffer(f, worker, warp)
    with f.if_(overtaking(f, worker)):
        f.call(drain_overlap(module), worker, warp, places, lanes, size, f.const(I32, 0))
    with f.if_(STORE_BUFFER.load(f, buffer, "count").eq(HELD_SLOTS)):
        f.call(drain(module), worker, warp, f.const(I32, 0))
    count = STORE_BUFFER.load(f, buffer, "count")
    slot = f.at(buffer, count.zext(I64) * HELD.size + STORE_BUFFER.size)
    HELD.store_row(f, slot, "place", places)
    HELD.store_row(f, slot, "value", values)
    HELD.store(f, slot, "lanes", lanes)
    HELD.store(f, slot, "bytes", size)
    STORE_BUFFER.store(f, buffer, "count", count + 1)
    with f.if_(count.eq(element)):
        STORE_BUFFER.store(f, buffer, "oldest", count + 1)


def overtaking(f: Builder, worker: Value) -> Value:
    """Whether later stores overtake the oldest one in this run."""
    return WORKER.load(f, worker, "switch_after").eq(SWITCH_AFTER["store"])


@generated("overtake", I1, PTR, PTR, I32)
def overtake(module: ir.IRModule, f: Builder) -> None:
    """overtake(worker, warp, least) -> whether an access just overtook a store, in a run where this may happen, or just
    came to memory, in a run where each store does.

    It writes the buffered stores of all instructions but the oldest; ``least`` is 1 after a store, which is one of
    these, and 0 after an atomic, which is in memory already.
    """
    worker, warp, least = f.args
    buffer = _buffer(f, worker, warp)
    count, oldest = (STORE_BUFFER.load(f, buffer, name) for name in ("count", "oldest"))
    each = WORKER.load(f, worker, "switch_after").eq(SWITCH_AFTER["each store"])
    here = count.ne(0) & (each | (overtaking(f, worker) & (count - oldest).uge(least)))
    with f.if_(here):
        f.call(drain(module), worker, warp, each.select(f.const(I32, 0), oldest))
    f.ret(here)


@generated("drain", VOID, PTR, PTR, I32)
def drain(module: ir.IRModule, f: Builder) -> None:
    """drain(worker, warp, kept): write the buffered stores of the warp to memory, except for the first ``kept``."""
    worker, warp, kept = f.args
    changed = f.var(f.const(I32, 0))
    with _slots(f, worker, warp, kept) as slot:
        size = HELD.load(f, slot, "bytes")
        with f.each_lane(HELD.load(f, slot, "lanes")) as lane:
            place = f.pointer(HELD.load(f, slot, "place", lane))
            value = HELD.load(f, slot, "value", lane)
            for width in (1, 2, 4, 8):
                with f.if_(size.eq(width)):
                    kind = ir.IntType(8 * width)
                    new = value.resize(kind)
                    changed.set(changed.get() | f.load(kind, place).ne(new).zext(I32))
                    f.store(new, place)
    for name in ("count", "oldest"):
        STORE_BUFFER.store(f, _buffer(f, worker, warp), name, kept)
    with f.if_(changed.get().ne(0)):
        for name in ("changes", "global_changes"):
            f.add_to(WORKER.at(f, worker, name), 0, 1)


@generated("drain_block", VOID, PTR, PTR)
def drain_block(module: ir.IRModule, f: Builder) -> None:
    """drain_block(worker, warp), of a fence of the device: what the warp, or by a fence of the block another one, has
    buffered.
    """
    worker, warp = f.args
    f.call(drain(module), worker, warp, f.const(I32, 0))
    with f.if_(WORKER.load(f, worker, "block_fenced").ne(0), likely=False), _each_warp(f, worker) as (_, other):
        f.call(drain(module), worker, other, f.const(I32, 0))


@generated("show_block", VOID, PTR, PTR, I32)
def show_block(module: ir.IRModule, f: Builder) -> None:
    """show_block(worker, warp, lanes): these lanes read memory; after a fence of the block, drain what its other
    threads have buffered.
    """
    worker, warp, lanes = f.args
    with f.if_(WORKER.load(f, worker, "block_fenced").ne(0), likely=False), _each_warp(f, worker) as (i, other):
        of_others = f.var(i.ne(WARP.load(f, warp, "index")).zext(I32))
        with _slots(f, worker, other) as slot:
            of_others.set(of_others.get() | (lanes & ~HELD.load(f, slot, "lanes")))
        with f.if_(of_others.get().ne(0)):
            f.call(drain(module), worker, other, f.const(I32, 0))


@contextmanager
def _each_warp(f: Builder, worker: Value) -> Iterator[tuple[Value, Value]]:
    """For each warp of the block: its index, and its state."""
    with f.loop(WORKER.load(f, worker, "warp_count")) as i:
        yield i, f.at(WORKER.load(f, worker, "warps"), i.zext(I64) * WORKER.load(f, worker, "warp_bytes"))


@generated("drain_overlap", VOID, PTR, PTR, ROW, I32, I32, I32)
def drain_overlap(module: ir.IRModule, f: Builder) -> None:
    """drain_overlap(worker, warp, host addresses, lanes, bytes, whole): before an access, drain the buffer if it has an
    overlapping store of the same lane; with ``whole`` not for a store of exactly these bytes, which `forward` handles.
    """
    worker, warp, places, lanes, size, whole = f.args
    meets = f.var(f.const(I32, 0))
    with _slots(f, worker, warp) as slot:
        held, held_size = HELD.row(f, slot, "place"), HELD.load(f, slot, "bytes")
        before = (held + f.splat(held_size.zext(I64))).ule(places)
        behind = (places + f.splat(size.zext(I64))).ule(held)
        overlap = ~before.as_mask() & ~behind.as_mask() & lanes & HELD.load(f, slot, "lanes")
        same = held.eq(places).as_mask() & held_size.eq(size).select(f.const(I32, -1), 0)
        known = whole.ne(0).select(same, 0)
        meets.set(meets.get() | (overlap & ~known))
    with f.if_(meets.get().ne(0)):
        f.call(drain(module), worker, warp, f.const(I32, 0))


@generated("forward", ROW, PTR, PTR, ROW, ROW, I32, I32)
def forward(_: ir.IRModule, f: Builder) -> None:
    """forward(worker, warp, host addresses, loaded, lanes, bytes) -> the loaded values, or each lane's own stores."""
    worker, warp, places, loaded, lanes, size = f.args
    result = f.var(loaded)
    with _slots(f, worker, warp) as slot:
        mine = HELD.row(f, slot, "place").eq(places).as_mask() & lanes & HELD.load(f, slot, "lanes")
        mine = HELD.load(f, slot, "bytes").eq(size).select(mine, 0)
        result.set(mine.as_lanes().select(HELD.row(f, slot, "value"), result.get()))
    f.ret(result.get())


def _buffer(f: Builder, worker: Value, warp: Value) -> Value:
    return f.at(WORKER.load(f, worker, "stores"), WARP.load(f, warp, "index").zext(I64) * STORE_BUFFER_BYTES)


@contextmanager
def _slots(f: Builder, worker: Value, warp: Value, kept: Value | int = 0) -> Iterator[Value]:
    """For each buffered store after the first ``kept``, oldest first."""
    buffer = _buffer(f, worker, warp)
    with f.loop(STORE_BUFFER.load(f, buffer, "count") - kept) as i:
        yield f.at(buffer, (i + kept).zext(I64) * HELD.size + STORE_BUFFER.size)
