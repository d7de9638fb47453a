"""Pinned memory as CuPy has it: `alloc_pinned_memory`, its pool, and NumPy arrays on it (`cupyx.empty_pinned`)."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from grader.standin.client import runtime
from grader.standin.client.connection import call_later
from grader.standin.client.errors import outside
from grader.standin.client.hostmemory import HOST, buffer_at

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

UNIT = 512  # bytes: CuPy's pool rounds up to these


class PinnedMemory:
    """Pinned memory of its own, freed with the object."""

    def __init__(self, size: int, flags: int = 0) -> None:
        self.size, self.ptr = int(size), 0
        self.ptr = runtime.hostAlloc(int(size), int(flags))

    def __int__(self) -> int:
        return self.ptr

    def __del__(self) -> None:
        if self.__dict__.get("ptr"):
            call_later("free_host", 0, HOST.to_device(self.ptr))


class PooledPinnedMemory:
    """Pinned memory of the pool, to which it returns."""

    def __init__(self, mem: PinnedMemory, pool: PinnedMemoryPool) -> None:
        self._mem, self._pool, self.ptr, self.size = mem, pool, mem.ptr, mem.size

    def __int__(self) -> int:
        return self.ptr

    def __del__(self) -> None:
        self._pool._take_back(self._mem)


class PinnedMemoryPool:
    """Pinned memory that was used once, by size. No stream is waited for before it is given out again."""

    def __init__(self, allocator: Any = None) -> None:
        if allocator is not None:
            raise outside("cupy.cuda.PinnedMemoryPool with an allocator of its own")
        self._free: dict[int, list[PinnedMemory]] = {}
        self._lock = threading.RLock()

    def malloc(self, size: int) -> PinnedMemoryPointer:
        rounded = -(-int(size) // UNIT) * UNIT
        with self._lock:
            waiting = self._free.get(rounded)
            mem = waiting.pop() if waiting else PinnedMemory(rounded)
        return PinnedMemoryPointer(PooledPinnedMemory(mem, self), 0)

    def _take_back(self, mem: PinnedMemory) -> None:
        with self._lock:
            self._free.setdefault(mem.size, []).append(mem)

    def free_all_blocks(self) -> None:
        """Give what nobody uses back to the system."""
        self._free.clear()

    def n_free_blocks(self) -> int:
        return sum(map(len, self._free.values()))


class PinnedMemoryPointer(np.ndarray[Any, Any]):
    """A place in pinned memory, with the buffer protocol: ``numpy.frombuffer`` makes an array of it.

    (CuPy's is no NumPy array itself. Before Python 3.12 only subclasses of such types can have a buffer.)
    """

    mem: Any
    ptr: int

    def __new__(cls, mem: Any, offset: int) -> Self:
        length = mem.size - offset
        pointer = np.ndarray.__new__(cls, (length,), np.uint8, buffer_at(mem.ptr + offset, length) if length else None)
        pointer.mem, pointer.ptr = mem, mem.ptr + offset
        return pointer

    def size(self) -> int:  # type: ignore[override]  # a method, as CuPy's
        """Bytes from here to the end."""
        return int(self.mem.size - (self.ptr - self.mem.ptr))

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: Any) -> PinnedMemoryPointer:
        return PinnedMemoryPointer(self.mem, self.ptr - self.mem.ptr + int(offset))

    def __sub__(self, offset: Any) -> PinnedMemoryPointer:  # type: ignore[override]  # of addresses
        return self.__add__(-int(offset))


POOL = PinnedMemoryPool()


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Pinned memory from the pool."""
    return POOL.malloc(size)


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Array:
    """A NumPy array on pinned memory, not initialised."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    buffer = alloc_pinned_memory(size)
    made: Array = np.ndarray(shape, dtype, buffer, order="F" if order == "F" else "C")
    return made


def empty_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Array:
    """A NumPy array on pinned memory, of the shape and type of another."""
    return empty_pinned(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Array:
    """A NumPy array of zeros on pinned memory."""
    out = empty_pinned(shape, dtype, order)
    out[...] = 0
    return out


def zeros_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Array:
    """A NumPy array of zeros on pinned memory, of the shape and type of another."""
    out = empty_like_pinned(a, dtype, order, subok, shape)
    out[...] = 0
    return out
