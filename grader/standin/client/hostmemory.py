"""Memory of the host: the file that the grader shares lies where the device says that it does; the rest is pageable.

The whole file is one mapping, at `HOST_BASE` where that place is free, so that an array's address here is its address
there. Where it is not, addresses are translated.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, Any

from grader.standin.protocol import HOST_BASE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MAP_FIXED_NOREPLACE = 0x100000


class HostMemory:
    """The shared file in this process: ``size`` bytes from `base`."""

    def __init__(self) -> None:
        self.base = 0
        self.size = 0

    def map(self, fd: int, size: int) -> None:
        """Map all of the file. Memory is taken as it is touched."""
        self.base, self.size = _mapped(fd, size), size

    def holds(self, address: int) -> bool:
        return self.base <= address < self.base + self.size

    def to_device(self, address: int) -> int:
        """An address of this process as the device knows it; any other number as it is."""
        return address - self.base + HOST_BASE if self.holds(address) else address

    def from_device(self, address: int) -> int:
        inside = HOST_BASE <= address < HOST_BASE + self.size
        return address - HOST_BASE + self.base if inside else address

    def array(self, offset: int, size: int, dtype: str) -> npt.NDArray[np.generic]:
        """``size`` bytes of the file as a 1-D array."""
        import numpy as np

        return np.frombuffer(buffer_at(self.base + offset, size), dtype=np.uint8, count=size).view(dtype)


HOST = HostMemory()


def buffer_at(address: int, size: int) -> Any:
    """``size`` bytes at an address of this process, as an object with the buffer protocol."""
    return (ctypes.c_char * size).from_address(address)


def bytes_at(address: int, size: int) -> bytes:
    return ctypes.string_at(address, size)


def write_at(address: int, content: bytes) -> None:
    ctypes.memmove(address, content, len(content))


def _mapped(fd: int, size: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    access = mmap.PROT_READ | mmap.PROT_WRITE
    for place, flags in ((HOST_BASE, _MAP_FIXED_NOREPLACE), (None, 0)):
        address = libc.mmap(place, size, access, mmap.MAP_SHARED | flags, fd, 0)
        if address not in (None, ctypes.c_void_p(-1).value):
            return int(address)
    raise OSError(ctypes.get_errno(), "the shared file cannot be mapped")
