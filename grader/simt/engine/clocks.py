"""Clocks of warps: one that reaches the end of its bits in a stamp is numbered anew.

All that a clock is ever asked is whether an access came before what some other warp knows of this one. So only the
clocks that somebody knows matter: they become 1, 2, 3 … in their order, every stamp of the warp becomes the number of
known clocks that are not above it, and every comparison comes out as before. At most 1113 clocks are
known, of 2^18, and two more for each barrier object.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.layout import FENCES_BYTES, KEPT_RELEASES, RELEASES, ROW, WARP, WORKER, Stamp
from grader.simt.engine.values import I32, I64, PTR, VOID, Value

RANKS = Stamp.MAX_CLOCK + 1
_CLOCK_BITS = Stamp.MAX_CLOCK << Stamp.CLOCK
_SHADOWS = (("global", "writes"), ("global", "reads"), ("shared", "writes"), ("shared", "reads"))
_OWNER = Stamp.THREAD + 5
"""Where a stamp's block and warp begin."""


def make_room(module: ir.Module) -> ir.Function:
    """make_room(worker, warp): to be called before the warp's clock moves on."""
    existing = module.globals.get("make_room")
    if existing is not None:
        return existing
    renumber = _renumber(module)
    f = Builder(module, "make_room", VOID, [PTR, PTR])
    worker, warp = f.args
    with f.if_(WARP.load(f, warp, "clock").uge(Stamp.MAX_CLOCK - 1), likely=False):
        f.call(renumber, worker, warp)
    f.ret()
    return f.finish()


def _renumber(module: ir.Module) -> ir.Function:
    f = Builder(module, "renumber", VOID, [PTR, PTR])
    worker, warp = f.args
    rank = _ranks(f, worker, warp)
    _each_known(f, worker, warp, lambda place: f.store(rank(f.load(I32, place)), place))
    for space, which in _SHADOWS:
        _restamp(f, worker, warp, f"{space}_{which}", f"{space}_cells", rank)
    WARP.store(f, warp, "clock", rank(WARP.load(f, warp, "clock")))
    work = WORKER.load(f, worker, "global_cells") + WORKER.load(f, worker, "shared_cells") + RANKS // 2
    f.add_to(WORKER.at(f, worker, "block_budget"), 0, f.const(I64, 0) - work)
    f.ret()
    for attribute in ("noinline", "cold"):
        f.fn.attributes.add(attribute)
    return f.finish()


def _each_known(f: Builder, worker: Value, warp: Value, do: Callable[[Value], None]) -> None:
    """``do`` with each place that holds one of this warp's clocks: of warps, barriers, lanes, fences, releases…"""
    index = WARP.load(f, warp, "index").zext(I64)
    for name, start, step, count in (
        ("known", index * 4, 128, 32),
        ("arrivals", index * 4, 128, 16),
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
        do(f.at(WORKER.load(f, worker, "objects"), index * 4 + i * 128))


def _ranks(f: Builder, worker: Value, warp: Value) -> Callable[[Value], Value]:
    """A table of how many known clocks are not above a clock, and the function that looks it up."""
    table = WORKER.load(f, worker, "ranks")
    f.memset(table, 0, f.const(I64, 4 * RANKS))

    def place(clock: Value) -> Value:
        return f.at(table, clock.zext(I64) * 4)

    _each_known(f, worker, warp, lambda known: f.store(f.const(I32, 1), place(f.load(I32, known))))
    f.store(f.const(I32, 0), table)  # clock 0: nothing is known
    total = f.var(f.const(I32, 0))
    with f.loop(f.const(I32, RANKS)) as clock:
        total.set(total.get() + f.load(I32, place(clock)))
        f.store(total.get(), place(clock))
    f.store(f.const(I32, Stamp.MAX_CLOCK), place(f.const(I32, Stamp.MAX_CLOCK)))  # copies under way keep their mark
    return lambda clock: f.load(I32, place(clock))


def _restamp(f: Builder, worker: Value, warp: Value, cells: str, count: str, rank: Callable[[Value], Value]) -> None:
    """Give the warp's stamps their new clocks. Other workers' stamps may lie between them and stay as they are."""
    owner = (WORKER.load(f, worker, "serial") << 5) | WARP.load(f, warp, "index").zext(I64)
    table = WORKER.load(f, worker, cells)
    with f.loop(WORKER.load(f, worker, count)) as i:
        place = f.at(table, i * 8)
        stamp = f.load(I64, place)
        with f.if_((stamp >> _OWNER).eq(owner), likely=False):
            clock = rank(((stamp >> Stamp.CLOCK) & Stamp.MAX_CLOCK).trunc(I32))
            f.store((stamp & ~_CLOCK_BITS) | (clock.zext(I64) << Stamp.CLOCK), place)
