"""A wait that was meant for an operation, and is for something else: what a race's hint names. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.standin.device.conflicts import Conflict
from grader.standin.device.operations import Operation, Waited
from grader.standin.device.spans import clash


def mistaken_wait(conflict: Conflict, history: Sequence[Operation], since: int) -> Waited | None:
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


def _between(first: Operation, second: Operation) -> Iterator[tuple[Waited, bool]]:
    """Yield what the second one's stream was told to wait for since the first was queued; the latest comes first.

    With each, whether no other operation lies between it and the second one.
    """
    op, is_right_before = _ahead(second), True
    while op is not None and op.number > first.number:
        if op.waits is not None:
            yield op.waits, is_right_before
        is_right_before = is_right_before and op.task is None
        op = _ahead(op)


def _ahead(op: Operation) -> Operation | None:
    return next((before for before in op.before if before.chain == op.chain), None)


def _has_purpose(wait: Waited, second: Operation, history: Sequence[Operation]) -> bool:
    there = (op for op in reversed(history) if op.chain == wait.chain and op.index < wait.index)
    last = next(there, None)
    if last is None or last.footprint is None or second.footprint is None:
        return False
    return clash(last.footprint, second.footprint) is not None
