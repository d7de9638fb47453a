"""Which operation of its line one is: in a loop one line of the host file queues many, and a finding is about one."""

from __future__ import annotations

from collections import Counter

from grader.standin.device.operations import Operation


class Turns:
    """Numbers the operations of each line of the host file within one run, from 1."""

    def __init__(self) -> None:
        self._first = 1  # number of the first operation of this run
        self._counts: Counter[int] = Counter()

    def restart(self, first: int) -> None:
        """A run begins, with operation number ``first``."""
        self._first = first
        self._counts.clear()

    def count(self, op: Operation) -> None:
        """An operation was queued."""
        self._counts[op.job.where] += 1
        op.turn = self._counts[op.job.where]

    def words(self, op: Operation) -> str:
        """``, the 3rd time``; "" where the line had only one turn so far, or where it was in an earlier run."""
        several = self._counts[op.job.where] > 1 and op.number >= self._first and op.job.where
        return f", the {ordinal(op.turn)} time" if several else ""


def ordinal(number: int) -> str:
    """``1st``, ``12th``, ``23rd``."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
