"""Where the pages of managed memory are: on the host or on a device, and what moves them.

The host's accesses cannot be seen. What it wrote is seen by its content, whenever something is queued; what it only
read is not, so that pages which the host reads seem to stay on the device. A prefetch begins when it is queued, as a
rule: pages that the host writes to after that are on the host again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grader.standin.device.memory import MANAGED_WORD, MemoryRegion, poisoned
from grader.standin.device.operations import HOST, Prefetch, StreamOperation
from grader.standin.device.spans import Footprint, Spans, clip, span, total, union

PAGE_BYTES = 64 << 10
WORD_BYTES = 4  # of what fresh memory is filled with
NOWHERE = -2

ADVICE = range(1, 7)
"""cudaMemoryAdvise."""
READ_MOSTLY, NOT_READ_MOSTLY, _, _, ACCESSED_BY, NOT_ACCESSED_BY = ADVICE


class FaultReason(NamedTuple):
    """Why pages are on the host although there was a prefetch at ``line``; no cause where that is open."""

    cause: str = ""  # "host_wrote" | "sent_back" | "in_part", where a prefetch named ``covered`` bytes only
    line: int = 0
    more: int = 0  # further prefetches of the region
    covered: int = 0

    @property
    def facts(self) -> dict[str, int]:
        return {"line": self.line, "more": self.more, "covered": self.covered}


UNKNOWN = FaultReason()


@dataclass(eq=False)
class Page:
    place: int = NOWHERE
    crc: int = 0
    also: frozenset[int] = frozenset()  # devices that have a copy to read, of a page that is mostly read
    read_mostly: bool = False
    accessed_by: frozenset[int] = frozenset()
    why: FaultReason = UNKNOWN


@dataclass(frozen=True, eq=False)
class PageFault:
    """What one kernel had to fetch of one region, and ``why`` a prefetch had not brought it."""

    region: MemoryRegion
    size: int  # bytes
    why: FaultReason


class Managed:
    """The pages of all managed regions. ``written`` is told what the host has written: address and bytes."""

    def __init__(self, written: Callable[[int, int], None]) -> None:
        self._written = written
        self._pages: dict[MemoryRegion, list[Page]] = {}
        self._prefetches: dict[
            StreamOperation, set[Page]
        ] = {}  # queued ones, with the pages that the host wrote meanwhile
        self._covered: list[tuple[int, Spans]] = []  # by prefetches of this run towards a GPU: line and bytes

    def restart(self) -> None:
        """A run begins."""
        self._covered = []

    def add(self, region: MemoryRegion) -> None:
        """Fresh memory is nowhere until somebody touches it."""
        self._pages[region] = [Page(crc=c) for c in _contents(region)]

    def remove(self, region: MemoryRegion) -> None:
        self._pages.pop(region, None)

    def look(self) -> int | None:
        """Find the pages that the host wrote to: they are there now. The address of the first one."""
        first = None
        for region, pages in self._pages.items():
            for i, (page, crc) in enumerate(zip(pages, _contents(region), strict=True)):
                if page.crc != crc:
                    page.place, page.crc, page.also = HOST, crc, frozenset()
                    self._lose(region, i)
                    self._tell_written(region, i)
                    first = region.start + i * PAGE_BYTES if first is None else first
        return first

    def _tell_written(self, region: MemoryRegion, number: int) -> None:
        """Each word of a page that is not as it was allocated was written; what operations wrote is known already."""
        begin = number * PAGE_BYTES
        page = region.data[begin : begin + PAGE_BYTES]
        other = np.zeros(-(-page.size // WORD_BYTES) * WORD_BYTES, bool)
        other[: page.size] = page != poisoned(page.size, MANAGED_WORD)
        words = other.reshape(-1, WORD_BYTES).any(axis=1)
        edges = np.flatnonzero(np.diff(words.astype(np.int8), prepend=0, append=0)) * WORD_BYTES
        for first, end in edges.reshape(-1, 2).tolist():
            self._written(region.start + begin + first, min(end, page.size) - first)

    def _lose(self, region: MemoryRegion, number: int) -> None:
        """A page is on the host again, whatever prefetch was in flight."""
        start, page = region.start + number * PAGE_BYTES, self._pages[region][number]
        for op, lost in self._prefetches.items():
            work = op.job.work
            if not isinstance(work, Prefetch) or work.device == HOST:
                continue
            if work.address < start + PAGE_BYTES and start < work.address + work.size:
                lost.add(page)
                page.why = FaultReason("host_wrote", op.job.line)

    def prefetches(self, op: StreamOperation) -> None:
        """A prefetch was queued."""
        self._prefetches[op], work = set(), op.job.work
        if isinstance(work, Prefetch) and work.device != HOST:
            self._covered.append((op.job.line, span(work.address, work.size)))

    def remember(self, written: Spans) -> None:
        """What an operation has written is no writing of the host."""
        for region, i in self._touched(written):
            self._pages[region][i].crc = _crc(region, i)

    def advise(self, start: int, size: int, advice: int, device: int) -> None:
        """cudaMemAdvise, for whole pages. A preferred location changes nothing: to be used elsewhere takes a fault."""
        for region, i in self._touched(span(start, size)):
            _advise(self._pages[region][i], advice, device)

    def touch(self, footprint: Footprint, device: int) -> tuple[list[PageFault], int]:
        """A kernel on ``device`` used these bytes: what came from the host page by page, and how many it used there.

        Pages of the host that this device is known to access are used where they are, but for those that are mostly
        read: that advice overrides the other.
        """
        faults, in_place = [], 0
        touched, changed = footprint.touched, footprint.changed
        for region, pages in self._pages.items():
            writes, missed = set(_numbers(region, changed)), []
            for i in _numbers(region, touched):
                page = pages[i]
                if page.place == HOST and device not in page.also:
                    if device in page.accessed_by and not page.read_mostly:
                        start = region.start + i * PAGE_BYTES
                        in_place += total(clip(touched, start, min(start + PAGE_BYTES, region.end)))
                        continue
                    missed.append(page.why)
                _move(page, device, keeps=page.read_mostly and i not in writes)
            if missed:
                why = max(missed)  # a known one, where there is one: `UNKNOWN` is the least
                faults.append(PageFault(region, PAGE_BYTES * len(missed), why if why.cause else self._in_part(region)))
        return faults, in_place

    def _in_part(self, region: MemoryRegion) -> FaultReason:
        """Whether prefetches of this run named a part of the region only."""
        there = [(line, clip(spans, region.start, region.end)) for line, spans in self._covered]
        lines = [line for line, spans in there if len(spans)]
        covered = total(union([spans for _, spans in there])) if lines else 0
        if not 0 < covered < region.size:
            return UNKNOWN
        return FaultReason("in_part", lines[0], len(lines) - 1, covered)

    def move(self, op: StreamOperation, work: Prefetch) -> tuple[int, int]:
        """A prefetch: bytes that had to cross the link or go between devices, and those that the host had not lost."""
        moved, lost = 0, self._prefetches.pop(op, set())
        for region, i in self._touched(span(work.address, work.size)):
            page = self._pages[region][i]
            if page not in lost:
                moved += PAGE_BYTES * (page.place not in (work.device, NOWHERE) and work.device not in page.also)
                _move(page, work.device, keeps=page.read_mostly)
                page.why = FaultReason("sent_back", op.job.line) if work.device == HOST else UNKNOWN
        return min(moved, work.size), max(0, work.size - PAGE_BYTES * len(lost))

    def _touched(self, spans: Spans) -> Iterator[tuple[MemoryRegion, int]]:
        """Each page that spans touch, by its region and its number there."""
        return ((region, i) for region in self._pages for i in _numbers(region, spans))


def _numbers(region: MemoryRegion, spans: Spans) -> list[int]:
    """The pages of a region that spans touch."""
    inside = clip(spans, region.start, region.end) - region.start
    marked = np.zeros(-(-region.size // PAGE_BYTES) + 1, np.int64)
    np.add.at(marked, inside[:, 0] // PAGE_BYTES, 1)
    np.add.at(marked, -(-inside[:, 1] // PAGE_BYTES), -1)
    return [int(i) for i in np.flatnonzero(np.cumsum(marked) > 0)]


def _move(page: Page, device: int, *, keeps: bool) -> None:
    """The page is on ``device`` now; with ``keeps`` only a copy of it is."""
    if keeps and page.place not in (device, NOWHERE):
        page.also |= {device}
    else:
        page.place, page.also = device, frozenset()
    page.why = UNKNOWN


def _advise(page: Page, advice: int, device: int) -> None:
    if advice in (READ_MOSTLY, NOT_READ_MOSTLY):
        page.read_mostly = advice == READ_MOSTLY
        page.also = page.also if page.read_mostly else frozenset()
    elif advice == ACCESSED_BY:
        page.accessed_by |= {device}
    elif advice == NOT_ACCESSED_BY:
        page.accessed_by -= {device}


def _crc(region: MemoryRegion, page: int) -> int:
    return zlib.crc32(region.data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES].data)


def _contents(region: MemoryRegion) -> list[int]:
    return [_crc(region, i) for i in range(-(-region.size // PAGE_BYTES))]
