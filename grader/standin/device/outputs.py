"""Who wrote the outputs: the GPU's operations, or the host by itself.

The host may hand on what the GPU computed: from a staging buffer, from managed memory, from what a copy to pageable
memory gave it. So a value that stands in an output, and that no operation put there, is the host's own only if no
operation put it anywhere in the host's memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

import numpy as np
import numpy.typing as npt

from grader.standin.device.memory import Bytes, Space
from grader.standin.device.records import HostArray
from grader.standin.device.spans import NONE, Spans, clip
from grader.standin.protocol import HOST_BASE

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
