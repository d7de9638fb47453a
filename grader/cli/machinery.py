"""Which backends serve: what ``--backend`` asks for and this machine has."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from grader.cli.history import tell_once
from grader.errors import Unsupported
from grader.gpus.architecture import capability
from grader.grading import Request, simulable
from grader.grading.texts import Texts

if TYPE_CHECKING:
    from grader.backends.base import Backend, Limits
    from grader.backends.gpu import GpuBackend
    from grader.catalog.exercises import Catalog, CourseExercise
    from grader.cli.grading import Options, Task
    from grader.exercise import Exercise
    from grader.gpus.detect import Gpu
    from grader.grading.records import Oracle

DEFAULT_TARGET = (8, 0)
SEED_BITS = 53  # what every reader of JSON keeps exactly


@dataclass(frozen=True)
class Machine:
    """The backends at hand. ``why_no_gpu`` says in words why ``gpu`` is None."""

    backend: str  # what was asked for: "auto", "gpu" or "sim"
    gpu: Gpu | None
    why_no_gpu: str

    @classmethod
    def chosen(cls, backend: str, device: int) -> Machine:
        """Look for a GPU unless the simulator alone was asked for."""
        if backend == "sim":
            return cls(backend, None, "--backend sim was asked for")
        from grader.gpus.detect import detect

        try:
            return cls(backend, detect(device), "")
        except Unsupported as error:
            return cls(backend, None, error.message)

    def request(self, catalog: Catalog, task: Task, options: Options) -> Request:
        """Everything that grading one file needs."""
        return self._for(task.exercise)._request(catalog, task, options)

    def _for(self, entry: CourseExercise) -> Machine:
        """This machine as the exercise may use it: without a GPU that is too old for it, too new, or one of too few."""
        why_not = "" if self.gpu is None else self.gpu.why_not(entry.exercise.requires) or _too_few(entry.exercise)
        return replace(self, gpu=None, why_no_gpu=why_not) if why_not else self

    def _request(self, catalog: Catalog, task: Task, options: Options) -> Request:
        entry = self._with_line(task.exercise)
        exercise = entry.graded
        texts = Texts.of(task.path, task.host_file)
        simulator = _simulator(entry, task, options, texts) if self.backend != "gpu" and simulable(exercise) else None
        request = Request(
            exercise=exercise,
            path=task.path,
            seed=options.seed if options.seed is not None else secrets.randbits(SEED_BITS),
            oracle=partial(_oracle, entry),
            simulator=simulator,
            wanted=self.backend,
            why_no_gpu=self.why_no_gpu,
            target=self._target(exercise.requires),
            device="simulated A100" if simulator is not None else None,
            limits=_limits(options.timeout),
            stub=entry.stub,
            hints=entry.hints,
            host_file=task.host_file,
            host_stub=entry.host_file,
            next_exercise=partial(_next_after, catalog, entry),
            watched=options.watched,
            texts=texts,
        )
        return request if self.gpu is None else _with_gpu(request, entry, self.gpu, options)

    def _with_line(self, entry: CourseExercise) -> CourseExercise:
        """The exercise with the pass line of this GPU's profile."""
        if self.gpu is None:
            return entry
        from grader.gpus.pass_lines import known_on, with_line

        if trouble := known_on(self.gpu.name).trouble:
            tell_once(trouble)
        return replace(entry, exercise=with_line(entry.exercise, self.gpu.name))

    def _target(self, requires: str) -> str:
        """The compute capability to compile for: this GPU's, at most 8.0, but at least what the exercise requires."""
        here = min(self.gpu.compute_capability, DEFAULT_TARGET) if self.gpu is not None else DEFAULT_TARGET
        return "sm_{}{}".format(*here) if capability(requires) <= here else requires


def _next_after(catalog: Catalog, entry: CourseExercise) -> str:
    """The name of the exercise that `grade next` will propose once this one's pass is recorded; "" where none is."""
    from grader.cli.proposing import next_exercise

    following, _ = next_exercise(catalog, passing=entry)
    return following.name if following is not None else ""


def _too_few(exercise: Exercise) -> str:
    """Why this machine has too few GPUs for the exercise; "" where it has enough."""
    if exercise.gpus <= 1:
        return ""
    from grader.backends.hostfile.case import too_few_gpus
    from grader.gpus.detect import count

    return too_few_gpus(exercise, count())


def _with_gpu(request: Request, entry: CourseExercise, gpu: Gpu, options: Options) -> Request:
    """The request with the GPU's backend and its timer; a host exercise has its own kind of both."""
    from grader.backends.gpu import GpuBackend

    backend = GpuBackend(gpu, sandbox=not options.no_sandbox)
    request = replace(request, device=gpu.name)
    if entry.exercise.host:
        return _with_host_file(request, entry, backend, options)
    from grader.backends.gpu.speed import SpeedTest

    return replace(request, gpu=backend, timer=SpeedTest(entry, backend, request.seed, request.limits))


def _with_host_file(request: Request, entry: CourseExercise, gpu: GpuBackend, options: Options) -> Request:
    from grader.backends.gpu.hostfile.speed import HostSpeedTest
    from grader.cli.hostfile import HostFileBackend

    backend = HostFileBackend(
        gpu, entry, request.path, host=request.host_file, sandbox=not options.no_sandbox, texts=request.texts
    )
    timer = HostSpeedTest(entry.exercise, backend, request.oracle, request.seed, request.limits)
    return replace(request, gpu=backend, timer=timer)


def _simulator(entry: CourseExercise, task: Task, options: Options, texts: Texts) -> Backend:
    if entry.exercise.host:
        from grader.cli.hostfile import SimHostFileBackend

        return SimHostFileBackend(entry, task.path, host=task.host, sandbox=not options.no_sandbox, texts=texts)
    from grader.backends.sim import SimBackend

    return SimBackend()


def _oracle(entry: CourseExercise) -> Oracle:
    from grader.catalog.references import resolve_reference

    return resolve_reference(entry.exercise.oracle, entry.course)


def _limits(timeout_s: float | None) -> Limits:
    from grader.backends.base import Limits

    limits = Limits()
    if timeout_s is None:
        return limits
    return replace(limits, launch_s=timeout_s, total_s=timeout_s)
