"""Starting the child of a host file: closed before CUDA starts, and what it is to close before the file is read."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.gpu import environment

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.hostfile.traces import Traces
    from grader.backends.mappings import SharedFile
    from grader.catalog.courses import Course
    from grader.process.channel import Sandbox
    from grader.process.child import Child

_DRIVER = ("/sys", "/proc/driver", "/proc/devices")


@dataclass(frozen=True)
class Starter:
    """Which GPU a child works on, whether files are closed to it, and the course whose files are."""

    device: int
    sandbox: bool = True
    course: Course | None = None

    def start(self, shared: SharedFile, traces: Traces, folder: str, limits: Limits) -> Child:
        """Start a child, with the shared file and ``traces`` open in it, and ``folder`` for its own files."""
        from grader.process.channel import ChannelClosed

        outer = _outer_sandbox(folder, self.course) if self.sandbox else None
        inner = _inner_sandbox(folder, self.course) if self.sandbox else _nothing_closed()
        child = spawn_child(
            "grader.backends.gpu.hostfile.child", sandbox=outer, env=environment(folder),
            pass_fds=(shared.fd, *traces.fds), cwd=folder,
        )  # fmt: skip
        request = {"do": "start", "device": self.device, "printf_bytes": limits.printf_bytes, "fd": shared.fd}
        request |= traces.to_dict()
        with contextlib.suppress(ChannelClosed):  # the session that waits for the child says what happened
            child.channel.send(request | {"inner": inner.to_dict()})
        return child


def spawn_child(module: str, **keywords: Any) -> Child:
    """Start a child; apart, so that tests can put another module in its place."""
    from grader.process.channel import spawn

    return spawn(module, **keywords)


def _outer_sandbox(folder: str, course: Course | None) -> Sandbox:
    """Closed before CUDA starts: what CUDA needs to start is open. It holds for the threads that CUDA starts then, too,
    which the inner one does not reach.
    """
    from grader.process.channel import Sandbox

    return Sandbox(files=True, read=("/etc", *_readable(course)), write=("/dev", "/proc", "/run", "/var", folder))


def _inner_sandbox(folder: str, course: Course | None) -> Sandbox:
    """Closed once CUDA runs and before any of the host file's code: GPU devices, system folders, its own folder."""
    from grader.process.channel import Sandbox

    devices = [str(path) for path in Path("/dev").glob("nvidia*")]
    return Sandbox(
        files=True,
        read=_readable(course),
        write=(*devices, "/dev/null", "/dev/zero", folder),
        processes=False,
        network=False,
        file_bytes=1 << 30,
    )


def _readable(course: Course | None) -> tuple[str, ...]:
    """The driver, the system, Python and its packages; the grader's package and the course, with its solutions, not."""
    from grader.backends.hostfile.doors import readable

    courses = () if course is None else (course.exercises, course.solutions, course.kernels_ref)
    return (*_DRIVER, *readable(courses), *_packages())


def _packages() -> tuple[str, ...]:
    """Where CuPy and what it needs lie: not always in an installation of Python."""
    from importlib.util import find_spec

    names = ("cupy", "cupyx", "cupy_backends", "cuda", "numpy", "fastrlock", "nvidia")
    specs = [find_spec(name) for name in names]
    return tuple(place for spec in specs if spec is not None for place in spec.submodule_search_locations or ())


def _nothing_closed() -> Sandbox:
    from grader.process.channel import Sandbox

    return Sandbox()
