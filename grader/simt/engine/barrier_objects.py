"""Barrier objects in shared memory (`mbarrier`), and the order between arrivals at an object and waits for its phase.

An object is 64 bits that only its instructions access, one lane after the other, like atomics:

    phase 24 │ arrivals expected 20 │ arrivals pending 20

Each object has two rows of clocks (see `grader.simt.engine.barriers`). An arriving thread joins its clocks into the
first row; when the last arrival ends the phase, the first row is joined into the second; a thread that finds the phase
ended gets the second row. A copy that an object tracks takes effect when the first thread finds its phase ended: a
phase ends only when its copies are complete, so the arrival of all threads is not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.simt.engine import findings, ir
from grader.simt.engine.barriers import join, make_room
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.copies import NO_BARRIER, CopyCode, each_slot, queue_of
from grader.simt.engine.layout import COPY, ROW, WARP, WORKER
from grader.simt.engine.values import I32, I64, PTR, VOID, Value, vec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grader.simt.engine.schedule import Schedule

COUNT_BITS = 20
COUNT = (1 << COUNT_BITS) - 1
PHASE_AT = 2 * COUNT_BITS
ROWS = 2 * ROW
"""Bytes of clocks for each 8 bytes of shared memory: a row of arrivals, and a row for threads that wait."""
ENDED = 1
"""Flag in a copy's slot, in the address of the object that tracks it: its phase has ended, but no thread knows yet."""
_LANES_OF_OBJECTS = (PTR, PTR, vec(I64), I32)
"""Arguments of most functions here: warp, worker, each lane's object, and the lanes."""


def first_state(count: Value) -> Value:
    """A new object for ``count`` arrivals in each phase."""
    expected = count & COUNT
    return (expected << COUNT_BITS) | expected


def phase_of(state: Value) -> Value:
    return state >> PHASE_AT


def arrival(*, drop: bool) -> Callable[[Builder, Value, Sequence[Value]], Value]:
    """The combination for the arrival of ``count`` threads; with ``drop`` they are not expected in later phases."""

    def combine(f: Builder, old: Value, given: Sequence[Value]) -> Value:
        count = given[0] & COUNT
        expected = (old >> COUNT_BITS) & COUNT
        if drop:
            expected = expected.ult(count).select(f.const(I64, 0), expected - count)
        pending, phase = old & COUNT, phase_of(old)
        ends = pending.ule(count)
        left = ends.select(expected, pending - count)
        return ((phase + ends.zext(I64)) << PHASE_AT) | (expected << COUNT_BITS) | left

    return combine


class BarrierObjectCode:
    """The functions of barrier objects of one kernel. ``tracks``: some copies are tracked."""

    def __init__(self, module: ir.IRModule, schedule: Schedule, copies: CopyCode, *, tracks: bool) -> None:
        self.module, self.schedule, self.copies, self.tracks = module, schedule, copies, tracks

    @generated("object_release", VOID, *_LANES_OF_OBJECTS)
    def release(self, f: Builder) -> None:
        """release(warp, worker, addresses, lanes): join these lanes' clocks into their objects, before they arrive."""
        warp, worker, _, _ = f.args
        f.call(make_room(self.module), worker, warp)
        clock = WARP.load(f, warp, "clock") + 1
        WARP.store(f, warp, "clock", clock)
        with _each_object(f) as (_, rows):
            join(f, rows, _known(f, worker, warp))
            f.store(clock, f.at(rows, WARP.load(f, warp, "index").zext(I64) * 4))

    @generated("object_arrived", VOID, *_LANES_OF_OBJECTS)
    def arrived(self, f: Builder) -> None:
        """arrived(warp, worker, addresses, lanes): these lanes' arrivals have ended a phase of their objects."""
        _, worker, _, _ = f.args
        with _each_object(f) as (address, rows):
            join(f, f.at(rows, ROW), rows)
            if self.tracks:  # the phase of the copies that the object tracks has ended
                with (
                    self.schedule.each_warp(f, worker) as warp,
                    each_slot(f, queue_of(f, worker, warp)) as (_, slot),
                ):
                    tracked_by = COPY.row(f, slot, "barriers")
                    of_object = tracked_by.eq(f.splat(address.trunc(I32))).as_mask()
                    COPY.store_row(f, slot, "barriers", tracked_by | ENDED, of_object)

    @generated("object_acquire", VOID, *_LANES_OF_OBJECTS)
    def acquire(self, f: Builder) -> None:
        """acquire(warp, worker, addresses, lanes): these lanes have found that the phase of their objects has ended."""
        warp, worker, _, _ = f.args
        with _each_object(f) as (address, rows):
            ended = f.at(rows, ROW)
            join(f, _known(f, worker, warp), ended)
            with self.schedule.each_warp(f, worker) as other:  # releases of blocks; a warp may pass on too many
                acquired = f.overloaded("llvm.umax", WARP.load(f, warp, "acquired"), WARP.load(f, other, "acquired"))
                WARP.store(f, warp, "acquired", acquired)
            if self.tracks:
                with self.schedule.each_warp(f, worker) as other:
                    self._end_copies(f, worker, other, address, ended)

    @generated("object_forget", VOID, *_LANES_OF_OBJECTS)
    def forget(self, f: Builder) -> None:
        """forget(warp, worker, addresses, lanes): clear the clocks of objects that these lanes initialise."""
        with _each_object(f) as (_, rows):
            f.memset(rows, 0, ROWS)

    @generated("object_track", VOID, *_LANES_OF_OBJECTS)
    def track(self, f: Builder) -> None:
        """track(warp, worker, addresses, lanes): let the objects track all copies in flight of these lanes."""
        warp, worker, addresses, mask = f.args
        with each_slot(f, queue_of(f, worker, warp)) as (_, slot):
            free = COPY.row(f, slot, "barriers").eq(NO_BARRIER).as_mask() & COPY.load(f, slot, "lanes") & mask
            COPY.store_row(f, slot, "barriers", addresses.trunc(I32), free)

    @generated("object_stuck", I32, PTR, attributes="noinline cold")
    def stuck(self, f: Builder) -> None:
        """stuck(worker) -> the number of warps that waited for an object in their last turn; reports each of them."""
        (worker,) = f.args
        found = f.var(f.const(I32, 0))
        with self.schedule.each_warp(f, worker) as warp:
            index = WARP.load(f, warp, "index")
            site = WORKER.load(f, worker, "waits_at", index)
            address = WORKER.load(f, worker, "waits_for", index).zext(I64) & ~7
            inside = address.ult(WORKER.load(f, worker, "shared_bytes"))
            with f.if_(site.ne(0) & WARP.load(f, warp, "alive").ne(0) & inside):
                found.set(found.get() + 1)
                state = f.load(I64, f.at(WORKER.load(f, worker, "shared"), address))
                lanes = WARP.load(f, warp, "alive")
                findings.report(f, warp, worker, findings.OBJECT_DEADLOCK, site - 1, lanes, address, state)
        f.ret(found.get())

    def _end_copies(self, f: Builder, worker: Value, warp: Value, address: Value, ended: Value) -> None:
        """Complete the warp's copies of ended phases, and older tracked copies of the same lanes."""

        def of_phase(slot: Value) -> Value:
            """The lanes of a slot whose copies were tracked by an ended phase of the object."""
            mark = f.splat(address.trunc(I32) | ENDED)
            return COPY.row(f, slot, "barriers").eq(mark).as_mask() & COPY.load(f, slot, "lanes")

        queue = queue_of(f, worker, warp)
        last = f.var(f.const(vec(I32), 0))  # by lane: number of the newest copy that the object tracked, plus 1
        with each_slot(f, queue) as (_, slot):
            number = f.splat(COPY.load(f, slot, "number") + 1)
            newest = f.overloaded("llvm.umax", last.get(), number)
            last.set(of_phase(slot).as_lanes().select(newest, last.get()))
        # They were started before the arrival that ended the phase, so the waiting threads are ordered after them. A
        # thread that waits for the object that tracks the older copies may only be ordered after their start.
        clock = f.load(I32, f.at(ended, WARP.load(f, warp, "index").zext(I64) * 4)) - 1
        with each_slot(f, queue) as (index, slot):
            own = of_phase(slot)
            older = f.splat(COPY.load(f, slot, "number")).ult(last.get())
            tracked = COPY.row(f, slot, "barriers").ne(NO_BARRIER)
            others = (older & tracked).as_mask() & COPY.load(f, slot, "lanes") & ~own
            started = f.overloaded("llvm.umin", COPY.load(f, slot, "clock"), clock)
            for due, when in ((own, clock), (others, started)):
                with f.if_(due.ne(0)):
                    f.call(self.copies.complete(), warp, worker, queue, index, due, when)


@contextmanager
def _each_object(f: Builder) -> Iterator[tuple[Value, Value]]:
    """For each object of the lanes: its address, and its rows of clocks. Stray addresses were reported before."""
    _, worker, addresses, mask = f.args
    inside = addresses.ult(f.splat(WORKER.load(f, worker, "shared_bytes"))).as_mask()
    rest = f.var(mask & inside)
    with f.while_(lambda: rest.get().ne(0)):
        address = addresses.lane(f.first_lane(rest.get()))
        lanes = addresses.eq(f.splat(address)).as_mask() & rest.get()
        rest.set(rest.get() & ~lanes)
        yield address, f.at(WORKER.load(f, worker, "objects"), (address >> 3) * ROWS)


def _known(f: Builder, worker: Value, warp: Value) -> Value:
    """The row of all warps' clocks that the warp knows."""
    return f.at(WORKER.load(f, worker, "known"), WARP.load(f, warp, "index").zext(I64) * ROW)
