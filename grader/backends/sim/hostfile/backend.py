"""Host exercises without a GPU: the host file in one child, the device that plays its GPU in another.

    backend = HostfileSimBackend(exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

              ┌─ A: grader.backends.sim.hostfile.client_child ─┐        ┌─ B: grader.backends.sim.child ─┐
    parent ──▶│ the host file, the stand-in's CuPy  │─calls─▶│ the device: its memory,        │
              └──────────── shared file ────────────┘ parent └ streams, findings, the clock ──┘

A is hostile and decides nothing; the parent hands its calls to B as they are. Outputs count as they stood when A said
that its run had ended: work that it left to a stream or a thread comes too late.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from grader.backends.base import Backend, StartsEarly
from grader.backends.hostfile.case import shared_bytes
from grader.backends.hostfile.child_files import ChildFiles, readable, require_sandbox
from grader.backends.mappings import SharedFile, pages
from grader.backends.sim.hostfile.session import GAP_BYTES, HostfileSimSession
from grader.backends.starting import ADDRESS_SPACE
from grader.launch import DeviceLimits
from grader.process.child import spawn
from grader.process.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.backends.base import Limits
    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.process.child import Child


POOL_BYTES = 64 << 20  # of pinned and managed memory that the host file allocates, at least
POOL_CASES = 4  # as many times as all cases' arrays have
HOST_MEMORY_BYTES = 4 << 30  # address space of the host file's process beside the shared file
OPEN_FILES = 256  # of that process: a pipe holds memory that counts for nobody


class Pair:
    """Both children, the file that they share, and what the host file's process leaves behind."""

    def __init__(
        self, host: Child, device: Child, shared: SharedFile, pool: tuple[int, int], files: ChildFiles, inner: Sandbox
    ) -> None:
        self.host, self.device, self.shared, self.pool = host, device, shared, pool
        self.files, self.inner = files, inner
        # Pages of the shared file count twice: as those of its process, and as a file without a name that it has open.
        self.memory_bytes = HOST_MEMORY_BYTES + 2 * shared.size
        self.has_ended = False
        self.give_back: Callable[[], None] | None = None  # of a pair that serves another file after this one

    @classmethod
    def start(cls, exercise: Exercise, courses: tuple[Path, ...], *, sandbox: bool, forks: bool = False) -> Self:
        """Start both; neither is waited for. With ``forks`` they serve one session after another."""
        arrays = shared_bytes(replace(exercise, timed=None), gap=GAP_BYTES)
        shared = SharedFile(arrays + pages(max(POOL_BYTES, POOL_CASES * arrays)))
        closed = Sandbox(files=True, processes=False, network=False, memory_bytes=ADDRESS_SPACE + shared.size)
        device = spawn(
            "grader.backends.sim.hostfile.device_child", sandbox=closed if sandbox else None, pass_fds=(shared.fd,),
            forks=forks,
        )  # fmt: skip
        inner = Sandbox()
        if sandbox:  # closed before any of the host file's code: it reads Python and its packages, and writes nothing
            inner = Sandbox(
                files=True, read=readable(courses), write=("/dev/null",), processes=False, network=False,
                memory_bytes=HOST_MEMORY_BYTES + shared.size, file_bytes=64 << 20, open_files=OPEN_FILES,
            )  # fmt: skip
        files = ChildFiles()
        host = spawn("grader.backends.sim.hostfile.client_child", pass_fds=(shared.fd, *files.fds), forks=forks)
        return cls(host, device, shared, (arrays, shared.size), files, inner)

    def end(self) -> None:
        """End both; ending twice is fine."""
        self.has_ended = True
        self.host.close()
        self.device.close()
        self.shared.close()

    def close(self) -> None:
        """End both, and drop what they left, or keep them for another file; closing twice is fine."""
        keeps = self.give_back is not None and not self.has_ended
        if keeps and self.host.ended_session() and self.device.ended_session():
            self.shared.clear()
            self.files.clear()
            assert self.give_back is not None
            self.give_back()
            return
        self.end()
        self.files.close()


class StartPair(Protocol):
    """`Pair.start`, or what takes a pair that was kept."""

    def __call__(self, exercise: Exercise, courses: tuple[Path, ...], *, sandbox: bool) -> Pair: ...


class HostfileSimBackend(StartsEarly, Backend):
    """Runs host exercises on the simulator. ``source`` is the host file's text, ``name`` its name in messages."""

    name = "sim"
    device_limits = DeviceLimits()

    def __init__(
        self, exercise: Exercise, source: bytes, name: str, *, threads: int = 0, sandbox: bool = True,
        courses: tuple[Path, ...] = (), pairs: StartPair | None = None,
    ) -> None:  # fmt: skip
        self.exercise = exercise
        self._source = source
        self._name = name
        self._threads = threads
        self._sandbox = sandbox
        self._courses = courses
        self._pairs = pairs or Pair.start
        self._started: Pair | None = None

    def start(self) -> None:
        """Start the next session's children now, without waiting for them."""
        if self._started is None:
            self._started = self._pairs(self.exercise, self._courses, sandbox=self._sandbox)

    def open(self, program: Program, limits: Limits) -> HostfileSimSession:
        """Load program and host file in children of their own.

        Raises Unsupported where files cannot be closed to them (unless ``sandbox=False``), SubmissionError where the
        host file is no Python, lacks a function, or fails when it is read.
        """
        if self._sandbox:
            require_sandbox()
        self.start()
        pair, self._started = self._started, None
        assert pair is not None
        session = HostfileSimSession(pair, self.exercise, program, limits)
        try:
            session.load(self._source, self._name, self._threads)
        except BaseException:
            session.close()
            raise
        return session
