"""Grades the files of a course, several at once, through the pipeline of the command ``grade``."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from zlib import crc32

from grader.catalog.exercises import CourseExercise
from grader.compile.kept import compilers_kept
from grader.dev.kept import KeptSimulator, simulator_children
from grader.dev.wrong import WrongAnswer
from grader.grading.grade import grade
from grader.grading.records import Request
from grader.grading.services import Hardware, Task, simulator
from grader.process.child import Closing
from grader.verdict import Verdict


class Laboratory(Closing):
    """Hands out verdicts as futures. A context manager; on exit its children are gone.

    Inputs come from a fixed seed for each file, so that a course that passed its check passes it again.
    """

    def __init__(self, *, workers: int | None = None, device: int = 0) -> None:
        count = workers or available_cpus()
        self._threads = 1 if count > 1 else 0
        self._workers = ThreadPoolExecutor(count, thread_name_prefix="grading")
        self._gpu_worker = ThreadPoolExecutor(
            1, thread_name_prefix="grading-gpu"
        )  # a timed run shares its GPU with nobody
        self._device = device
        self._children = simulator_children()
        self._compilers = ExitStack()
        self._compilers.enter_context(compilers_kept())
        self._folder = TemporaryDirectory(prefix="warpgrade-wrong-")

    def simulated(self, entry: CourseExercise, file: Path | WrongAnswer) -> Future[Verdict]:
        """Grade a file on the simulator."""
        return self._workers.submit(self._on_simulator, entry, file)

    def on_gpu(self, entry: CourseExercise, file: Path | WrongAnswer, backend: str = "gpu") -> Future[Verdict]:
        """Grade a file on the GPU, one at a time; ``backend`` is ``gpu`` or ``auto``."""
        return self._gpu_worker.submit(lambda: grade(self._request(entry, file, backend, self._device)))

    def _request(self, entry: CourseExercise, file: Path | WrongAnswer, backend: str, device: int = 0) -> Request:
        if isinstance(file, Path):
            return request(entry, file, backend, device)
        path, *more = file.put(Path(mkdtemp(dir=self._folder.name)))
        return request(entry, path, backend, device, host=more[0] if more else entry.solution_host_file)

    def _on_simulator(self, entry: CourseExercise, file: Path | WrongAnswer) -> Verdict:
        asked = self._request(entry, file, "sim")
        services, submission = asked.services, asked.submission
        if entry.exercise.host and services.simulator is not None:  # its children share a file, and serve one program
            services = replace(services, simulator=simulator(entry, submission, threads=self._threads))
        elif services.simulator is not None:
            kept = KeptSimulator(self._children, threads=self._threads)
            services = replace(services, simulator=kept)
        return grade(replace(asked, services=services))

    def close(self) -> None:
        """Let what runs end, drop what waits, and end the children."""
        self._workers.shutdown(cancel_futures=True)
        self._gpu_worker.shutdown(cancel_futures=True)
        self._children.close()
        self._compilers.close()
        self._folder.cleanup()


def request(entry: CourseExercise, path: Path, backend: str, device: int = 0, *, host: Path | None = None) -> Request:
    """What ``grade NAME --file PATH --backend BACKEND`` asks of the pipeline, with the file's own seed.

    A host exercise's ``path`` has its host file beside it, or takes ``host``; a host file takes the solution's kernels.
    """
    alone = path.suffix == ".py"
    task = Task(entry, entry.solution or entry.stub, host=path) if alone else Task(entry, path, host=host)
    return Hardware.found(backend, device).request(task, seed=seed_of(entry, path))


def seed_of(entry: CourseExercise, path: Path) -> int:
    """The seed of a file: by exercise and name, so that no two share their inputs."""
    return crc32(f"{entry.name}/{path.name}".encode())


def available_cpus() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
