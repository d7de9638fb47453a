"""What the host wrote to pinned allocations in a run: bytes that it moved by itself before the GPU took them.

Its accesses cannot be seen; that the memory has another content at the end, where no operation wrote, can be.
"""

from __future__ import annotations

import numpy as np

from grader.standin.device.memory import Bytes, Region
from grader.standin.device.spans import Spans, total, union, without

WORD_BYTES = 4


class Staged:
    """Follows one run. Arrays that were only registered are the exercise's own: they get new values before each run."""

    def __init__(self) -> None:
        self._then: dict[Region, Bytes] = {}
        self._written: list[Spans] = []  # by operations

    def watch(self, region: Region) -> None:
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

    def _of(self, region: Region, then: Bytes) -> int:
        """In whole words: of a number that is another one now, some bytes are often the same."""
        whole = region.size // WORD_BYTES * WORD_BYTES
        other = region.data[:whole].view("<u4") != then[:whole].view("<u4")
        edges = np.flatnonzero(np.diff(other.astype(np.int8), prepend=0, append=0)).astype(np.int64)
        changed = edges.reshape(-1, 2) * WORD_BYTES + region.start
        return total(without(changed, union(self._written)))
