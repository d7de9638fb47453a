"""Host exercises: a `.cu` with a Python file beside it, in a child of its own; the parent owns memory and clock.

    backend = HostfileBackend(gpu_backend, exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

The protocol and its reasons: docs/design/host-protocol.md.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from grader.backends.base import Backend, Limits, StartsEarly
from grader.backends.gpu.hostfile.baselines import Baseline, BaselineSetup, baselines
from grader.backends.gpu.hostfile.session import HostfileSession
from grader.backends.hostfile.case import on_gpus, too_few_gpus
from grader.backends.hostfile.child_files import readable, require_sandbox
from grader.backends.starting import environment
from grader.errors import Unsupported
from grader.process.channel import ChannelClosed
from grader.process.child import spawn
from grader.process.sandbox import Sandbox

if TYPE_CHECKING:
    from grader.backends.gpu import GpuBackend
    from grader.backends.hostfile.child_files import ChildFiles
    from grader.backends.mappings import SharedFile
    from grader.catalog.courses import Course
    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.launch import DeviceLimits
    from grader.process.child import Child


OPEN_FILES = 4096  # of the host file's process: the driver opens some dozens for each GPU


class HostfileBackend(StartsEarly, Backend):
    """Runs host exercises on one GPU, or on all GPUs. ``source`` is the host file's text, ``name`` its name in
    messages; ``course`` is searched first for trusted kernels.

    The attribute `exercise` has the machine's number of GPUs in its sizes.
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
        from grader.gpus.detect import count

        self.gpu = backend.gpu
        self.gpus = count() if exercise.gpus > 1 else 1
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
        """The baselines of timed runs. Raises GraderFault if the course lacks their kernel."""
        return baselines(self.exercise, BaselineSetup(self.gpu, self.gpus, self._course))

    def open(self, program: Program, limits: Limits) -> HostfileSession:
        """Start a child and load module and host file there.

        Raises Unsupported if there is no Landlock (unless ``sandbox=False``) or there are too few GPUs, SubmissionError
        if the host file is not Python, lacks a function, or fails at its top level.
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

        If that is impossible, `open` raises the reason.
        """
        with contextlib.suppress(Unsupported):
            self._started = self._session(Limits())

    def _session(self, limits: Limits) -> HostfileSession:
        """The session with the early child, or a new one. Raises Unsupported."""
        session, self._started = self._started, None
        if session is not None:
            session.limits = limits  # those of the submission, not yet known when the child was started
            return session
        if few := too_few_gpus(self.exercise, self.gpus):
            raise Unsupported(few, hint="its simulated GPUs are as many as it needs: `--backend sim`")
        if self._sandbox:
            require_sandbox()
        return HostfileSession(self.exercise, self.gpus, self._start_child, limits)

    def _start_child(self, shared: SharedFile, files: ChildFiles, folder: str, limits: Limits) -> Child:
        """Start a child with the shared file and ``files`` open; ``folder`` is for its own files."""
        outer = None
        if self._sandbox:  # applied before CUDA starts, so that it holds for CUDA's threads as well
            needed = ("/etc", *_readable(self._course))  # for CUDA's start
            outer = Sandbox(files=True, read=needed, write=("/dev", "/proc", "/run", "/var", folder))
        inner = _inner_sandbox(folder, self._course) if self._sandbox else Sandbox()
        child = spawn(
            "grader.backends.gpu.hostfile.hostfile_child", sandbox=outer, env=environment(folder),
            pass_fds=(shared.fd, *files.fds), cwd=folder,
        )  # fmt: skip
        request = {"do": "start", "device": self.gpu.index, "printf_bytes": limits.printf_bytes, "fd": shared.fd}
        with contextlib.suppress(ChannelClosed):  # the session reports it when it waits for the child
            child.channel.send({**request, **files.to_dict(), "inner": inner.to_dict()})
        return child


def _inner_sandbox(folder: str, course: Course | None) -> Sandbox:
    """Applied after CUDA's start, before any of the host file's code. Allows GPU devices, system folders, its own
    folder.
    """
    devices = [str(path) for path in Path("/dev").glob("nvidia*")]
    return Sandbox(
        files=True,
        read=_readable(course),
        write=(*devices, "/dev/null", "/dev/zero", folder),
        processes=False,
        network=False,
        memory_files=True,  # CUDA's driver creates such a file when it starts, and may do so for each further GPU
        file_bytes=1 << 30,
        open_files=OPEN_FILES,
    )


def _readable(course: Course | None) -> tuple[str, ...]:
    """The driver, the system, Python and its packages; but not the grader, the course and its solutions."""
    courses = () if course is None else (course.exercises, course.solutions, course.kernels_ref)
    # CuPy and its dependencies are not always in an installation of Python.
    specs = [find_spec(name) for name in ("cupy", "cupyx", "cupy_backends", "cuda", "numpy", "fastrlock", "nvidia")]
    packages = [place for spec in specs if spec is not None for place in spec.submodule_search_locations or ()]
    return ("/sys", "/proc/driver", "/proc/devices", *readable(courses), *packages)
