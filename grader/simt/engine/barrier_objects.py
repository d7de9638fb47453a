"""Barrier objects in shared memory (`mbarrier`): what is ordered by arriving at one and waiting for its phase.

An object is 64 bits that only its instructions touch, one lane after the other, as atomics do:

    phase 24 │ arrivals expected 20 │ arrivals pending 20

Beside it stand two rows of clocks (see `grader.simt.engine.clocks`). Who arrives adds what it did and knows to the
first; when the last arrival ends the phase, the second takes that over; who then finds the phase ended learns it. A
copy that an object tracks takes effect when the first thread finds its phase ended: a phase ends when its copies are
done, and who only knows that all have arrived does not know that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.simt.engine import findings, ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.clocks import make_room
from grader.simt.engine.copies import NO_BARRIER, CopyCode
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
    """Builds and remembers the functions of barrier objects of one kernel. ``tracks``: some copies are tracked."""

    def __init__(self, module: ir.Module, schedule: Schedule, copies: CopyCode, *, tracks: bool) -> None:
        self.module, self.schedule, self.copies, self.tracks = module, schedule, copies, tracks

    def release(self) -> ir.Function:
        """release(warp, worker, addresses, lanes): before these lanes arrive at their objects."""
        return self._outlined("object_release", self._build_release)

    def arrived(self) -> ir.Function:
        """arrived(warp, worker, addresses, lanes): these lanes' arrivals have ended a phase of their objects."""
        return self._outlined("object_arrived", self._build_arrived)

    def acquire(self) -> ir.Function:
        """acquire(warp, worker, addresses, lanes): these lanes have found the phase ended that they waited for."""
        return self._outlined("object_acquire", self._build_acquire)

    def forget(self) -> ir.Function:
        """forget(warp, worker, addresses, lanes): these lanes make new objects."""
        return self._outlined("object_forget", self._build_forget)

    def track(self) -> ir.Function:
        """track(warp, worker, addresses, lanes): the objects track all copies that these lanes have under way."""
        return self._outlined("object_track", self._build_track)

    def stuck(self) -> ir.Function:
        """stuck(worker) -> how many warps waited for an object when they last had a turn; each is reported."""
        existing = self.module.globals.get("object_stuck")
        if existing is not None:
            return existing
        f = Builder(self.module, "object_stuck", I32, [PTR])
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
                f.call(self.schedule.report, worker, f.const(I32, findings.OBJECT_DEADLOCK), site - 1,
                       index * 32 + f.first_lane(lanes), lanes, address, state)  # fmt: skip
        f.ret(found.get())
        for attribute in ("noinline", "cold"):
            f.fn.attributes.add(attribute)
        return f.finish()

    def _outlined(self, name: str, build: Callable[[Builder], None]) -> ir.Function:
        existing = self.module.globals.get(name)
        if existing is not None:
            return existing
        f = Builder(self.module, name, VOID, [PTR, PTR, vec(I64), I32])
        build(f)
        f.ret()
        f.fn.attributes.add("noinline")
        return f.finish()

    @contextmanager
    def _each_object(self, f: Builder) -> Iterator[tuple[Value, Value, Value]]:
        """For each object that lanes name: its address, those lanes, its rows. Strays were reported before."""
        _, worker, addresses, mask = f.args
        inside = addresses.ult(f.splat(WORKER.load(f, worker, "shared_bytes"))).as_mask()
        rest = f.var(mask & inside)
        with f.while_(lambda: rest.get().ne(0)):
            address = addresses.lane(f.first_lane(rest.get()))
            lanes = addresses.eq(f.splat(address)).as_mask() & rest.get()
            rest.set(rest.get() & ~lanes)
            yield address, lanes, f.at(WORKER.load(f, worker, "objects"), (address >> 3) * ROWS)

    @staticmethod
    def _known(f: Builder, worker: Value, warp: Value) -> Value:
        """What the warp knows of all warps' clocks."""
        return f.at(WORKER.load(f, worker, "known"), WARP.load(f, warp, "index").zext(I64) * ROW)

    @staticmethod
    def _join(f: Builder, into: Value, other: Value) -> None:
        merged = f.overloaded("llvm.umax", f.load(vec(I32), into, align=64), f.load(vec(I32), other, align=64))
        f.store(merged, into, align=64)

    def _build_release(self, f: Builder) -> None:
        warp, worker, _, _ = f.args
        f.call(make_room(self.module), worker, warp)
        clock = WARP.load(f, warp, "clock") + 1
        WARP.store(f, warp, "clock", clock)
        with self._each_object(f) as (_, _, rows):
            self._join(f, rows, self._known(f, worker, warp))
            f.store(clock, f.at(rows, WARP.load(f, warp, "index").zext(I64) * 4))

    def _build_arrived(self, f: Builder) -> None:
        _, worker, _, _ = f.args
        with self._each_object(f) as (address, _, rows):
            ended = f.at(rows, ROW)
            self._join(f, ended, rows)
            if self.tracks:
                with self.schedule.each_warp(f, worker) as warp:
                    self._mark_copies(f, worker, warp, address)

    def _build_acquire(self, f: Builder) -> None:
        warp, worker, _, _ = f.args
        with self._each_object(f) as (address, _, rows):
            ended = f.at(rows, ROW)
            self._join(f, self._known(f, worker, warp), ended)
            with self.schedule.each_warp(f, worker) as other:  # what blocks released: some warp may hand on too much
                told = f.overloaded("llvm.umax", WARP.load(f, warp, "acquired"), WARP.load(f, other, "acquired"))
                WARP.store(f, warp, "acquired", told)
            if self.tracks:
                with self.schedule.each_warp(f, worker) as other:
                    self._end_copies(f, worker, other, address, ended)

    def _build_forget(self, f: Builder) -> None:
        with self._each_object(f) as (_, _, rows):
            f.memset(rows, 0, f.const(I64, ROWS))

    def _build_track(self, f: Builder) -> None:
        warp, worker, addresses, mask = f.args
        queue = CopyCode.queue(f, worker, warp)
        with CopyCode.each_slot(f, queue) as index:
            slot = CopyCode.slot(f, queue, index)
            free = COPY.row(f, slot, "barriers").eq(NO_BARRIER).as_mask() & COPY.load(f, slot, "lanes") & mask
            COPY.store_row(f, slot, "barriers", addresses.trunc(I32), free)

    @staticmethod
    def _mark_copies(f: Builder, worker: Value, warp: Value, address: Value) -> None:
        """The phase has ended that the warp's copies belong to which the object tracks."""
        queue = CopyCode.queue(f, worker, warp)
        with CopyCode.each_slot(f, queue) as index:
            slot = CopyCode.slot(f, queue, index)
            tracked_by = COPY.row(f, slot, "barriers")
            of_object = tracked_by.eq(f.splat(address.trunc(I32))).as_mask()
            COPY.store_row(f, slot, "barriers", tracked_by | ENDED, of_object)

    def _end_copies(self, f: Builder, worker: Value, warp: Value, address: Value, ended: Value) -> None:
        """The warp's copies of phases that have ended take effect, and of the same lanes the older tracked ones."""
        queue = CopyCode.queue(f, worker, warp)
        last = f.var(f.const(vec(I32), 0))  # by lane: number of the newest copy that the object tracked, plus 1
        with CopyCode.each_slot(f, queue) as index:
            slot = CopyCode.slot(f, queue, index)
            number = f.splat(COPY.load(f, slot, "number") + 1)
            newest = f.overloaded("llvm.umax", last.get(), number)
            last.set(_of_phase(f, slot, address).as_lanes().select(newest, last.get()))
        # They came before the arrival that the waiting threads learn of. Who waits for the object that tracks the older
        # ones may know less: only that they were started.
        clock = f.load(I32, f.at(ended, WARP.load(f, warp, "index").zext(I64) * 4)) - 1
        with CopyCode.each_slot(f, queue) as index:
            slot = CopyCode.slot(f, queue, index)
            own = _of_phase(f, slot, address)
            older = f.splat(COPY.load(f, slot, "number")).ult(last.get())
            tracked = COPY.row(f, slot, "barriers").ne(NO_BARRIER)
            others = (older & tracked).as_mask() & COPY.load(f, slot, "lanes") & ~own
            started = f.overloaded("llvm.umin", COPY.load(f, slot, "clock"), clock)
            for due, when in ((own, clock), (others, started)):
                with f.if_(due.ne(0)):
                    f.call(self.copies.complete(), warp, worker, queue, index, due, when)


def _of_phase(f: Builder, slot: Value, address: Value) -> Value:
    """The lanes of a slot whose copies an ended phase of the object tracked."""
    ended = f.splat(address.trunc(I32) | ENDED)
    return COPY.row(f, slot, "barriers").eq(ended).as_mask() & COPY.load(f, slot, "lanes")
