"""Where the pages of managed memory are: on the host or on a device, and what moves them.

The host's accesses cannot be seen. What it wrote is seen by its content, whenever something is queued; what it only
read is not, so that pages which the host reads seem to stay on the device. A prefetch begins when it is queued, as a
rule: pages that the host writes to after that are on the host again.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from grader.standin.machine.memory import Region
from grader.standin.machine.operations import Operation, Prefetch
from grader.standin.machine.spans import Footprint, Spans, clip

PAGE_BYTES = 64 << 10
HOST, NOWHERE = -1, -2

READ_MOSTLY, NOT_READ_MOSTLY, PREFERRED, NOT_PREFERRED, ACCESSED_BY, NOT_ACCESSED_BY = range(1, 7)
"""cudaMemoryAdvise."""


@dataclass(eq=False)
class Page:
    place: int = NOWHERE
    crc: int = 0
    also: frozenset[int] = frozenset()  # devices that have a copy to read, of a page that is mostly read
    read_mostly: bool = False
    preferred: int | None = None
    accessed_by: frozenset[int] = frozenset()
    why: str = ""  # it is on the host although there was a prefetch


@dataclass(frozen=True, eq=False)
class Fault:
    """What one kernel had to fetch of one region, and ``why`` a prefetch had not brought it."""

    region: Region
    size: int  # bytes
    why: str


class Managed:
    """The pages of all managed regions."""

    def __init__(self) -> None:
        self._pages: dict[Region, list[Page]] = {}
        self._prefetches: dict[Operation, set[Page]] = {}  # queued ones, with the pages that the host wrote meanwhile

    def add(self, region: Region) -> None:
        """Fresh memory is nowhere until somebody touches it."""
        self._pages[region] = [Page(crc=c) for c in _contents(region)]

    def remove(self, region: Region) -> None:
        self._pages.pop(region, None)

    def look(self) -> int | None:
        """Find the pages that the host wrote to: they are there now. The address of the first one."""
        first = None
        for region, pages in self._pages.items():
            for i, (page, crc) in enumerate(zip(pages, _contents(region), strict=True)):
                if page.crc != crc:
                    page.place, page.crc, page.also = HOST, crc, frozenset()
                    self._lose(region, i)
                    first = region.start + i * PAGE_BYTES if first is None else first
        return first

    def _lose(self, region: Region, number: int) -> None:
        """A page is on the host again, whatever prefetch was under way."""
        start, page = region.start + number * PAGE_BYTES, self._pages[region][number]
        for op, lost in self._prefetches.items():
            work = op.job.work
            if not isinstance(work, Prefetch) or work.device == HOST:
                continue
            if work.address < start + PAGE_BYTES and start < work.address + work.size:
                lost.add(page)
                page.why = f"the host wrote there after the prefetch{_on(op.job.where)}"

    def prefetches(self, op: Operation) -> None:
        """A prefetch was queued."""
        self._prefetches[op] = set()

    def remember(self, written: Spans) -> None:
        """What an operation has written is no writing of the host."""
        for region, first, last in self._touched(written):
            for i in range(first, last):
                self._pages[region][i].crc = _crc(region, i)

    def advise(self, start: int, size: int, advice: int, device: int) -> None:
        """cudaMemAdvise, for whole pages."""
        for region, first, last in self._touched(np.array([[start, start + size]], np.int64)):
            for page in self._pages[region][first:last]:
                _advise(page, advice, device)

    def touch(self, footprint: Footprint, device: int) -> tuple[list[Fault], Spans]:
        """A kernel on ``device`` used these bytes: what came from the host page by page, and what it used there.

        Pages that prefer the host, and that this device is known to access, are used where they are.
        """
        faults, remote = [], []
        changed = footprint.changed
        for region, pages in self._pages.items():
            writes, missed = set(_numbers(region, changed)), []
            for i in _numbers(region, footprint.touched):
                page = pages[i]
                if page.place == HOST and page.preferred == HOST and device in page.accessed_by:
                    remote.append([region.start + i * PAGE_BYTES, min(region.start + (i + 1) * PAGE_BYTES, region.end)])
                    continue
                if page.place == HOST and device not in page.also:
                    missed.append(page.why)
                _move(page, device, keeps=page.read_mostly and i not in writes)
            if missed:
                faults.append(Fault(region, PAGE_BYTES * len(missed), max(missed)))
        return faults, np.array(remote, np.int64).reshape(-1, 2)

    def move(self, op: Operation, work: Prefetch) -> tuple[int, int]:
        """A prefetch: bytes that had to cross the link or go between devices, and those that the host had not lost."""
        moved, lost = 0, self._prefetches.pop(op, set())
        for region, first, last in self._touched(np.array([[work.address, work.address + work.size]], np.int64)):
            for page in self._pages[region][first:last]:
                if page not in lost:
                    moved += PAGE_BYTES * (page.place not in (work.device, NOWHERE) and work.device not in page.also)
                    _move(page, work.device, keeps=page.read_mostly)
                    page.why = f"the prefetch{_on(op.job.where)} sent them there" if work.device == HOST else ""
        return min(moved, work.size), max(0, work.size - PAGE_BYTES * len(lost))

    def _touched(self, spans: Spans) -> list[tuple[Region, int, int]]:
        """Region, first and last page (exclusive) of each run of pages that spans touch."""
        out = []
        for region in self._pages:
            for begin, end in clip(spans, region.start, region.end) - region.start:
                out.append((region, int(begin) // PAGE_BYTES, -(-int(end) // PAGE_BYTES)))
        return out


def _numbers(region: Region, spans: Spans) -> list[int]:
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
    page.why = ""


def _advise(page: Page, advice: int, device: int) -> None:
    if advice in (READ_MOSTLY, NOT_READ_MOSTLY):
        page.read_mostly = advice == READ_MOSTLY
        page.also = page.also if page.read_mostly else frozenset()
    elif advice in (PREFERRED, NOT_PREFERRED):
        page.preferred = device if advice == PREFERRED else None
    elif advice == ACCESSED_BY:
        page.accessed_by |= {device}
    else:
        page.accessed_by -= {device}


def _on(line: int) -> str:
    return f" on line {line}" if line else ""


def _crc(region: Region, page: int) -> int:
    return zlib.crc32(region.data[page * PAGE_BYTES : (page + 1) * PAGE_BYTES].data)


def _contents(region: Region) -> list[int]:
    return [_crc(region, i) for i in range(-(-region.size // PAGE_BYTES))]
