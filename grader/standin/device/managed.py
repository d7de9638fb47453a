"""Where the pages of managed memory are, on the host or on a device, and what migrates them.

The host's accesses cannot be observed. Its writes are found from changed contents, whenever an operation is queued; its
reads are not, so pages that the host only reads seem to stay on the device. A prefetch is taken to start when it is
queued: pages that the host writes after that are on the host again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from grader.frozen import dataclass
from grader.standin.device.memory import MANAGED_WORD, MemoryRegion, poisoned
from grader.standin.device.operations import HOST, Prefetch, StreamOperation
from grader.standin.device.spans import Footprint, Spans, clip, span, total, union

PAGE_BYTES = 64 << 10
WORD_BYTES = 4  # of the poison in fresh memory
NOWHERE = -2

ADVICE = range(1, 7)
"""cudaMemoryAdvise."""
READ_MOSTLY, NOT_READ_MOSTLY, _, _, ACCESSED_BY, NOT_ACCESSED_BY = ADVICE


class FaultReason(NamedTuple):
    """Why pages are on the host although there was a prefetch at ``line``; no cause if that is not known."""

    cause: str = ""  # "host_wrote" | "sent_back" | "in_part": prefetches covered only ``covered`` bytes
    line: int = 0
    more: int = 0  # number of further prefetches of the region
    covered: int = 0

    @property
    def facts(self) -> dict[str, int]:
        return {"line": self.line, "more": self.more, "covered": self.covered}


UNKNOWN = FaultReason()


@dataclass(eq=False)
class Page:
    place: int = NOWHERE
    crc: int = 0
    also: frozenset[int] = frozenset()  # devices that have a read-only copy of a read-mostly page
    read_mostly: bool = False
    accessed_by: frozenset[int] = frozenset()
    why: FaultReason = UNKNOWN


@dataclass(frozen=True, eq=False)
class PageFault:
    """The bytes of one region that one kernel had to migrate, and ``why`` a prefetch had not brought them."""

    region: MemoryRegion
    size: int  # bytes
    why: FaultReason


class Managed:
    """The pages of all managed regions. ``written(address, bytes)`` is called for what the host has written."""

    def __init__(self, written: Callable[[int, int], None]) -> None:
        self._written = written
        self._pages: dict[MemoryRegion, list[Page]] = {}
        # Prefetches in flight, with the pages that the host has written since they were queued.
        self._prefetches: dict[StreamOperation, set[Page]] = {}
        self._covered: list[tuple[int, Spans]] = []  # by prefetches of this run to a GPU: line and addresses

    def restart(self) -> None:
        """A run begins."""
        self._covered = []

    def add(self, region: MemoryRegion) -> None:
        """Add a new region: its pages are nowhere until their first access."""
        self._pages[region] = [Page(crc=c) for c in _contents(region)]

    def remove(self, region: MemoryRegion) -> None:
        self._pages.pop(region, None)

    def find_host_writes(self) -> int | None:
        """Find the pages that the host has written: they are on the host now. Returns the first page's address."""
        first = None
        for region, pages in self._pages.items():
            for i, (page, crc) in enumerate(zip(pages, _contents(region), strict=True)):
                if page.crc != crc:
                    page.place, page.crc, page.also = HOST, crc, frozenset()
                    self._lose(region, i)
                    self._report_written(region, i)
                    first = region.start + i * PAGE_BYTES if first is None else first
        return first

    def _report_written(self, region: MemoryRegion, number: int) -> None:
        """Report every word of a page that is no longer poison; operations' writes are reported already."""
        begin = number * PAGE_BYTES
        page = region.data[begin : begin + PAGE_BYTES]
        changed = np.zeros(-(-page.size // WORD_BYTES) * WORD_BYTES, bool)
        changed[: page.size] = page != poisoned(page.size, MANAGED_WORD)
        words = changed.reshape(-1, WORD_BYTES).any(axis=1)
        edges = np.flatnonzero(np.diff(words.astype(np.int8), prepend=0, append=0)) * WORD_BYTES
        for first, end in edges.reshape(-1, 2).tolist():
            self._written(region.start + begin + first, min(end, page.size) - first)

    def _lose(self, region: MemoryRegion, number: int) -> None:
        """A page is on the host again: prefetches in flight no longer bring it to a device."""
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
        """Remember what an operation has written, so that it does not count as written by the host."""
        for region, i in self._touched(written):
            self._pages[region][i].crc = _crc(region, i)

    def advise(self, start: int, size: int, advice: int, device: int) -> None:
        """cudaMemAdvise, for whole pages. A preferred location changes nothing here: other devices fault as before."""
        for region, i in self._touched(span(start, size)):
            _advise(self._pages[region][i], advice, device)

    def touch(self, footprint: Footprint, device: int) -> tuple[list[PageFault], int]:
        """A kernel on ``device`` accessed these bytes: its page faults by region, and the bytes accessed on the host.

        Pages on the host that are advised as accessed by this device are accessed in place, except read-mostly pages:
        that advice overrides the other.
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
                why = max(missed)  # a known reason, if there is one: `UNKNOWN` is the smallest
                faults.append(PageFault(region, PAGE_BYTES * len(missed), why if why.cause else self._in_part(region)))
        return faults, in_place

    def _in_part(self, region: MemoryRegion) -> FaultReason:
        """The reason ``in_part`` if prefetches of this run covered only a part of the region, else `UNKNOWN`."""
        prefetched = [(line, clip(spans, region.start, region.end)) for line, spans in self._covered]
        lines = [line for line, spans in prefetched if len(spans)]
        covered = total(union([spans for _, spans in prefetched])) if lines else 0
        if not 0 < covered < region.size:
            return UNKNOWN
        return FaultReason("in_part", lines[0], len(lines) - 1, covered)

    def move(self, op: StreamOperation, work: Prefetch) -> tuple[int, int]:
        """A prefetch: bytes that were transferred, and bytes that it covers without the pages that the host rewrote."""
        moved, lost = 0, self._prefetches.pop(op, set())
        for region, i in self._touched(span(work.address, work.size)):
            page = self._pages[region][i]
            if page not in lost:
                moved += PAGE_BYTES * (page.place not in (work.device, NOWHERE) and work.device not in page.also)
                _move(page, work.device, keeps=page.read_mostly)
                page.why = FaultReason("sent_back", op.job.line) if work.device == HOST else UNKNOWN
        return min(moved, work.size), max(0, work.size - PAGE_BYTES * len(lost))

    def _touched(self, spans: Spans) -> Iterator[tuple[MemoryRegion, int]]:
        """The pages that overlap spans: region and page number of each."""
        return ((region, i) for region in self._pages for i in _numbers(region, spans))


def _numbers(region: MemoryRegion, spans: Spans) -> list[int]:
    """The numbers of a region's pages that overlap spans."""
    inside = clip(spans, region.start, region.end) - region.start
    marked = np.zeros(-(-region.size // PAGE_BYTES) + 1, np.int64)
    np.add.at(marked, inside[:, 0] // PAGE_BYTES, 1)
    np.add.at(marked, -(-inside[:, 1] // PAGE_BYTES), -1)
    return [int(i) for i in np.flatnonzero(np.cumsum(marked) > 0)]


def _move(page: Page, device: int, *, keeps: bool) -> None:
    """Move a page to ``device``; with ``keeps`` only a copy of it."""
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
