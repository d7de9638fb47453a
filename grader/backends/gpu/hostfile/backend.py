"""Host exercises: a `.cu` with a Python file beside it, in a child of its own; the parent owns memory and clock.

    backend = HostBackend(gpu_backend, exercise, host_source, "zero_copy_host.py")
    with backend.open(program, limits) as session:
        execution = session.run(case)

The protocol and its reasons: docs/design/host-protocol.md.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from grader.backends.base import Limits
from grader.backends.gpu.hostfile.session import HostSession
from grader.backends.gpu.hostfile.start import Starter
from grader.backends.gpu.hostfile.yardsticks import Where, Yardstick, yardsticks
from grader.backends.hostfile.case import on_gpus, too_few_gpus
from grader.errors import Unsupported

if TYPE_CHECKING:
    from grader.backends.gpu import GpuBackend
    from grader.catalog.courses import Course
    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.launch import DeviceLimits

__all__ = ["HostBackend", "HostSession"]


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
        from grader.backends.hostfile.doors import must_close
        from grader.compile import assemble

        if few := too_few_gpus(self.exercise, self.gpus):
            raise Unsupported(few, hint="its simulated GPUs are as many as it needs: `--backend sim`")
        if self._sandbox:
            must_close()
        cubin = assemble(program, self.gpu.arch_for(program.target))
        starter = Starter(self.gpu.index, self._sandbox, self._course)
        session = HostSession(self.exercise, self.gpus, starter, program, limits)
        try:
            session.load(cubin, self._source, self._name, self.yardsticks)
        except BaseException:
            session.close()
            raise
        return session


def gpus_here() -> int:
    """How many GPUs the driver shows; apart, so that tests can say another number."""
    from grader.gpus.detect import count

    return count()
