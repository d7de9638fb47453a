"""Which operation is executed next: as late as is legal, and of several the latest issued first. Pure.

A GPU may begin an operation as soon as everything before it has ended, and may leave it for as long as nobody waits
for its end. Most often it begins at once, so that a missing wait goes well for months. Here nothing happens until
somebody waits for it; then only what that one depends on happens; and where two operations might go either way, the
one that was issued last goes first. Whoever relies on more than streams and events promise gets wrong data every time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from grader.standin.device.operations import Operation


def missing(wanted: Iterable[Operation]) -> list[Operation]:
    """The operations among ``wanted`` and those before them that are not done."""
    stack = [op for op in wanted if not op.done]
    found = {id(op): op for op in stack}
    while stack:
        for op in stack.pop().before:
            if not op.done and id(op) not in found:
                found[id(op)] = op
                stack.append(op)
    return list(found.values())


def hostile(wanted: Iterable[Operation]) -> Iterator[Operation]:
    """What must be executed so that ``wanted`` are done, in order; each counts as done once the next is asked for."""
    waiting = {op: sum(not b.done for b in set(op.before)) for op in missing(wanted)}
    behind: dict[Operation, list[Operation]] = {op: [] for op in waiting}
    for op in waiting:
        for earlier in set(op.before):
            if earlier in behind:
                behind[earlier].append(op)
    ready = [(-op.number, op) for op, count in waiting.items() if not count]
    heapq.heapify(ready)
    while ready:
        op = heapq.heappop(ready)[1]
        yield op
        op.done = True
        for later in behind[op]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, (-later.number, later))
