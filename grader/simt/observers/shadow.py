"""Shadow memory: the last write and the last read of each cell, to find races and uninitialised reads.

A cell is for `granule` bytes and has two stamps (see `Stamp`): of the last write and of the last read. Two accesses of
one block are ordered if the later warp knows the earlier warp's clock: barriers join the warps' knowledge, and `.sync`
operations of a warp update its own row. Accesses of different blocks of one launch are ordered only by a release of one
and an acquire of the other (see `grader.simt.observers.releases`). A cell with several unordered readers has the stamp
of one of them and a flag: of the first, unless that is the thread that wrote the cell last. That thread is likely to be
the next writer too, and a report with another thread's read says more.

The stamps also tell whether memory was ever written: shared memory in this block, global memory since its allocation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.simt.engine import findings, ir
from grader.simt.engine.barriers import make_room
from grader.simt.engine.builder import Builder, generated, generated_once
from grader.simt.engine.layout import ALLOCATION, COPY, INITIALISED, READ_MARK, WARP, WORKER, WRITE_MARK, Stamp
from grader.simt.engine.values import I1, I32, I64, PTR, VOID, Value, vec
from grader.simt.observers import copies, releases
from grader.simt.observers.base import Completion, ObservedAccess, Observer

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter
    from grader.simt.engine.operands import OperandEmitter


class Shadow(Observer):
    """Watches shared and global memory for ``races``, for ``uninitialised`` reads, or for both.

    With ``every_pair`` two atomic or volatile accesses without an order are reported, too.
    """

    def __init__(self, *, races: bool = True, uninitialised: bool = True, every_pair: bool = False) -> None:
        self.races = races
        self.uninitialised = uninitialised
        self.every_pair = every_pair

    def before(self, access: ObservedAccess) -> None:
        if access.space not in ("global", "shared"):
            return
        if access.space == "global":
            _mark_cells(access)
        is_target = access.kind == "copy" and access.space == "shared"
        if self.uninitialised and access.kind != "store" and not is_target:
            self._uninitialised(access)
        for cell in _cells(access):
            if cell.contiguous:
                self._watch(cell.access, cell)
            else:
                self._call_watch(cell.access, cell)
        if access.strong and access.space == "global":
            _signal(access)

    def _call_watch(self, access: ObservedAccess, cell: _Cells) -> None:
        """Watch these cells in a function of their own: a request of 16 bytes has up to 16, and each is much code."""
        compared = _one_value(access)

        def build(f: Builder) -> None:
            warp, worker, place, mask, site, line, address, *values = f.args
            inside = replace(access, f=f, warp=warp, worker=worker, mask=mask, site=site, line=line, address=address)
            if compared:
                inside = replace(inside, offset=values[0], host=values[1], out=values[2])
            self._watch(inside, _Cells(inside, place))

        order = "_strong" * access.strong + "_block" * access.of_block
        name = f"watch_{access.space}_{access.kind}{order}{f'_{access.bits}' * compared}"
        arguments = [PTR, PTR, vec(I64), I32, I32, I32, vec(I64), *[vec(I64), I64, PTR] * compared]
        watch = generated_once(access.f.module, name, VOID, arguments, build)
        values = (access.offset, access.host, access.out) if compared else ()
        access.f.call(watch, access.warp, access.worker, cell.place, access.mask, access.site, access.line,
                      access.address, *values)  # fmt: skip

    def _watch(self, access: ObservedAccess, cell: _Cells) -> None:
        clock = WARP.load(access.f, access.warp, "clock")
        mine = copies.stamps_at(access.f, access.warp, access.worker, clock, access.line) | int(access.strong)
        written = cell.load("writes")
        if access.kind == "copy":
            mine = mine | copies.IN_FLIGHT[access.space]
        if access.kind == "load" or (access.kind == "copy" and access.space == "global"):
            if self.races:
                self._conflict(access, cell, mine, written, findings.RACE_WRITE_READ)
                reads = cell.load("reads")
                others = _suspects(access, mine, reads, every_pair=self.every_pair)
                cell.store("reads", _merge_reader(access, mine, reads, written, others))
            return
        if self.races:
            self._conflict(access, cell, mine, written, findings.RACE_WRITE_WRITE)
            self._conflict(access, cell, mine, cell.load("reads"), findings.RACE_READ_WRITE)
        cell.store("writes", mine)
        if self.races and access.kind in ("store", "copy") and not cell.contiguous:
            self._collisions(access, cell, mine)

    def _conflict(self, access: ObservedAccess, cell: _Cells, mine: Value, other: Value, kind: int) -> None:
        """Report the lanes whose access is not ordered after the access with the stamp ``other``."""
        f = access.f
        found = _suspects(access, mine, other, every_pair=self.every_pair)
        if access.copies and access.space == "global" and kind == findings.RACE_READ_WRITE:
            found = found | (_same_thread(mine, other) & copies.is_in_flight(other))
        suspects = found.as_mask() & access.mask
        with f.if_(suspects.ne(0), likely=False):
            bad = f.call(_unordered(f.module, access.space), access.warp, access.worker, other, suspects)
            with f.if_(bad.ne(0), likely=False):
                if access.copies and access.space == "shared":
                    as_started = copies.as_started(f.module, access.granule)
                    other = f.call(as_started, access.warp, access.worker, cell.index(), other, bad)
                if kind == findings.RACE_WRITE_WRITE and _one_value(access):
                    # An atomic may have made this value by chance; a store that meets it was not meant to do the same.
                    plain = (other & (1 << Stamp.ATOMIC)).eq(0).as_mask()
                    same = _by_lane(access, bad, lambda memory, mine, _: memory.eq(mine))
                    _report_writes(access, bad, same & plain, other)
                else:
                    _report(access, kind, bad, other)

    def _collisions(self, access: ObservedAccess, cell: _Cells, mine: Value) -> None:
        """Report lanes of one store with the same cell: the cell has the stamp of the last lane."""
        f = access.f
        there = cell.load("writes")
        lost = there.ne(mine).as_mask() & access.mask
        with f.if_(lost.ne(0), likely=False):
            same = _values_agree(access, lost, there) if _one_value(access) else f.const(I32, 0)
            if access.kind == "copy":  # copies of one request: a wait could not order them
                there = there & ~copies.IN_FLIGHT["shared"]
            _report_writes(access, lost, same, there)

    def _uninitialised(self, access: ObservedAccess) -> None:
        """Report a read of memory that was never written; the read returns the poison in it."""
        f = access.f
        if access.space == "global":
            unset = (ALLOCATION.load(f, access.allocation, "flags") & INITIALISED).eq(0)
        else:
            unset = f.const(I1, 1)
        with f.if_(unset):
            fresh = f.var(f.const(I32, 0))
            for cell in _cells(access):
                fresh.set(fresh.get() | _never_written(cell))
            never = fresh.get()
            with f.if_(never.ne(0), likely=False):
                _report(access, findings.UNINITIALISED, never, f.const(vec(I64), 0))

    def warp_sync(self, e: BlockEmitter, members: Value) -> None:
        e.f.call(_group_order(e.f.module), e.warp, e.worker, members, e.mask)

    def copied(self, copy: Completion) -> None:
        copies.landed(copy)

    def fenced(self, e: OperandEmitter) -> None:
        e.f.call(releases.fence(e.f.module), e.worker, e.warp)

    def acquired(self, e: OperandEmitter) -> None:
        releases.acquire(e.f, e.warp)


def _one_value(access: ObservedAccess) -> bool:
    """Whether each lane stores one element, so that its value can be compared."""
    return access.kind == "store" and access.count == 1


class _Cells:
    """The shadow cells of one granule of each lane's access."""

    def __init__(self, access: ObservedAccess, place: Value, *, contiguous: bool = False) -> None:
        self.access = access
        self.place = place  # bytes from the space's first stamp: of each lane's cell, or of lane 0's if ``contiguous``
        self.contiguous = contiguous

    def index(self) -> Value:
        """The index of each lane's cell."""
        f = self.access.f
        if not self.contiguous:
            return self.place >> 3
        return f.splat(self.place >> 3) + (f.iota(I64, self.access.width) >> self.access.granule.bit_length() - 1)

    def _pointer(self, which: str) -> Value:
        f, access = self.access.f, self.access
        base = f.address(WORKER.load(f, access.worker, f"{access.space}_{which}"))
        return f.pointer(self.place + (base if self.contiguous else f.splat(base)))

    def load(self, which: str) -> Value:
        f, active = self.access.f, self.access.mask.as_lanes()
        nothing = f.const(vec(I64), 0)
        if self.contiguous:
            return f.masked_load(vec(I64), self._pointer(which), active, nothing, 8)
        return f.gather(vec(I64), self._pointer(which), active, nothing, 8)

    def store(self, which: str, stamps: Value) -> None:
        f, active = self.access.f, self.access.mask.as_lanes()
        if self.contiguous:
            f.masked_store(stamps, self._pointer(which), active, 8)
        else:
            f.scatter(stamps, self._pointer(which), active, 8)


def _cells(access: ObservedAccess) -> list[_Cells]:
    f, count = access.f, max(1, access.width // access.granule)
    wanted = [k for k in range(count) if access.used >> (8 * access.granule * k // access.bits) & 1]
    shadow, scale = ALLOCATION.load(f, access.allocation, "shadow"), access.granule.bit_length() - 1
    if count == 1 and access.base is not None:
        return [_Cells(access, ((access.base.ashr(scale)) + shadow) << 3, contiguous=True) for _ in wanted]
    first = (access.offset >> scale) + f.splat(shadow)
    return [_Cells(_reaching(access, k * access.granule), (first + k) << 3) for k in wanted]


def _reaching(access: ObservedAccess, start: int) -> ObservedAccess:
    """The access of those lanes that read more than ``start`` bytes: of all, but for a part of a copy."""
    if not access.partial:
        return access
    wants = COPY.row(access.f, access.out, "bytes").ugt(start).as_mask()
    return replace(access, mask=access.mask & wants)


def _suspects(access: ObservedAccess, mine: Value, other: Value, *, every_pair: bool) -> Value:
    """A quick test: the access is by another thread of this launch (shared memory: block), and not both are atomic or
    volatile, unless ``every_pair`` is wanted. One whose scope is the block is neither, for another block.
    """
    f = access.f
    same_thread = _same_thread(mine, other)
    several = (other & (1 << Stamp.SEVERAL)).ne(0)
    origin = "serial" if access.space == "shared" else "serial_base"
    recent = (other >> Stamp.SERIAL).uge(f.splat(WORKER.load(f, access.worker, origin)))
    found = recent & (~same_thread | several)
    if access.strong and not every_pair:
        weak = (other & (1 << Stamp.ATOMIC)).eq(0)
        if access.of_block and access.space == "global":
            weak = weak | (other >> Stamp.SERIAL).ne(f.splat(WORKER.load(f, access.worker, "serial")))
        found = found & weak
    return found


def _same_thread(one: Value, other: Value) -> Value:
    """Whether two stamps are of the same thread of the same block."""
    thread_bits = ((1 << 64) - 1) ^ ((1 << Stamp.THREAD) - 1)
    return ((one ^ other) & thread_bits).eq(0)


def _unordered(module: ir.IRModule, space: str) -> ir.IRFunction:
    """unordered(warp, worker, stamps, lanes) -> the lanes whose stamp is not ordered before the present access."""
    arguments = [PTR, PTR, vec(I64), I32]
    return generated_once(module, f"unordered_{space}", I32, arguments, lambda f: _build_unordered(f, space))


def _build_unordered(f: Builder, space: str) -> None:
    warp, worker, stamps, lanes = f.args
    table, knows = f.array(I64, 32), f.array(I32, 1)
    f.store(stamps, table, align=64)
    bad = f.var(f.const(I32, 0))
    serial = WORKER.load(f, worker, "serial")
    row = f.at(WORKER.load(f, worker, "known"), WARP.load(f, warp, "index").zext(I64) * 128)
    with f.each_lane(lanes) as lane:
        stamp = f.load(I64, f.at(table, lane.zext(I64) * 8))
        bit = f.const(I32, 1) << lane
        with f.if_else((stamp >> Stamp.SERIAL).eq(serial)) as (same, other):
            with same:
                clock = ((stamp >> Stamp.CLOCK) & Stamp.MAX_CLOCK).trunc(I32)
                of_warp = (stamp >> (Stamp.THREAD + 5)) & 31
                f.store(f.load(I32, f.at(row, of_warp * 4)), knows)
                _know_by_lane(f, warp, worker, stamp, lane, of_warp, knows)
                late = clock.uge(f.load(I32, knows))
                bad.set(bad.get() | late.select(bit, f.const(I32, 0)))
            with other:
                if space == "global":
                    ordered = f.call(releases.is_ordered(f.module), worker, warp, stamp)
                    bad.set(bad.get() | ordered.ne(0).select(f.const(I32, 0), bit))
    f.ret(bad.get())


def _know_by_lane(
    f: Builder, warp: Value, worker: Value, stamp: Value, lane: Value, of_warp: Value, knows: Value
) -> None:
    """Within a warp, after a `.sync` of some lanes, each lane has its own row of the other lanes' clocks."""
    index = WARP.load(f, warp, "index").zext(I64)
    partial = WORKER.load(f, worker, "partial_sync").ne(0)
    with f.if_(of_warp.eq(index) & partial, likely=False):
        of_lane = (stamp >> Stamp.THREAD) & 31
        cell = f.at(WORKER.load(f, worker, "lane_known"), index * 4096 + lane.zext(I64) * 128 + of_lane * 4)
        known = f.load(I32, cell)
        f.store(f.overloaded("llvm.umax", known, f.load(I32, knows)), knows)


def _merge_reader(access: ObservedAccess, mine: Value, old: Value, written: Value, suspects: Value) -> Value:
    """The cell's new read stamp: this access's, unless another thread's unordered read must be kept."""
    f = access.f
    merged = f.var(mine)
    others = suspects.as_mask() & access.mask
    with f.if_(others.ne(0)):
        unordered = f.call(_unordered(f.module, access.space), access.warp, access.worker, old, others)
        reader = _same_thread(old, written).select(mine, old)
        merged.set(unordered.as_lanes().select(reader | (1 << Stamp.SEVERAL), mine))
    return merged.get()


def _never_written(cell: _Cells) -> Value:
    """The lanes whose cell was never written."""
    access = cell.access
    if cell.contiguous:
        return _unset(access, cell.load("writes")) & access.mask

    def build(f: Builder) -> None:
        worker, place, mask = f.args
        inside = replace(access, f=f, worker=worker, mask=mask)
        f.ret(_unset(inside, _Cells(inside, place).load("writes")) & mask)

    fn = generated_once(access.f.module, f"unset_{access.space}", I32, [PTR, vec(I64), I32], build)
    return access.f.call(fn, access.worker, cell.place, access.mask)


def _unset(access: ObservedAccess, stamps: Value) -> Value:
    if access.space == "global":
        return stamps.eq(0).as_mask()
    serial = WORKER.load(access.f, access.worker, "serial")
    return (stamps >> Stamp.SERIAL).ne(access.f.splat(serial)).as_mask()


def _values_agree(access: ObservedAccess, lanes: Value, stamps: Value) -> Value:
    """The lanes whose value equals that of the lane whose stamp is in their cell."""
    f = access.f
    kind = ir.IntType(access.bits)
    table = f.array(I64, 32)
    f.store(stamps, table, align=64)

    def agrees(memory: Value, mine: Value, lane: Value) -> Value:
        winner = (f.load(I64, f.at(table, lane.zext(I64) * 8)) >> Stamp.THREAD) & 31
        return f.load(kind, f.at(access.out, winner * (access.bits // 8))).eq(mine)

    return _by_lane(access, lanes, agrees)


def _by_lane(access: ObservedAccess, lanes: Value, test: Callable[[Value, Value, Value], Value]) -> Value:
    """The lanes that pass a test of the value in memory, the lane's own value, and the lane's number."""
    f = access.f
    kind = ir.IntType(access.bits)
    places = f.array(I64, 32)
    f.store(access.offset, places, align=64)
    found = f.var(f.const(I32, 0))
    with f.each_lane(lanes) as lane:
        memory = f.load(kind, f.pointer(access.host + f.load(I64, f.at(places, lane.zext(I64) * 8))))
        mine = f.load(kind, f.at(access.out, lane.zext(I64) * (access.bits // 8)))
        yes = test(memory, mine, lane).select(f.const(I32, 1) << lane, f.const(I32, 0))
        found.set(found.get() | yes)
    return found.get()


def _report(access: ObservedAccess, kind: int, lanes: Value, other: Value) -> None:
    f = access.f
    with f.if_(lanes.ne(0)):
        lane = f.first_lane(lanes)
        thread = WARP.load(f, access.warp, "index") * 32 + lane
        f.call(access.report, access.worker, f.const(I32, kind), access.site, thread, lanes, access.address.lane(lane),
               other.lane(lane))  # fmt: skip


def _report_writes(access: ObservedAccess, lanes: Value, same: Value, other: Value) -> None:
    """Report writes: of the same value as a warning, of others as a race."""
    _report(access, findings.SAME_VALUE_WRITE, lanes & same, other)
    _report(access, findings.RACE_WRITE_WRITE, lanes & ~same, other)


def _mark_cells(access: ObservedAccess) -> None:
    """With several workers: mark the cells that this worker reads or writes, with a byte for each."""
    f = access.f
    with f.if_(WORKER.load(f, access.worker, "multi_worker").ne(0)):
        mark = READ_MARK if access.kind in ("load", "copy") else WRITE_MARK
        cells = max(1, access.width // access.granule)
        kind = ir.IntType(8 * cells)
        scale = access.granule.bit_length() - 1
        pattern = int.from_bytes(bytes([mark]) * cells, "little")
        marks = f.at(WORKER.load(f, access.worker, "marks"), ALLOCATION.load(f, access.allocation, "shadow"))
        if access.base is not None:
            place = f.at(marks, access.base.ashr(scale))
            ours = access.mask.as_lanes().select(f.const(vec(kind), pattern), 0)
            f.store(f.load(vec(kind), place, align=1) | ours, place, align=1)
        else:
            table = f.array(I64, 32)
            f.store(access.offset, table, align=64)
            with f.each_lane(access.mask) as lane:
                place = f.at(marks, f.load(I64, f.at(table, lane.zext(I64) * 8)) >> scale)
                f.store(f.load(kind, place, align=1) | pattern, place, align=1)


def _signal(access: ObservedAccess) -> None:
    """An atomic or volatile access to global memory: it may release or acquire."""
    f = access.f
    if access.kind == "load":
        WARP.store(f, access.warp, "observed", WORKER.load(f, access.worker, "sequence"))
    else:
        f.call(releases.publish(f.module, access.kind), access.worker, access.warp)


@generated("group_order", VOID, PTR, PTR, vec(I32), I32)
def _group_order(module: ir.IRModule, f: Builder) -> None:
    """group_order(warp, worker, members, mask): the lanes of each group have synchronised."""
    warp, worker, members, mask = f.args
    with f.each_group(members, mask) as group:
        f.call(_warp_order(module), warp, worker, group)


@generated("warp_order", VOID, PTR, PTR, I32)
def _warp_order(module: ir.IRModule, f: Builder) -> None:
    """warp_order(warp, worker, lanes): these lanes have synchronised; if they are all, the warp's clock is advanced."""
    warp, worker, lanes = f.args
    index = WARP.load(f, warp, "index").zext(I64)
    f.call(make_room(module), worker, warp)
    clock = WARP.load(f, warp, "clock") + 1
    WARP.store(f, warp, "clock", clock)
    whole = (WARP.load(f, warp, "alive") & ~lanes).eq(0)
    with f.if_else(whole) as (all_lanes, some_lanes):
        with all_lanes:
            f.store(clock, f.at(WORKER.load(f, worker, "known"), index * 128 + index * 4))
        with some_lanes:
            _partial(f, worker, f.at(WORKER.load(f, worker, "lane_known"), index * 4096), lanes, clock)


def _partial(f: Builder, worker: Value, table: Value, lanes: Value, clock: Value) -> None:
    """Each of the lanes gets the knowledge of all of them, and the order after all their accesses so far."""
    with f.if_(WORKER.load(f, worker, "partial_sync").eq(0)):
        WORKER.store(f, worker, "partial_sync", 1)
        f.memset(WORKER.load(f, worker, "lane_known"), 0, WORKER.load(f, worker, "warp_count").zext(I64) * 4096)
    joined = f.var(f.const(vec(I32), 0))
    with f.each_lane(lanes) as lane:
        row = f.load(vec(I32), f.at(table, lane.zext(I64) * 128), align=64)
        joined.set(f.overloaded("llvm.umax", joined.get(), row))
    now = lanes.as_lanes().select(f.splat(clock), joined.get())
    with f.each_lane(lanes) as lane:
        f.store(now, f.at(table, lane.zext(I64) * 128), align=64)
