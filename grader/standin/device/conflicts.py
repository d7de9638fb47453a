"""Pairs of operations that nothing orders and that touch the same bytes, one of them writing. Pure.

A run of a thousand operations has half a million pairs; happens-before leaves few of them to be looked at.
`mistaken_wait` finds the wait that was meant to order a pair, and is for something else.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.standin.device.operations import AwaitedEvent, StreamOperation
from grader.standin.device.spans import clash

MOST_FOUND = 500
"""Conflicts of one run: a file without any wait has one for each two operations, and two or three tell it all."""


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
    chains: dict[int, list[StreamOperation]] = defaultdict(list)
    left = MOST_FOUND
    for op in sorted(operations, key=lambda o: o.number):
        if op.footprint is None:
            continue
        for earlier in _unordered(op, chains) if op.number >= since else ():
            found = clash(earlier.footprint, op.footprint) if earlier.footprint is not None else None
            if found is not None:
                yield Conflict(earlier, found[0], op, found[1], found[2])
                left -= 1
            if not left:
                return
        chains[op.chain].append(op)


def _unordered(op: StreamOperation, chains: dict[int, list[StreamOperation]]) -> list[StreamOperation]:
    """Operations issued before ``op`` that need not have ended when it begins."""
    found = []
    for chain, there in chains.items():
        known = op.clock.get(chain, 0)
        if chain != op.chain and there[-1].index > known:
            found += there[bisect_right(there, known, key=lambda o: o.index) :]
    return sorted(found, key=lambda o: o.number)


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
