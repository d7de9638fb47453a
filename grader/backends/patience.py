"""Time limits of a child that hold on a busy machine too: who had no processor gets more time, to an end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from grader.errors import GraderFault

if TYPE_CHECKING:
    from grader.process.child import Child

MOST = 4  # times the limit, by the wall's clock: the end even for who never gets a processor
REST = 0.05  # of the limit, that is not worth waiting for


class Patience:
    """A limit of ``seconds`` from now.

    By the wall's clock at first. When that is over, a child that works, and had less processor time, shares its
    processors with others: it gets what it lacks. One that sleeps or waits gets nothing.
    """

    def __init__(self, child: Child, seconds: float) -> None:
        self.seconds = max(0.0, seconds)
        self._child = child
        self._used_before_s = child.used_s()
        self._begins = time.monotonic()
        self._grew = False

    def starved_s(self) -> float:
        """Seconds in which the child had no processor, as far as they count: a part of the time always passes."""
        wall_s = self._wall_s()
        return max(0.0, min(wall_s - self._used_s(), wall_s * (1 - 1 / MOST)))

    def left_s(self) -> float:
        """Seconds until `is_over` should be asked."""
        granted_s = self.starved_s() if self._grew else 0.0
        return max(0.0, self.seconds + granted_s - self._wall_s())

    def add(self, seconds: float) -> None:
        """Time that was somebody else's."""
        self._begins += seconds

    def is_over(self) -> bool:
        """Whether the limit is passed. Where it is not, there is some time left."""
        if self._wall_s() < self.seconds:
            return False
        lacks_s = self.seconds + self.starved_s() - self._wall_s()
        if lacks_s <= REST * self.seconds or not self._child.is_ready():
            return True
        self._grew = True
        return False

    def is_starved(self) -> bool:
        """Whether the child worked to the end, and yet had no processor for as long as the limit is."""
        return self._grew and self._used_s() < (1 - 2 * REST) * self.seconds

    def busy_machine(self) -> GraderFault:
        """What ends a child that is starved: no verdict depends on what else a machine does."""
        had = f"{self._used_s():.2g} s of processor time in {self._wall_s():.2g} s"
        return GraderFault(
            f"the machine is too busy to grade anything: {had}", hint="grade it again when it has less to do"
        )

    def _wall_s(self) -> float:
        return time.monotonic() - self._begins

    def _used_s(self) -> float:
        """Where the system does not say, it had a processor all the time."""
        used_s = self._child.used_s()
        return self._wall_s() if used_s is None or self._used_before_s is None else used_s - self._used_before_s
