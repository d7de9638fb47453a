"""CuPy's memory: device, managed and pinned memory, with pools, pointers, and NumPy arrays on pinned memory.

CuPy's pool reuses freed memory for the same size on the same stream, where the order of operations makes this safe, and
returns it to CUDA only at the end. This pool does the same, but allocates exactly an array's bytes, so that the first
byte after the end belongs to no array.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from grader.standin.client.connection import HOST, buffer_at, call_later
from grader.standin.client.errors import STATUS, Closed, CUDARuntimeError, OutOfMemoryError, Outside, here
from grader.standin.client.runtime import DEVICE_RANGES, NUMBERS, cuda, refuse_while_capturing
from grader.standin.client.streams import Device, pointer_of

HOST_TO_DEVICE, DEVICE_TO_HOST, ANY_WAY = (
    NUMBERS[name] for name in ("memcpyHostToDevice", "memcpyDeviceToHost", "memcpyDefault")
)
PINNED_UNIT = 512  # bytes: CuPy's pool of pinned memory rounds sizes up to a multiple of this

Array = npt.NDArray[Any]


class BaseMemory(Closed):
    """``size`` bytes at ``ptr``, on a device."""

    _full_name = "cupy.cuda.BaseMemory"
    ptr: int
    size: int
    device_id: int
    _dropped_at = 0  # the line where the last array on it was dropped

    def __int__(self) -> int:
        return self.ptr

    @property
    def device(self) -> Device:
        return Device(self.device_id)


class _OwnMemory(BaseMemory):
    """Memory that is freed with the object."""

    _allocate = "malloc"

    def __init__(self, size: int) -> None:
        self.size, self.device_id = int(size), cuda.getDevice()
        self.ptr = getattr(cuda, self._allocate)(int(size))

    def __del__(self) -> None:
        if ptr := self.__dict__.get("ptr"):
            DEVICE_RANGES.pop(ptr, None)
            call_later("free", 0, HOST.to_device(ptr))


class Memory(_OwnMemory):
    """Device memory."""

    _full_name = "cupy.cuda.Memory"


class ManagedMemory(_OwnMemory):
    """Memory that host and devices share, page by page."""

    _full_name = "cupy.cuda.ManagedMemory"
    _allocate = "mallocManaged"

    def prefetch(self, stream: Any, *, device_id: int = NUMBERS["cudaInvalidDeviceId"]) -> None:
        """Move the pages to a device: the current one, if none is named."""
        device = self.device_id if device_id == NUMBERS["cudaInvalidDeviceId"] else device_id
        cuda.memPrefetchAsync(self.ptr, self.size, device, stream.ptr)

    def advise(self, advise: int, dev: Device) -> None:
        if not isinstance(dev, Device):
            raise TypeError(f"advise takes a cupy.cuda.Device, not {type(dev)}")
        cuda.memAdvise(self.ptr, self.size, advise, dev.id)


class UnownedMemory(BaseMemory):
    """Memory that another object owns: ``owner``, which is kept alive by this reference."""

    _full_name = "cupy.cuda.UnownedMemory"

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = int(ptr), int(size), owner
        self.device_id = cuda.getDevice() if device_id < 0 else device_id


class MemoryPointer(Closed):
    """An address in device memory."""

    _full_name = "cupy.cuda.MemoryPointer"

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.ptr = mem, int(mem.ptr) + int(offset)

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    @property
    def device_id(self) -> int:
        return int(self.mem.device_id)

    @property
    def device(self) -> Device:
        return Device(self.device_id)

    def copy_from_device(self, src: Any, size: int) -> None:
        cuda.memcpy(self.ptr, src.ptr, size, ANY_WAY)

    def copy_from_device_async(self, src: Any, size: int, stream: Any = None) -> None:
        cuda.memcpyAsync(self.ptr, src.ptr, size, ANY_WAY, pointer_of(stream))

    def copy_from_host(self, mem: Any, size: int) -> None:
        cuda.memcpy(self.ptr, _address(mem), size, HOST_TO_DEVICE)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        refuse_while_capturing(pointer_of(stream), "H2D")
        cuda.memcpyAsync(self.ptr, _address(mem), size, HOST_TO_DEVICE, pointer_of(stream))

    def copy_from(self, mem: Any, size: int) -> None:
        (self.copy_from_device if isinstance(mem, MemoryPointer) else self.copy_from_host)(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        (self.copy_from_device_async if isinstance(mem, MemoryPointer) else self.copy_from_host_async)(
            mem, size, stream
        )

    def copy_to_host(self, mem: Any, size: int) -> None:
        cuda.memcpy(_address(mem), self.ptr, size, DEVICE_TO_HOST)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        refuse_while_capturing(pointer_of(stream), "D2H")
        cuda.memcpyAsync(_address(mem), self.ptr, size, DEVICE_TO_HOST, pointer_of(stream))

    def memset(self, value: int, size: int) -> None:
        cuda.memset(self.ptr, value, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        cuda.memsetAsync(self.ptr, value, size, pointer_of(stream))


def _address(mem: Any) -> int:
    """The address of host memory: a number, or a ``ctypes.c_void_p``."""
    return int(mem if isinstance(mem, int) else mem.value)


# --------------------------------------------------------------------------------------------- the pool of a device


class _Pool:
    """Unused memory, by the key for which it can be used again (size, or device, stream and size)."""

    def __init__(self) -> None:
        self._free: dict[Any, list[Any]] = {}
        self._lock = threading.RLock()

    def _take(self, key: Any, allocate: Callable[[], Any]) -> Any:
        with self._lock:
            free = self._free.get(key)
            return free.pop() if free else allocate()

    def _take_back(self, key: Any, mem: Any) -> None:
        with self._lock:
            mem._dropped_at = here()
            self._free.setdefault(key, []).append(mem)

    def n_free_blocks(self) -> int:
        return sum(map(len, self._free.values()))


class PooledMemory(BaseMemory):
    """Memory of the pool, to which it returns."""

    _full_name = "cupy.cuda.memory.PooledMemory"

    def __init__(self, pool: MemoryPool, key: tuple[int, int, int], mem: BaseMemory) -> None:
        self._pool, self._key, self._mem, self.ptr = pool, key, mem, mem.ptr
        self.device_id, _, self.size = key

    def __del__(self) -> None:
        if self.__dict__.get("ptr"):
            self._pool._take_back(self._key, self._mem)


class MemoryPool(_Pool, Closed):
    """Unused device memory by device, stream and size; ``allocator`` allocates more."""

    _full_name = "cupy.cuda.MemoryPool"

    def __init__(self, allocator: Any = None) -> None:
        super().__init__()
        self._allocator = _malloc if allocator is None else allocator
        self._total = 0

    def malloc(self, size: int) -> MemoryPointer:
        """``size`` bytes on the current device, for first use on the current stream. Raises OutOfMemoryError."""
        key = (cuda.getDevice(), pointer_of(None), int(size))
        return MemoryPointer(PooledMemory(self, key, self._take(key, lambda: self._allocate(int(size)))), 0)

    def _allocate(self, size: int) -> BaseMemory:
        try:
            mem: BaseMemory = self._allocator(size).mem
        except CUDARuntimeError as error:
            if error.status != STATUS["cudaErrorMemoryAllocation"]:
                raise
            self.free_all_blocks()
            try:
                mem = self._allocator(size).mem
            except CUDARuntimeError:
                raise OutOfMemoryError(size, self._total) from None
        self._total += size
        return mem

    def free_all_blocks(self, stream: Any = None) -> None:
        """Free the unused memory, after a wait for the device; the calls are made with the next one."""
        if self.n_free_blocks():
            cuda.deviceSynchronize()
        with self._lock:
            self._total -= self.free_bytes()
            self._free.clear()  # each frees itself

    def _give_back_after_the_run(self) -> None:
        """Free the unused memory when all queued operations are done, with the lines that dropped it."""
        with self._lock:
            for mem in (mem for free in self._free.values() for mem in free):
                DEVICE_RANGES.pop(mem.ptr, None)
                call_later("give_back", mem._dropped_at, HOST.to_device(mem.ptr))
                mem.ptr = 0  # so that the object does not free it
            self._total -= self.free_bytes()
            self._free.clear()

    def free_bytes(self) -> int:
        return sum(size * len(free) for (_, _, size), free in self._free.items())

    def total_bytes(self) -> int:
        return self._total

    def used_bytes(self) -> int:
        return self._total - self.free_bytes()


def _malloc(size: int) -> MemoryPointer:
    return MemoryPointer(Memory(size), 0)


def malloc_managed(size: int) -> MemoryPointer:
    """Managed memory."""
    return MemoryPointer(ManagedMemory(size), 0)


POOL = MemoryPool()
_ALLOCATORS: list[Any] = [POOL.malloc]
"""The current allocator is the last; those before it are restored at the end of `using_allocator` blocks."""


def alloc(size: int) -> MemoryPointer:
    """Device memory from the current allocator: the pool, unless `set_allocator` has replaced it."""
    return _ALLOCATORS[-1](size) if size else MemoryPointer(UnownedMemory(0, 0, None), 0)


def set_allocator(allocator: Any = None) -> None:
    """Allocate arrays with ``allocator``; None: with cudaMalloc, without a pool. Not inside `using_allocator`."""
    if len(_ALLOCATORS) > 1:
        raise ValueError("inside a `using_allocator` block the allocator cannot be changed")
    _ALLOCATORS[-1] = _malloc if allocator is None else allocator


def get_allocator() -> Any:
    """The current allocator."""
    return _ALLOCATORS[-1]


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """`set_allocator` for a block."""
    _ALLOCATORS.append(_malloc if allocator is None else allocator)
    try:
        yield
    finally:
        _ALLOCATORS.pop()


# ------------------------------------------------------------------------------------------------------ pinned memory


class PinnedMemory:
    """Pinned memory that is freed with the object."""

    def __init__(self, size: int, flags: int = 0) -> None:
        self.size, self.ptr = int(size), 0
        self.ptr = cuda.hostAlloc(int(size), int(flags))

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
        self._pool._take_back(self.size, self._mem)


class PinnedMemoryPool(_Pool):
    """Unused pinned memory by size. The pool waits for no stream before memory is used again."""

    def __init__(self, allocator: Any = None) -> None:
        if allocator is not None:
            raise Outside("cupy.cuda.PinnedMemoryPool with an allocator")
        super().__init__()

    def malloc(self, size: int) -> PinnedMemoryPointer:
        rounded = -(-int(size) // PINNED_UNIT) * PINNED_UNIT
        mem = self._take(rounded, lambda: PinnedMemory(rounded))
        return PinnedMemoryPointer(PooledPinnedMemory(mem, self), 0)

    def free_all_blocks(self) -> None:
        """Free the unused memory."""
        self._free.clear()


class PinnedMemoryPointer(np.ndarray[Any, Any]):
    """An address in pinned memory, with the buffer protocol: ``numpy.frombuffer`` makes an array of it.

    (CuPy's class is not a NumPy array. Before Python 3.12 a Python class can have a buffer only by inheritance.)
    """

    mem: Any
    ptr: int

    def __new__(cls, mem: Any, offset: int) -> Self:
        length = mem.size - offset
        pointer = np.ndarray.__new__(cls, (length,), np.uint8, buffer_at(mem.ptr + offset, length) if length else None)
        pointer.mem, pointer.ptr = mem, mem.ptr + offset
        return pointer

    def _bytes_left(self) -> int:
        """Bytes from here to the end."""
        return int(self.mem.size - (self.ptr - self.mem.ptr))

    size: Any = _bytes_left  # a method, as CuPy's; NumPy's is a number

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: Any) -> PinnedMemoryPointer:
        return PinnedMemoryPointer(self.mem, self.ptr - self.mem.ptr + int(offset))

    def __sub__(self, offset: Any) -> Any:
        return self.__add__(-int(offset))


PINNED_POOL = PinnedMemoryPool()


def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Pinned memory from the pool."""
    return PINNED_POOL.malloc(size)


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Array:
    """An uninitialised NumPy array on pinned memory."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    buffer = alloc_pinned_memory(size)
    array: Array = np.ndarray(shape, dtype, buffer, order="F" if order == "F" else "C")
    return array


def empty_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Array:
    """An uninitialised NumPy array on pinned memory with the shape and dtype of another."""
    return empty_pinned(a.shape if shape is None else shape, a.dtype if dtype is None else dtype)


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Array:
    """A NumPy array of zeros on pinned memory."""
    out = empty_pinned(shape, dtype, order)
    out[...] = 0
    return out


def zeros_like_pinned(a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None) -> Array:
    """A NumPy array of zeros on pinned memory with the shape and dtype of another."""
    out = empty_like_pinned(a, dtype, order, subok, shape)
    out[...] = 0
    return out
