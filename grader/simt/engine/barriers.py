"""Barriers of a block, `bar` and `barrier`, and the clocks of warps that they join, as generated code.

An arrival is recorded in the warp with the basic block where its lanes continue. When every runnable warp of the block
has arrived or ended, the scheduler releases complete barriers: their lanes continue, and their clocks are joined.

When a clock reaches the end of its bits in a stamp, the warp's clocks are renumbered. Clocks are only compared with the
clocks of this warp that other warps know. So these known clocks become 1, 2, 3 … in their order, each stamp of the warp
becomes the number of known clocks that are not above it, and all comparisons have the same results as before. At most
1113 of 2^18 clocks are known, and two more for each barrier object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.simt.engine import findings, ir
from grader.simt.engine.builder import Builder, Cell, generated
from grader.simt.engine.layout import FENCES_BYTES, KEPT_RELEASES, RELEASES, ROW, WARP, WORKER, Stamp
from grader.simt.engine.values import I32, I64, PTR, VOID, Value, vec

if TYPE_CHECKING:
    from grader.simt.engine.schedule import Schedule

RANKS = Stamp.MAX_CLOCK + 1
_CLOCK_BITS = Stamp.MAX_CLOCK << Stamp.CLOCK
_OWNER = Stamp.THREAD + 5
"""The lowest bit of a stamp's block and warp."""
_WAITING = ("block", "mask", "barrier", "site", "alive")
"""Fields of WARP for lanes that wait."""


class Barriers:
    """Builds ``arrive`` and ``release`` for one kernel."""

    def __init__(self, schedule: Schedule) -> None:
        self.module, self._schedule = schedule.module, schedule

    @generated("arrive", VOID, PTR, PTR, I32, I32, I32, I32, I32, I32)
    def arrive(self, f: Builder) -> None:
        """arrive(worker, warp, mask, barrier, count, resume, site, waits): at a barrier; ``count`` 0: all threads."""
        worker, warp, mask, barrier, count, resume, site, waits = f.args
        lanes = f.popcount(mask)
        WORKER.store(f, worker, "arrived", WORKER.load(f, worker, "arrived", barrier) + lanes, barrier)
        WORKER.store(f, worker, "expected", count, barrier)
        bit = f.const(I32, 1) << barrier
        WORKER.store(f, worker, "barriers", WORKER.load(f, worker, "barriers") | bit)
        with f.if_(waits.ne(0)):
            n = WARP.load(f, warp, "waits")
            for name, value in zip(
                _WAITING, (resume, mask, barrier, site, WARP.load(f, warp, "alive")), strict=True
            ):  # fmt: skip
                WARP.store(f, warp, f"wait_{name}", value, n)
            WARP.store(f, warp, "waits", n + 1)
        with f.if_(waits.eq(0)):  # `bar.arrive`: waiting threads are ordered after this warp's accesses so far
            index = WARP.load(f, warp, "index").zext(I64)
            place = f.at(WORKER.load(f, worker, "arrivals"), barrier.zext(I64) * ROW)
            row = f.at(WORKER.load(f, worker, "known"), index * ROW)
            f.call(make_room(self.module), worker, warp)
            join(f, place, row)
            clock = WARP.load(f, warp, "clock") + 1
            WARP.store(f, warp, "clock", clock)
            f.store(clock, f.at(place, index * 4))
            acquired = WORKER.load(f, worker, "arrived_acquired", barrier)
            acquired = f.overloaded("llvm.umax", acquired, WARP.load(f, warp, "acquired"))
            WORKER.store(f, worker, "arrived_acquired", acquired, barrier)

    @generated("release", I32, PTR)
    def release(self, f: Builder) -> None:
        """release(worker) -> the number of complete barriers, whose lanes continue."""
        (worker,) = f.args
        released = f.var(f.const(I32, 0))
        with f.each_lane(WORKER.load(f, worker, "barriers")) as barrier:
            arrived = WORKER.load(f, worker, "arrived", barrier)
            count = WORKER.load(f, worker, "expected", barrier)
            expected = count.eq(0).select(WORKER.load(f, worker, "alive"), count)
            with f.if_(arrived.ne(0) & arrived.uge(expected)):
                self._finish_barrier(f, worker, barrier)
                released.set(released.get() + 1)
        f.ret(released.get())

    def _finish_barrier(self, f: Builder, worker: Value, barrier: Value) -> None:
        WORKER.store(f, worker, "arrived", 0, barrier)
        bit = f.const(I32, 1) << barrier
        WORKER.store(f, worker, "barriers", WORKER.load(f, worker, "barriers") & ~bit)
        for name, empty in (("and", -1), ("or", 0), ("count", 0)):
            WORKER.store(f, worker, f"result_{name}", WORKER.load(f, worker, f"vote_{name}", barrier), barrier)
            WORKER.store(f, worker, f"vote_{name}", empty, barrier)
        f.call(self._order(), worker, barrier)
        site = f.var(f.const(I32, -1))
        first = f.var(f.const(I32, 0))
        with self._schedule.each_warp(f, worker) as warp:
            self._check_whole(f, worker, warp, barrier)
            still = f.var(f.const(I32, 0))
            with f.loop(WARP.load(f, warp, "waits")) as i:
                mine = WARP.load(f, warp, "wait_barrier", i).eq(barrier)
                with f.if_else(mine) as (yes, no):
                    with yes:
                        self._resume(f, worker, warp, i, site, first)
                    with no:
                        for name in _WAITING:
                            WARP.store(f, warp, f"wait_{name}", WARP.load(f, warp, f"wait_{name}", i), still.get())
                        still.set(still.get() + 1)
            WARP.store(f, warp, "waits", still.get())
        if self._schedule.grid_sync:
            f.call(self._check_grid(), worker, barrier, site.get(), first.get())

    def of_grid(self, f: Builder, worker: Value, barrier: Value) -> None:
        """Mark the barrier as part of a `grid.sync()`, which all threads must reach."""
        bit = f.const(I32, 1) << barrier
        WORKER.store(f, worker, "of_grid", WORKER.load(f, worker, "of_grid") | bit)

    @generated("check_grid", VOID, PTR, I32, I32, I32)
    def _check_grid(self, f: Builder) -> None:
        """check_grid(worker, barrier, site, thread): report threads that ended before a `grid.sync()`."""
        worker, barrier, site, thread = f.args
        bit, marked = f.const(I32, 1) << barrier, WORKER.load(f, worker, "of_grid")
        WORKER.store(f, worker, "of_grid", marked & ~bit)
        threads = WORKER.load(f, worker, "threads")
        kind, none = f.const(I32, findings.LEFT_GRID), f.const(I64, 0)
        incomplete = (marked & bit).ne(0) & WORKER.load(f, worker, "alive").ne(threads)
        with f.if_(incomplete, likely=False), self._schedule.each_warp(f, worker) as warp:
            index = WARP.load(f, warp, "index")
            left = lanes_of(f, threads, index) & ~WARP.load(f, warp, "alive")
            with f.if_(left.ne(0)):
                missing = (index * 32 + f.first_lane(left)).zext(I64)
                f.call(findings.report_function(f.module), worker, kind, site, thread, left, missing, none)

    def _check_whole(self, f: Builder, worker: Value, warp: Value, barrier: Value) -> None:
        """Report lanes that were alive when others of their warp arrived and ended elsewhere: a barrier in a branch."""
        came, alive, site = (f.var(f.const(I32, 0)) for _ in range(3))
        with f.loop(WARP.load(f, warp, "waits")) as i, f.if_(WARP.load(f, warp, "wait_barrier", i).eq(barrier)):
            came.set(came.get() | WARP.load(f, warp, "wait_mask", i))
            alive.set(alive.get() | WARP.load(f, warp, "wait_alive", i))
            site.set(WARP.load(f, warp, "wait_site", i))
        left = alive.get() & ~came.get() & ~WARP.load(f, warp, "alive")
        with f.if_(left.ne(0), likely=False):
            missing = (WARP.load(f, warp, "index") * 32 + f.first_lane(left)).zext(I64)
            findings.report(f, warp, worker, findings.LEFT_BARRIER, site.get(), came.get(), missing, left.zext(I64))

    def _resume(self, f: Builder, worker: Value, warp: Value, i: Value, site: Cell, first: Cell) -> None:
        """Let one group of lanes continue; report groups that waited at different barrier instructions."""
        mask = WARP.load(f, warp, "wait_mask", i)
        f.call(self._schedule.enqueue(), warp, WARP.load(f, warp, "wait_block", i), mask)
        here = WARP.load(f, warp, "wait_site", i)
        thread = WARP.load(f, warp, "index") * 32 + f.first_lane(mask)
        with f.if_(site.get().eq(-1)):
            site.set(here)
            first.set(thread)
        with f.if_(site.get().ne(here)):
            other = (site.get().zext(I64) << 32) | first.get().zext(I64)
            findings.report(f, warp, worker, findings.BARRIER_DIVERGENCE, here, mask, 0, other)

    @generated("order", VOID, PTR, I32)
    def _order(self, f: Builder) -> None:
        """order(worker, barrier): order later accesses of all waiting warps after their earlier accesses."""
        worker, barrier = f.args
        with self._schedule.each_warp(f, worker) as warp:  # first of all, then joined
            f.call(make_room(self.module), worker, warp)
        row = vec(I32)
        joined = f.array(I32, 32)
        arrivals = f.at(WORKER.load(f, worker, "arrivals"), barrier.zext(I64) * ROW)
        f.store(f.load(row, arrivals, align=64), joined, align=64)
        f.store(f.const(row, 0), arrivals, align=64)
        known = WORKER.load(f, worker, "known")
        acquired = f.var(WORKER.load(f, worker, "arrived_acquired", barrier))
        WORKER.store(f, worker, "arrived_acquired", 0, barrier)

        for phase in ("join", "spread"):
            with self._schedule.each_warp(f, worker) as warp:
                waiting = f.var(f.const(I32, 0))
                with f.loop(WARP.load(f, warp, "waits")) as i:
                    mine = WARP.load(f, warp, "wait_barrier", i).eq(barrier)
                    waiting.set(waiting.get() | mine.select(f.const(I32, 1), 0))
                with f.if_(waiting.get().ne(0)):
                    index = WARP.load(f, warp, "index")
                    own_row = f.at(known, index.zext(I64) * ROW)
                    if phase == "join":
                        clock = WARP.load(f, warp, "clock") + 1
                        WARP.store(f, warp, "clock", clock)
                        join(f, joined, own_row)
                        f.store(clock, f.at(joined, index.zext(I64) * 4))
                        own = WARP.load(f, warp, "acquired")
                        acquired.set(f.overloaded("llvm.umax", acquired.get(), own))
                    else:
                        WARP.store(f, warp, "acquired", acquired.get())
                        f.store(f.load(row, joined, align=64), own_row, align=64)


def lanes_of(f: Builder, threads: Value, warp: Value) -> Value:
    """The lanes of a block of ``threads`` threads in its ``warp``-th warp, as a mask."""
    rest = threads - warp * 32
    return rest.uge(32).select(f.const(I32, -1), (f.const(I32, 1) << (rest & 31)) - 1)


# -------------------------------------------------------------------------------------------------------------- clocks
def join(f: Builder, into: Value, other: Value) -> None:
    """Join one row of clocks into another: the maximum of each clock."""
    merged = f.overloaded("llvm.umax", f.load(vec(I32), into, align=64), f.load(vec(I32), other, align=64))
    f.store(merged, into, align=64)


@generated("make_room", VOID, PTR, PTR, attributes="")
def make_room(module: ir.IRModule, f: Builder) -> None:
    """make_room(worker, warp): renumber the warp's clocks if they are used up; call it before the clock is advanced."""
    worker, warp = f.args
    with f.if_(WARP.load(f, warp, "clock").uge(Stamp.MAX_CLOCK - 1), likely=False):
        f.call(_renumber(module), worker, warp)


@generated("renumber", VOID, PTR, PTR, attributes="noinline cold")
def _renumber(_: ir.IRModule, f: Builder) -> None:
    worker, warp = f.args
    rank = _ranks(f, worker, warp)
    _each_known(f, worker, warp, lambda place: f.store(rank(f.load(I32, place)), place))
    for space in ("global", "shared"):
        for which in ("writes", "reads"):
            _restamp(f, worker, warp, f"{space}_{which}", f"{space}_cells", rank)
    WARP.store(f, warp, "clock", rank(WARP.load(f, warp, "clock")))
    work = WORKER.load(f, worker, "global_cells") + WORKER.load(f, worker, "shared_cells") + RANKS // 2
    f.add_to(WORKER.at(f, worker, "block_budget"), 0, f.const(I64, 0) - work)


def _each_known(f: Builder, worker: Value, warp: Value, do: Callable[[Value], None]) -> None:
    """``do`` with the address of each known clock of this warp: of warps, barriers, lanes, fences, releases …"""
    index = WARP.load(f, warp, "index").zext(I64)
    for name, start, step, count in (
        ("known", index * 4, ROW, 32),
        ("arrivals", index * 4, ROW, 16),
        ("lane_known", index * 4096, 4, 1024),
    ):
        table = WORKER.load(f, worker, name)
        with f.loop(f.const(I64, count)) as i:
            do(f.at(table, start + i * step))
    with f.if_(WORKER.load(f, worker, "fenced").ne(0)):
        with f.loop(f.const(I64, FENCES_BYTES // ROW)) as i:
            do(f.at(WORKER.load(f, worker, "fences"), index * 4 + i * ROW))
        order = WORKER.load(f, worker, "serial") - WORKER.load(f, worker, "serial_base")
        ring = f.at(WORKER.load(f, worker, "releases"), order.urem(WORKER.load(f, worker, "rings")) * RELEASES.size)
        with f.if_(RELEASES.load(f, ring, "owner").eq(order + 1)), f.loop(f.const(I64, KEPT_RELEASES)) as i:
            do(f.at(ring, index * 4 + i * ROW))
    with f.loop(WORKER.load(f, worker, "object_rows")) as i:
        do(f.at(WORKER.load(f, worker, "objects"), index * 4 + i * ROW))


def _ranks(f: Builder, worker: Value, warp: Value) -> Callable[[Value], Value]:
    """A function that returns the number of known clocks that are not above a clock, from a table that it builds."""
    table = WORKER.load(f, worker, "ranks")
    f.memset(table, 0, 4 * RANKS)

    def place(clock: Value) -> Value:
        return f.at(table, clock.zext(I64) * 4)

    _each_known(f, worker, warp, lambda known: f.store(f.const(I32, 1), place(f.load(I32, known))))
    f.store(f.const(I32, 0), table)  # clock 0: nothing is known
    total = f.var(f.const(I32, 0))
    with f.loop(f.const(I32, RANKS)) as clock:
        total.set(total.get() + f.load(I32, place(clock)))
        f.store(total.get(), place(clock))
    f.store(f.const(I32, Stamp.MAX_CLOCK), place(f.const(I32, Stamp.MAX_CLOCK)))  # copies in flight keep their mark
    return lambda clock: f.load(I32, place(clock))


def _restamp(f: Builder, worker: Value, warp: Value, cells: str, count: str, rank: Callable[[Value], Value]) -> None:
    """Replace the clocks in the warp's stamps. Stamps of other workers may be between them, and do not change."""
    owner = (WORKER.load(f, worker, "serial") << 5) | WARP.load(f, warp, "index").zext(I64)
    table = WORKER.load(f, worker, cells)
    with f.loop(WORKER.load(f, worker, count)) as i:
        place = f.at(table, i * 8)
        stamp = f.load(I64, place)
        with f.if_((stamp >> _OWNER).eq(owner), likely=False):
            clock = rank(((stamp >> Stamp.CLOCK) & Stamp.MAX_CLOCK).trunc(I32))
            f.store((stamp & ~_CLOCK_BITS) | (clock.zext(I64) << Stamp.CLOCK), place)
