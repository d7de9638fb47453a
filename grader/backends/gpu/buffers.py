"""One allocation for all arrays of a case, with guard zones between them, so that a stray write shows.

    | guard | array 0 | pad+guard | guard | array 1 | pad+guard | … the rest, guard again |
            ^ 256-byte aligned, as cudaMalloc's are, so that vector loads behave as at home

Everything that is no array is filled with one secret byte; the zone between two arrays is shared, half of it belongs
to the array before it, half to the one after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HALF_GUARD = 64 << 10
ALIGNMENT = 256
GRANULE = 2 << 20  # device memory is mapped in pieces of 2 MiB: beyond the last, an access faults


@dataclass(frozen=True)
class Place:
    """Where an array lies in the arena, in bytes from its start, with the guards that belong to it."""

    name: str
    itemsize: int
    start: int
    size: int
    guard_start: int
    guard_stop: int

    @property
    def stop(self) -> int:
        return self.start + self.size


@dataclass(frozen=True)
class Layout:
    places: Mapping[str, Place]
    size: int


def lay_out(arrays: Sequence[tuple[str, int, int]]) -> Layout:
    """Places for ``(name, itemsize, count)`` in order; the total is a whole number of 2 MiB pieces."""
    places: dict[str, Place] = {}
    at = HALF_GUARD
    for position, (name, itemsize, count) in enumerate(arrays):
        size = itemsize * count
        start, before = at, at - HALF_GUARD
        at = _up(start + size, ALIGNMENT) + 2 * HALF_GUARD
        last = position == len(arrays) - 1
        after = _up(at, GRANULE) if last else at - HALF_GUARD
        places[name] = Place(name, itemsize, start, size, before, after)
    return Layout(places, _up(at, GRANULE))


def element(place: Place, byte: int) -> int:
    """The element index that a stray byte (from the arena's start) has relative to its array: negative, or >= count."""
    return (byte - place.start) // place.itemsize


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
