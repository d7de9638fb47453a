"""This machine: so many simulators at once, and one task at a time on each GPU."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

from grader.classroom.engines.base import Engine, Outcome, WorkerTask
from grader.classroom.engines.launch import VISIBLE, Launcher
from grader.text import counted


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def visible_gpus(backend: str) -> tuple[str, ...]:
    """The GPUs that a class may use, as CUDA_VISIBLE_DEVICES names them; none for the simulator."""
    if backend == "sim":
        return ()
    from grader.gpus.detect import count

    numbers = tuple(map(str, range(count())))
    named = tuple(filter(None, os.environ.get(VISIBLE, "").split(",")))
    return named[: len(numbers)] if named else numbers


class LocalEngine(Engine):
    """Workers that are processes of this machine.

    A task that uses a GPU has it for itself, also while the simulator runs; it takes no processor of the others.
    """

    def __init__(self, jobs: int, gpus: Sequence[str] = ()) -> None:
        self._jobs = jobs
        self._free_jobs = jobs
        self._free_gpus = list(gpus)
        self._gpus = len(gpus)
        self._launcher = Launcher(threads=max(1, processors() // max(jobs, len(gpus))))
        # A worker ends with the thread that started it: these live until `close`.
        self._threads = ThreadPoolExecutor(jobs + len(gpus), thread_name_prefix="class")
        self._ended: SimpleQueue[tuple[WorkerTask, tuple[str, ...], Future[Outcome]]] = SimpleQueue()

    @property
    def words(self) -> str:
        return f"{counted(self._gpus, 'GPU')} here" if self._gpus else f"{self._jobs} at once here"

    @property
    def uses_gpus(self) -> bool:
        return self._gpus > 0

    def has_room(self, task: WorkerTask) -> bool:
        return len(self._free_gpus) >= self._needs(task) if task.gpus else self._free_jobs > 0

    def submit(self, task: WorkerTask) -> None:
        taken = tuple(self._free_gpus[: self._needs(task)])
        del self._free_gpus[: len(taken)]
        self._free_jobs -= not taken
        future = self._threads.submit(self._launcher.run, task, taken)
        future.add_done_callback(lambda done: self._ended.put((task, taken, done)))

    def next(self, timeout_s: float) -> Outcome | None:
        """Raises what kept a worker from being started."""
        try:
            _, taken, done = self._ended.get(timeout=timeout_s)
        except Empty:
            return None
        self._free_gpus += taken
        self._free_jobs += not taken
        return done.result()

    def close(self) -> None:
        self._launcher.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _needs(self, task: WorkerTask) -> int:
        """GPUs of a task; one for several GPUs has all of them if there are fewer, and is told so by the grading."""
        return min(task.gpus, self._gpus)
