"""Pairs of operations that nothing orders and that touch the same bytes, one of them writing. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.standin.machine.operations import Operation
from grader.standin.machine.spans import clash

MOST_PAIRS = 20_000
"""Looked at in one run: a file without any wait has one for each two operations, and two or three tell it all."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """``first`` was issued first; it ``did`` something (writes, reads) and ``second`` ``does`` something."""

    first: Operation
    did: str
    second: Operation
    does: str
    address: int


def conflicts(operations: Sequence[Operation], since: int) -> Iterator[Conflict]:
    """Those in which the second was issued as number ``since`` or later; by the second, then by the first."""
    chains: dict[int, list[Operation]] = defaultdict(list)
    looked = 0
    for op in sorted(operations, key=lambda o: o.number):
        if op.number >= since:
            for earlier in _unordered(op, chains):
                looked += 1
                found = _conflict(earlier, op)
                if found is not None:
                    yield found
                if looked >= MOST_PAIRS:
                    return
        chains[op.chain].append(op)


def _unordered(op: Operation, chains: dict[int, list[Operation]]) -> list[Operation]:
    """Operations issued before ``op`` that need not have ended when it begins."""
    found = []
    for chain, there in chains.items():
        if chain != op.chain and there[-1].index > op.clock.get(chain, 0):
            found += there[bisect_right(there, op.clock.get(chain, 0), key=lambda o: o.index) :]
    return sorted(found, key=lambda o: o.number)


def _conflict(first: Operation, second: Operation) -> Conflict | None:
    if first.footprint is None or second.footprint is None:
        return None
    found = clash(first.footprint, second.footprint)
    return None if found is None else Conflict(first, found[0], second, found[1], found[2])
