"""Host exercises: a `.cu` with a Python file beside it, in a child of its own; the parent owns memory and clock.

    backend = HostBackend(gpu_backend, exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

The protocol and its reasons: docs/design/host-protocol.md.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.base import Limits
from grader.backends.gpu import environment, python_folders
from grader.backends.gpu.host.session import HostSession
from grader.backends.gpu.host.yardsticks import Where, Yardstick, yardsticks
from grader.backends.host.case import on_gpus, too_few_gpus
from grader.errors import SubmissionError, Unsupported

if TYPE_CHECKING:
    from grader.backends.gpu import GpuBackend
    from grader.backends.mappings import SharedFile
    from grader.channel import Sandbox
    from grader.compile import Program
    from grader.courses import Course
    from grader.exercise import Exercise
    from grader.launch import DeviceLimits
    from grader.process import Child

__all__ = ["HostBackend", "HostSession", "host_file_beside"]

_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/opt", "/sys")
_PROC = ("/proc/self", "/proc/driver", "/proc/sys", "/proc/meminfo", "/proc/cpuinfo", "/proc/devices")


class HostBackend:
    """Runs host exercises on one GPU, or on all there are. ``source`` is the host file's text, ``name`` its name in
    messages; ``course`` is where the exercise's trusted kernels are looked for first.

    `exercise` is the one given, with as many GPUs in its sizes as this machine has.
    """

    name = "gpu"

    def __init__(
        self,
        backend: GpuBackend,
        exercise: Exercise,
        source: bytes,
        name: str,
        *,
        sandbox: bool = True,
        course: Course | None = None,
    ) -> None:
        self.gpu = backend.gpu
        self.gpus = gpus_here() if exercise.gpus > 1 else 1
        self.exercise = on_gpus(exercise, self.gpus)
        self._source = source
        self._name = name
        self._sandbox = sandbox
        self._course = course

    @property
    def device_limits(self) -> DeviceLimits:
        return self.gpu.limits

    @cached_property
    def yardsticks(self) -> tuple[Yardstick, ...]:
        """What timed runs are measured against. Raises GraderFault where the course lacks it."""
        return yardsticks(self.exercise, Where(self.gpu, self.gpus, self._course))

    def open(self, program: Program, limits: Limits) -> HostSession:
        """Start a child and load module and host file there.

        Raises Unsupported where files cannot be closed to it (unless ``sandbox=False``) or there are too few GPUs,
        SubmissionError where the host file is no Python, lacks a function, or fails when it is read.
        """
        from grader.backends.host.doors import must_close
        from grader.compile import assemble

        if few := too_few_gpus(self.exercise, self.gpus):
            raise Unsupported(few, hint="its simulated GPUs are as many as it needs: `--backend sim`")
        if self._sandbox:
            must_close()
        cubin = assemble(program, self.gpu.arch_for(program.target))
        session = HostSession(self, program, limits)
        try:
            session.load(cubin, self._source, self._name, self.yardsticks)
        except BaseException:
            session.close()
            raise
        return session

    def start_child(self, shared: SharedFile, folder: str, limits: Limits) -> Child:
        """Start the child, with the shared file open in it."""
        from grader.channel import ChannelClosed

        outer = _outer_sandbox(folder) if self._sandbox else None
        inner = _inner_sandbox(folder, self._course) if self._sandbox else _nothing_closed()
        child = spawn_child(
            "grader.backends.gpu.host.child", sandbox=outer, env=environment(folder), pass_fds=(shared.fd,), cwd=folder
        )
        request = {"do": "start", "device": self.gpu.index, "printf_bytes": limits.printf_bytes, "fd": shared.fd}
        with contextlib.suppress(ChannelClosed):  # the session that waits for the child says what happened
            child.channel.send(request | {"inner": inner.to_dict()})
        return child


def gpus_here() -> int:
    """How many GPUs the driver shows; apart, so that tests can say another number."""
    from grader.device import count

    return count()


def spawn_child(module: str, **keywords: Any) -> Child:
    """Start a child; apart, so that tests can put another module in its place."""
    from grader.channel import spawn

    return spawn(module, **keywords)


def host_file_beside(path: Path, exercise: str) -> Path:
    """The Python file that belongs to a `.cu`: ``M_host.py``, else ``NAME_host.py``, beside it.

    Raises SubmissionError (``invalid``) where there is neither.
    """
    for name in (f"{path.stem}_host.py", f"{exercise}_host.py"):
        candidate = path.with_name(name)
        if candidate.is_file():
            return candidate
    message = f"{path.name} needs its host file: there is no {exercise}_host.py beside it"
    raise SubmissionError("invalid", message, hint=f"`grade start {exercise}` copies both files here")


def _outer_sandbox(folder: str) -> Sandbox:
    """Closed before CUDA starts, for all threads: what CUDA needs to start, as for a kernel submission."""
    from grader.channel import Sandbox

    write = ("/dev", "/proc", "/run", "/var", folder)
    return Sandbox(files=True, read=(*_SYSTEM, "/etc", *python_folders()), write=write)


def _inner_sandbox(folder: str, course: Course | None) -> Sandbox:
    """Closed once CUDA runs and before any of the host file's code: GPU devices, system folders, its own folder. The
    grader's package and the courses, solutions included, are closed.
    """
    from grader.backends.host.doors import readable
    from grader.channel import Sandbox

    courses = () if course is None else (course.exercises, course.solutions, course.kernels_ref)
    devices = [str(path) for path in Path("/dev").glob("nvidia*")]
    return Sandbox(
        files=True,
        read=(*_SYSTEM, *_PROC, *readable(courses), *_packages()),
        write=(*devices, "/dev/null", "/dev/zero", folder),
        processes=False,
        network=False,
        file_bytes=1 << 30,
    )


def _packages() -> tuple[str, ...]:
    """Where CuPy and what it needs lie: not always in an installation of Python."""
    from importlib.util import find_spec

    names = ("cupy", "cupyx", "cupy_backends", "cuda", "numpy", "fastrlock", "nvidia")
    specs = [find_spec(name) for name in names]
    return tuple(place for spec in specs if spec is not None for place in spec.submodule_search_locations or ())


def _nothing_closed() -> Sandbox:
    from grader.channel import Sandbox

    return Sandbox()
