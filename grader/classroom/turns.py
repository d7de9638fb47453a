"""Taking turns on a GPU: two workers may be in flight for one GPU, but only one of them uses it.

While one times its submission, the other imports, compiles and simulates: half of a small grading. A turn is a lock on
a file of this machine, so it also holds between two classes, and ends with the worker that has it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from grader.backends.base import Backend

if TYPE_CHECKING:
    from grader.backends.base import Limits, Session
    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.launch import DeviceLimits


class Turn:
    """The lock files of a worker's GPUs; an empty turn locks nothing. ``held`` says from when to when it had them."""

    def __init__(self, files: Sequence[str]) -> None:
        self.held: dict[str, str] = {}
        self._files = sorted(files)  # in one order, so that two workers never wait for each other
        self._open = ExitStack()

    def take(self) -> None:
        """Wait for the GPUs."""
        for name in self._files:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._open.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        self.held["gpu_from"] = datetime.now(UTC).isoformat()

    def give_back(self) -> None:
        """Let the next worker have them; does nothing without a turn."""
        if self.held and "gpu_until" not in self.held:
            self.held["gpu_until"] = datetime.now(UTC).isoformat()
        self._open.close()


class InTurn(Backend):
    """A GPU's backend that waits for its turn when a program is loaded, and has it until it is closed."""

    def __init__(self, backend: Backend, turn: Turn) -> None:
        self.name = backend.name
        self._backend = backend
        self._turn = turn

    @property
    def device_limits(self) -> DeviceLimits:
        return self._backend.device_limits

    def sized(self, exercise: Exercise) -> Exercise:
        return self._backend.sized(exercise)

    def start(self) -> None:
        """Nothing: a child makes a context on the GPU at once, and another submission may be timed there."""

    def open(self, program: Program, limits: Limits) -> Session:
        self._turn.take()
        return self._backend.open(program, limits)

    def close(self) -> None:
        self._backend.close()
        self._turn.give_back()
