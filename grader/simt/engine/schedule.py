"""The schedulers, as generated code: lanes within a warp, warps within a block, blocks on a worker.

A warp runs its lowest basic block that has lanes, so that diverged lanes reconverge. After a quantum of backward jumps
it yields, and next starts above the block it left: so a spinning lane cannot starve the others. A block runs its warps
in turn until each waits or has ended; then complete barriers release their warps. If nothing in a block can run, that
is a deadlock. Every choice depends on the program's state only, so that runs are reproducible.

An adversarial run makes other legal choices, to find errors that the usual order hides: a block runs its warps in
descending order, then in ascending order, and so on. When a warp lets others run, the block lets other blocks run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from grader.simt.engine import findings, ir
from grader.simt.engine.barriers import Barriers, lanes_of
from grader.simt.engine.builder import Builder, Cell, generated
from grader.simt.engine.copies import queue_of
from grader.simt.engine.layout import (
    BLOCK_LANES,
    COPY_QUEUE,
    DEADLOCKED,
    LANES_AT,
    PENDING_AT,
    PENDING_WORDS,
    ROW,
    RUNNING,
    SUSPENDED,
    TIMED_OUT,
    WARP,
    WORKER,
)
from grader.simt.engine.values import I8, I32, I64, PTR, VOID, Value, vec

QUANTUM = 2048
"""Backward jumps of one warp before it yields: long enough to cost nothing, short enough for spin loops."""


def lanes_at(block: int) -> int:
    """The offset in a warp's state of the lanes that wait to run basic block ``block``; 4 bytes further: of the lanes
    that they wait for.
    """
    return LANES_AT + BLOCK_LANES * block


@dataclass(frozen=True)
class Order:
    """An order in which a launch's warps, blocks and stores take effect; a GPU may choose any of them."""

    adversarial: bool = False
    # "load", "atomic", "store" or "each store": the volatile, relaxed or atomic accesses after which others run. With
    # "store" only those that overtook another one; with "each store" all are in memory at once
    switch_after: str = ""


USUAL = Order()
ADVERSARIAL = {
    "reversed": Order(True),
    "after_loads": Order(True, "load"),
    "after_atomics": Order(True, "atomic"),
    "after_stores": Order(True, "store"),
    "after_each_store": Order(True, "each store"),
}
ORDERS = {"usual": USUAL, **ADVERSARIAL}


class Schedule:
    """Builds the scheduler's functions for one kernel."""

    def __init__(
        self, module: ir.IRModule, exits: Sequence[int], *, copies: bool, objects: bool, waits: bool, adversarial: bool,
        grid_sync: bool,
    ) -> None:  # fmt: skip
        self.module = module
        self.adversarial = adversarial
        self.waits = waits  # whether blocks may wait for each other
        self.copies = copies  # whether warps have queues of asynchronous copies
        self.objects = objects  # whether threads wait for barrier objects
        self.grid_sync = grid_sync  # whether blocks wait for the whole grid
        self.exits = exits  # basic blocks that only end their lanes
        self.barriers = Barriers(self)

    # -- lanes ------------------------------------------------------------------------------------------------------
    @generated("enqueue", VOID, PTR, I32, I32)
    def enqueue(self, f: Builder) -> None:
        """enqueue(warp, block, mask): let these lanes continue at this basic block."""
        warp, block, mask = f.args
        place = _mask(f, warp, block)
        f.store(f.load(I32, place) | mask, place)
        word = f.at(warp, (block >> 6).zext(I64) * 8 + PENDING_AT)
        f.store(f.load(I64, word) | (f.const(I64, 1) << (block & 63).zext(I64)), word)
        WARP.store(f, warp, "pending", WARP.load(f, warp, "pending") | mask)

    @generated("await_warp", I32, PTR, I32, I32)
    def await_warp(self, f: Builder) -> None:
        """await_warp(warp, block, mask) -> 1 if lanes of the warp are elsewhere, for which these lanes wait; else 0."""
        warp, block, mask = f.args
        self._await(f, warp, block, mask, f.const(I32, -1))

    @generated("await_members", I32, PTR, PTR, I32, I32, vec(I32), I32)
    def await_members(self, f: Builder) -> None:
        """await_members(worker, warp, block, mask, members, site) -> 1 if lanes of the masks ``members`` are elsewhere,
        for which these lanes wait; else 0. Lanes that can never come are reported at ``site``.
        """
        worker, warp, block, mask, members, site = f.args
        need = _members_of(f, mask, members)

        def report() -> None:
            missing = f.load(I32, _mask(f, warp, block), 4) & ~mask
            more = missing.zext(I64), need.zext(I64)
            findings.report(f, warp, worker, findings.MISSING_LANES, site, mask, *more)

        self._await(f, warp, block, mask, need, report)

    def _await(
        self, f: Builder, warp: Value, block: Value, mask: Value, need: Value, forced: Callable[[], None] | None = None
    ) -> None:
        """Return 0 if the lanes ``need`` are all here; else park ``mask`` until they arrive, and return 1.

        Where nothing else can run, lanes are forced to go on: after ``forced``.
        """
        missing = need & WARP.load(f, warp, "alive") & ~mask
        force = WARP.load(f, warp, "forced").ne(0)
        with f.if_(force, likely=False):
            WARP.store(f, warp, "forced", 0)
            if forced is not None:  # of a whole warp, `check_warp` reports them
                forced()
            f.ret(f.const(I32, 0))
            f.enter(f.block("unforced"))
        with f.if_(missing.eq(0)):
            f.ret(f.const(I32, 0))
            f.enter(f.block("some"))
        f.call(self.enqueue(), warp, block, mask)
        f.store(missing | mask, _mask(f, warp, block), 4)
        WARP.store(f, warp, "parked", WARP.load(f, warp, "parked") | mask)
        f.ret(f.const(I32, 1))

    @generated("expect_members", VOID, PTR, PTR, I32, vec(I32), I32)
    def expect_members(self, f: Builder) -> None:
        """expect_members(worker, warp, mask, members, site): report lanes of the masks that are elsewhere, where the
        whole warp came together before: it was forced to go on without them.
        """
        worker, warp, mask, members, site = f.args
        need = _members_of(f, mask, members)
        missing = need & WARP.load(f, warp, "alive") & ~mask
        with f.if_(missing.ne(0), likely=False):
            more = missing.zext(I64), need.zext(I64)
            findings.report(f, warp, worker, findings.MISSING_LANES, site, mask, *more)

    @generated("check_warp", VOID, PTR, PTR, I32, I32)
    def check_warp(self, f: Builder) -> None:
        """check_warp(worker, warp, mask, site): report lanes that diverged, ended or do not exist."""
        worker, warp, mask, site = f.args
        absent = ~mask
        with f.if_(absent.ne(0) & mask.ne(0), likely=False):
            whole = f.const(I64, 0xFFFFFFFF)
            findings.report(f, warp, worker, findings.MISSING_LANES, site, mask, absent.zext(I64), whole)

    @generated("next_block", I32, PTR, attributes="")
    def next_block(self, f: Builder) -> None:
        """next_block(warp) -> the basic block to run, or -1. Blocks that only end their lanes come first."""
        f.fn.public = True
        (warp,) = f.args
        with f.if_(WARP.load(f, warp, "pending").eq(0)):
            f.ret(f.const(I32, -1))
            f.enter(f.block("more"))
        for index in self.exits:  # so that threads that return early have ended before others reach a barrier
            with f.if_(f.load(I32, f.at(warp, lanes_at(index))).ne(0)):
                f.ret(f.const(I32, index))
                f.enter(f.block("others"))
        f.ret(f.call(self._next_free(), warp))

    @generated("next_free", I32, PTR)
    def _next_free(self, f: Builder) -> None:
        """next_free(warp) -> the lowest basic block from ``rotate`` on with lanes that do not wait for others."""
        (warp,) = f.args
        start = f.var(WARP.load(f, warp, "rotate"))
        WARP.store(f, warp, "rotate", 0)
        free = ~WARP.load(f, warp, "parked")
        found = f.var(f.const(I32, -1))
        for _ in range(2):  # from `rotate` to the end, then from the beginning
            with f.if_(found.get().eq(-1)):
                _scan(f, warp, start.get(), found, lambda i: (f.load(I32, _mask(f, warp, i)) & free).ne(0))
                start.set(f.const(I32, 0))
        with f.if_(found.get().ne(-1)):
            f.ret(found.get())
            f.enter(f.block("parked"))
        _next_parked(f, warp, found)
        f.ret(found.get())

    def take(self, f: Builder, warp: Value, block: Value) -> Value:
        """Remove a basic block's lanes from the queue; returns their mask."""
        place = _mask(f, warp, block)
        mask = f.load(I32, place)
        f.store(f.const(I32, 0), place)
        word = f.at(warp, (block >> 6).zext(I64) * 8 + PENDING_AT)
        f.store(f.load(I64, word) & ~(f.const(I64, 1) << (block & 63).zext(I64)), word)
        for name in ("pending", "parked", "spun") if self.waits else ("pending", "parked"):
            WARP.store(f, warp, name, WARP.load(f, warp, name) & ~mask)
        return mask

    # -- warps and blocks -------------------------------------------------------------------------------------------
    @contextmanager
    def each_warp(self, f: Builder, worker: Value) -> Iterator[Value]:
        """For each of the block's warps."""
        with f.loop(WORKER.load(f, worker, "warp_count")) as i:
            yield _warp_at(f, worker, i)

    def build_run(self, warp_function: ir.IRFunction) -> None:
        """The public functions of the module. run(worker): run the worker's blocks, up to one that waits for others.

        resume(worker), if blocks may wait for each other: continue the block that waited.
        """
        self._warp = warp_function
        if self.waits:
            f = Builder(self.module, "resume", VOID, [PTR], public=True)
            (worker,) = f.args
            WORKER.store(f, worker, "status", RUNNING)
            WORKER.store(f, worker, "changes", WORKER.load(f, worker, "changes") + 1)  # others may have changed memory
            _budgeted(f, worker, f.const(I64, 0), self._rounds())
            f.ret()
            f.finish()
        f = Builder(self.module, "run", VOID, [PTR], public=True)
        (worker,) = f.args
        block = f.var(WORKER.load(f, worker, "next_block"))
        last = WORKER.load(f, worker, "last_block")
        stop = WORKER.load(f, worker, "stop")

        def going() -> Value:
            return block.get().ult(last) & WORKER.load(f, worker, "status").eq(RUNNING) & f.load(I32, stop).eq(0)

        with f.while_(going):
            WORKER.store(f, worker, "own_left", WORKER.load(f, worker, "budget_per_block"))
            _budgeted(f, worker, WORKER.load(f, worker, "block_cost"), self._run_block(), block.get())
            block.set(block.get() + 1)
        WORKER.store(f, worker, "next_block", block.get())
        status = WORKER.load(f, worker, "status")
        with f.if_(status.ne(RUNNING) & status.ne(SUSPENDED)):  # other workers' results are not needed any more
            f.store(f.const(I32, 1), stop)
        f.ret()
        f.finish()

    @generated("run_block", VOID, PTR, I64)
    def _run_block(self, f: Builder) -> None:
        """run_block(worker, block): start a block, and run it."""
        worker, block = f.args
        gx, gy = (WORKER.load(f, worker, "grid", f.const(I32, axis)).zext(I64) for axis in range(2))
        for axis, value in enumerate((block.urem(gx), block.udiv(gx).urem(gy), block.udiv(gx * gy))):
            WORKER.store(f, worker, "ctaid", value.trunc(I32), f.const(I32, axis))
        WORKER.store(f, worker, "serial", WORKER.load(f, worker, "serial_base") + block)
        WORKER.store(f, worker, "alive", WORKER.load(f, worker, "threads"))
        for name in ("fenced", "block_fenced", "partial_sync", "barriers", "of_grid", "round"):
            WORKER.store(f, worker, name, 0)
        f.memset(WORKER.at(f, worker, "arrived"), 0, 64)
        f.memset(WORKER.at(f, worker, "arrived_acquired"), 0, 128)
        f.memset(WORKER.at(f, worker, "vote_and"), 0xFF, 64)
        f.memset(WORKER.at(f, worker, "vote_or"), 0, 128)
        garbage = WORKER.load(f, worker, "undefined").trunc(I8)
        f.memset(WORKER.load(f, worker, "shared"), garbage, WORKER.load(f, worker, "shared_bytes"))
        warps = WORKER.load(f, worker, "warp_count")
        local = WORKER.load(f, worker, "local_bytes") * 32
        f.memset(WORKER.load(f, worker, "local"), garbage, local * warps.zext(I64))
        f.memset(WORKER.load(f, worker, "known"), 0, warps.zext(I64) * ROW)
        if self.objects:
            f.memset(WORKER.at(f, worker, "waits_at"), 0, 128)
        f.memset(WORKER.load(f, worker, "arrivals"), 0, 16 * ROW)
        threads = WORKER.load(f, worker, "threads")
        with f.loop(warps) as i:
            warp = _warp_at(f, worker, i)
            f.memset(warp, 0, WORKER.load(f, worker, "header_bytes"))
            lanes = lanes_of(f, threads, i)
            WARP.store(f, warp, "index", i)
            WARP.store(f, warp, "clock", 1)
            WARP.store(f, warp, "quantum", QUANTUM)
            WARP.store(f, warp, "alive", lanes)
            if self.copies:
                f.memset(queue_of(f, worker, warp), 0, COPY_QUEUE.size)
            f.call(self.enqueue(), warp, f.const(I32, 0), lanes)
        f.call(self._rounds(), worker)

    @generated("rounds", VOID, PTR)
    def _rounds(self, f: Builder) -> None:
        """rounds(worker): run the block's warps in turn until it ends, has a fault, or waits for other blocks."""
        (worker,) = f.args
        going = f.var(f.const(I32, 1))
        count = WORKER.load(f, worker, "warp_count")
        with f.while_(lambda: going.get().ne(0)):
            yielded = f.var(f.const(I32, 0))
            changes = f.var(WORKER.load(f, worker, "changes"))
            WORKER.store(f, worker, "restless", 0)
            with f.loop(count) as i, f.if_(WORKER.load(f, worker, "status").eq(RUNNING)):
                warp = _warp_at(f, worker, self._turn(f, worker, i, count))
                with f.if_(WARP.load(f, warp, "pending").ne(0)):
                    gave_way = f.call(self._warp, warp, worker)
                    yielded.set(yielded.get() | gave_way)
                    if self.waits:
                        with f.if_(gave_way.eq(0)):
                            WORKER.store(f, worker, "restless", 1)
            released = f.call(self.barriers.release(), worker)
            going.set(yielded.get() | released)
            if self.adversarial:
                WORKER.store(f, worker, "round", WORKER.load(f, worker, "round") + 1)
                released = yielded.get().eq(0).zext(I32)
            if self.waits:
                with f.if_(going.get().ne(0) & released.eq(0)):
                    self._suspend(f, worker, changes.get())
            with f.if_(WORKER.load(f, worker, "status").ne(RUNNING)):
                going.set(f.const(I32, 0))
        stuck = WORKER.load(f, worker, "alive").ne(0) & WORKER.load(f, worker, "status").eq(RUNNING)
        with f.if_(stuck, likely=False):
            self._deadlock(f, worker)

    def _turn(self, f: Builder, worker: Value, i: Value, count: Value) -> Value:
        """The index of the ``i``-th warp of this round."""
        if not self.adversarial:
            return i
        descending = (WORKER.load(f, worker, "round") & 1).eq(0)
        return descending.select(count - 1 - i, i)

    def _suspend(self, f: Builder, worker: Value, changes: Value) -> None:
        """After a round in which warps yielded and no barrier was complete: let other blocks run if all warps wait.

        A warp sleeps if all its lanes wait in loops that only another block can end. Warps that read memory for a
        quantum and changed none may end their loops by themselves, but that is unlikely.
        """
        awake = f.var(f.const(I32, 0))
        now = WORKER.load(f, worker, "changes")
        with self.each_warp(f, worker) as warp:
            pending = WARP.load(f, warp, "pending")
            runs = pending & ~WARP.load(f, warp, "parked") & ~WARP.load(f, warp, "spun")
            stale = pending.ne(0) & WARP.load(f, warp, "spun_changes").ne(now)
            awake.set(awake.get() | runs | stale.zext(I32))
        asleep = awake.get().eq(0)
        calm = WORKER.load(f, worker, "restless").eq(0) & now.eq(changes)
        running = WORKER.load(f, worker, "status").eq(RUNNING)
        with f.if_(running if self.adversarial else (asleep | calm) & running):
            WORKER.store(f, worker, "asleep", asleep.zext(I32))
            WORKER.store(f, worker, "status", SUSPENDED)

    def _deadlock(self, f: Builder, worker: Value) -> None:
        """Report a deadlock, with the place where each group of lanes waits."""
        with self.each_warp(f, worker) as warp, f.loop(WARP.load(f, warp, "waits")) as i:
            mask = WARP.load(f, warp, "wait_mask", i)
            barrier = WARP.load(f, warp, "wait_barrier", i)
            arrived = WORKER.load(f, worker, "arrived", barrier).zext(I64)
            expected = WORKER.load(f, worker, "expected", barrier).zext(I64)
            site, other = WARP.load(f, warp, "wait_site", i), (arrived << 32) | expected
            findings.report(f, warp, worker, findings.DEADLOCK, site, mask, barrier.zext(I64), other)
        WORKER.store(f, worker, "status", DEADLOCKED)


def _next_parked(f: Builder, warp: Value, found: Cell) -> None:
    """Choose among lanes that wait for others: a group whose partners have arrived, else the lowest one."""
    alive = WARP.load(f, warp, "alive")

    def complete(i: Value) -> Value:
        mask = f.load(I32, _mask(f, warp, i))
        need = f.load(I32, _mask(f, warp, i), 4)
        return (need & alive & ~mask).eq(0) & mask.ne(0)

    _scan(f, warp, f.const(I32, 0), found, complete)
    with f.if_else(found.get().eq(-1)) as (none, some):
        with none:
            WARP.store(f, warp, "forced", 1)
            _scan(f, warp, f.const(I32, 0), found, lambda i: f.load(I32, _mask(f, warp, i)).ne(0))
        with some:  # the partners have ended meanwhile
            need = f.load(I32, _mask(f, warp, found.get()), 4)
            left = need & ~f.load(I32, _mask(f, warp, found.get()))
            WARP.store(f, warp, "forced", left.ne(0).zext(I32))


def _members_of(f: Builder, mask: Value, members: Value) -> Value:
    """The lanes that are in a mask of the lanes ``mask``."""
    return f.overloaded("llvm.vector.reduce.or", mask.as_lanes().select(members, 0), result=I32)


def _mask(f: Builder, warp: Value, block: Value) -> Value:
    return f.at(warp, block.zext(I64) * BLOCK_LANES + LANES_AT)


def _scan(f: Builder, warp: Value, start: Value, found: Cell, accept: Callable[[Value], Value]) -> None:
    """Set ``found`` to the first pending block from ``start`` on for which ``accept`` is true."""
    word_index = f.var(start >> 6)
    below = (f.const(I64, 1) << (start & 63).zext(I64)) - 1
    keep = f.var(~below)
    with f.while_(lambda: word_index.get().ult(PENDING_WORDS) & found.get().eq(-1)):
        bits = f.var(f.load(I64, f.at(warp, word_index.get().zext(I64) * 8 + PENDING_AT)) & keep.get())
        keep.set(f.const(I64, -1))
        with f.while_(lambda: bits.get().ne(0) & found.get().eq(-1)):
            bit = f.first_lane(bits.get())
            index = word_index.get() * 64 + bit.trunc(I32)
            with f.if_(accept(index)):
                found.set(index)
            bits.set(bits.get() & (bits.get() - 1))
        word_index.set(word_index.get() + 1)


def _warp_at(f: Builder, worker: Value, index: Value) -> Value:
    return f.at(WORKER.load(f, worker, "warps"), index.zext(I64) * WORKER.load(f, worker, "warp_bytes"))


def _budgeted(f: Builder, worker: Value, cost: Value, run: ir.IRFunction, *arguments: Value) -> None:
    """Run a block with the rest of its own budget or of the worker's, whichever is less."""
    left = WORKER.load(f, worker, "budget") - cost
    own = WORKER.load(f, worker, "own_left")
    last_share = left.slt(own)
    given = last_share.select(left, own)
    for name, value in (
        ("block_budget", given),
        ("block_started_with", WORKER.load(f, worker, "budget_per_block") - own + given),
        ("last_share", last_share.zext(I64)),
    ):
        WORKER.store(f, worker, name, value)
    with f.if_else(left.slt(0)) as (none, some):
        with none:
            WORKER.store(f, worker, "status", TIMED_OUT)
        with some:
            f.call(run, worker, *arguments)
            spent = given - WORKER.load(f, worker, "block_budget")
            WORKER.store(f, worker, "budget", left - spent)
            WORKER.store(f, worker, "own_left", own - spent)
