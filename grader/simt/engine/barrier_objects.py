"""Barrier objects in shared memory (`mbarrier`): what is ordered by arriving at one and waiting for its phase.

An object is 64 bits that only its instructions touch, one lane after the other, as atomics do:

    phase 24 │ arrivals expected 20 │ arrivals pending 20

Beside it stand two rows of clocks (see `grader.simt.engine.barriers`). Who arrives adds what it did and knows to the
first; when the last arrival ends the phase, the second takes that over; who then finds the phase ended learns it. A
copy that an object tracks takes effect when the first thread finds its phase ended: a phase ends when its copies are
done, and who only knows that all have arrived does not know that.
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
"""Bytes of clocks for each 8 bytes of shared memory: of those who arrived, of those who may go on."""
ENDED = 1
"""In a copy's slot, beside the address of the object that tracks it: the phase has ended, and nobody found that yet."""
_LANES_OF_OBJECTS = (PTR, PTR, vec(I64), I32)
"""Arguments of most functions here: warp, worker, each lane's object, and which lanes."""


def first_state(count: Value) -> Value:
    """A new object for ``count`` arrivals in each phase."""
    expected = count & COUNT
    return (expected << COUNT_BITS) | expected


def phase_of(state: Value) -> Value:
    return state >> PHASE_AT


def arrival(*, drop: bool) -> Callable[[Builder, Value, Sequence[Value]], Value]:
    """How an object changes when ``count`` threads arrive; ``drop``: and are expected in no later phase."""

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
        """release(warp, worker, addresses, lanes): before these lanes arrive at their objects."""
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
            if self.tracks:  # the phase has ended that the copies belong to which the object tracks
                with (
                    self.schedule.each_warp(f, worker) as warp,
                    each_slot(f, queue_of(f, worker, warp)) as (_, slot),
                ):
                    tracked_by = COPY.row(f, slot, "barriers")
                    of_object = tracked_by.eq(f.splat(address.trunc(I32))).as_mask()
                    COPY.store_row(f, slot, "barriers", tracked_by | ENDED, of_object)

    @generated("object_acquire", VOID, *_LANES_OF_OBJECTS)
    def acquire(self, f: Builder) -> None:
        """acquire(warp, worker, addresses, lanes): these lanes have found the phase ended that they waited for."""
        warp, worker, _, _ = f.args
        with _each_object(f) as (address, rows):
            ended = f.at(rows, ROW)
            join(f, _known(f, worker, warp), ended)
            with self.schedule.each_warp(f, worker) as other:  # what blocks released: some warp may hand on too much
                acquired = f.overloaded("llvm.umax", WARP.load(f, warp, "acquired"), WARP.load(f, other, "acquired"))
                WARP.store(f, warp, "acquired", acquired)
            if self.tracks:
                with self.schedule.each_warp(f, worker) as other:
                    self._end_copies(f, worker, other, address, ended)

    @generated("object_forget", VOID, *_LANES_OF_OBJECTS)
    def forget(self, f: Builder) -> None:
        """forget(warp, worker, addresses, lanes): these lanes make new objects."""
        with _each_object(f) as (_, rows):
            f.memset(rows, 0, ROWS)

    @generated("object_track", VOID, *_LANES_OF_OBJECTS)
    def track(self, f: Builder) -> None:
        """track(warp, worker, addresses, lanes): the objects track all copies that these lanes have in flight."""
        warp, worker, addresses, mask = f.args
        with each_slot(f, queue_of(f, worker, warp)) as (_, slot):
            free = COPY.row(f, slot, "barriers").eq(NO_BARRIER).as_mask() & COPY.load(f, slot, "lanes") & mask
            COPY.store_row(f, slot, "barriers", addresses.trunc(I32), free)

    @generated("object_stuck", I32, PTR, attributes="noinline cold")
    def stuck(self, f: Builder) -> None:
        """stuck(worker) -> how many warps waited for an object when they last had a turn; each is reported."""
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
        """The warp's copies of phases that have ended take effect, and of the same lanes the older tracked ones."""

        def of_phase(slot: Value) -> Value:
            """The lanes of a slot whose copies an ended phase of the object tracked."""
            mark = f.splat(address.trunc(I32) | ENDED)
            return COPY.row(f, slot, "barriers").eq(mark).as_mask() & COPY.load(f, slot, "lanes")

        queue = queue_of(f, worker, warp)
        last = f.var(f.const(vec(I32), 0))  # by lane: number of the newest copy that the object tracked, plus 1
        with each_slot(f, queue) as (_, slot):
            number = f.splat(COPY.load(f, slot, "number") + 1)
            newest = f.overloaded("llvm.umax", last.get(), number)
            last.set(of_phase(slot).as_lanes().select(newest, last.get()))
        # They came before the arrival that the waiting threads learn of. Who waits for the object that tracks the older
        # ones may know less: only that they were started.
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
    """For each object that lanes name: its address, and its rows of clocks. Strays were reported before."""
    _, worker, addresses, mask = f.args
    inside = addresses.ult(f.splat(WORKER.load(f, worker, "shared_bytes"))).as_mask()
    rest = f.var(mask & inside)
    with f.while_(lambda: rest.get().ne(0)):
        address = addresses.lane(f.first_lane(rest.get()))
        lanes = addresses.eq(f.splat(address)).as_mask() & rest.get()
        rest.set(rest.get() & ~lanes)
        yield address, f.at(WORKER.load(f, worker, "objects"), (address >> 3) * ROWS)


def _known(f: Builder, worker: Value, warp: Value) -> Value:
    """What the warp knows of all warps' clocks."""
    return f.at(WORKER.load(f, worker, "known"), WARP.load(f, warp, "index").zext(I64) * ROW)
