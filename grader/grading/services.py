"""The backends, the oracle, the timer and the limits for one submission on this machine.

hardware = Hardware.found("auto", device=0)                      # once for many submissions
verdict = grade(hardware.request(Task(entry, path), seed=1))     # grader.grading.grade
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from grader.backends.base import Limits
from grader.errors import Unsupported
from grader.frozen import dataclass
from grader.gpus.models import capability, simulable
from grader.grading.records import Request, Services, SourceTexts, Submission
from grader.verdict import SEED_BITS

if TYPE_CHECKING:
    from grader.backends.base import Backend
    from grader.backends.sim.hostfile.backend import StartPair
    from grader.catalog.courses import CourseExercise
    from grader.exercise import Exercise
    from grader.gpus.detect import Gpu
    from grader.grading.records import NextExercise, Oracle

DEFAULT_TARGET = (8, 0)


@dataclass(frozen=True)
class Task:
    """One exercise and the file to grade for it; ``host`` is its host file, if not the one beside it."""

    entry: CourseExercise
    path: Path
    host: Path | None = None

    @property
    def host_file(self) -> Path | None:
        """Its host file: ``host``, else M_host.py or NAME_host.py beside the file; in ``wrong/`` also the solution's.

        None if it needs none, or there is none.
        """
        if self.host is not None or not self.entry.exercise.host:
            return self.host
        beside = next((place for place in self.places if place.is_file()), None)
        return beside or (self.entry.solution_host_file if self.entry.is_wrong_answer(self.path) else None)

    @property
    def places(self) -> tuple[Path, Path]:
        """The two possible paths of the host file beside the file; the first that exists is used."""
        return self.path.with_name(f"{self.path.stem}_host.py"), self.path.with_name(f"{self.entry.name}_host.py")

    @property
    def form(self) -> CourseExercise:
        """The exercise in the form in which the file is graded, if it has variants."""
        if not self.entry.exercise.variants:
            return self.entry
        from grader.catalog.variants import entry_for

        return entry_for(self.entry, SourceTexts.of(self.path).contents.get(self.path, b""))

    def read(self) -> Submission:
        """Read the files now, for compiling, running and the report: later saves do not matter."""
        entry, host_file = self.entry, self.host_file
        texts = SourceTexts.of(self.path, host_file)
        return Submission(
            entry.graded, self.path, entry.stub, entry.hints, host_file, entry.host_file, entry.header_texts, texts
        )


@dataclass(frozen=True)
class Hardware:
    """The requested backend and this machine's GPU. ``why_no_gpu`` is the reason why ``gpu`` is None, in words."""

    wanted: str  # "auto", "gpu" or "sim"
    gpu: Gpu | None
    why_no_gpu: str

    @classmethod
    def found(cls, wanted: str, device: int) -> Hardware:
        """Look for a GPU, unless only the simulator is requested."""
        if wanted == "sim":
            return cls(wanted, None, "--backend sim was asked for")
        from grader.gpus.detect import detect

        try:
            return cls(wanted, detect(device), "")
        except Unsupported as error:
            return cls(wanted, None, error.message)

    def request(
        self,
        task: Task,
        *,
        seed: int | None = None,
        timeout_s: float | None = None,
        sandbox: bool = True,
        watched: bool = False,
        next_exercise: NextExercise = lambda: ("", ""),
        threads: int = 0,
    ) -> Request:
        """The request to grade one file. ``sandbox=False`` runs a host file without Landlock.

        ``threads`` of the simulator at most; 0: as many as this process may use.
        """
        here = self.for_exercise(task.entry.exercise)
        task = replace(task, entry=here.with_line(task.form))
        seed = seed if seed is not None else secrets.randbits(SEED_BITS)
        limits = Limits() if timeout_s is None else replace(Limits(), launch_s=timeout_s, total_s=timeout_s)
        submission, entry = task.read(), task.entry
        exercise = submission.exercise
        simulated = self.wanted != "gpu" and simulable(exercise.requires)
        services = Services(
            oracle=partial(_oracle, entry),
            simulator=simulator(entry, submission, sandbox=sandbox, threads=threads) if simulated else None,
            why_no_gpu=here.why_no_gpu,
            target=here._target(exercise.requires),
            device="simulated A100" if simulated else None,
            limits=limits,
        )
        if here.gpu is not None:
            services = _with_gpu(services, here.gpu, entry, submission, seed, sandbox)
        return Request(submission, services, seed, self.wanted, watched, next_exercise)

    def for_exercise(self, exercise: Exercise) -> Hardware:
        """This machine without its GPU, if that is too old or too new for the exercise, or there are too few."""
        why_not = "" if self.gpu is None else self.gpu.why_not(exercise.requires)
        if self.gpu is not None and not why_not and exercise.gpus > 1:
            from grader.backends.hostfile.case import too_few_gpus
            from grader.gpus.detect import count

            why_not = too_few_gpus(exercise, count())
        return replace(self, gpu=None, why_no_gpu=why_not) if why_not else self

    def with_line(self, entry: CourseExercise) -> CourseExercise:
        """The exercise with the pass line of this GPU's profile."""
        if self.gpu is None:
            return entry
        from grader.timing.pass_lines import known_on, with_line

        if trouble := known_on(self.gpu.name).trouble:
            from grader.output import tell_once

            tell_once(trouble)
        return replace(entry, exercise=with_line(entry.exercise, self.gpu.name))

    def _target(self, requires: str) -> str:
        """The compute capability to compile for: this GPU's, at most 8.0, but at least what the exercise requires."""
        here = min(self.gpu.compute_capability, DEFAULT_TARGET) if self.gpu is not None else DEFAULT_TARGET
        return "sm_{}{}".format(*here) if capability(requires) <= here else requires


def simulator(
    entry: CourseExercise, submission: Submission, *, sandbox: bool = True, threads: int = 0,
    pairs: StartPair | None = None,
) -> Backend:  # fmt: skip
    """The simulator for kernels, or for a host file; ``pairs`` is for the latter."""
    if not submission.exercise.host:
        from grader.backends.sim.session import SimBackend

        return SimBackend(threads=threads)
    from grader.backends.sim.hostfile.backend import HostfileSimBackend

    courses = (entry.course.exercises, entry.course.solutions, entry.course.kernels_ref)
    return HostfileSimBackend(
        entry.exercise, *_host_file(submission), threads=threads, sandbox=sandbox, courses=courses, pairs=pairs
    )


def _host_file(submission: Submission) -> tuple[bytes, str]:
    """The host file's text and name; empty if it is missing or cannot be read: then grading ends before its run."""
    path = submission.host_file
    return (submission.texts.contents.get(path, b""), path.name) if path is not None else (b"", "")


def _with_gpu(
    services: Services, gpu: Gpu, entry: CourseExercise, submission: Submission, seed: int, sandbox: bool
) -> Services:
    """The services with backend and timer for the GPU, which are different for host exercises."""
    from grader.backends.gpu import GpuBackend

    backend = GpuBackend(gpu, sandbox=sandbox)
    services = replace(services, device=gpu.name)
    if not entry.exercise.host:
        from grader.grading.fast import SpeedTest

        return replace(services, gpu=backend, timer=SpeedTest(entry, backend, seed, services.limits))
    from grader.backends.gpu.hostfile.backend import HostfileBackend
    from grader.grading.fast_hostfile import HostfileSpeedTest

    host = HostfileBackend(backend, entry.exercise, *_host_file(submission), sandbox=sandbox, course=entry.course)
    timer = HostfileSpeedTest(entry.exercise, host, services.oracle, seed, services.limits)
    return replace(services, gpu=host, timer=timer)


def _oracle(entry: CourseExercise) -> Oracle:
    from grader.catalog.courses import resolve_reference

    return resolve_reference(entry.exercise.oracle, entry.course)
