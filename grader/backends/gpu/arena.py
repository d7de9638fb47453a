"""The device memory of a submission: arrays, poison, and guard zones that detect stray writes. Child side.

    | guard | array 0 | pad+guard | guard | array 1 | pad+guard | … the rest, guard again |
            ^ 256-byte aligned, as by cudaMalloc, so that vector loads work as usual; a slice begins after that

Everything outside arrays is filled with one secret byte. Of the zone between two arrays one half belongs to the array
before it and one half to the array after it. A kernel checks all zones after every launch sequence.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from grader.backends.gpu.cuda import Cuda, CudaError, Module
from grader.backends.gpu.faults import error_name
from grader.backends.gpu.wire import LaunchShape
from grader.errors import Unsupported
from grader.frozen import dataclass
from grader.inputs import POISON_WORD, poison

HALF_GUARD = 64 << 10
ALIGNMENT = 256
GRANULE = 2 << 20  # device memory is mapped in pieces of 2 MiB: beyond the last, an access faults

_BLOCK = 256
_MAX_BLOCKS = 264
_UNTOUCHED = 2**64 - 1


@dataclass(frozen=True)
class BufferPlace:
    """An array's place in the arena, in bytes from its start, with its guard zones."""

    name: str
    itemsize: int
    start: int
    size: int
    guard_start: int
    guard_stop: int

    @property
    def stop(self) -> int:
        return self.start + self.size

    def element(self, byte: int) -> int:
        """The array index of a byte (from the arena's start): negative, or >= count, for a stray write."""
        return (byte - self.start) // self.itemsize


@dataclass(frozen=True)
class ArenaLayout:
    """The places of all arrays by name, and the arena's size in bytes."""

    places: Mapping[str, BufferPlace]
    size: int


def lay_out(arrays: Sequence[tuple[str, int, int, int]]) -> ArenaLayout:
    """Places for ``(name, itemsize, count, offset)`` in order; the total is a whole number of 2 MiB pieces."""
    places: dict[str, BufferPlace] = {}
    at = HALF_GUARD
    for position, (name, itemsize, count, offset) in enumerate(arrays):
        size = itemsize * count
        start, before = at + itemsize * offset, at - HALF_GUARD
        at = _up(start + size, ALIGNMENT) + 2 * HALF_GUARD
        last = position == len(arrays) - 1
        after = _up(at, GRANULE) if last else at - HALF_GUARD
        places[name] = BufferPlace(name, itemsize, start, size, before, after)
    return ArenaLayout(places, _up(at, GRANULE))


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


@dataclass(frozen=True)
class Stray:
    """A changed guard byte: the array beside it, and the index of the write (negative, or at least ``count``)."""

    array: str
    index: int
    count: int


class Arena:
    """One allocation, laid out anew for every case. ``support`` is the module of support.cu; without it, guard zones
    cannot be checked.

    ``guard`` is the secret byte outside arrays. Arrays without content are filled with `grader.inputs.POISON_WORD`, as
    on the simulator, so that elements that a kernel does not write are detected.
    """

    def __init__(self, device: Cuda, support: Module | None = None) -> None:
        self._device = device
        self._find_changed = device.function(support, "find_changed") if support is not None else None
        self.guard = 1 + secrets.randbelow(254)
        self.base = 0
        self.layout = ArenaLayout({}, 0)
        self._room = 0
        self._results = 0  # of `strays`
        self._results_room = 0

    def lay_out(self, shapes: Sequence[LaunchShape]) -> None:
        """Place these arrays, and fill the whole arena with the guard byte. Raises Unsupported if it is too large."""
        self.layout = lay_out([(s.name, np.dtype(s.dtype).itemsize, s.count, s.offset) for s in shapes])
        size = self.layout.size
        if size > self._room:
            if self._room:
                self._device.synchronise()
                self._device.free(self.base)
                self._room = 0
            try:
                self.base, self._room = self._device.allocate(size), size
            except CudaError as error:
                if error_name(str(error)) != "memoryallocation":
                    raise
                gib = size / (1 << 30)
                message = f"the arrays of this size need {gib:.1f} GiB, and this GPU has less free memory"
                hint = "`nvidia-smi` shows what else uses it; `--backend sim` grades everything but the speed"
                raise Unsupported(message, hint=hint) from None
        self._device.fill8(self.base, self.guard, self._room)

    def address(self, name: str) -> int:
        return self.base + self.layout.places[name].start

    def addresses(self) -> dict[str, int]:
        return {name: self.base + place.start for name, place in self.layout.places.items()}

    def upload(self, name: str, data: npt.NDArray[np.generic]) -> None:
        self._device.upload(self.address(name), data)

    def poison_array(self, name: str) -> None:
        """Fill an array with the poison word, whose halves are equal; a last odd byte gets the word's lowest byte."""
        size, start = self.layout.places[name].size, self.address(name)
        if start % 2:
            self._device.upload(start, poison("uint8", size))
            return
        self._device.fill16(start, POISON_WORD & 0xFFFF, size // 2)
        self._device.fill8(start + size - size % 2, POISON_WORD & 0xFF, size % 2)

    def download(self, name: str, dtype: str) -> npt.NDArray[np.generic]:
        return self._device.download(self.address(name), self.layout.places[name].size).view(np.dtype(dtype))

    def strays(self) -> tuple[Stray, ...]:
        """The nearest stray write on each side of each array, in the arrays' order; () if all guards are intact."""
        places = list(self.layout.places.values())
        size = 16 * len(places)  # for each array the distance of the nearest changed byte before it, and after it
        if size > self._results_room:
            self._results, self._results_room = self._device.allocate(size), size
        self._device.fill8(self._results, 0xFF, size)
        for position, place in enumerate(places):
            result = self._results + 16 * position
            self._look(place.guard_start, place.start, False, result)
            self._look(place.stop, place.guard_stop, True, result + 8)
        nearest = self._device.download(self._results, size).view(np.uint64).tolist()
        found = []
        for position, place in enumerate(places):
            before, after = nearest[2 * position : 2 * position + 2]
            changed = []  # bytes from the arena's start
            if after != _UNTOUCHED:
                changed.append(place.stop + after)
            if before != _UNTOUCHED:
                changed.append(place.start - 1 - before)
            count = place.size // place.itemsize
            found += [Stray(place.name, place.element(byte), count) for byte in changed]
        return tuple(found)

    def _look(self, start: int, stop: int, after: bool, result: int) -> None:
        """Queue the search for a changed byte in one zone, with the trusted kernel ``find_changed``."""
        zone, size = self.base + start, stop - start
        blocks = min(-(-size // _BLOCK), _MAX_BLOCKS)
        args = [np.uint64(zone), np.uint64(size), np.uint32(self.guard), np.int32(after), np.uint64(result)]
        self._device.launch(self._find_changed, (blocks, 1, 1), (_BLOCK, 1, 1), args)
