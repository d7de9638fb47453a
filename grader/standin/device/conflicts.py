"""Pairs of operations that nothing orders and that touch the same bytes, one of them writing. Pure.

A run of a thousand operations has half a million pairs, of which few touch the same memory. So each operation has a set
of the cells that it touches (some bytes of memory each), and only pairs with a cell in common are looked at closely.
`mistaken_wait` finds the wait that was meant to order a pair, and is for something else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.standin.device.operations import AwaitedEvent, StreamOperation
from grader.standin.device.spans import Footprint, Spans, clash, total, union

MOST_FOUND = 500
"""Conflicts of one run: a file without any wait has one for each two operations, and two or three tell it all."""
PAGE = 4096
MOST_CELLS = 1_000_000
"""Of all operations together; their size follows from it."""
SMALLEST = 64  # bytes of a cell


@dataclass(frozen=True, eq=False)
class Conflict:
    """``first`` was issued first; it ``did`` something (writes, reads) and ``second`` ``does`` something."""

    first: StreamOperation
    did: str
    second: StreamOperation
    does: str
    address: int


def conflicts(operations: Sequence[StreamOperation], since: int) -> Iterator[Conflict]:
    """Those in which the second was issued as number ``since`` or later; by the second, then by the first."""
    cell = _cell_bytes([op.footprint for op in operations if op.footprint is not None])
    chains: dict[int, list[_Placed]] = defaultdict(list)
    left = MOST_FOUND
    for op in sorted(operations, key=lambda o: o.number):
        if op.footprint is None:
            continue
        placed = _Placed(op, op.footprint, cell)
        for earlier in _unordered(op, chains) if op.number >= since else ():
            if earlier.touched.isdisjoint(placed.touched) or not earlier.meets(placed):
                continue
            found = clash(earlier.footprint, op.footprint)
            if found is not None:
                yield Conflict(earlier.op, found[0], op, found[1], found[2])
                left -= 1
            if not left:
                return
        chains[op.chain].append(placed)


@dataclass(eq=False)
class _Placed:
    """An operation with the cells of what it does."""

    op: StreamOperation
    footprint: Footprint
    cell: int

    @cached_property
    def touched(self) -> frozenset[int]:
        return self.reads | self.writes | self.atomics

    @cached_property
    def reads(self) -> frozenset[int]:
        return _cells(self.footprint.reads, self.cell)

    @cached_property
    def writes(self) -> frozenset[int]:
        return _cells(self.footprint.writes, self.cell)

    @cached_property
    def atomics(self) -> frozenset[int]:
        return _cells(self.footprint.atomics, self.cell)

    def meets(self, other: _Placed) -> bool:
        """Whether both have a cell that one of them writes; two atomic updates do not meet."""
        return not (
            self.writes.isdisjoint(other.reads)
            and self.writes.isdisjoint(other.writes)
            and self.reads.isdisjoint(other.writes)
            and self.reads.isdisjoint(other.atomics)
            and self.writes.isdisjoint(other.atomics)
            and self.atomics.isdisjoint(other.reads)
            and self.atomics.isdisjoint(other.writes)
        )


def _unordered(op: StreamOperation, chains: dict[int, list[_Placed]]) -> list[_Placed]:
    """Operations issued before ``op`` that need not have ended when it begins."""
    found = []
    for chain, there in chains.items():
        known = op.clock.get(chain, 0)
        if chain != op.chain and there[-1].op.index > known:
            found += there[bisect_right(there, known, key=lambda o: o.op.index) :]
    return sorted(found, key=lambda o: o.op.number)


def _cell_bytes(footprints: Sequence[Footprint]) -> int:
    """A power of two, so that there are not too many cells."""
    pages = sum(
        total(_whole(spans, PAGE)) * PAGE for each in footprints for spans in (each.reads, each.writes, each.atomics)
    )
    size = SMALLEST
    while size * MOST_CELLS < pages:
        size *= 2
    return size


def _cells(spans: Spans, size: int) -> frozenset[int]:
    rows = _whole(spans, size)
    return frozenset(np.concatenate([np.arange(first, end) for first, end in rows]).tolist()) if len(rows) else NO_CELLS


NO_CELLS: frozenset[int] = frozenset()


def _whole(spans: Spans, size: int) -> Spans:
    """The cells of ``size`` bytes in which spans lie: first and last (exclusive), joined."""
    return union([np.stack([spans[:, 0] // size, -(-spans[:, 1] // size)], axis=1)])


def mistaken_wait(conflict: Conflict, history: Sequence[StreamOperation], since: int) -> AwaitedEvent | None:
    """The wait between the two operations that was most likely to put them in order; None where there is none.

    One for the right stream comes before others. One for another stream counts only right before the second operation,
    and where it has no other purpose: its event was recorded in this run, from operation ``since`` on, and what comes
    last before the event has nothing to do with the second operation.
    """
    first, second = conflict.first, conflict.second
    waits = list(_between(first, second))
    older = next((wait for wait, _ in waits if wait.chain == first.chain), None)
    others = (wait for wait, is_right_before in waits if is_right_before and wait.number >= since)
    return older or next((wait for wait in others if not _has_purpose(wait, second, history)), None)


def _between(first: StreamOperation, second: StreamOperation) -> Iterator[tuple[AwaitedEvent, bool]]:
    """Yield what the second one's stream was told to wait for since the first was queued; the latest comes first.

    With each, whether no other operation lies between it and the second one.
    """
    op, is_right_before = _ahead(second), True
    while op is not None and op.number > first.number:
        if op.waits is not None:
            yield op.waits, is_right_before
        is_right_before = is_right_before and op.task is None
        op = _ahead(op)


def _ahead(op: StreamOperation) -> StreamOperation | None:
    return next((before for before in op.before if before.chain == op.chain), None)


def _has_purpose(wait: AwaitedEvent, second: StreamOperation, history: Sequence[StreamOperation]) -> bool:
    there = (op for op in reversed(history) if op.chain == wait.chain and op.index < wait.index)
    last = next(there, None)
    if last is None or last.footprint is None or second.footprint is None:
        return False
    return clash(last.footprint, second.footprint) is not None
