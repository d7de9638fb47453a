"""Memory requests, as outlined functions: one for each space, kind and width that a kernel uses.

A request finds its lanes' addresses in the space's address table (mostly in one array, which the site remembers),
reports lanes outside all arrays, calls the observers for the others, and moves the data. Lanes with consecutive
addresses have a fast path. Addresses become host pointers only through the table.

Generic addresses: shared memory at SHARED_BASE, local memory at LOCAL_BASE, everything else is global.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.simt.engine import changes, findings, ir, store_buffer
from grader.simt.engine.builder import Builder, Cell, generated, generated_once
from grader.simt.engine.layout import ALLOCATION, COPY, FATAL, READ_ONLY, RUNNING, SITE_COUNTERS, USED, WARP, WORKER
from grader.simt.engine.values import I32, I64, LANES, PTR, VOID, Value, vec
from grader.simt.observers.base import ObservedAccess, ObserverSet

if TYPE_CHECKING:
    from grader.simt.engine.sites import SiteTable

SHARED_BASE = 0x0000_7F00_0000_0000
LOCAL_BASE = 0x0000_7F10_0000_0000
WINDOW = 1 << 24
SPACES = {"global": 0, "shared": 1, "local": 2}
CACHE_SLOTS = len(SPACES)

Combine = Callable[[Builder, Value, Sequence[Value]], Value]
"""``combine(f, old, operands) -> new`` of a read-modify-write, on integers."""


@dataclass(frozen=True)
class RequestShape:
    """The parameters of a request function. ``used`` has a bit for each element whose value is used."""

    space: str
    kind: str
    bits: int
    count: int
    strong: bool = False
    atomic: tuple[str, Combine, int] | None = None  # name, combination, operands
    used: int = 0
    bypass: bool = False  # an asynchronous copy that bypasses L1
    late: bool = False  # a volatile or relaxed store: other threads may see it later
    constant: bool = False  # a load from constant memory, which is part of global memory here
    of_block: bool = False  # a strong access whose scope is the block: for other blocks it is an ordinary one

    @property
    def name(self) -> str:
        """The function's name, which has no text from the PTX."""
        strong, atomic = "_strong" * self.strong, f"_{self.atomic[0]}" if self.atomic else ""
        bypass, late = "_bypass" * self.bypass, "_late" * self.late + "_block" * self.of_block
        space = "const" if self.constant else self.space
        return f"{self.kind}_{space}_{self.bits}x{self.count}_{self.used:x}{strong}{atomic}{bypass}{late}"


class MemoryCode:
    """Builds the request functions of one kernel."""

    def __init__(
        self, module: ir.IRModule, observers: ObserverSet, sites: SiteTable, *, copies: bool, waits: bool, buffers: bool
    ) -> None:
        self.module = module
        self.observers = observers
        self.sites = sites
        self.copies = copies  # whether memory may have asynchronous copies in flight
        self.waits = waits  # whether changes of memory are counted, because threads may wait for them
        self.buffers = buffers  # whether strong stores reach memory late (see `grader.simt.engine.store_buffer`)

    def copy_side(self, space: str, size: int, *, partial: bool, bypass: bool) -> ir.IRFunction:
        """One side of an asynchronous copy: checks it and stores its host addresses in the copy's slot; moves nothing.

        Called like a request, with the slot for ``out``. ``partial``: the slot has the bytes that each lane reads.
        """
        kind = "part" if partial and space == "global" else "copy"
        words = size // 4
        return self.request(RequestShape(space, kind, 32, words, used=(1 << words) - 1, bypass=bypass))

    def request(self, shape: RequestShape) -> ir.IRFunction:
        """request(warp, worker, addresses, lanes, site, line's index, out): ``out`` points to the lanes' elements."""

        def build(f: Builder) -> None:
            if shape.space == "generic":
                self._generic(f, shape)
            else:
                _Request(self, f, shape).build()

        return generated_once(self.module, shape.name, VOID, (PTR, PTR, vec(I64), I32, I32, I32, PTR), build)

    def _generic(self, f: Builder, shape: RequestShape) -> None:
        """Call the requests of the spaces, each for the lanes with addresses in its window."""
        spaces = [s for s in SPACES if not (shape.atomic and s == "local")]
        parts = {space: self.request(replace(shape, space=space)) for space in spaces}
        warp, worker, address, mask, site, line, out = f.args
        rest = f.var(mask)
        for space, base in (("shared", SHARED_BASE), ("local", LOCAL_BASE)):
            if space in parts:
                inside = (address - base).ult(WINDOW).as_mask() & mask
                rest.set(rest.get() & ~inside)
                with f.if_(inside.ne(0)):
                    f.call(parts[space], warp, worker, address - base, inside, site, line, out)
        with f.if_(rest.get().ne(0)):
            f.call(parts["global"], warp, worker, address, rest.get(), site, line, out)


@generated("find", PTR, PTR, I64, I64)
def _find(_: ir.IRModule, f: Builder) -> None:
    """find(table, count, address) -> the allocation that contains the address, or null."""
    table, count, address = f.args
    low, high = f.var(f.const(I64, 0)), f.var(count)
    with f.while_(lambda: low.get().ult(high.get())):
        middle = (low.get() + high.get()) >> 1
        starts = ALLOCATION.load(f, f.at(table, middle * ALLOCATION.size), "low")
        below = starts.ule(address)
        low.set(below.select(middle + 1, low.get()))
        high.set(below.select(high.get(), middle))
    row = f.at(table, (low.get() - 1) * ALLOCATION.size)
    found = f.var(f.const(I32, 0))
    with f.if_(low.get().ne(0)):
        inside = (address - ALLOCATION.load(f, row, "low")).ult(ALLOCATION.load(f, row, "size"))
        found.set(inside.zext(I32))
    null = f.pointer(f.const(I64, 0))
    f.ret(found.get().ne(0).select(row, null))


def _gather(module: ir.IRModule, bits: int) -> ir.IRFunction:
    """gather(host addresses, out, lanes): load an element of each lane. A function, because it is much machine code."""

    def build(f: Builder) -> None:
        places, out, mask = f.args
        kind, lanes = vec(ir.IntType(bits)), mask.as_lanes()
        value = f.gather(kind, f.pointer(places), lanes, f.const(kind, 0), bits // 8)
        f.masked_store(value, out, lanes, 4 * bits)

    return generated_once(module, f"gather_{bits}", VOID, [vec(I64), PTR, I32], build)


def _scatter(module: ir.IRModule, bits: int, *, compared: bool) -> ir.IRFunction:
    """scatter(host addresses, values, lanes) -> the lanes whose memory changes if ``compared``, else 0."""

    def build(f: Builder) -> None:
        places, out, mask = f.args
        kind, lanes = vec(ir.IntType(bits)), mask.as_lanes()
        value, changed = f.load(kind, out, align=4 * bits), f.const(I32, 0)
        if compared:
            changed = f.gather(kind, f.pointer(places), lanes, value, bits // 8).ne(value).as_mask()
        f.scatter(value, f.pointer(places), lanes, bits // 8)
        f.ret(changed)

    return generated_once(module, f"scatter_{bits}{'_compared' * compared}", I32, [vec(I64), PTR, I32], build)


class _Request:
    """Builds one request function."""

    def __init__(self, code: MemoryCode, f: Builder, shape: RequestShape) -> None:
        self.code, self.f, self.shape = code, f, shape
        self.space, self.bits, self.count = shape.space, shape.bits, shape.count
        self.kind = "copy" if shape.kind == "part" else shape.kind
        self.width = shape.bits * shape.count // 8
        self.buffered = code.buffers and shape.space != "local"  # may overlap stores in the warp's store buffer
        self.warp, self.worker, self.address, self.mask, self.site, self.line, self.out = f.args

    def build(self) -> None:
        f = self.f
        rest = f.var(self.mask)
        if self.kind in ("store", "atomic"):
            self._change()
        if self.code.waits and self.kind in ("load", "atomic"):
            self._note_read()
        if self.kind == "load":
            for i in range(self.count):
                zero = f.const(vec(ir.IntType(self.bits)), 0)
                f.masked_store(zero, f.at(self.out, i * 4 * self.bits), self.mask.as_lanes(), 4 * self.bits)
        with f.while_(lambda: rest.get().ne(0)):
            lane = f.first_lane(rest.get())
            first = self.address.lane(lane)
            allocation = self._resolve(first)
            missing = f.address(allocation).eq(0)
            with f.if_else(missing) as (lost, found):
                with lost:
                    self._report(findings.OUT_OF_BOUNDS, f.const(I32, 1) << lane, first)
                    rest.set(rest.get() & (rest.get() - 1))
                with found:
                    self._group(allocation, rest)
        if self.kind == "load":
            self._change()

    def _change(self) -> None:
        """Change the loaded value, or the value to be stored, if this run changes the results of the instruction."""
        f, kind = self.f, vec(ir.IntType(self.bits))
        with changes.at_site(f, self.worker, self.site) as how:
            operands = range(1, 1 + self.shape.atomic[2]) if self.shape.atomic else range(self.count)
            for place in (f.at(self.out, i * 4 * self.bits) for i in operands):
                changed = changes.changed(f.load(kind, place, align=4 * self.bits), how)
                f.masked_store(changed, place, self.mask.as_lanes(), 4 * self.bits)

    def _note_read(self) -> None:
        """Record the last address that the warp read, in global and in other memory, for the report of a deadlock."""
        f, which = self.f, "read" if self.space == "global" else "own"
        base = {"global": 0, "shared": SHARED_BASE, "local": LOCAL_BASE}[self.space]
        WARP.store(f, self.warp, f"{which}_site", self.site)
        WARP.store(f, self.warp, f"{which}_address", self.address.lane(f.first_lane(self.mask) & 31) + base)

    def _changed(self, lanes: Value) -> None:
        """Count a change of memory, if these lanes have made any."""
        f = self.f
        with f.if_(lanes.ne(0)):
            f.add_to(WORKER.at(f, self.worker, "changes"), 0, 1)
            if self.space == "global":
                f.add_to(WORKER.at(f, self.worker, "global_changes"), 0, 1)

    def _resolve(self, first: Value) -> Value:
        """The allocation of an address: the site's last one, or by a search."""
        f = self.f
        slot = self.site.zext(I64) * (8 * CACHE_SLOTS) + 8 * SPACES[self.space]
        place = f.at(WORKER.load(f, self.worker, "site_cache"), slot)
        found = f.var(f.load(PTR, place))
        usable = f.var(f.const(I32, 0))
        with f.if_(f.address(found.get()).ne(0)):
            inside = (first - ALLOCATION.load(f, found.get(), "low")).ult(ALLOCATION.load(f, found.get(), "size"))
            usable.set(inside.zext(I32))
        with f.if_(usable.get().eq(0), likely=False):
            prefix = {"global": "", "shared": "shared_", "local": "local_"}[self.space]
            table = WORKER.load(f, self.worker, f"{prefix}allocations")
            count = WORKER.load(f, self.worker, f"{prefix}allocation_count")
            found.set(f.call(_find(f.module), table, count, first))
            f.store(found.get(), place)
            with f.if_(f.address(found.get()).ne(0)):  # a site's first access to an allocation always comes here
                ALLOCATION.store(f, found.get(), "flags", ALLOCATION.load(f, found.get(), "flags") | USED)
        return found.get()

    def _group(self, allocation: Value, rest: Cell) -> None:
        """Handle the lanes whose whole access is in this allocation, and in any case the first lane."""
        f = self.f
        low = ALLOCATION.load(f, allocation, "low")
        offset = self.address - low
        size = f.splat(ALLOCATION.load(f, allocation, "size"))
        partial = self.shape.kind == "part"  # the slot has the bytes that each lane reads
        room = size - (COPY.row(f, self.out, "bytes").zext(I64) if partial else self.width)
        inside = offset.ule(room).as_mask() & room.sge(0).as_mask()
        group = f.var(rest.get() & inside)
        straddles = group.get().eq(0)
        with f.if_(straddles, likely=False):
            lane = f.first_lane(rest.get())
            self._report(findings.OUT_OF_BOUNDS, f.const(I32, 1) << lane, self.address.lane(lane))
            rest.set(rest.get() & (rest.get() - 1))
        rest.set(rest.get() & ~group.get())
        if self.width > 1:
            crooked = (self.address & (self.width - 1)).ne(0).as_mask() & group.get()
            with f.if_(crooked.ne(0), likely=False):
                self._report(findings.MISALIGNED, crooked, self.address.lane(f.first_lane(crooked)))
            group.set(group.get() & ~crooked)
        if self.kind not in ("load", "copy") and self.space == "global":
            fixed = (ALLOCATION.load(f, allocation, "flags") & READ_ONLY).ne(0)
            with f.if_(fixed, likely=False):
                self._report(findings.READ_ONLY, group.get(), self.address.lane(f.first_lane(group.get())))
                group.set(f.const(I32, 0))
        with f.if_(group.get().ne(0)):
            self._perform(allocation, offset, group.get())

    def _report(self, kind: int, lanes: Value, address: Value) -> None:
        f = self.f
        findings.report(f, self.warp, self.worker, kind, self.site, lanes, address, SPACES[self.space])
        with f.if_(WORKER.load(f, self.worker, "status").eq(RUNNING)):
            WORKER.store(f, self.worker, "status", FATAL)

    # -- moving data ------------------------------------------------------------------------------------------------
    def _perform(self, allocation: Value, offset: Value, group: Value) -> None:
        f = self.f
        if self.kind == "copy":
            self._note_copy(allocation, offset, group)
        elif self.space == "local" or self.kind == "atomic" or self.count > 1 or self.buffered:
            self._move(allocation, offset, group)
        else:
            lane = f.first_lane(group)
            base = offset.lane(lane) - lane.zext(I64) * self.width
            line = f.splat(base) + f.iota(I64, self.width)
            contiguous = (offset.ne(line).as_mask() & group).eq(0)
            with f.if_else(contiguous) as (yes, no):
                with yes:
                    self._move(allocation, offset, group, base)
                with no:
                    self._move(allocation, offset, group)

    def _access(self, allocation: Value, offset: Value, group: Value, base: Value | None) -> ObservedAccess:
        counters = self.f.at(
            WORKER.load(self.f, self.worker, "site_counters"), self.site.zext(I64) * (8 * len(SITE_COUNTERS))
        )
        return ObservedAccess(
            f=self.f, warp=self.warp, worker=self.worker, site=self.site, line=self.line,
            space=self.space, kind=self.kind,
            bits=self.bits, count=self.count, strong=self.shape.strong, mask=group, address=self.address, offset=offset,
            allocation=allocation, base=base, counters=counters, out=self.out,
            report=findings.report_function(self.f.module),
            host=self._host(allocation), granule=self.code.sites.granule.get(self.space, 4),
            copies=self.code.copies, partial=self.shape.kind == "part", used=self.shape.used,
            bypass=self.shape.bypass, constant=self.shape.constant, of_block=self.shape.of_block,
        )  # fmt: skip

    def _host(self, allocation: Value) -> Value:
        """Host address of the allocation's first byte."""
        f = self.f
        host = ALLOCATION.load(f, allocation, "host")
        if self.space == "shared":
            return host + f.address(WORKER.load(f, self.worker, "shared"))
        return host

    def _note_copy(self, allocation: Value, offset: Value, group: Value) -> None:
        """Call the observers for one side of an asynchronous copy, and store its addresses in the slot."""
        f, slot = self.f, self.out
        access = self._access(allocation, offset, group, None)
        self.code.observers.before(access)
        side = "source" if self.space == "global" else "target"
        cells = (offset >> access.granule.bit_length() - 1) + ALLOCATION.load(f, allocation, "shadow")
        COPY.store_row(f, slot, side, offset + access.host, group)
        COPY.store_row(f, slot, f"{side}_cell", cells, group)
        COPY.store(f, slot, "lanes", COPY.load(f, slot, "lanes") | group)

    def _move(self, allocation: Value, offset: Value, group: Value, base: Value | None = None) -> None:
        """Call the observers, and move the data. ``base``: the lanes' addresses are consecutive from this offset on."""
        f = self.f
        access = self._access(allocation, offset, group, base)
        self.code.observers.before(access)
        if base is not None:
            self._contiguous(f.pointer(access.host + base), group)
            self.code.observers.after(access)
            return
        places = f.splat(access.host) + offset
        if self.space == "local":
            stride = WORKER.load(f, self.worker, "local_bytes")
            lanes = f.iota(I64) + (WARP.load(f, self.warp, "index").zext(I64) * LANES)
            places = lanes * f.splat(stride) + offset + f.address(WORKER.load(f, self.worker, "local"))
        if self.buffered and not self.shape.late:
            if self.kind in ("load", "atomic"):
                f.call(store_buffer.show_block(f.module), self.worker, self.warp, group)
            f.call(store_buffer.drain_overlap(f.module), self.worker, self.warp, places, group,
                   f.const(I32, self.width), f.const(I32, int(self.kind == "load")))  # fmt: skip
        if self.kind == "atomic":
            self._atomic(places, group)
        else:
            for i in range(self.count):
                self._element(places + i * (self.bits // 8) if i else places, i, group)
        self.code.observers.after(access)

    def _contiguous(self, place: Value, group: Value) -> None:
        f, kind = self.f, vec(ir.IntType(self.bits))
        if self.kind == "load":
            value = f.masked_load(kind, place, group.as_lanes(), f.const(kind, 0), self.width)
            f.masked_store(value, self.out, group.as_lanes(), 4 * self.bits)
        else:
            value = f.load(kind, self.out, align=4 * self.bits)
            if self.code.waits:
                before = f.masked_load(kind, place, group.as_lanes(), value, self.width)
                self._changed(before.ne(value).as_mask())
            f.masked_store(value, place, group.as_lanes(), self.width)

    def _element(self, places: Value, i: int, group: Value) -> None:
        """Move element ``i`` of each lane between memory and the out array."""
        f = self.f
        kind = vec(ir.IntType(self.bits))
        slot = f.at(self.out, i * 4 * self.bits)
        align = self.bits // 8
        if self.shape.late:
            value = f.load(kind, slot, align=4 * self.bits).resize(I64)
            f.call(store_buffer.hold(f.module), self.worker, self.warp, places, value, group,
                   f.const(I32, align), f.const(I32, i))  # fmt: skip
        elif self.bits < 32:
            self._by_lane(places, slot, group)
        elif self.kind == "load":
            f.call(_gather(f.module, self.bits), places, slot, group)
        else:
            changed = f.call(_scatter(f.module, self.bits, compared=self.code.waits), places, slot, group)
            if self.code.waits:
                self._changed(changed)
        if self.buffered and self.kind == "load":
            loaded = f.load(kind, slot, align=4 * self.bits).resize(I64)
            seen = f.call(store_buffer.forward(f.module), self.worker, self.warp, places, loaded, group,
                          f.const(I32, align))  # fmt: skip
            f.masked_store(seen.resize(ir.IntType(self.bits)), slot, group.as_lanes(), 4 * self.bits)

    def _by_lane(self, places: Value, slot: Value, group: Value) -> None:
        """Move narrow elements lane by lane: processors have no gather for them."""
        f, kind = self.f, ir.IntType(self.bits)
        with self._each_place(places, group) as (lane, memory, changed):
            mine = f.at(slot, lane * (self.bits // 8))
            source, target = (memory, mine) if self.kind == "load" else (mine, memory)
            value = f.load(kind, source)
            if self.code.waits and self.kind == "store":
                changed.set(changed.get() | f.load(kind, target).ne(value).zext(I32))
            f.store(value, target)

    def _atomic(self, places: Value, group: Value) -> None:
        assert self.shape.atomic is not None
        _, combine, operand_count = self.shape.atomic
        f, kind, size = self.f, ir.IntType(self.bits), self.bits // 8
        with self._each_place(places, group) as (lane, memory, changed):
            old = f.load(kind, memory)
            at = [f.at(self.out, lane * size + (i + 1) * 4 * self.bits) for i in range(operand_count)]
            new = combine(f, old, [f.load(kind, place) for place in at])
            if self.code.waits:
                changed.set(changed.get() | new.ne(old).zext(I32))
            f.store(new, memory)
            f.store(old, f.at(self.out, lane * size))

    @contextmanager
    def _each_place(self, places: Value, group: Value) -> Iterator[tuple[Value, Value, Cell]]:
        """For each lane: its number, the pointer to its memory, and a variable for whether memory has changed."""
        f = self.f
        table = f.array(I64, LANES)
        f.store(places, table, align=64)
        changed = f.var(f.const(I32, 0))
        with f.each_lane(group) as lane:
            at = lane.zext(I64)
            yield at, f.pointer(f.load(I64, f.at(table, at * 8))), changed
        if self.code.waits and self.kind != "load":
            self._changed(changed.get())
