"""The L2 cache between samples, and the control kernel that watches the machine. Child side."""

from __future__ import annotations

from typing import Any

from grader.backends.gpu.cuda import Device, Event

_BLOCK = 256
_READ_BLOCKS_PER_MIB = 8
FLUSH = 4
"""Each buffer in L2 sizes. Twice the L2 left some dirty lines: on an H200 a 1 GiB read then took 0.4 % longer."""
LEAST_BYTES = 64 << 20  # also where the L2 is small: a shorter control copy would mostly be launch


class L2:
    """Two buffers, several times the L2: one is written, which drives all else out; one is clean, and is read after.

    Without the read, the timed kernel would pay for writing back what the flush left dirty (on an H200 that cost a
    1 GiB read 4 % and a 16 MiB read 20 %).
    """

    def __init__(self, device: Device, support: Any, l2_bytes: int) -> None:
        self._device = device
        self._size = max(FLUSH * l2_bytes, LEAST_BYTES) // 4096 * 4096
        self._dirty = device.allocate(self._size)
        self._clean = device.allocate(self._size + 256)  # the last 256 bytes are the reader's sink
        self._read = device.function(support, "read_through")
        self._copy = device.function(support, "control_copy")
        device.fill8(self._clean, 0, self._size + 256)

    def empty(self) -> None:
        """Queue: persisting lines back to normal, write one buffer, read the other."""
        import numpy as np

        self._device.reset_persisting_l2()
        self._device.fill8(self._dirty, 0x5A, self._size)
        count, sink = self._size // 16, self._clean + self._size
        args = [np.uint64(self._clean), np.uint64(count), np.uint32(1), np.uint64(sink)]
        blocks = max(1, (self._size >> 20) * _READ_BLOCKS_PER_MIB)
        self._device.launch(self._read, (blocks, 1, 1), (_BLOCK, 1, 1), args)

    def control(self, start: Event, stop: Event) -> None:
        """Queue the control copy between two events: its time is the machine's, whatever the submission is."""
        import numpy as np

        count = self._size // 16
        args = [np.uint64(self._clean), np.uint64(self._dirty), np.uint64(count)]
        self._device.record(start)
        self._device.launch(self._copy, (-(-count // _BLOCK), 1, 1), (_BLOCK, 1, 1), args)
        self._device.record(stop)

    def free(self) -> None:
        self._device.free(self._dirty)
        self._device.free(self._clean)
