"""Findings of generated code in terms of the source: kinds and arrays by name, threads and blocks in 3-D. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.simt.engine import findings as kinds
from grader.simt.engine.barrier_objects import COUNT, COUNT_BITS
from grader.simt.engine.device import Array, Device
from grader.simt.engine.findings import Finding
from grader.simt.engine.flatten import plain_name
from grader.simt.engine.launch import Dim3, Launched
from grader.simt.engine.layout import TIMED_OUT, Stamp
from grader.simt.engine.memory import SHARED_BASE, SPACES
from grader.simt.engine.operands import PARAMETER_BASE
from grader.simt.engine.residents import NotResident, TooLarge
from grader.simt.engine.sites import Site

NAMES = {
    kinds.OUT_OF_BOUNDS: "out_of_bounds", kinds.READ_ONLY: "read_only", kinds.MISALIGNED: "misaligned",
    kinds.RACE_WRITE_WRITE: "race", kinds.RACE_READ_WRITE: "race", kinds.RACE_WRITE_READ: "race",
    kinds.SAME_VALUE_WRITE: "same_value_write", kinds.UNINITIALISED: "uninitialised_read",
    kinds.BARRIER_DIVERGENCE: "barrier_divergence", kinds.LEFT_BARRIER: "left_barrier", kinds.LEFT_GRID: "left_grid",
    kinds.DEADLOCK: "deadlock",
    kinds.OBJECT_DEADLOCK: "object_deadlock", kinds.BLOCK_DEADLOCK: "block_deadlock",
    kinds.BUDGET: "instruction_budget",
    kinds.MISSING_LANES: "missing_lanes", kinds.INACTIVE_LANE: "inactive_lane", kinds.BAD_MASK: "bad_mask",
    kinds.TRAP: "trap", kinds.ASSERTION: "assert", kinds.PRINT_LIMIT: "print_limit",
}  # fmt: skip
ASYNC_COPY = "cp.async.c"
GRID_SYNC = "grid.sync()"
OF_THE_GRID = (
    kinds.RACE_WRITE_WRITE, kinds.RACE_READ_WRITE, kinds.RACE_WRITE_READ, kinds.BARRIER_DIVERGENCE, kinds.LEFT_BARRIER,
    kinds.LEFT_GRID,
)  # fmt: skip
"""Findings whose text is `GRID_SYNC` if the kernel uses `grid.sync()`."""
NULL_PAGE = 4096
SHARED_WINDOW = 1 << 24  # bytes of generic addresses of shared memory, including strays
_SPACE_NAMES = {index: name for name, index in SPACES.items()}


@dataclass(frozen=True)
class Place:
    """One access: ``kind`` read, write, atomic or (asynchronous) copy; thread and block in 3-D."""

    kind: str
    thread: Dim3
    block: Dim3
    line: int | None
    called_at: int = 0  # the line of the innermost call of its function; 0: none, or unknown


@dataclass(frozen=True)
class Event:
    """One finding. ``offset`` is in bytes from the start of ``array``; ``detail`` depends on the kind.

    A race has two ``accesses``, or one if the other thread is unknown.
    """

    kind: str
    kernel: str
    line: int | None
    thread: Dim3
    block: Dim3
    instruction: str = ""
    space: str | None = None
    array: str | None = None
    array_bytes: int | None = None
    offset: int | None = None
    address: int | None = None
    width: int = 0
    accesses: tuple[Place, ...] = ()
    lanes: int = 0  # mask of the warp's lanes
    detail: tuple[int, ...] = ()
    text: str = ""
    count: int = 1
    dynamic: bool = False  # the array is sized by the launch, as `extern __shared__` is
    call: int | None = None  # number of the launch in its case, from 0
    cooperative: bool = False  # in a cooperative launch
    launch: str = ""  # of a host file: the line and the arguments, in words
    launched_at: str = ""  # of a host file: the line


def explain(
    device: Device, launched: Launched, grid: Dim3, block: Dim3, dynamic_shared: int, *, call: int | None = None
) -> list[Event]:
    """All findings of a launch, the ``call``-th of its case."""
    reader = _Reader(device, launched, grid, block, dynamic_shared)
    events = [replace(reader.event(finding), call=call) for finding in launched.findings]
    if launched.status == TIMED_OUT and not any(f.kind == kinds.BUDGET for f in launched.findings):
        # The limit of the case was reached between two blocks, so that no thread has a finding.
        events.append(Event("instruction_budget", launched.kernel.name, None, (0, 0, 0), (0, 0, 0), detail=(1, 0)))
    return events


def too_large(kernel: str, error: TooLarge) -> Event:
    """The event of a launch that was not started."""
    nowhere = (0, 0, 0)
    cooperative = isinstance(error, NotResident)
    return Event("launch_limit", kernel, None, nowhere, nowhere, text=str(error), cooperative=cooperative)


def merge(events: Sequence[Event]) -> list[Event]:
    """Each group of equal events as its first one, with a count."""
    merged: dict[tuple[object, ...], Event] = {}
    for event in events:
        key = (event.kind, event.line, event.array, tuple(sorted((a.kind, a.line or 0) for a in event.accesses)))
        known = merged.get(key)
        merged[key] = event if known is None else replace(known, count=known.count + 1)
    return list(merged.values())


def _coordinates(linear: int, size: Dim3) -> Dim3:
    x, y, _ = size
    return (linear % x, linear // x % y, linear // (x * y))


class _Reader:
    def __init__(self, device: Device, launched: Launched, grid: Dim3, block: Dim3, dynamic_shared: int) -> None:
        self.device, self.launched, self.kernel = device, launched, launched.kernel
        self.grid, self.block = grid, block
        self.dynamic = dynamic_shared

    def event(self, finding: Finding) -> Event:
        site, kind = self.kernel.sites[finding.site], finding.kind
        event = Event(
            NAMES[kind], self.kernel.name, site.line or None, _coordinates(finding.thread, self.block),
            _coordinates(finding.block, self.grid), site.name, width=site.bytes, lanes=finding.lanes,
            cooperative=self.launched.cooperative,
            text=GRID_SYNC if self.kernel.grid_sync and kind in OF_THE_GRID else "",
        )  # fmt: skip
        if kind in (kinds.OUT_OF_BOUNDS, kinds.READ_ONLY, kinds.MISALIGNED):
            return self._stray(event, site, finding)
        if kind in (kinds.RACE_WRITE_WRITE, kinds.RACE_READ_WRITE, kinds.RACE_WRITE_READ, kinds.SAME_VALUE_WRITE):
            return self._race(event, site, finding)
        if kind == kinds.UNINITIALISED:
            return self._place(event, site.space, finding.address)
        if kind == kinds.BARRIER_DIVERGENCE:
            line = self.kernel.sites[finding.other >> 32].line or None
            other = _coordinates(finding.other & 0xFFFFFFFF, self.block)
            places = (Place("barrier", other, event.block, line), _at(event, "barrier"))
            return replace(event, accesses=places)
        if kind in (kinds.LEFT_BARRIER, kinds.LEFT_GRID):
            gone = Place("exit", _coordinates(finding.address, self.block), event.block, None)
            return replace(event, accesses=(gone, _at(event, "barrier")))
        if kind == kinds.DEADLOCK:
            return replace(event, detail=(finding.address, finding.other >> 32, finding.other & 0xFFFFFFFF))
        if kind == kinds.OBJECT_DEADLOCK:
            expected, pending = finding.other >> COUNT_BITS & COUNT, finding.other & COUNT
            placed = self._place(event, "shared", finding.address)
            return replace(placed, detail=(max(0, expected - pending), expected))
        if kind == kinds.BLOCK_DEADLOCK:  # a thread waits for a change of memory which never comes
            event = replace(event, detail=(self.launched.resident, math.prod(self.grid), finding.other - 1))
            if self.device.is_workspace(finding.address):
                return replace(event, text=GRID_SYNC)
            return self._place(event, "generic", finding.address)
        if kind == kinds.TRAP and self.kernel.grid_sync and not self.launched.cooperative:
            return replace(event, kind="not_cooperative")
        if kind == kinds.ASSERTION:
            return replace(event, text=self.device.text(finding.address))
        if kind == kinds.MISSING_LANES and site.name.startswith("bar"):
            event = replace(event, kind="warp_barrier_divergence")
        return replace(event, detail=(finding.address, finding.other))

    def _stray(self, event: Event, site: Site, finding: Finding) -> Event:
        space, address = _SPACE_NAMES[finding.other], finding.address
        event = replace(event, accesses=(_own(event, site),))
        if space == "global" and address < NULL_PAGE:
            return replace(event, kind="null", space=space, address=address)
        if space == "global" and event.kind == "out_of_bounds" and (gone := self.device.freed_at(address)):
            return _in_array(replace(event, kind="use_after_free"), space, gone, address - gone.address, address)
        return self._place(event, space, address)

    def _race(self, event: Event, site: Site, finding: Finding) -> Event:
        stamp = finding.other
        line_index = (stamp >> Stamp.LINE) & Stamp.MAX_LINE
        line, called_at = self.kernel.lines[line_index] if line_index < len(self.kernel.lines) else (None, 0)
        atomic = bool(stamp & (1 << Stamp.ATOMIC)) and any(
            s.kind == "atomic" and s.line == line for s in self.kernel.sites
        )
        word = "read" if finding.kind == kinds.RACE_READ_WRITE else "atomic" if atomic else self._writer(line, site)
        thread = _coordinates((stamp >> Stamp.THREAD) & 1023, self.block)
        block = max(0, (stamp >> Stamp.SERIAL) - self.device.last_serial_base)
        other = Place(word, thread, _coordinates(block, self.grid), line or None, called_at)
        if (stamp >> Stamp.CLOCK) & Stamp.MAX_CLOCK == Stamp.MAX_CLOCK:
            event, other = replace(event, kind="missing_async_wait"), replace(other, kind="copy")
        if other.block != event.block and event.kind == "race" and not self.kernel.grid_sync:
            # If blocks signal each other, the fence before the signal is missing.
            # Two atomics are unordered only if the scope of the second one is its block.
            alone = word == "atomic" == site.kind
            signals = not alone and any(s.kind == "atomic" and s.space != "shared" for s in self.kernel.sites)
            event = replace(event, kind="missing_fence") if signals or (self.kernel.waits and not alone) else event
        if site.space == "shared":
            event = replace(event, text="")
        own = _own(event, site)
        known = (other.thread, other.block) != (own.thread, own.block) or event.kind == "missing_async_wait"
        # Otherwise the cell had several readers, of which the stamp names only the writing thread itself.
        return replace(self._place(event, site.space, finding.address), accesses=(other, own) if known else (own,))

    def _writer(self, line: int | None, site: Site) -> str:
        """The role of a write at a line: ``copy`` if only asynchronous copies write to this memory there."""
        spaces = ("shared", "generic") if site.space == "generic" else (site.space, "generic")
        there = {s.kind for s in self.kernel.sites if s.line == line and s.space in spaces}
        return "copy" if "copy" in there and "store" not in there else "write"

    def _place(self, event: Event, space: str, address: int) -> Event:
        """The event with the array that contains the address, or is nearest to it."""
        if space == "generic":
            inside = SHARED_BASE <= address < SHARED_BASE + SHARED_WINDOW
            space, address = ("shared", address - SHARED_BASE) if inside else ("global", address)
        if space == "shared":
            return self._shared(event, address)
        if space == "local":
            return replace(event, space=space, address=address, array_bytes=self.kernel.local_bytes, offset=address)
        if address >= PARAMETER_BASE:
            return replace(event, space="param", address=address)
        found = self.device.locate(address)
        return _in_array(event, space, *found, address) if found else replace(event, space=space, address=address)

    def _shared(self, event: Event, address: int) -> Event:
        rows: Sequence[tuple[str, int, int, bool]] = [
            (name, at, size if size >= 0 else self.dynamic, size < 0) for name, at, size in self.kernel.shared
        ]
        if not rows:
            return replace(event, space="shared", address=address)
        for bits in (32, 64):  # a negative address, before the first array
            if (1 << bits) - SHARED_WINDOW <= address < 1 << bits:
                address -= 1 << bits
        below = [r for r in rows if r[1] <= address] or [min(rows, key=lambda r: r[1])]
        name, at, size, dynamic = max(below, key=lambda r: (r[1], r[2]))
        return replace(
            event, space="shared", array=plain_name(name), array_bytes=size, offset=address - at, address=address,
            dynamic=dynamic,
        )  # fmt: skip


def _in_array(event: Event, space: str, array: Array, offset: int, address: int) -> Event:
    return replace(
        event, space=space, array=plain_name(array.name), array_bytes=array.size, offset=offset,
        address=address,
    )  # fmt: skip


def _at(event: Event, kind: str) -> Place:
    """The event's thread and line as a place."""
    return Place(kind, event.thread, event.block, event.line)


def _own(event: Event, site: Site) -> Place:
    word = {"load": "read", "store": "write"}.get(site.kind, site.kind or "read")
    return replace(_at(event, "copy" if site.name.startswith(ASYNC_COPY) else word), called_at=site.called_at)
