"""What the host did to its own memory while an operation that reads it was queued.

The host's accesses cannot be seen; that memory has another content when it is read than it had when the operation was
queued can be. What other operations wrote meanwhile is left out: whether those were in order is for `conflicts` to say.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

from grader.standin.machine.memory import Bytes, Region, Space
from grader.standin.machine.operations import Copy, Kernel, Operation
from grader.standin.machine.spans import Footprint, Spans, common, span, union, without
from grader.standin.protocol import HOST_BASE

POINTER_BYTES = 8
LARGEST = 64 << 20
"""Bytes of a region that is watched for a kernel."""


@dataclass(eq=False)
class _Watched:
    crc: int = 0  # of a copy's source
    seen: list[tuple[Region, Bytes]] = field(default_factory=list)  # what a kernel might read, as it was
    written: list[Spans] = field(default_factory=list)  # by operations, since then


class Watch:
    """Remembers the host's memory for each queued operation that may read it."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._watched: dict[Operation, _Watched] = {}
        self._last: dict[Region, Bytes] = {}  # contents, shared as long as they stay the same

    def queued(self, op: Operation) -> None:
        """An operation was queued: what might it read of the host's memory, and what is there?"""
        work = op.job.work
        if isinstance(work, Copy):
            start, size = _source(work)
            if start >= HOST_BASE:
                self._watched[op] = _Watched(crc=self._crc(start, size))
        elif isinstance(work, Kernel):
            regions = {self._space.at(int.from_bytes(a, "little")) for a in work.arguments if len(a) == POINTER_BYTES}
            seen = [(r, self._content(r)) for r in regions if r is not None and r.is_host and r.size <= LARGEST]
            if seen:
                self._watched[op] = _Watched(seen=seen)

    def _crc(self, start: int, size: int) -> int:
        return zlib.crc32(self._space.view(start, size).data)

    def _content(self, region: Region) -> Bytes:
        last = self._last.get(region)
        if last is None or not np.array_equal(last, region.data):
            last = self._last[region] = region.data.copy()
        return last

    def forget(self) -> None:
        """Nothing is queued any more."""
        self._watched.clear()
        self._last = {region: content for region, content in self._last.items() if region.freed_at is None}

    def wrote(self, changed: Spans) -> None:
        """An operation has written here."""
        host = self._space.of_host(changed)
        for watched in self._watched.values() if len(host) else ():
            watched.written.append(host)

    def begins(self, op: Operation) -> Spans:
        """An operation is about to be executed: what has the host changed that it might read?"""
        watched, work = self._watched.pop(op, None), op.job.work
        if watched is None:
            return union(())
        written = union(watched.written)
        if not isinstance(work, Copy):
            return union(without(_difference(region, then), written) for region, then in watched.seen)
        whole = span(*_source(work))
        same = common(whole, written) is not None or watched.crc == self._crc(*_source(work))
        return union(()) if same else whole


def changed_under(changed: Spans, footprint: Footprint) -> int | None:
    """The first address that an operation read after the host had changed it."""
    return common(changed, footprint.reads)


def _source(work: Copy) -> tuple[int, int]:
    """Where a queued copy will read, and how many bytes; (0, 0) where it has its bytes already."""
    return (work.source, work.size) if isinstance(work.source, int) and not work.pageable else (0, 0)


def _difference(region: Region, then: Bytes) -> Spans:
    """Where a region is not as it was."""
    if np.array_equal(region.data, then):
        return union(())
    edges = np.flatnonzero(np.diff((region.data != then).astype(np.int8), prepend=0, append=0))
    return edges.astype(np.int64).reshape(-1, 2) + region.start
