"""Host exercises without a GPU: the host file in one child, the simulated GPU in another.

    backend = HostfileSimBackend(exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

              ┌─ A: grader.backends.sim.hostfile.client_child ─┐        ┌─ B: grader.backends.sim.child ─┐
    parent ──▶│ the host file, the stand-in's CuPy  │─calls─▶│ the device: its memory,        │
              └──────────── shared file ────────────┘ parent └ streams, findings, the clock ──┘

A is hostile and decides nothing; the parent passes its calls on to B unchanged. Outputs count as they are when A says
that its run has ended: work left to a stream or a thread comes too late.
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


POOL_BYTES = 64 << 20  # the least pool of pinned and managed memory for the host file
POOL_CASES = 4  # its size as a multiple of all cases' arrays
HOST_MEMORY_BYTES = 4 << 30  # address space of the host file's process without the shared file
OPEN_FILES = 256  # of that process: the memory of pipes is not counted otherwise


class Pair:
    """Both children, the file that they share, and the files of the host file's process."""

    def __init__(
        self, host: Child, device: Child, shared: SharedFile, pool: tuple[int, int], files: ChildFiles, inner: Sandbox
    ) -> None:
        self.host, self.device, self.shared, self.pool = host, device, shared, pool
        self.files, self.inner = files, inner
        # Pages of the shared file count twice: as pages of the process, and as an anonymous file that it has open.
        self.memory_bytes = HOST_MEMORY_BYTES + 2 * shared.size
        self.has_ended = False
        self.give_back: Callable[[], None] | None = None  # for a pair that serves several host files in turn

    @classmethod
    def start(cls, exercise: Exercise, courses: tuple[Path, ...], *, sandbox: bool, forks: bool = False) -> Self:
        """Start both without waiting for them. With ``forks`` they serve several sessions in turn."""
        arrays = shared_bytes(replace(exercise, timed=None), gap=GAP_BYTES)
        shared = SharedFile(arrays + pages(max(POOL_BYTES, POOL_CASES * arrays)))
        closed = Sandbox(files=True, processes=False, network=False, memory_bytes=ADDRESS_SPACE + shared.size)
        device = spawn(
            "grader.backends.sim.hostfile.device_child", sandbox=closed if sandbox else None, pass_fds=(shared.fd,),
            forks=forks,
        )  # fmt: skip
        inner = Sandbox()
        if sandbox:  # applied before any of the host file's code: it may read Python and its packages, write nothing
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
        """End both and close their files, or return them for another host file; closing twice is fine."""
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
    """`Pair.start`, or a function that returns a pair that was used before."""

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

        Raises Unsupported if there is no Landlock (unless ``sandbox=False``), SubmissionError if the host file is not
        Python, lacks a function, or fails at its top level.
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
