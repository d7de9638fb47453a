"""Time limits of a child that are fair on a busy machine: waiting for a processor does not count, up to a maximum."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from grader.errors import GraderFault

if TYPE_CHECKING:
    from grader.process.child import Child

MOST = 4  # maximum of wall time, in limits: even for a child that never gets a processor
REST = 0.05  # of the limit: a smaller extension is not worth waiting for
LEAST_S = 0.05  # nor is this one: in less time than some turns of the scheduler, no processor says nothing


class TimeLimit:
    """A limit of ``seconds`` from now, at first of wall time.

    When that is over and the child is running or ready to run, but had less processor time, it shares its processors
    with other processes: the limit is extended by the missing time. For a child that sleeps or waits it is not.
    """

    def __init__(self, child: Child, seconds: float) -> None:
        self.seconds = max(0.0, seconds)
        self._child = child
        self._used_before_s = child.used_s()
        self._begins = time.monotonic()
        self._grew = False

    def starved_s(self) -> float:
        """Seconds in which the child had no processor, but at most 3/4 of the wall time."""
        wall_s = self._wall_s()
        return max(0.0, min(wall_s - self._used_s(), wall_s * (1 - 1 / MOST)))

    def left_s(self) -> float:
        """Seconds until the next call of `is_over`."""
        granted_s = self.starved_s() if self._grew else 0.0
        return max(0.0, self.seconds + granted_s - self._wall_s())

    def add(self, seconds: float) -> None:
        """Exclude ``seconds`` in which the child waited for the grader."""
        self._begins += seconds

    def is_over(self) -> bool:
        """Whether the limit is exceeded; extends it if the child lacked processor time."""
        if self._wall_s() < self.seconds:
            return False
        lacks_s = self.seconds + self.starved_s() - self._wall_s()
        if lacks_s <= max(REST * self.seconds, LEAST_S) or not self._child.is_ready():
            return True
        self._grew = True
        return False

    def is_starved(self) -> bool:
        """Whether the limit was extended, and the child still had less processor time than the limit."""
        return self._grew and self._used_s() < (1 - 2 * REST) * self.seconds

    def busy_machine(self) -> GraderFault:
        """The error for a starved child: no verdict may depend on what else the machine does."""
        had = f"{self._used_s():.2g} s of processor time in {self._wall_s():.2g} s"
        return GraderFault(
            f"the machine is too busy to grade anything: {had}", hint="grade it again when it has less to do"
        )

    def _wall_s(self) -> float:
        return time.monotonic() - self._begins

    def _used_s(self) -> float:
        """The child's processor time; the wall time if the system does not tell."""
        used_s = self._child.used_s()
        return self._wall_s() if used_s is None or self._used_before_s is None else used_s - self._used_before_s
