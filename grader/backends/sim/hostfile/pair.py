"""The two processes of a host exercise on the simulator, the file that they share, and what is closed to them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from grader.backends.hostfile.case import shared_bytes
from grader.backends.hostfile.traces import Traces
from grader.backends.mappings import PAGE, SharedFile, pages
from grader.backends.sim import ADDRESS_SPACE
from grader.process.channel import Sandbox, spawn

if TYPE_CHECKING:
    from grader.exercise import Exercise
    from grader.process.child import Child

POOL_BYTES = 64 << 20  # of pinned and managed memory that the host file allocates, at least
GAP_BYTES = PAGE  # behind each array: who reads a little beyond its end must not come upon the next one
POOL_CASES = 4  # as many times as all cases' arrays have
HOST_MEMORY_BYTES = 4 << 30  # address space of the host file's process beside the shared file


class Pair:
    """Both children, the file that they share, and what the host file's process leaves behind."""

    def __init__(
        self, host: Child, machine: Child, shared: SharedFile, pool: tuple[int, int], traces: Traces, inner: Sandbox
    ) -> None:
        self.host, self.machine, self.shared, self.pool = host, machine, shared, pool
        self.traces, self.inner = traces, inner

    @classmethod
    def start(cls, exercise: Exercise, courses: tuple[Path, ...], *, sandbox: bool) -> Self:
        """Start both; neither is waited for."""
        arrays = shared_bytes(replace(exercise, timed=None), PAGE, gap=GAP_BYTES)
        shared = SharedFile(arrays + pages(max(POOL_BYTES, POOL_CASES * arrays)))
        closed = Sandbox(files=True, processes=False, network=False, memory_bytes=ADDRESS_SPACE + shared.size)
        machine = spawn(
            "grader.backends.sim.hostfile.device_child", sandbox=closed if sandbox else None, pass_fds=(shared.fd,)
        )
        inner = _inner_sandbox(courses, shared.size) if sandbox else Sandbox()
        traces = Traces()
        host = spawn("grader.backends.sim.hostfile.child", pass_fds=(shared.fd, *traces.fds))
        return cls(host, machine, shared, (arrays, shared.size), traces, inner)

    def end(self) -> None:
        """End both; ending twice is fine."""
        self.host.close()
        self.machine.close()
        self.shared.close()

    def close(self) -> None:
        """End both, and drop what they left; closing twice is fine."""
        self.end()
        self.traces.close()


def _inner_sandbox(courses: tuple[Path, ...], shared_size: int) -> Sandbox:
    """Closed before any of the host file's code: it reads Python and its packages, and writes nothing."""
    from grader.backends.hostfile.doors import readable

    return Sandbox(
        files=True, read=readable(courses), write=("/dev/null",), processes=False, network=False,
        memory_bytes=HOST_MEMORY_BYTES + shared_size, file_bytes=64 << 20,
    )  # fmt: skip
