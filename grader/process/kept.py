"""Children that are kept for the next program: for what the course or a test wrote, where starting one costs most."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

from grader.process.child import Child, Closing


@dataclass(frozen=True)
class Used:
    """A child, how many programs it has run, and notes of its user about what it holds."""

    child: Child
    programs: int = 0
    holds: set[str] = field(default_factory=set)


class ChildPool(Closing):
    """Children that wait for work, each replaced after ``programs`` programs. Thread-safe."""

    def __init__(self, start: Callable[[], Child], *, programs: int) -> None:
        self._start = start
        self._programs = programs
        self._idle: list[Used] = []
        self._lock = Lock()
        # A child ends with the thread that started it, so all are started by one that stays.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="kept-children")

    def take(self) -> Used:
        """Return an idle child, or a new one. Raises GraderFault where none can be started."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Used(self._starter.submit(self._start).result())

    def give_back(self, used: Used) -> None:
        """Keep a child that has run one more program for the next one, unless it has run enough of them."""
        if used.programs + 1 >= self._programs:
            used.child.close()
            return
        with self._lock:
            self._idle.append(Used(used.child, used.programs + 1, used.holds))

    def close(self) -> None:
        """End the children that wait."""
        for used in self._idle:
            used.child.close()
        self._idle.clear()
        self._starter.shutdown()
