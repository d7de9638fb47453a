"""Host exercises without a GPU: the host file in one child, the machine that plays its GPU in another.

    backend = HostSimBackend(exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

              ┌─ A: grader.backends.sim.hostfile.child ─┐        ┌─ B: grader.backends.sim.child ─┐
    parent ──▶│ the host file, the stand-in's CuPy  │─calls─▶│ the machine: device memory,    │
              └──────────── shared file ────────────┘ parent └ streams, findings, the clock ──┘

A is hostile and decides nothing; the parent hands its calls to B as they are. Outputs count as they stood when A said
that its run had ended: work that it left to a stream or a thread comes too late.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from grader.backends.sim.hostfile.pair import Pair
from grader.backends.sim.hostfile.session import HostSimSession
from grader.launch import DeviceLimits

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.compile import Program
    from grader.exercise import Exercise

__all__ = ["HostSimBackend", "HostSimSession"]


class HostSimBackend:
    """Runs host exercises on the simulator. ``source`` is the host file's text, ``name`` its name in messages."""

    name = "sim"
    device_limits = DeviceLimits()

    def __init__(
        self, exercise: Exercise, source: bytes, name: str, *, threads: int = 0, sandbox: bool = True,
        courses: tuple[Path, ...] = (),
    ) -> None:  # fmt: skip
        self.exercise = exercise
        self._source = source
        self._name = name
        self._threads = threads
        self._sandbox = sandbox
        self._courses = courses
        self._started: Pair | None = None

    def start(self) -> None:
        """Start the next session's children now, without waiting for them."""
        if self._started is None:
            self._started = Pair.start(self.exercise, self._courses, sandbox=self._sandbox)

    def open(self, program: Program, limits: Limits) -> HostSimSession:
        """Load program and host file in children of their own.

        Raises Unsupported where files cannot be closed to them (unless ``sandbox=False``), SubmissionError where the
        host file is no Python, lacks a function, or fails when it is read.
        """
        from grader.backends.hostfile.doors import must_close

        if self._sandbox:
            must_close()
        self.start()
        pair, self._started = self._started, None
        assert pair is not None
        session = HostSimSession(pair, self.exercise, program, limits)
        try:
            session.load(self._source, self._name, self._threads)
        except BaseException:
            session.close()
            raise
        return session

    def close(self) -> None:
        """End children that were started and not used."""
        if self._started is not None:
            self._started.close()
            self._started = None
