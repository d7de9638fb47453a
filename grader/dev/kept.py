"""The simulator for many programs: a child that has run one well is kept for the next.

Importing LLVM and NumPy takes a child longer than most kernels run. What is graded here is the course's own, so the
separation that submissions need from one another is not needed; a child whose session ended in any other way than
well is ended as always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.backends.base import Backend
from grader.backends.sim.session import SimSession
from grader.backends.starting import simulator_child
from grader.launch import DeviceLimits
from grader.process.child import ChildPool

if TYPE_CHECKING:
    from grader.backends.base import CaseRun, Execution, Limits
    from grader.compile import Program
    from grader.process.child import Child

PROGRAMS = 25
"""How many programs a child serves: their machine code stays in its memory."""


def simulator_children() -> ChildPool:
    """Simulator children that wait for work."""
    return ChildPool(simulator_child, programs=PROGRAMS)


class KeptSimulator(Backend):
    """A backend like `SimBackend`, on the children of a pool."""

    name = "sim"
    device_limits = DeviceLimits()

    def __init__(self, pool: ChildPool, *, threads: int = 1) -> None:
        self._pool = pool
        self._threads = threads

    def open(self, program: Program, limits: Limits) -> KeptSession:
        """Load the program in a child that waits, or in a new one. Raises GraderFault where none starts."""
        used = self._pool.take()
        session = KeptSession(used.child, program, limits, lambda: self._pool.give_back(used))
        try:
            session.load(self._threads)
        except BaseException:
            session.close()
            raise
        return session


class KeptSession(SimSession):
    """A session that gives its child back when every case has been answered."""

    def __init__(self, child: Child, program: Program, limits: Limits, give_back: Callable[[], None]) -> None:
        super().__init__(child, program, limits)
        self._give_back = give_back
        self._answered = False
        self._closed = False

    def load(self, threads: int) -> None:
        super().load(threads)
        self._answered = True

    def run(self, run: CaseRun) -> Execution:
        self._answered = False
        execution = super().run(run)
        self._answered = True
        return execution

    def close(self) -> None:
        """Give the child back if it waits for work, else end it; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._answered:
            self._give_back()
        else:
            super().close()
