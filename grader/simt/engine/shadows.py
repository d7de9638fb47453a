"""Shadow memory of a device's arrays: the places of each array's cells, and their queries between launches.

A cell (see `Stamp`) is for `granule` bytes. Places are in bytes of memory; the first ones are those of the kernel's
parameters. Stamps of writes stay until their array is freed, so that they tell which bytes were ever written. There is
one set of them, and one set of stamps of reads for each CPU thread.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from grader.simt.engine.layout import Stamp, rounded

Bytes = npt.NDArray[np.uint8]
Stamps = npt.NDArray[np.uint64]
Intervals = npt.NDArray[np.int64]
"""Rows [start, end), sorted and disjoint."""

NO_INTERVALS: Intervals = np.zeros((0, 2), np.int64)

ALIGNMENT = 64
MANY_CELLS = 1 << 21
SOME_TIME = np.uint64(1)
"""The stamp of an earlier write: of block serial 0; serials of blocks begin with 1."""

_ATOMIC = np.uint64(1 << Stamp.ATOMIC)


class Shadows:
    """The cells of all arrays; allocating or freeing an array does not move others. ``reserved`` bytes come first."""

    def __init__(self, granule: int, reserved: int) -> None:
        self.granule = granule
        self.bytes = rounded(reserved, ALIGNMENT)
        self._free: list[tuple[int, int]] = []  # start, size
        self._writes: Stamps = np.zeros(0, np.uint64)
        self._reads: list[Stamps] = []

    def place(self, size: int) -> int:
        """Reserve empty cells for an array of ``size`` bytes; returns their place."""
        wanted = rounded(size, ALIGNMENT)
        for i, (start, room) in enumerate(self._free):
            if room >= wanted:
                rest = [(start + wanted, room - wanted)] if room > wanted else []
                self._free[i : i + 1] = rest
                for stamps in (self._writes, *self._reads):
                    self._part(stamps, start, wanted)[:] = 0
                return start
        start = self.bytes
        self.bytes += wanted
        return start

    def release(self, start: int, size: int) -> None:
        """Free the cells of an array."""
        self._free.append((start, rounded(size, ALIGNMENT)))

    def of_worker(self, worker: int) -> tuple[Stamps, Stamps]:
        """The cells of writes, which all workers share, and this worker's cells of reads."""
        while len(self._reads) <= worker:
            self._reads.append(np.zeros(0, np.uint64))
        self._writes, self._reads[worker] = self._grown(self._writes), self._grown(self._reads[worker])
        return self._writes, self._reads[worker]

    def forget(self) -> None:
        """Clear the stamps of earlier launches; written cells stay marked as written."""
        self._writes[:] = self._writes != 0
        self._reads = []

    def mark_written(self, start: int, size: int) -> None:
        """Mark these bytes as written, ordered before all that follows."""
        self._writes = self._grown(self._writes)
        self._part(self._writes, start, size)[:] = SOME_TIME

    def unwritten(self, start: int, size: int) -> Intervals:
        """Intervals of bytes from ``start`` on that were never written, counted from there."""
        self._writes = self._grown(self._writes)
        return self._intervals(self._part(self._writes, start, size) == 0, start, size)

    def since(self, serial: int, start: int, size: int) -> tuple[Intervals, Intervals, Intervals]:
        """Intervals of bytes that blocks from ``serial`` on read, wrote, and wrote atomically (or as volatile).

        Reads are those of any thread; a cell counts as written atomically if its last write was atomic.
        """
        self._writes = self._grown(self._writes)
        self._reads = [self._grown(reads) for reads in self._reads]  # the last launch may have had fewer threads
        parts = [_since(self._part(reads, start, size), serial) for reads in self._reads]
        read = np.logical_or.reduce(parts) if len(parts) > 1 else parts[0] if parts else np.zeros(0, np.bool_)
        stamps = self._part(self._writes, start, size)
        written = _since(stamps, serial)
        reads, writes = self._intervals(read, start, size), self._intervals(written, start, size)
        if not len(writes) or not np.bitwise_or.reduce(stamps) & _ATOMIC:
            return reads, writes, NO_INTERVALS
        return reads, writes, self._intervals(written & (stamps & _ATOMIC != 0), start, size)

    def _part(self, stamps: Stamps, start: int, size: int) -> Stamps:
        """The cells of some bytes, the first and the last perhaps in part."""
        return stamps[start // self.granule : -(-(start + size) // self.granule)]

    def _grown(self, stamps: Stamps) -> Stamps:
        needed = self.bytes // self.granule + 8
        if stamps.size >= needed:
            return stamps
        larger = np.zeros(max(needed, 2 * stamps.size, MANY_CELLS), np.uint64)  # untouched pages take no memory
        larger[: stamps.size] = stamps
        return larger

    def _intervals(self, cells: npt.NDArray[np.bool_], start: int, size: int) -> Intervals:
        """Runs of true cells as intervals of bytes from ``start`` on."""
        count = np.count_nonzero(cells)
        if not count:
            return NO_INTERVALS
        begin = int(cells.argmax())
        if cells[begin : begin + count].all():  # the usual case: one run
            edges = np.array([begin, begin + count])
        else:
            changes = np.flatnonzero(cells[1:] != cells[:-1]) + 1  # comparing booleans is much quicker than np.diff
            first, last = cells[:1].nonzero()[0], cells[-1:].nonzero()[0] + cells.size
            edges = np.concatenate((first, changes, last))
        rows = edges.astype(np.int64).reshape(-1, 2) * self.granule - start % self.granule
        clipped: Intervals = rows.clip(0, size)
        return clipped


def _since(stamps: Stamps, serial: int) -> npt.NDArray[np.bool_]:
    recent: npt.NDArray[np.bool_] = stamps >= np.uint64(serial << Stamp.SERIAL)
    return recent
