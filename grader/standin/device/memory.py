"""The address space: allocations, which kernels may access them, and their names in reports.

device     allocations of `malloc`, poisoned; the addresses after each of them stay free
managed    in the shared file, poisoned: the host accesses it too
pinned     registered or pinned memory of the shared file: copies need no staging buffer, kernels may access it in place
pageable   the rest of the shared file: only copies access it
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping
from dataclasses import field
from typing import Literal

import numpy as np
import numpy.typing as npt

from grader.frozen import dataclass
from grader.inputs import POISON_WORD
from grader.standin.device.spans import Spans, clip
from grader.standin.protocol import HOST_BASE, CudaRefusal

Bytes = npt.NDArray[np.uint8]
Kind = Literal["device", "managed", "pinned"]
Arrays = Mapping[str, tuple[int, int, str, str]]
"""The exercise's arrays in the shared file: offset, bytes, dtype and role of each."""

PAGE = 4096
FIRST_DEVICE_ADDRESS = 0x200_0000_0000
ALIGNMENT = 512
ROOM = 16 << 20
"""Bytes of addresses that stay free after an allocation, so that a stray access hits no other allocation."""

MOST_FREED = 1024
"""Freed regions that are remembered, to name them in findings."""
MANAGED_WORD = 0x7FBB7FBB
"""Fills fresh managed memory: a signalling NaN. A value computed from it has other bits, so host writes are visible."""
NOTHING = np.empty(0, np.uint8)

OUT_OF_MEMORY = "cudaErrorMemoryAllocation"
INVALID = "cudaErrorInvalidValue"


@dataclass(frozen=True)
class HostArray:
    """One array of the exercise in the shared file. ``role`` is ``in`` or ``out``."""

    name: str
    offset: int
    size: int  # bytes
    dtype: str
    role: str


@dataclass(eq=False)
class MemoryRegion:
    """One allocation, or one registered range. ``freed_at`` is the line that freed it, None while it is allocated.

    ``was_dropped`` regions were freed by a pool, not by a call: the last array on them was dropped on that line.
    """

    start: int
    size: int
    kind: Kind
    device: int
    line: int
    data: Bytes
    freed_at: int | None = None
    copies_of: list[tuple[int, int, str]] = field(default_factory=list)  # start, end, and the array on the other side
    was_registered: bool = False
    was_dropped: bool = False

    @property
    def end(self) -> int:
        return self.start + self.size

    @property
    def is_host(self) -> bool:
        return self.kind != "device"


class Space:
    """All memory. ``shared`` is the file that host and device share; ``pool`` the range of it for allocations."""

    def __init__(self, shared: Bytes, pool: tuple[int, int], devices: int, memory_bytes: int) -> None:
        self.shared = shared
        self.memory_bytes = memory_bytes
        self.poison_word = POISON_WORD  # in fresh device memory
        self._pinned_before: dict[tuple[int, int], MemoryRegion] = {}  # by address and size
        self.arrays: list[HostArray] = []
        self.gone: list[MemoryRegion] = []  # freed regions, oldest first
        self.used = [0] * devices
        self.variables: list[tuple[int, int, str]] = []  # of the module: first address, end, name
        self._regions: list[MemoryRegion] = []  # live, by address
        self._starts: list[int] = []
        self._next = FIRST_DEVICE_ADDRESS
        self._pool = pool[0] if pool[0] < pool[1] else shared.size
        self._free = [pool] if pool[0] < pool[1] else []  # of the pool: (begin, end), sorted

    def bind(self, arrays: Arrays) -> None:
        """Set the exercise's arrays, which are in the shared file."""
        self.arrays = [HostArray(name, *row) for name, row in arrays.items()]

    def begin_case(self, poison_word: int, *, repeated: bool) -> None:
        """Begin a case. If the last one is repeated, at the same addresses, `setup` pins what is pinned already."""
        self.poison_word = poison_word
        pinned = [region for region in self._regions if region.was_registered and repeated]
        self._pinned_before = {(region.start, region.size): region for region in pinned}

    # -- allocating -------------------------------------------------------------------------------------------------
    def allocate(self, size: int, device: int, line: int) -> MemoryRegion:
        """Allocate device memory. Raises CudaRefusal if not enough is left."""
        left = self.memory_bytes - self.used[device]
        if size > left:
            capacity = f"of the {self.memory_bytes >> 20} MiB that the simulated GPU has"
            raise CudaRefusal(
                OUT_OF_MEMORY, f"out of memory: {size} bytes are requested, {left} bytes are left {capacity}"
            )
        start = self._next
        self._next = -(-(start + size + max(ROOM, size)) // ALIGNMENT) * ALIGNMENT
        self.used[device] += size
        return self._add(MemoryRegion(start, size, "device", device, line, poisoned(size, self.poison_word)))

    def allocate_shared(self, size: int, kind: Kind, device: int, line: int) -> MemoryRegion:
        """Allocate pinned or managed memory in the pool of the shared file. Raises CudaRefusal if none is left."""
        whole = in_pages(size)
        for i, (begin, end) in enumerate(self._free):
            if end - begin >= whole:
                self._free[i : i + 1] = [(begin + whole, end)] if end - begin > whole else []
                data = self.shared[begin : begin + size]
                if kind == "managed":
                    data[:] = poisoned(size, MANAGED_WORD)
                return self._add(MemoryRegion(HOST_BASE + begin, size, kind, device, line, data))
        raise CudaRefusal(OUT_OF_MEMORY, f"out of memory: the host has no {size} bytes left for pinned arrays")

    def is_pinned_again(self, start: int, size: int) -> bool:
        """Whether the case is repeated, and its `setup` has pinned this range before."""
        return self._pinned_before.pop((start, size), None) in self._regions

    def register(self, start: int, size: int, line: int) -> MemoryRegion:
        """Pin a range of the shared file. Raises CudaRefusal outside it, or if a page of it is pinned already."""
        begin = start - HOST_BASE
        reason = "not all of them belong to the exercise's arrays (`x.nbytes` is the size of x)"
        outside = CudaRefusal(INVALID, f"hostRegister of {size} bytes: {reason}")
        if size < 1 or begin < 0 or begin + size > self.shared.size:
            raise outside
        first, last = start // PAGE * PAGE, in_pages(start + size)
        for region in self._regions:
            if region.is_host and first < in_pages(region.end) and region.start // PAGE * PAGE < last:
                at = f", on line {region.line}" if region.line else ""
                raise CudaRefusal(
                    "cudaErrorHostMemoryAlreadyRegistered",
                    f"these pages are pinned already{at} (pages have {PAGE} bytes)",
                )
        if begin + size > self._pool:  # memory that was freed, or that nobody has allocated yet
            raise outside
        pinned = MemoryRegion(start, size, "pinned", 0, line, self.shared[begin : begin + size], was_registered=True)
        return self._add(pinned)

    def _add(self, region: MemoryRegion) -> MemoryRegion:
        insort(self._regions, region, key=lambda r: r.start)
        self._starts = [r.start for r in self._regions]
        return region

    def release(self, address: int, kinds: tuple[Kind, ...], line: int, *, registered: bool = False) -> MemoryRegion:
        """Free or unpin a region by its first address. Raises CudaRefusal if there is none of these kinds."""
        region = self.at(address)
        if region is None or region.start != address or region.kind not in kinds or region.was_registered != registered:
            raise CudaRefusal(INVALID, f"{address:#x} cannot be freed this way: {_HOW_TO_FREE}")
        self._regions.remove(region)
        self._starts = [r.start for r in self._regions]
        region.freed_at = line
        region.data = NOTHING
        self.gone = [*self.gone[1 - MOST_FREED :], region]
        if region.kind == "device":
            self.used[region.device] -= region.size
        elif not region.was_registered:
            begin = region.start - HOST_BASE
            self._free = _merged([*self._free, (begin, begin + in_pages(region.size))])
        return region

    # -- looking up -------------------------------------------------------------------------------------------------
    def at(self, address: int) -> MemoryRegion | None:
        """The live region that holds an address."""
        i = bisect_right(self._starts, address) - 1
        return self._regions[i] if i >= 0 and address < self._regions[i].end else None

    def place(self, address: int, size: int) -> str:
        """``device``, ``managed``, ``pinned`` or ``pageable``. Raises CudaRefusal if the bytes are none of these."""
        region = self.at(address)
        if region is not None and address + size <= region.end:
            return region.kind
        begin = address - HOST_BASE
        inside = begin >= 0 and begin + size <= self.shared.size and self.freed(address) is None
        if not inside or (region is not None and not region.was_registered):
            raise CudaRefusal(INVALID, self._nowhere(address, size))
        return "pinned" if self._pinned_part(address, size) else "pageable"

    def _pinned_part(self, address: int, size: int) -> int:
        """How many of these bytes of the shared file are pinned: all or none. Raises CudaRefusal if only some are.

        cudaMemcpyAsync takes a range that is registered completely, or not at all. Pages are pinned as a whole.
        """
        registered = [(r.start, in_pages(r.end)) for r in self._regions if r.was_registered]
        pinned = sum(max(0, min(end, address + size) - max(start, address)) for start, end in registered)
        if 0 < pinned < size:
            raise CudaRefusal(
                INVALID,
                f"only {pinned} of the {size} bytes of {self.name(address)} that are copied are pinned: hostRegister "
                "takes a size in bytes (`x.nbytes`), and a copy needs memory that is pinned completely, or not at all",
            )
        return pinned

    def unpinned(self, address: int) -> MemoryRegion | None:
        """The region that pinned an address of the host last, if it is unpinned now."""
        return self._last(address, registered=True)

    def _nowhere(self, address: int, size: int) -> str:
        region = self.at(address)
        if region is not None:
            return f"{size} bytes at {self.name(address)}: only {region.end - address} bytes are left there"
        freed = self.freed(address)
        if freed is not None:
            return f"{address:#x} is memory that was freed{f' on line {freed.freed_at}' if freed.freed_at else ''}"
        return f"{address:#x} is not an address of memory that this program allocated"

    def freed(self, address: int) -> MemoryRegion | None:
        """The region that held an address last, if it is freed. Memory that was only unpinned is not freed."""
        return self._last(address, registered=False)

    def _last(self, address: int, *, registered: bool) -> MemoryRegion | None:
        if self.at(address) is not None:
            return None
        holders = (r for r in reversed(self.gone) if r.start <= address < r.end)
        return next((r for r in holders if r.was_registered == registered), None)

    def view(self, address: int, size: int) -> Bytes:
        """A view of the bytes. Raises CudaRefusal if there is no such memory."""
        if address >= HOST_BASE and address + size <= HOST_BASE + self.shared.size:
            return self.shared[address - HOST_BASE : address - HOST_BASE + size]
        region = self.at(address)
        if region is None or address + size > region.end:
            raise CudaRefusal(INVALID, self._nowhere(address, size))
        return region.data[address - region.start : address - region.start + size]

    # -- names ------------------------------------------------------------------------------------------------------
    def pinned(self) -> list[MemoryRegion]:
        """All live pinned memory."""
        return [region for region in self._regions if region.kind == "pinned"]

    def host_parts(self) -> list[Bytes]:
        """The parts of the shared file that are in use: the part before the pool, and allocations of the pool."""
        start = HOST_BASE + self._pool
        allocated = [region.data for region in self._regions if region.is_host and region.start >= start]
        return [self.shared[: self._pool], *allocated]

    def array_at(self, address: int) -> HostArray | None:
        """The exercise's array that holds an address of the host."""
        offset = address - HOST_BASE
        return next((a for a in self.arrays if a.offset <= offset < a.offset + max(a.size, 1)), None)

    def is_unpinned(self, address: int) -> bool:
        """Whether an address is in an array without a pinned part. (Near a pinned part, it is out of bounds.)"""
        array = self.array_at(address)
        if array is None:
            return False
        start = HOST_BASE + array.offset
        return not any(r.start < start + array.size and start < r.end for r in self._regions)

    def note_copy(self, device: int, host: int, size: int) -> None:
        """Name device memory after the host array that it is copied from or to."""
        region, array = self.at(device), self.array_at(host)
        if region is None or array is None or self.array_at(device) is not None:
            return
        row = (device, device + size, array.name)
        if row not in region.copies_of:
            region.copies_of = [r for r in region.copies_of if r[1] <= row[0] or row[1] <= r[0]] + [row]

    def copied_name(self, address: int) -> str:
        """The array at this address, or that is copied from or to it; "" if none is known."""
        array = self.array_at(address)
        if array is not None:
            return array.name
        region = self.at(address) or self.freed(address)
        names = region.copies_of if region is not None else []
        return next((name for start, end, name in names if start <= address < end), "")

    def name(self, address: int) -> str:
        """``x``, ``the device copy of x``, or ``memory allocated at line 12``; with several devices, on which."""
        array = self.copied_name(address)
        if array:
            return array if self.array_at(address) is not None else self._copy_of(array, address)
        region = self.at(address) or self.freed(address)
        if region is None:
            variable = next((name for start, end, name in self.variables if start <= address < end), "")
            return variable or ("memory of the host" if address >= HOST_BASE else f"memory at {address:#x}")
        word = {"device": "memory", "managed": "managed memory", "pinned": "pinned memory"}[region.kind]
        on = f" on device {region.device}" if region.kind == "device" and len(self.used) > 1 else ""
        return f"{word} allocated at line {region.line}{on}" if region.line else f"{word}{on}"

    def _copy_of(self, array: str, address: int) -> str:
        region = self.at(address) or self.freed(address)
        if region is not None and region.kind == "device" and len(self.used) > 1:
            return f"the copy of {array} on device {region.device}"
        return f"the device copy of {array}"

    def of_host(self, spans: Spans) -> Spans:
        """The part of the spans that is host memory."""
        return clip(spans, HOST_BASE, HOST_BASE + self.shared.size)


_HOW_TO_FREE = (
    "free() is for memory of malloc(), freeHost() for memory of hostAlloc(), hostUnregister() for memory of "
    "hostRegister(); each takes the first address, once"
)


def in_pages(size: int) -> int:
    """``size``, or an address, rounded up to whole pages."""
    return -(-size // PAGE) * PAGE


def poisoned(size: int, word: int) -> Bytes:
    """The contents of fresh memory, usually a NaN that no computation gives (`grader.inputs.POISON_WORD`)."""
    return np.full(-(-max(size, 1) // 4), word, "<u4").view(np.uint8)[:size]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for begin, end in sorted(spans):
        if out and out[-1][1] == begin:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return out
