"""Host exercises: a `.cu` with a Python file beside it, in a child of its own; the parent owns memory and clock.

    backend = HostfileBackend(gpu_backend, exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

The protocol and its reasons: docs/design/host-protocol.md.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.backends.base import Backend, Limits
from grader.backends.gpu.hostfile.baselines import Baseline, BaselineSetup, baselines
from grader.backends.gpu.hostfile.session import HostfileSession
from grader.backends.hostfile.case import on_gpus, too_few_gpus
from grader.backends.starting import environment
from grader.errors import Unsupported

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.backends.gpu import GpuBackend
    from grader.backends.hostfile.child_files import ChildFiles
    from grader.backends.mappings import SharedFile
    from grader.catalog.courses import Course
    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.launch import DeviceLimits
    from grader.process.child import Child
    from grader.process.sandbox import Sandbox


__all__ = ["HostfileBackend", "HostfileSession"]


class HostfileBackend(Backend):
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
        self._started: HostfileSession | None = None

    def sized(self, exercise: Exercise) -> Exercise:
        return on_gpus(exercise, self.gpus)

    @property
    def device_limits(self) -> DeviceLimits:
        return self.gpu.limits

    @cached_property
    def baselines(self) -> tuple[Baseline, ...]:
        """What timed runs are measured against. Raises GraderFault where the course lacks it."""
        return baselines(self.exercise, BaselineSetup(self.gpu, self.gpus, self._course))

    def open(self, program: Program, limits: Limits) -> HostfileSession:
        """Start a child and load module and host file there.

        Raises Unsupported where files cannot be closed to it (unless ``sandbox=False``) or there are too few GPUs,
        SubmissionError where the host file is no Python, lacks a function, or fails when it is read.
        """
        from grader.compile import assemble

        session = self._session(limits)
        try:
            cubin = assemble(program, self.gpu.arch_for(program.target))
            session.load(program, cubin, self._source, self._name, self.baselines)
        except BaseException:
            session.close()
            raise
        return session

    def start(self) -> None:
        """Start the next session's child now, without waiting for it: its context takes half a second.

        Where none can be started, `open` says why.
        """
        with contextlib.suppress(Unsupported):
            self._started = self._session(Limits())

    def _session(self, limits: Limits) -> HostfileSession:
        """The session whose child was started early, or a new one. Raises Unsupported where there can be none."""
        from grader.backends.hostfile.sandbox_rules import require_sandbox

        session, self._started = self._started, None
        if session is not None:
            session.limit(limits)
            return session
        if few := too_few_gpus(self.exercise, self.gpus):
            raise Unsupported(few, hint="its simulated GPUs are as many as it needs: `--backend sim`")
        if self._sandbox:
            require_sandbox()
        starter = Starter(self.gpu.index, self._sandbox, self._course)
        return HostfileSession(self.exercise, self.gpus, starter, limits)

    def close(self) -> None:
        """End a child that was started and not used."""
        if self._started is not None:
            self._started.close()
            self._started = None


def gpus_here() -> int:
    """How many GPUs the driver shows; apart, so that tests can say another number."""
    from grader.gpus.detect import count

    return count()


_DRIVER = ("/sys", "/proc/driver", "/proc/devices")


@dataclass(frozen=True)
class Starter:
    """Which GPU a child works on, whether files are closed to it, and the course whose files are."""

    device: int
    sandbox: bool = True
    course: Course | None = None

    def start(self, shared: SharedFile, files: ChildFiles, folder: str, limits: Limits) -> Child:
        """Start a child, with the shared file and ``files`` open in it, and ``folder`` for its own files."""
        from grader.process.channel import ChannelClosed

        outer = _outer_sandbox(folder, self.course) if self.sandbox else None
        inner = _inner_sandbox(folder, self.course) if self.sandbox else _nothing_closed()
        child = spawn_child(
            "grader.backends.gpu.hostfile.hostfile_child", sandbox=outer, env=environment(folder),
            pass_fds=(shared.fd, *files.fds), cwd=folder,
        )  # fmt: skip
        request = {"do": "start", "device": self.device, "printf_bytes": limits.printf_bytes, "fd": shared.fd}
        request |= files.to_dict()
        with contextlib.suppress(ChannelClosed):  # the session that waits for the child says what happened
            child.channel.send(request | {"inner": inner.to_dict()})
        return child


def spawn_child(module: str, **keywords: Any) -> Child:
    """Start a child; apart, so that tests can put another module in its place."""
    from grader.process.child import spawn

    return spawn(module, **keywords)


def _outer_sandbox(folder: str, course: Course | None) -> Sandbox:
    """Closed before CUDA starts: what CUDA needs to start is open. It holds for the threads that CUDA starts then, too,
    which the inner one does not reach.
    """
    from grader.process.sandbox import Sandbox

    return Sandbox(files=True, read=("/etc", *_readable(course)), write=("/dev", "/proc", "/run", "/var", folder))


def _inner_sandbox(folder: str, course: Course | None) -> Sandbox:
    """Closed once CUDA runs and before any of the host file's code: GPU devices, system folders, its own folder."""
    from grader.process.sandbox import Sandbox

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
    from grader.backends.hostfile.sandbox_rules import readable

    courses = () if course is None else (course.exercises, course.solutions, course.kernels_ref)
    return (*_DRIVER, *readable(courses), *_packages())


def _packages() -> tuple[str, ...]:
    """Where CuPy and what it needs lie: not always in an installation of Python."""
    from importlib.util import find_spec

    names = ("cupy", "cupyx", "cupy_backends", "cuda", "numpy", "fastrlock", "nvidia")
    specs = [find_spec(name) for name in names]
    return tuple(place for spec in specs if spec is not None for place in spec.submodule_search_locations or ())


def _nothing_closed() -> Sandbox:
    from grader.process.sandbox import Sandbox

    return Sandbox()
