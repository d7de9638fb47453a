"""Barriers of a block, `bar` and `barrier`, as generated code: who came, who goes on, and what they then know.

A warp that arrives is written down with the basic block where its lanes go on. When every runnable warp of the block
has arrived or ended, the schedule asks for complete barriers: their lanes go on, and their clocks are joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine import findings, ir
from grader.simt.engine.builder import Builder, Cell
from grader.simt.engine.clocks import make_room
from grader.simt.engine.layout import WARP, WORKER
from grader.simt.engine.values import I32, I64, PTR, VOID, Value, vec

if TYPE_CHECKING:
    from grader.simt.engine.schedule import Schedule


class Barriers:
    """Builds ``arrive`` and ``release`` for one kernel."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.arrive = self._arrive()
        self.release = self._release()

    def _arrive(self) -> ir.Function:
        """arrive(worker, warp, mask, barrier, count, resume, site, waits): at a barrier; ``count`` 0: all threads."""
        f = Builder(self._schedule.module, "arrive", VOID, [PTR, PTR, I32, I32, I32, I32, I32, I32])
        worker, warp, mask, barrier, count, resume, site, waits = f.args
        lanes = f.popcount(mask)
        WORKER.store(f, worker, "arrived", WORKER.load(f, worker, "arrived", barrier) + lanes, barrier)
        WORKER.store(f, worker, "expected", count, barrier)
        bit = f.const(I32, 1) << barrier
        WORKER.store(f, worker, "barriers", WORKER.load(f, worker, "barriers") | bit)
        with f.if_(waits.ne(0)):
            n = WARP.load(f, warp, "waits")
            for name, value in (("block", resume), ("mask", mask), ("barrier", barrier), ("site", site),
                                ("alive", WARP.load(f, warp, "alive"))):  # fmt: skip
                WARP.store(f, warp, f"wait_{name}", value, n)
            WARP.store(f, warp, "waits", n + 1)
        with f.if_(waits.eq(0)):  # `bar.arrive`: those who wait learn what this warp did so far
            index = WARP.load(f, warp, "index").zext(I64)
            place = f.at(WORKER.load(f, worker, "arrivals"), barrier.zext(I64) * 128)
            row = f.at(WORKER.load(f, worker, "known"), index * 128)
            f.call(make_room(self._schedule.module), worker, warp)
            merged = f.overloaded("llvm.umax", f.load(vec(I32), place, align=64), f.load(vec(I32), row, align=64))
            f.store(merged, place, align=64)
            clock = WARP.load(f, warp, "clock") + 1
            WARP.store(f, warp, "clock", clock)
            f.store(clock, f.at(place, index * 4))
            told = WORKER.load(f, worker, "arrived_acquired", barrier)
            told = f.overloaded("llvm.umax", told, WARP.load(f, warp, "acquired"))
            WORKER.store(f, worker, "arrived_acquired", told, barrier)
        f.ret()
        f.fn.attributes.add("noinline")
        return f.finish()

    def _release(self) -> ir.Function:
        """release(worker) -> how many barriers were complete: their lanes go on."""
        f = Builder(self._schedule.module, "release", I32, [PTR])
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
        f.fn.attributes.add("noinline")
        return f.finish()

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
            kept = f.var(f.const(I32, 0))
            with f.loop(WARP.load(f, warp, "waits")) as i:
                mine = WARP.load(f, warp, "wait_barrier", i).eq(barrier)
                with f.if_else(mine) as (yes, no):
                    with yes:
                        self._resume(f, worker, warp, i, site, first)
                    with no:
                        for name in ("block", "mask", "barrier", "site", "alive"):
                            WARP.store(f, warp, f"wait_{name}", WARP.load(f, warp, f"wait_{name}", i), kept.get())
                        kept.set(kept.get() + 1)
            WARP.store(f, warp, "waits", kept.get())

    def _check_whole(self, f: Builder, worker: Value, warp: Value, barrier: Value) -> None:
        """Lanes that were alive when others of their warp arrived, and ended elsewhere: the barrier was in a branch."""
        came, alive, site = (f.var(f.const(I32, 0)) for _ in range(3))
        with f.loop(WARP.load(f, warp, "waits")) as i, f.if_(WARP.load(f, warp, "wait_barrier", i).eq(barrier)):
            came.set(came.get() | WARP.load(f, warp, "wait_mask", i))
            alive.set(alive.get() | WARP.load(f, warp, "wait_alive", i))
            site.set(WARP.load(f, warp, "wait_site", i))
        left = alive.get() & ~came.get() & ~WARP.load(f, warp, "alive")
        with f.if_(left.ne(0), likely=False):
            base = WARP.load(f, warp, "index") * 32
            missing = (base + f.first_lane(left)).zext(I64)
            f.call(self._schedule.report, worker, f.const(I32, findings.LEFT_BARRIER), site.get(),
                   base + f.first_lane(came.get()), came.get(), missing, left.zext(I64))  # fmt: skip

    def _resume(self, f: Builder, worker: Value, warp: Value, i: Value, site: Cell, first: Cell) -> None:
        """Let one group of lanes go on; groups that waited at different barrier instructions are a finding."""
        mask = WARP.load(f, warp, "wait_mask", i)
        f.call(self._schedule.enqueue, warp, WARP.load(f, warp, "wait_block", i), mask)
        here = WARP.load(f, warp, "wait_site", i)
        thread = WARP.load(f, warp, "index") * 32 + f.first_lane(mask)
        with f.if_(site.get().eq(-1)):
            site.set(here)
            first.set(thread)
        with f.if_(site.get().ne(here)):
            other = (site.get().zext(I64) << 32) | first.get().zext(I64)
            f.call(self._schedule.report, worker, f.const(I32, findings.BARRIER_DIVERGENCE), here, thread, mask,
                   f.const(I64, 0), other)  # fmt: skip

    @staticmethod
    def _waits(f: Builder, warp: Value, barrier: Value) -> Value:
        """Whether lanes of the warp wait at this barrier."""
        waiting = f.var(f.const(I32, 0))
        with f.loop(WARP.load(f, warp, "waits")) as i:
            mine = WARP.load(f, warp, "wait_barrier", i).eq(barrier)
            waiting.set(waiting.get() | mine.select(f.const(I32, 1), 0))
        return waiting.get().ne(0)

    def _order(self) -> ir.Function:
        """order(worker, barrier): what every waiting warp did so far happens before what any of them does next."""
        existing = self._schedule.module.globals.get("order")
        if existing is not None:
            return existing
        f = Builder(self._schedule.module, "order", VOID, [PTR, I32])
        worker, barrier = f.args
        with self._schedule.each_warp(f, worker) as warp:  # all of them before any is joined
            f.call(make_room(self._schedule.module), worker, warp)
        row = vec(I32)
        joined = f.array(I32, 32)
        arrivals = f.at(WORKER.load(f, worker, "arrivals"), barrier.zext(I64) * 128)
        f.store(f.load(row, arrivals, align=64), joined, align=64)
        f.store(f.const(row, 0), arrivals, align=64)
        known = WORKER.load(f, worker, "known")
        acquired = f.var(WORKER.load(f, worker, "arrived_acquired", barrier))
        WORKER.store(f, worker, "arrived_acquired", 0, barrier)

        for phase in ("join", "spread"):
            with self._schedule.each_warp(f, worker) as warp, f.if_(self._waits(f, warp, barrier)):
                index = WARP.load(f, warp, "index")
                mine_row = f.at(known, index.zext(I64) * 128)
                if phase == "join":
                    clock = WARP.load(f, warp, "clock") + 1
                    WARP.store(f, warp, "clock", clock)
                    merged = f.overloaded("llvm.umax", f.load(row, joined, align=64), f.load(row, mine_row, align=64))
                    f.store(merged, joined, align=64)
                    f.store(clock, f.at(joined, index.zext(I64) * 4))
                    own = WARP.load(f, warp, "acquired")
                    acquired.set(f.overloaded("llvm.umax", acquired.get(), own))
                else:
                    WARP.store(f, warp, "acquired", acquired.get())
                    f.store(f.load(row, joined, align=64), mine_row, align=64)
        f.ret()
        f.fn.attributes.add("noinline")
        return f.finish()
