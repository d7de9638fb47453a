"""Shared memory that the parent owns and a host file's child maps: an anonymous file, sealed in its size.

Every array is a mapping of its own that begins on a page, because `cudaHostRegister` works on whole pages. The seals
keep the child from shrinking the file, which would end the parent with SIGBUS.
"""

from __future__ import annotations

import mmap
import os
import sys
from typing import TYPE_CHECKING

from grader.errors import Unsupported
from grader.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PAGE = mmap.PAGESIZE


@dataclass(frozen=True)
class Span:
    """An array's place in the file: ``offset`` in bytes, a multiple of the page size, and the array's ``size``."""

    offset: int
    size: int

    @property
    def mapped(self) -> int:
        """The size of the mapping in bytes: whole pages, at least one."""
        return pages(self.size)


def pages(size: int) -> int:
    """``size`` in bytes, rounded up to whole pages, at least one."""
    return max(1, -(-size // PAGE)) * PAGE


class SharedFile:
    """The file, of ``size`` bytes, and the parent's mappings of it. Pages take memory when they are written."""

    def __init__(self, size: int) -> None:
        if sys.platform != "linux":
            raise Unsupported("host exercises need Linux: their memory is shared through memfd_create")
        import fcntl

        self.size = pages(size)
        self.fd = os.memfd_create("arrays", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.size)
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._next = 0
        self._mappings: list[mmap.mmap] = []

    def reserve(self, size: int) -> Span:
        """Reserve room for an array of ``size`` bytes. Raises MemoryError if the file is full."""
        span = Span(self._next, size)
        if span.offset + span.mapped > self.size:
            raise MemoryError(f"no room for {size} more bytes in a shared file of {self.size}")
        self._next += span.mapped
        return span

    def array(self, span: Span, dtype: str) -> npt.NDArray[np.generic]:
        """The array at ``span``, shared with the child; valid until `clear` or `close`."""
        mapping = mmap.mmap(self.fd, span.mapped, offset=span.offset)
        self._mappings.append(mapping)
        return view(mapping, span.size, dtype)

    def clear(self) -> None:
        """Free everything: all bytes are 0 again, and earlier arrays must not be used any more."""
        self._mappings.clear()
        self._next = 0
        with mmap.mmap(self.fd, self.size) as whole:
            whole.madvise(mmap.MADV_REMOVE)

    def close(self) -> None:
        """Close the file. Its memory is freed with the last mapping, here or in the child."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self._mappings.clear()


def view(mapping: mmap.mmap, size: int, dtype: str) -> npt.NDArray[np.generic]:
    """The first ``size`` bytes of a mapping as a 1-D array."""
    import numpy as np

    return np.frombuffer(mapping, dtype=np.uint8, count=size).view(dtype)
