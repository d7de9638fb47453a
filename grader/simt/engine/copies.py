"""Asynchronous copies from global to shared memory: a queue for each warp, and the functions that fill and empty it.

    issue ──▶ both addresses are checked, the lanes go into a free slot of the queue ──▶ wait ──▶ their bytes move

A copy moves its bytes as late as allowed: when its lane waits for its group. So with a missing or weak wait the old
bytes are always in shared memory, and the shadow memory names the copy that a reader did not wait for. Groups are
counted per lane, because diverged lanes commit their groups separately. If the queue is full, its oldest copy takes
effect early, as a GPU might do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.simt.engine import changes, ir
from grader.simt.engine.builder import Builder, generated, generated_once
from grader.simt.engine.layout import COPY, COPY_QUEUE, COPY_QUEUE_BYTES, COPY_SLOTS, WARP, WORKER
from grader.simt.engine.values import I8, I32, I64, PTR, VOID, Value, vec
from grader.simt.observers.base import Completion, ObserverSet

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter
    from grader.simt.engine.memory import MemoryCode

SIZES = (4, 8, 16)
NO_BARRIER = -1
"""In a slot: this lane's copy is not tracked by a barrier object."""


def queue_of(f: Builder, worker: Value, warp: Value) -> Value:
    """The warp's queue."""
    return f.at(WORKER.load(f, worker, "copies"), WARP.load(f, warp, "index").zext(I64) * COPY_QUEUE_BYTES)


def slot_at(f: Builder, queue: Value, index: Value) -> Value:
    return f.at(queue, index * COPY.size + COPY_QUEUE.size)


@contextmanager
def each_slot(f: Builder, queue: Value) -> Iterator[tuple[Value, Value]]:
    """For each used slot of a queue: its index, and the slot."""
    with f.each_lane(COPY_QUEUE.load(f, queue, "used")) as index:
        yield index, slot_at(f, queue, index)


class CopyCode:
    """Builds the functions of asynchronous copies of one kernel."""

    def __init__(self, module: ir.IRModule, memory: MemoryCode, observers: ObserverSet) -> None:
        self.module, self.memory, self.observers = module, memory, observers

    # -- what forms call --------------------------------------------------------------------------------------------
    def issue(
        self, e: BlockEmitter, target: Value, source: Value, size: int, given: Value | None, *, bypass: bool
    ) -> None:
        """Start copying ``size`` bytes per lane. The first ``given`` (i32) come from the source; the rest are 0.

        ``bypass``: the copy bypasses L1.
        """
        f = e.f
        sites = self.memory.sites
        from_site = sites.request(e.op, "global", "load", size)
        to_site = sites.request(e.op, "shared", "copy", size)
        line = sites.line_index(to_site)
        taken = f.const(vec(I32), size) if given is None else given
        fn = self._issue(size, partial=given is not None, bypass=bypass)
        with f.if_(e.mask.ne(0)):
            f.call(fn, e.warp, e.worker, target, source, taken, e.mask, f.const(I32, from_site),
                   f.const(I32, to_site), f.const(I32, line))  # fmt: skip

    def commit(self, e: BlockEmitter) -> None:
        """Commit the copies of the executing lanes since their last group as a group."""
        f = e.f
        queue = queue_of(f, e.worker, e.warp)
        groups = COPY_QUEUE.row(f, queue, "groups")
        COPY_QUEUE.store_row(f, queue, "groups", groups + e.mask.as_lanes().zext(I32))

    def wait(self, e: BlockEmitter, newest: int) -> None:
        """Let the executing lanes wait until at most their ``newest`` last groups are in flight."""
        e.f.call(self._wait(), e.warp, e.worker, e.mask, e.f.const(I32, newest))

    # -- functions --------------------------------------------------------------------------------------------------
    def _issue(self, size: int, *, partial: bool, bypass: bool) -> ir.IRFunction:
        """issue(warp, worker, targets, sources, bytes, lanes, source's site, target's site, line)"""
        source = self.memory.copy_side("global", size, partial=partial, bypass=bypass)
        target = self.memory.copy_side("shared", size, partial=partial, bypass=False)

        def build(f: Builder) -> None:
            warp, worker, targets, sources, taken, mask, from_site, to_site, line = f.args
            queue = queue_of(f, worker, warp)
            with f.if_(COPY_QUEUE.load(f, queue, "used").eq(-1), likely=False):
                f.call(self._make_room(), warp, worker, queue)
            used = COPY_QUEUE.load(f, queue, "used")
            index = f.first_lane(~used)
            slot = slot_at(f, queue, index)
            COPY.store_row(f, slot, "bytes", taken)
            COPY.store_row(f, slot, "target", targets)  # shared addresses, for observers; later host addresses
            COPY.store(f, slot, "lanes", 0)
            wanted = taken.ne(0).as_mask() & mask if partial else mask
            f.call(source, warp, worker, sources, wanted, from_site, line, slot)
            found = COPY.load(f, slot, "lanes") | (mask & ~wanted)
            COPY.store(f, slot, "lanes", 0)
            f.call(target, warp, worker, targets, found, to_site, line, slot)
            with f.if_(COPY.load(f, slot, "lanes").ne(0)):
                number = COPY_QUEUE.load(f, queue, "issued")
                COPY_QUEUE.store(f, queue, "issued", number + 1)
                COPY.store_row(f, slot, "groups", COPY_QUEUE.row(f, queue, "groups"))
                COPY.store_row(f, slot, "barriers", f.const(vec(I32), NO_BARRIER))
                clock = WARP.load(f, warp, "clock")
                how = changes.how_changed(f, worker, from_site) | changes.how_changed(f, worker, to_site)
                kept = how.eq(0).select(f.const(I32, -1), 0)
                fields = (
                    ("line", line), ("size", f.const(I32, size)), ("number", number), ("clock", clock), ("kept", kept),
                )  # fmt: skip
                for field, value in fields:
                    COPY.store(f, slot, field, value)
                COPY_QUEUE.store(f, queue, "used", used | (f.const(I64, 1) << index))

        name = f"copy_{size}{'_partial' * partial}{'_bypass' * bypass}"
        arguments = (PTR, PTR, vec(I64), vec(I64), vec(I32), I32, I32, I32, I32)
        return generated_once(self.module, name, VOID, arguments, build)

    @generated("copy_wait", VOID, PTR, PTR, I32, I32)
    def _wait(self, f: Builder) -> None:
        """wait(warp, worker, lanes, newest)"""
        warp, worker, mask, newest = f.args
        queue = queue_of(f, worker, warp)
        limit = COPY_QUEUE.row(f, queue, "groups") - newest
        with each_slot(f, queue) as (index, slot):
            due = COPY.row(f, slot, "groups").slt(limit).as_mask() & COPY.load(f, slot, "lanes") & mask
            with f.if_(due.ne(0)):
                f.call(self.complete(), warp, worker, queue, index, due, WARP.load(f, warp, "clock"))

    @generated("copy_make_room", VOID, PTR, PTR, PTR, attributes="noinline cold")
    def _make_room(self, f: Builder) -> None:
        """make_room(warp, worker, queue): complete the oldest copy of a full queue."""
        warp, worker, queue = f.args
        issued = COPY_QUEUE.load(f, queue, "issued")
        oldest, age = f.var(f.const(I64, 0)), f.var(f.const(I32, 0))
        with f.loop(f.const(I64, COPY_SLOTS)) as index:
            own = issued - COPY.load(f, slot_at(f, queue, index), "number")
            with f.if_(own.ugt(age.get())):
                oldest.set(index)
                age.set(own)
        lanes = COPY.load(f, slot_at(f, queue, oldest.get()), "lanes")
        f.call(self.complete(), warp, worker, queue, oldest.get(), lanes, WARP.load(f, warp, "clock"))

    @generated("copy_complete", VOID, PTR, PTR, PTR, I64, I32, I32)
    def complete(self, f: Builder) -> None:
        """complete(warp, worker, queue, slot's index, lanes, clock): copy these lanes' bytes: a write at ``clock``."""
        warp, worker, queue, index, lanes, clock = f.args
        slot = slot_at(f, queue, index)
        size = COPY.load(f, slot, "size")
        _move(f, slot, size, lanes)
        if self.memory.waits:
            f.add_to(WORKER.at(f, worker, "changes"), 0, 1)
        self.observers.copied(Completion(f, warp, worker, slot, size, lanes, clock, self.memory.sites.granule))
        left = COPY.load(f, slot, "lanes") & ~lanes
        COPY.store(f, slot, "lanes", left)
        with f.if_(left.eq(0)):
            used = COPY_QUEUE.load(f, queue, "used")
            COPY_QUEUE.store(f, queue, "used", used & ~(f.const(I64, 1) << index))


def _move(f: Builder, slot: Value, size: Value, lanes: Value) -> None:
    with f.each_lane(lanes) as lane:
        at = lane.zext(I64)
        taken = COPY.load(f, slot, "bytes", at) & COPY.load(f, slot, "kept")
        source, target = (f.pointer(COPY.load(f, slot, name, at)) for name in ("source", "target"))
        for width in SIZES:
            with f.if_(size.eq(width)):
                kind = ir.IntType(8 * width)
                with f.if_else(taken.eq(width)) as (whole, part):
                    with whole:
                        f.store(f.load(kind, source, align=4), target, align=4)
                    with part:
                        f.store(f.const(kind, 0), target, align=4)
                        with f.loop(taken) as byte:
                            place = byte.zext(I64)
                            f.store(f.load(I8, source, place), target, place)
