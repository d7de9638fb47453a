"""Device memory as CuPy has it: `alloc` and its pool, managed memory, and pointers into them.

CuPy's pool gives freed memory out again for the same size on the same stream, where the order of operations makes that
safe; to CUDA it goes back only at the end. So does this one, but it asks for exactly as many bytes as an array has, so
that the first one behind its end belongs to nobody.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from grader.standin.client import runtime
from grader.standin.client.connection import call_later
from grader.standin.client.constants import RUNTIME
from grader.standin.client.errors import STATUS, Closed, CUDARuntimeError, OutOfMemoryError, here
from grader.standin.client.hostmemory import HOST
from grader.standin.client.streams import Device, pointer_of

HOST_TO_DEVICE, DEVICE_TO_HOST, ANY_WAY = (
    RUNTIME[name] for name in ("memcpyHostToDevice", "memcpyDeviceToHost", "memcpyDefault")
)


class BaseMemory(Closed):
    """``size`` bytes at ``ptr``, on a device."""

    _full_name = "cupy.cuda.BaseMemory"
    ptr: int
    size: int
    device_id: int
    _dropped_at = 0  # the line in which the last array on it died

    def __int__(self) -> int:
        return self.ptr

    @property
    def device(self) -> Device:
        return Device(self.device_id)


class Memory(BaseMemory):
    """Device memory of its own, freed with the object."""

    _full_name = "cupy.cuda.Memory"

    def __init__(self, size: int) -> None:
        self.size, self.device_id = int(size), runtime.getDevice()
        self.ptr = runtime.malloc(int(size))

    def __del__(self) -> None:
        _free_later(self.__dict__.get("ptr", 0))


class ManagedMemory(BaseMemory):
    """Memory that host and devices share, page by page."""

    _full_name = "cupy.cuda.ManagedMemory"

    def __init__(self, size: int) -> None:
        self.size, self.device_id = int(size), runtime.getDevice()
        self.ptr = runtime.mallocManaged(int(size))

    def __del__(self) -> None:
        _free_later(self.__dict__.get("ptr", 0))

    def prefetch(self, stream: Any, *, device_id: int = RUNTIME["cudaInvalidDeviceId"]) -> None:
        """Move the pages to a device: the current one, if none is named."""
        device = self.device_id if device_id == RUNTIME["cudaInvalidDeviceId"] else device_id
        runtime.memPrefetchAsync(self.ptr, self.size, device, stream.ptr)

    def advise(self, advise: int, dev: Device) -> None:
        if not isinstance(dev, Device):
            raise TypeError(f"advise takes a cupy.cuda.Device, not {type(dev)}")
        runtime.memAdvise(self.ptr, self.size, advise, dev.id)


class UnownedMemory(BaseMemory):
    """Memory that belongs to somebody else: to ``owner``, which lives as long as this."""

    _full_name = "cupy.cuda.UnownedMemory"

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner = int(ptr), int(size), owner
        self.device_id = runtime.getDevice() if device_id < 0 else device_id


def _free_later(ptr: int) -> None:
    if ptr:
        runtime._DEVICE_RANGES.pop(ptr, None)
        call_later("free", 0, HOST.to_device(ptr))


class MemoryPointer(Closed):
    """A place in memory of a device."""

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
        runtime.memcpy(self.ptr, src.ptr, size, ANY_WAY)

    def copy_from_device_async(self, src: Any, size: int, stream: Any = None) -> None:
        runtime.memcpyAsync(self.ptr, src.ptr, size, ANY_WAY, pointer_of(stream))

    def copy_from_host(self, mem: Any, size: int) -> None:
        runtime.memcpy(self.ptr, _address(mem), size, HOST_TO_DEVICE)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        runtime.refuse_while_capturing(pointer_of(stream), "H2D")
        runtime.memcpyAsync(self.ptr, _address(mem), size, HOST_TO_DEVICE, pointer_of(stream))

    def copy_from(self, mem: Any, size: int) -> None:
        (self.copy_from_device if isinstance(mem, MemoryPointer) else self.copy_from_host)(mem, size)

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        (self.copy_from_device_async if isinstance(mem, MemoryPointer) else self.copy_from_host_async)(
            mem, size, stream
        )

    def copy_to_host(self, mem: Any, size: int) -> None:
        runtime.memcpy(_address(mem), self.ptr, size, DEVICE_TO_HOST)

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        runtime.refuse_while_capturing(pointer_of(stream), "D2H")
        runtime.memcpyAsync(_address(mem), self.ptr, size, DEVICE_TO_HOST, pointer_of(stream))

    def memset(self, value: int, size: int) -> None:
        runtime.memset(self.ptr, value, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        runtime.memsetAsync(self.ptr, value, size, pointer_of(stream))


def _address(mem: Any) -> int:
    """The address of host memory: a number, or a ``ctypes.c_void_p``."""
    return int(mem if isinstance(mem, int) else mem.value)


# ---------------------------------------------------------------------------------------------------------------- pool


class PooledMemory(BaseMemory):
    """Memory of the pool, to which it returns."""

    _full_name = "cupy.cuda.memory.PooledMemory"

    def __init__(self, pool: MemoryPool, place: tuple[int, int, int], mem: BaseMemory) -> None:
        self._pool, self._place, self._mem, self.ptr = pool, place, mem, mem.ptr
        self.device_id, _, self.size = place

    def __del__(self) -> None:
        if self.__dict__.get("ptr"):
            self._pool._take_back(self._place, self._mem)


class MemoryPool(Closed):
    """Device memory that was used once, by device, stream and size; ``allocator`` gives more."""

    _full_name = "cupy.cuda.MemoryPool"

    def __init__(self, allocator: Any = None) -> None:
        self._allocator = _malloc if allocator is None else allocator
        self._free: dict[tuple[int, int, int], list[BaseMemory]] = {}
        self._total = 0
        self._lock = threading.RLock()

    def malloc(self, size: int) -> MemoryPointer:
        """``size`` bytes on the current device, for the current stream first."""
        place = (runtime.getDevice(), pointer_of(None), int(size))
        with self._lock:
            waiting = self._free.get(place)
            mem = waiting.pop() if waiting else self._more(int(size))
        return MemoryPointer(PooledMemory(self, place, mem), 0)

    def _more(self, size: int) -> BaseMemory:
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

    def _take_back(self, place: tuple[int, int, int], mem: BaseMemory) -> None:
        with self._lock:
            mem._dropped_at = here()
            self._free.setdefault(place, []).append(mem)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give what nobody uses back to CUDA, which waits for the device first."""
        if self.n_free_blocks():
            runtime.deviceSynchronize()
        self._give_back()

    def _give_back(self) -> None:
        """The same without the wait; CUDA hears of it with the next call."""
        with self._lock:
            self._total -= self.free_bytes()
            self._free.clear()  # each frees itself

    def _give_back_after_the_run(self) -> None:
        """Give what nobody uses back once all that is queued has been done, with the line that let it go."""
        with self._lock:
            for mem in (mem for waiting in self._free.values() for mem in waiting):
                runtime._DEVICE_RANGES.pop(mem.ptr, None)
                call_later("give_back", mem._dropped_at, HOST.to_device(mem.ptr))
                mem.ptr = 0  # it is no longer this object's
            self._total -= self.free_bytes()
            self._free.clear()

    def n_free_blocks(self) -> int:
        return sum(map(len, self._free.values()))

    def free_bytes(self) -> int:
        return sum(size * len(waiting) for (_, _, size), waiting in self._free.items())

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
"""The current allocator, last; what `using_allocator` has put aside comes before it."""


def alloc(size: int) -> MemoryPointer:
    """Device memory of the current allocator: the pool, unless `set_allocator` has put another in its place."""
    return _ALLOCATORS[-1](size) if size else MemoryPointer(UnownedMemory(0, 0, None), 0)


def set_allocator(allocator: Any = None) -> None:
    """Have arrays made by ``allocator``; None: by cudaMalloc, without a pool. Not inside of `using_allocator`."""
    if len(_ALLOCATORS) > 1:
        raise ValueError("inside of a `using_allocator` block the allocator cannot be changed")
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
