"""What the host did to its own memory, found by content: its accesses cannot be seen, but what they changed can.

HostWriteWatch   writes while an operation that reads or writes the memory was queued. What other operations wrote
                 meanwhile is left out: whether those were in order is for `conflicts` to say.
Outputs          who wrote the outputs. The host may hand on what the GPU computed: from a staging buffer, from managed
                 memory, from what a copy to pageable memory gave it. So a value that is in an output, and that no
                 operation put there, is the host's own only if no operation put it anywhere in the host's memory.
Staged           what the host wrote to pinned allocations: bytes that it moved itself before the GPU took them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
import numpy.typing as npt

from grader.standin.device.gpu import POINTER_BYTES
from grader.standin.device.memory import Bytes, HostArray, MemoryRegion, Space
from grader.standin.device.operations import Copy, KernelLaunch, Memset, StreamOperation
from grader.standin.device.spans import NONE, Footprint, Spans, clip, common, span, total, union, without
from grader.standin.protocol import HOST_BASE

LARGEST_REGION = 64 << 20
"""Bytes of a region that is watched for a kernel."""


@dataclass(eq=False)
class _QueuedContents:
    ends: list[tuple[int, int, int]] = field(default_factory=list)  # of a copy or fill: address, bytes, crc of each
    seen: list[tuple[MemoryRegion, Bytes]] = field(default_factory=list)  # what a kernel might use, as it was
    since: int = 0  # how many times operations had written to the host's memory by then


class HostWriteWatch:
    """Remembers the host's memory for each queued operation that may read or write it."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._watched: dict[StreamOperation, _QueuedContents] = {}
        self._written: list[Spans] = []  # by operations, one after another
        self._last: dict[MemoryRegion, Bytes] = {}  # contents, shared as long as they stay the same

    def queued(self, op: StreamOperation) -> None:
        """An operation was queued: what might it use of the host's memory, and what is there?"""
        work = op.job.work
        if isinstance(work, Copy | Memset):
            ends = [(start, size, self._crc(start, size)) for start, size in _ends(work) if start >= HOST_BASE]
            if ends:
                self._watched[op] = _QueuedContents(ends, since=len(self._written))
        elif isinstance(work, KernelLaunch):
            regions = {self._space.at(int.from_bytes(a, "little")) for a in work.arguments if len(a) == POINTER_BYTES}
            seen = [(r, self._content(r)) for r in regions if r is not None and r.is_host and r.size <= LARGEST_REGION]
            if seen:
                self._watched[op] = _QueuedContents(seen=seen, since=len(self._written))

    def _crc(self, start: int, size: int) -> int:
        return zlib.crc32(self._space.view(start, size).data)

    def _content(self, region: MemoryRegion) -> Bytes:
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

    def begins(self, op: StreamOperation) -> Spans:
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


def _ends(work: Copy | Memset) -> list[tuple[int, int]]:
    """Where a queued copy or fill will read and write, and how many bytes. Of a pageable copy the source is past."""
    if isinstance(work, Memset):
        return [(work.address, work.size)]
    source = [work.source] if not work.pageable else []
    return [(end, work.size) for end in (*source, work.target) if isinstance(end, int)]


def _difference(region: MemoryRegion, then: Bytes) -> Spans:
    """Where a region is not as it was."""
    if region.freed_at is not None or np.array_equal(region.data, then):
        return NONE
    edges = np.flatnonzero(np.diff((region.data != then).astype(np.int8), prepend=0, append=0))
    return edges.astype(np.int64).reshape(-1, 2) + region.start


MOST_KEPT = 256 << 20
"""Bytes that are remembered of what the GPU gave the host. With more, nobody can say, and nothing counts."""
LARGEST, STEP = 8, 4
"""Bytes of the widest values that are compared; they may begin at any multiple of the second."""
NEAR = 4096
"""Gaps in what a kernel wrote that are not worth their bookkeeping: a strided one leaves a hundred thousand."""


class Outputs:
    """Follows one run. ``arrays`` are those that are watched; none, where the run is not graded."""

    def __init__(self, space: Space, arrays: Sequence[HostArray] = ()) -> None:
        self._space = space
        self._expected = {array: self._content(array).copy() for array in arrays if array.role == "out"}
        self._reached: set[HostArray] = set()  # by operations
        self._given: list[Bytes] = []
        self._kept = 0

    def _content(self, array: HostArray) -> Bytes:
        return self._space.shared[array.offset : array.offset + array.size]

    def wrote(self, changed: Spans) -> None:
        """An operation has written: into outputs, or elsewhere into the host's memory, from where the host takes it."""
        host = self._space.of_host(changed) if self._expected else NONE
        if not len(host):
            return
        for array, expected in self._expected.items():
            start = HOST_BASE + array.offset
            inside = clip(host, start, start + array.size) - start
            if len(inside):
                self._reached.add(array)
                _take_over(expected, self._content(array), inside)
        for begin, end in _joined(host):
            self.gave(self._space.view(begin, end - begin))

    def gave(self, data: Bytes) -> None:
        """The host was given these bytes."""
        self._kept += data.size
        if self._expected and self._kept <= MOST_KEPT:
            self._given.append(data.copy())

    def changed_by_host(self) -> int:
        """Bytes of elements of outputs that no operation put there; the host may have had them from one."""
        return sum(self._changed(array, expected)[0].nbytes for array, expected in self._expected.items())

    def untouched(self) -> list[HostArray]:
        """The outputs that neither an operation nor the host has written."""
        left = ((array, expected) for array, expected in self._expected.items() if array not in self._reached)
        return [array for array, expected in left if np.array_equal(self._content(array), expected)]

    def written_by_host(self) -> int:
        """Bytes of elements of outputs that only the host can have computed."""
        return sum(self._of(array, expected) for array, expected in self._expected.items())

    def _changed(self, array: HostArray, expected: Bytes) -> tuple[npt.NDArray[np.generic], int]:
        """The values of elements that no operation put there, and the bytes of one."""
        size = gcd(np.dtype(array.dtype).itemsize, LARGEST)
        now, then = (_words(data, size) for data in (self._content(array), expected))
        return now[now != then], size

    def _of(self, array: HostArray, expected: Bytes) -> int:
        own, size = self._changed(array, expected)
        if not own.size or self._kept > MOST_KEPT:
            return 0
        known = [_words(data[at:], size) for data in self._given for at in range(0, min(size, data.size), STEP)]
        return size * _strangers(own, known)


def _joined(spans: Spans) -> Iterator[tuple[int, int]]:
    """Runs of spans, with the small gaps between them."""
    first = np.flatnonzero(np.append(True, spans[1:, 0] - spans[:-1, 1] > NEAR))
    last = np.append(first[1:], len(spans)) - 1
    yield from zip(spans[first, 0].tolist(), spans[last, 1].tolist(), strict=True)


def _words(data: Bytes, size: int) -> npt.NDArray[np.generic]:
    """The bytes as whole numbers of ``size`` bytes each; what is left over at the end does not count."""
    whole: npt.NDArray[np.generic] = data[: data.size // size * size].copy().view(f"<u{size}")
    return whole


def _strangers(values: npt.NDArray[np.generic], known: Sequence[npt.NDArray[np.generic]]) -> int:
    """How many values are not among those known. Both are sorted: `np.isin` takes twenty times as long for millions."""
    there = np.sort(np.concatenate([values[:0], *known]))
    if not there.size:
        return values.size
    values = np.sort(values)
    places = np.minimum(np.searchsorted(there, values), there.size - 1)
    return int((there[places] != values).sum())


def _take_over(expected: Bytes, now: Bytes, spans: Spans) -> None:
    """Expect what is there now, in these spans."""
    if len(spans) == 1:
        expected[spans[0, 0] : spans[0, 1]] = now[spans[0, 0] : spans[0, 1]]
        return
    edges = np.zeros(now.size + 1, np.int8)
    np.add.at(edges, spans[:, 0], 1)
    np.add.at(edges, spans[:, 1], -1)
    inside = np.cumsum(edges[:-1], dtype=np.int8) > 0
    expected[inside] = now[inside]


WORD_BYTES = 4


class Staged:
    """Follows one run. Arrays that were only registered are the exercise's own: they get new values before each run."""

    def __init__(self) -> None:
        self._then: dict[MemoryRegion, Bytes] = {}
        self._written: list[Spans] = []  # by operations

    def watch(self, region: MemoryRegion) -> None:
        """Memory that is there when the run begins, or was allocated in it."""
        if region.kind == "pinned" and not region.was_registered:
            self._then[region] = region.data.copy()

    def wrote(self, changed: Spans) -> None:
        """An operation has written."""
        if self._then and len(changed):
            self._written.append(changed)

    def written_by_host(self) -> int:
        """Bytes that have changed, without what operations wrote."""
        return sum(self._of(region, then) for region, then in self._then.items() if region.freed_at is None)

    def _of(self, region: MemoryRegion, then: Bytes) -> int:
        """In whole words: of a number that is another one now, some bytes are often the same."""
        whole = region.size // WORD_BYTES * WORD_BYTES
        other = region.data[:whole].view("<u4") != then[:whole].view("<u4")
        edges = np.flatnonzero(np.diff(other.astype(np.int8), prepend=0, append=0)).astype(np.int64)
        changed = edges.reshape(-1, 2) * WORD_BYTES + region.start
        return total(without(changed, union(self._written)))
