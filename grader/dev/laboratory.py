"""Grades the files of a course, several at once, through the pipeline of the command ``grade``."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from zlib import crc32

from grader.catalog.exercises import Catalog, CourseExercise
from grader.cli.grading import Options, Task
from grader.cli.hostfile import SimHostFileBackend
from grader.cli.machinery import Machine
from grader.dev.kept import ChildPool, KeptSimulator
from grader.grading import Request, grade
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
        self._children = ChildPool()

    def simulated(self, one: CourseExercise, path: Path, *, counting: bool = False) -> Future[Verdict]:
        """Grade a file on the simulator; ``counting`` as in `KeptSimulator`."""
        return self._workers.submit(self._on_simulator, one, path, counting)

    def on_gpu(self, one: CourseExercise, path: Path, backend: str = "gpu") -> Future[Verdict]:
        """Grade a file on the GPU, one at a time; ``backend`` is ``gpu`` or ``auto``."""
        return self._gpu_worker.submit(lambda: grade(request(one, path, backend, self._device)))

    def _on_simulator(self, one: CourseExercise, path: Path, counting: bool) -> Verdict:
        asked = request(one, path, "sim")
        if one.exercise.host and asked.simulator is not None:  # its children share a file, and serve one program
            simulator = SimHostFileBackend(one, asked.path, host=asked.host_file, threads=self._threads)
            asked = replace(asked, simulator=simulator)
        elif asked.simulator is not None:
            asked = replace(asked, simulator=KeptSimulator(self._children, threads=self._threads, counting=counting))
        return grade(asked)

    def close(self) -> None:
        """Let what runs end, drop what waits, and end the children."""
        self._workers.shutdown(cancel_futures=True)
        self._gpu_worker.shutdown(cancel_futures=True)
        self._children.close()


def request(one: CourseExercise, path: Path, backend: str, device: int = 0) -> Request:
    """What ``grade NAME --file PATH --backend BACKEND`` asks of the pipeline, with the file's own seed."""
    options = Options(names=(one.name,), file=path, backend=backend, device=device, seed=seed_of(one, path))
    return Machine.chosen(backend, device).request(Catalog((one,)), _task(one, path), options)


def _task(one: CourseExercise, path: Path) -> Task:
    """A wrong host file is graded with the solution's kernels."""
    return Task(one, one.solution or one.stub, host=path) if path.suffix == ".py" else Task(one, path)


def seed_of(one: CourseExercise, path: Path) -> int:
    """The seed of a file: by exercise and name, so that no two share their inputs."""
    return crc32(f"{one.name}/{path.name}".encode())


def available_cpus() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
