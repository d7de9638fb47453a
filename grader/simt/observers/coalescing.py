"""Coalescing: the 32-byte sectors that each global request touches. The only module that knows what a sector is.

Also the wavefronts of loads from constant memory: one for each distinct address, because the constant cache gives one
address to any number of lanes at a time.

A request touches the distinct sectors of its active lanes; no lane's access spans two sectors, because it is aligned to
its width. Source: 233 patterns measured on an H200, all with exactly this number of sectors
(docs/results/nsight-patterns.md).

The same holds for an asynchronous copy through L1 (`cp.async.ca`). A copy that bypasses L1 (`.cg`, 16 bytes per lane)
counts each distinct pair of a 32-byte piece of shared memory and the 128-byte line of global memory that is copied to
it: 39 patterns measured on an H200, all with exactly this number (most of them in tests/simt/test_async_copies.py). So
rows that are padded by 16 bytes cost an eighth more, and lanes that copy the same bytes to several places count each.

If the lanes' sectors are in ascending order, changes from lane to lane are counted; else each distinct sector.
"""

from __future__ import annotations

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import ALLOCATION, COPY
from grader.simt.engine.values import I1, I32, I64, Value, vec
from grader.simt.observers.base import ObservedAccess, Observer

SECTOR_SHIFT = 5
SECTOR_BYTES = 1 << SECTOR_SHIFT
LINE_SHIFT = 7
PIECE_BITS = 16
"""Bits of the number of a 32-byte piece of shared memory."""


class Coalescing(Observer):
    """Counts sectors and bytes of each global request, bytes of local ones, and wavefronts of constant ones."""

    def before(self, access: ObservedAccess) -> None:
        if access.space == "local":
            access.add("local_bytes", access.f.popcount(access.mask) * access.width)
        if access.space != "global":
            return
        f = access.f
        if access.constant:
            access.add("wavefronts", f.call(_distinct(f.module), access.address, access.mask))
            access.add("ideal_wavefronts", 1)
            return
        asked = access.count_request()
        sectors = f.call(_distinct(f.module), _fetched(access), access.mask)
        access.add("sectors", sectors)
        moved = sectors * SECTOR_BYTES
        access.add("wanted", asked.ult(moved).select(asked, moved))  # bytes that lanes share count once
        f.add_to(ALLOCATION.at(f, access.allocation, "sectors"), 0, sectors.zext(I64))
        access.note_worst(sectors, f.const(I32, 0))


def _fetched(access: ObservedAccess) -> Value:
    """A number for what each lane fetches: its sector; for a copy past L1 its line and the piece of shared memory."""
    if not access.bypass:
        return access.address >> SECTOR_SHIFT
    piece = COPY.row(access.f, access.out, "target") >> SECTOR_SHIFT
    return ((access.address >> LINE_SHIFT) << PIECE_BITS) | (piece & ((1 << PIECE_BITS) - 1))


@generated("distinct", I32, vec(I64), I32)
def _distinct(module: ir.IRModule, f: Builder) -> None:
    """distinct(keys, mask) -> the number of distinct keys in the lanes of the mask (0 for an empty mask)."""
    keys, mask = f.args
    first = keys.lane(f.first_lane(mask))
    run = mask >> f.first_lane(mask)
    last = keys.lane(f.const(I32, 31) - f.intrinsic("llvm.ctlz.i32", I32, mask, f.const(I1, 0)))
    # Inactive lanes before the first active lane get its key, those after it the last one's: right for a run of lanes.
    later = f.iota(I32).ugt(f.splat(f.first_lane(mask)))
    filled = mask.as_lanes().select(keys, later.select(f.splat(last), f.splat(first)))
    previous = filled.shuffle([0, *range(31)])
    rising = filled.ult(previous).as_mask().eq(0)
    with f.if_(rising & (run & (run + 1)).eq(0)):
        f.ret(f.popcount(filled.ne(previous).as_mask()) + 1)
        f.enter(f.block("search"))
    rest, count = f.var(mask), f.var(f.const(I32, 0))
    with f.while_(lambda: rest.get().ne(0)):
        key = keys.lane(f.first_lane(rest.get()))
        rest.set(rest.get() & ~keys.eq(f.splat(key)).as_mask())
        count.set(count.get() + 1)
    f.ret(count.get())
