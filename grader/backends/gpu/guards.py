"""Stray writes: the guard zones of the arena, looked at on the device after every launch sequence."""

from __future__ import annotations

from dataclasses import dataclass

from grader.backends.gpu.buffers import Layout, Place, element
from grader.backends.gpu.cuda import Device, Function
from grader.verdict import Diagnostic

_BLOCK = 256
_MAX_BLOCKS = 264
_UNTOUCHED = 2**64 - 1


@dataclass(frozen=True)
class Stray:
    """A guard byte that changed: the array beside it, and the element index that the write had."""

    array: str
    index: int
    count: int


class GuardCheck:
    """Looks at all guard zones of an arena with the trusted kernel ``find_changed``."""

    def __init__(self, device: Device, find_changed: Function, pattern: int) -> None:
        self._device = device
        self._find = find_changed
        self._pattern = pattern
        self._results = 0
        self._room = 0

    def strays(self, base: int, layout: Layout) -> tuple[Stray, ...]:
        """The nearest stray write beside each array, in the arrays' order; empty where all guards are whole."""
        places = list(layout.places.values())
        self._make_room(16 * len(places))
        self._device.fill8(self._results, 0xFF, 16 * len(places))
        for position, place in enumerate(places):
            self._look(base, place, self._results + 16 * position)
        return self._read(places)

    def _make_room(self, size: int) -> None:
        if size > self._room:
            self._results, self._room = self._device.allocate(size), size

    def _look(self, base: int, place: Place, result: int) -> None:
        self._look_at(base + place.guard_start, place.start - place.guard_start, False, result)
        self._look_at(base + place.stop, place.guard_stop - place.stop, True, result + 8)

    def _look_at(self, zone: int, size: int, after: bool, result: int) -> None:
        import numpy as np

        blocks = min(-(-size // _BLOCK), _MAX_BLOCKS)
        args = [np.uint64(zone), np.uint64(size), np.uint32(self._pattern), np.int32(after), np.uint64(result)]
        self._device.launch(self._find, (blocks, 1, 1), (_BLOCK, 1, 1), args)

    def _read(self, places: list[Place]) -> tuple[Stray, ...]:
        import numpy as np

        nearest = self._device.download(self._results, 16 * len(places)).view(np.uint64).tolist()
        found = []
        for position, place in enumerate(places):
            before, after = nearest[2 * position : 2 * position + 2]
            if after != _UNTOUCHED:
                found.append(_stray(place, place.stop + after))
            if before != _UNTOUCHED:
                found.append(_stray(place, place.start - 1 - before))
        return tuple(found)


def _stray(place: Place, byte: int) -> Stray:
    return Stray(place.name, element(place, byte), place.size // place.itemsize)


def diagnostic(stray: Stray, kernel: str | None) -> Diagnostic:
    """What a student is told: fact, place, evidence, next step."""
    side = "before the start" if stray.index < 0 else "past the end"
    elements = "1 element" if stray.count == 1 else f"{stray.count} elements"
    return Diagnostic(
        kind="out_of_bounds",
        message=f"write {side} of {stray.array}: {stray.array}[{stray.index}], and {stray.array} has {elements}",
        kernel=kernel,
        space="global",
        array=stray.array,
        index=stray.index,
        hint="`--backend sim` names the thread and the source line",
    )
