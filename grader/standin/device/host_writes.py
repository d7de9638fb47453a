"""What the host wrote to its own memory, found from changed contents: single accesses cannot be observed.

HostWriteWatch   writes while an operation that reads or writes the memory was in flight. Writes of other operations in
                 that time do not count: `conflicts` checks their order.
Outputs          who wrote the outputs. The host may copy results of the GPU: from a staging buffer, from managed
                 memory, from the target of a copy to pageable memory. So a value in an output that no operation wrote
                 there was computed by the host only if no operation wrote it anywhere in host memory. Nor does a way
                 through the GPU make a value the GPU's: the host computed what it gave to the GPU before it got it.
Staged           bytes that the host wrote to pinned allocations: copies that it made itself before the GPU's.
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
"""Larger regions, in bytes, are not watched for kernels."""


@dataclass(eq=False)
class _QueuedContents:
    ends: list[tuple[int, int, int]] = field(default_factory=list)  # of a copy or fill: address, bytes, crc of each
    contents: list[tuple[MemoryRegion, Bytes]] = field(default_factory=list)  # of regions that a kernel might use
    since: int = 0  # number of operations that had written host memory before this one was queued


class HostWriteWatch:
    """Remembers the host's memory for each queued operation that may read or write it."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._watched: dict[StreamOperation, _QueuedContents] = {}
        self._written: list[Spans] = []  # by operations, in order
        self._last: dict[MemoryRegion, Bytes] = {}  # last copy of a region's contents, shared while they do not change

    def queued(self, op: StreamOperation) -> None:
        """An operation was queued: remember the contents of the host memory that it might access."""
        work = op.job.work
        if isinstance(work, Copy | Memset):
            ends = [(start, size, self._crc(start, size)) for start, size in _ends(work) if start >= HOST_BASE]
            if ends:
                self._watched[op] = _QueuedContents(ends, since=len(self._written))
        elif isinstance(work, KernelLaunch):
            regions = {self._space.at(int.from_bytes(a, "little")) for a in work.arguments if len(a) == POINTER_BYTES}
            small = [r for r in regions if r is not None and r.is_host and r.size <= LARGEST_REGION]
            if small:
                contents = [(region, self._content(region)) for region in small]
                self._watched[op] = _QueuedContents(contents=contents, since=len(self._written))

    def _crc(self, start: int, size: int) -> int:
        return zlib.crc32(self._space.view(start, size).data)

    def _content(self, region: MemoryRegion) -> Bytes:
        last = self._last.get(region)
        if last is None or not np.array_equal(last, region.data):
            last = self._last[region] = region.data.copy()
        return last

    def forget(self) -> None:
        """No operation is queued any more."""
        self._watched.clear()
        self._written.clear()
        self._last = {region: content for region, content in self._last.items() if region.freed_at is None}

    def wrote(self, changed: Spans) -> None:
        """An operation has written these addresses."""
        host = self._space.of_host(changed)
        if len(host):
            self._written.append(host)

    def begins(self, op: StreamOperation) -> Spans:
        """An operation is about to be executed: the memory it might access that the host has changed meanwhile."""
        watched = self._watched.pop(op, None)
        if watched is None:
            return NONE
        regions = [_difference(region, then) for region, then in watched.contents]
        ends = [span(start, size) for start, size, crc in watched.ends if crc != self._crc(start, size)]
        if not any(map(len, (*regions, *ends))):
            return NONE
        written = union(self._written[watched.since :])
        # A checksum does not say which bytes of a copy's or fill's range changed: the range counts as changed by the
        # host only if no operation has written to it.
        whole = [end for end in ends if common(end, written) is None]
        return union([*(without(part, written) for part in regions), *whole])


def changed_under(changed: Spans, footprint: Footprint) -> int | None:
    """The first address that an operation used after the host had changed it; reads take precedence."""
    read = common(changed, footprint.reads)
    return read if read is not None else common(changed, footprint.changed)


def _ends(work: Copy | Memset) -> list[tuple[int, int]]:
    """Address and size of what a queued copy or fill reads and writes. A pageable copy's source is read already."""
    if isinstance(work, Memset):
        return [(work.address, work.size)]
    source = [work.source] if not work.pageable else []
    return [(end, work.size) for end in (*source, work.target) if isinstance(end, int)]


def _difference(region: MemoryRegion, then: Bytes) -> Spans:
    """The addresses where a region's contents have changed."""
    if region.freed_at is not None or np.array_equal(region.data, then):
        return NONE
    edges = np.flatnonzero(np.diff((region.data != then).astype(np.int8), prepend=0, append=0))
    return edges.astype(np.int64).reshape(-1, 2) + region.start


WORD_BYTES = 4
MOST_KEPT = 256 << 20
"""Bytes that are remembered of what the GPU wrote to the host and read there. With more, nothing is the host's."""
LARGEST, STEP = 8, 4
"""Bytes of the widest values that are compared, and the alignment at which a value may begin."""
NEAR = 4096
"""Smaller gaps (bytes) between a kernel's writes are ignored: a strided kernel leaves a hundred thousand of them."""


SAMPLE, FEWEST = 256, 64
"""Places of an output that are looked for in what the host gave to the GPU; with fewer different ones, none are."""


class Outputs:
    """Follows one run. ``arrays`` are the watched arrays; none if the run is not graded."""

    def __init__(self, space: Space, arrays: Sequence[HostArray] = ()) -> None:
        self._space = space
        self._expected = {array: self._content(array).copy() for array in arrays if array.role == "out"}
        self._reached: set[HostArray] = set()  # written by operations
        self._inputs = [array for array in arrays if array.role == "in"]
        self._traffic: list[tuple[bool, Bytes]] = []  # from the GPU (True) or to it, in order
        self._remembered_bytes = 0

    def _content(self, array: HostArray) -> Bytes:
        return self._space.shared[array.offset : array.offset + array.size]

    def wrote(self, changed: Spans) -> None:
        """An operation has written outputs, or other host memory from which the host may copy."""
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
        """The host got these bytes from an operation."""
        self._remember(data, from_device=True)

    def read(self, addresses: Spans) -> None:
        """An operation has read these addresses: what is the host's there, and no input, the host gave to the GPU."""
        host = self._space.of_host(addresses) if self._expected else NONE
        inputs = union([span(HOST_BASE + array.offset, array.size) for array in self._inputs])
        others = without(host, inputs) if len(host) else NONE
        for begin, end in _joined(others) if len(others) else ():
            self.took(self._space.view(begin, end - begin))

    def took(self, data: Bytes) -> None:
        """The GPU got these bytes from the host."""
        self._remember(data, from_device=False)

    def _remember(self, data: Bytes, *, from_device: bool) -> None:
        self._remembered_bytes += data.size
        if self._expected and self._remembered_bytes <= MOST_KEPT:
            self._traffic.append((from_device, data.copy()))

    def changed_by_host(self) -> int:
        """Bytes of output elements that no operation wrote there; the host may have copied or computed them."""
        return sum(self._changed(array, expected)[0].nbytes for array, expected in self._expected.items())

    def untouched(self) -> list[HostArray]:
        """The outputs that neither an operation nor the host has written."""
        unreached = ((array, expected) for array, expected in self._expected.items() if array not in self._reached)
        return [array for array, expected in unreached if np.array_equal(self._content(array), expected)]

    def written_by_host(self) -> int:
        """Bytes of output elements that only the host can have computed."""
        return sum(self._computed_by_host(array, expected) for array, expected in self._expected.items())

    def sent_back(self) -> int:
        """Bytes of outputs that the host had computed and given to the GPU, before it got them from there."""
        if self._remembered_bytes > MOST_KEPT:
            return 0
        given = sum(data.size for from_device, data in self._traffic if not from_device)
        contents = (self._content(array) for array in self._expected)
        return sum(self._sent_back(content) for content in contents if 2 * given >= content.size)

    def _sent_back(self, content: Bytes) -> int:
        """Bytes of an output, estimated from a sample; 0 where they are less than half of it.

        A value alone tells little, as a result may be one of the inputs, or come from a table: two neighbours do.
        """
        words = _words(content, WORD_BYTES).astype(np.uint64)
        at = np.linspace(0, max(0, words.size - 2), SAMPLE).astype(np.int64)
        sample = np.unique(words[at] | words[at + 1] << 32) if words.size > 1 else words
        if sample.size < FEWEST:
            return 0
        known, back = np.zeros((2, sample.size), np.bool_)  # in the inputs, or from the GPU before the host gave it
        traffic = [*((True, self._content(array)) for array in self._inputs), *self._traffic]
        for from_device, data in traffic:
            found = _among(sample, data)
            if from_device:
                known |= found
            else:
                back |= found & ~known
        share = float(back.mean())
        return int(share * content.size) if share > 0.5 else 0

    def _changed(self, array: HostArray, expected: Bytes) -> tuple[npt.NDArray[np.generic], int]:
        """The values of elements that no operation wrote there, and the bytes of one value."""
        size = gcd(np.dtype(array.dtype).itemsize, LARGEST)
        now, then = (_words(data, size) for data in (self._content(array), expected))
        return now[now != then], size

    def _computed_by_host(self, array: HostArray, expected: Bytes) -> int:
        values, size = self._changed(array, expected)
        if not values.size or self._remembered_bytes > MOST_KEPT:
            return 0
        known = [
            _words(data[at:], size)
            for from_device, data in self._traffic
            if from_device
            for at in range(0, min(size, data.size), STEP)
        ]
        return size * _count_unknown(values, known)


def _joined(spans: Spans) -> Iterator[tuple[int, int]]:
    """Begin and end of runs of spans; spans with small gaps between them are joined."""
    first = np.flatnonzero(np.append(True, spans[1:, 0] - spans[:-1, 1] > NEAR))
    last = np.append(first[1:], len(spans)) - 1
    yield from zip(spans[first, 0].tolist(), spans[last, 1].tolist(), strict=True)


def _words(data: Bytes, size: int) -> npt.NDArray[np.generic]:
    """The bytes as unsigned integers of ``size`` bytes each; an incomplete one at the end is dropped."""
    whole: npt.NDArray[np.generic] = data[: data.size // size * size].copy().view(f"<u{size}")
    return whole


def _count_unknown(values: npt.NDArray[np.generic], known: Sequence[npt.NDArray[np.generic]]) -> int:
    """How many values are not among the known ones. Sorting both is twenty times as fast as `np.isin` for millions."""
    known_sorted = np.sort(np.concatenate([values[:0], *known]))
    if not known_sorted.size:
        return values.size
    values = np.sort(values)
    places = np.minimum(np.searchsorted(known_sorted, values), known_sorted.size - 1)
    return int((known_sorted[places] != values).sum())


def _among(sample: npt.NDArray[np.uint64], data: Bytes) -> npt.NDArray[np.bool_]:
    """Which of the sorted pairs of words are among the neighbouring words of the data."""
    found = np.zeros(sample.size, np.bool_)
    for at in (0, WORD_BYTES):
        pairs = _words(data[at:], 2 * WORD_BYTES)
        places = np.minimum(np.searchsorted(sample, pairs), sample.size - 1)
        found[places[sample[places] == pairs]] = True
    return found


def _take_over(expected: Bytes, now: Bytes, spans: Spans) -> None:
    """Copy the current contents of these spans into ``expected``."""
    if len(spans) == 1:
        expected[spans[0, 0] : spans[0, 1]] = now[spans[0, 0] : spans[0, 1]]
        return
    edges = np.zeros(now.size + 1, np.int8)
    np.add.at(edges, spans[:, 0], 1)
    np.add.at(edges, spans[:, 1], -1)
    inside = np.cumsum(edges[:-1], dtype=np.int8) > 0
    expected[inside] = now[inside]


class Staged:
    """Follows one run. Registered arrays are left out: they are the exercise's, and get new values before each run."""

    def __init__(self) -> None:
        self._before: dict[MemoryRegion, Bytes] = {}
        self._written: list[Spans] = []  # by operations

    def watch(self, region: MemoryRegion) -> None:
        """Watch memory that exists when the run begins, or is allocated in it."""
        if region.kind == "pinned" and not region.was_registered:
            self._before[region] = region.data.copy()

    def wrote(self, changed: Spans) -> None:
        """An operation has written."""
        if self._before and len(changed):
            self._written.append(changed)

    def written_by_host(self) -> int:
        """Bytes that have changed, without those that operations wrote."""
        return sum(self._changed(region, before) for region, before in self._before.items() if region.freed_at is None)

    def _changed(self, region: MemoryRegion, before: Bytes) -> int:
        """Changed bytes, in whole words: a number that changes often keeps some of its bytes."""
        whole = region.size // WORD_BYTES * WORD_BYTES
        differs = region.data[:whole].view("<u4") != before[:whole].view("<u4")
        edges = np.flatnonzero(np.diff(differs.astype(np.int8), prepend=0, append=0)).astype(np.int64)
        changed = edges.reshape(-1, 2) * WORD_BYTES + region.start
        return total(without(changed, union(self._written)))
