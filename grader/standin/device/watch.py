"""What the host did to its own memory while an operation that reads or writes it was queued.

The host's accesses cannot be seen; that memory has another content when the operation begins than it had when it was
queued can be. What other operations wrote meanwhile is left out: whether those were in order is for `conflicts` to say.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import numpy as np

from grader.standin.device.arguments import POINTER_BYTES
from grader.standin.device.memory import Bytes, Region, Space
from grader.standin.device.operations import Copy, Fill, Kernel, Operation
from grader.standin.device.spans import NONE, Footprint, Spans, common, span, union, without
from grader.standin.protocol import HOST_BASE

LARGEST = 64 << 20
"""Bytes of a region that is watched for a kernel."""


@dataclass(eq=False)
class _Watched:
    ends: list[tuple[int, int, int]] = field(default_factory=list)  # of a copy or fill: address, bytes, crc of each
    seen: list[tuple[Region, Bytes]] = field(default_factory=list)  # what a kernel might use, as it was
    since: int = 0  # how many times operations had written to the host's memory by then


class Watch:
    """Remembers the host's memory for each queued operation that may read or write it."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._watched: dict[Operation, _Watched] = {}
        self._written: list[Spans] = []  # by operations, one after another
        self._last: dict[Region, Bytes] = {}  # contents, shared as long as they stay the same

    def queued(self, op: Operation) -> None:
        """An operation was queued: what might it use of the host's memory, and what is there?"""
        work = op.job.work
        if isinstance(work, Copy | Fill):
            ends = [(start, size, self._crc(start, size)) for start, size in _ends(work) if start >= HOST_BASE]
            if ends:
                self._watched[op] = _Watched(ends, since=len(self._written))
        elif isinstance(work, Kernel):
            regions = {self._space.at(int.from_bytes(a, "little")) for a in work.arguments if len(a) == POINTER_BYTES}
            seen = [(r, self._content(r)) for r in regions if r is not None and r.is_host and r.size <= LARGEST]
            if seen:
                self._watched[op] = _Watched(seen=seen, since=len(self._written))

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
        self._written.clear()
        self._last = {region: content for region, content in self._last.items() if region.freed_at is None}

    def wrote(self, changed: Spans) -> None:
        """An operation has written here."""
        host = self._space.of_host(changed)
        if len(host):
            self._written.append(host)

    def begins(self, op: Operation) -> Spans:
        """An operation is about to be executed: what has the host changed that it might use?"""
        watched = self._watched.pop(op, None)
        if watched is None:
            return NONE
        changed = [_difference(region, then) for region, then in watched.seen]
        changed += [span(start, size) for start, size, crc in watched.ends if crc != self._crc(start, size)]
        if not any(map(len, changed)):
            return NONE
        written = union(self._written[watched.since :])
        # Where an end of a copy or a fill has changed is not known, only that it has: so one counts that no operation
        # has written to.
        kept = changed[: len(watched.seen)]
        whole = [end for end in changed[len(watched.seen) :] if common(end, written) is None]
        return union([*(without(part, written) for part in kept), *whole])


def changed_under(changed: Spans, footprint: Footprint) -> int | None:
    """The first address that an operation used after the host had changed it; one that it read comes first."""
    read = common(changed, footprint.reads)
    return read if read is not None else common(changed, footprint.changed)


def _ends(work: Copy | Fill) -> list[tuple[int, int]]:
    """Where a queued copy or fill will read and write, and how many bytes. Of a pageable copy the source is past."""
    if isinstance(work, Fill):
        return [(work.address, work.size)]
    source = [work.source] if not work.pageable else []
    return [(end, work.size) for end in (*source, work.target) if isinstance(end, int)]


def _difference(region: Region, then: Bytes) -> Spans:
    """Where a region is not as it was."""
    if region.freed_at is not None or np.array_equal(region.data, then):
        return NONE
    edges = np.flatnonzero(np.diff((region.data != then).astype(np.int8), prepend=0, append=0))
    return edges.astype(np.int64).reshape(-1, 2) + region.start
