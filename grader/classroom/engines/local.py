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


SEATS = 2  # workers in flight for each GPU, which take turns (`grader.classroom.turns`)


class LocalEngine(Engine):
    """Workers that are processes of this machine. With GPUs, all tasks use them, and take no processor of others."""

    def __init__(self, jobs: int, gpus: Sequence[str] = ()) -> None:
        self._jobs = self._free_jobs = jobs
        self._seats = dict.fromkeys(gpus, SEATS)  # that are free, by GPU
        self._launcher = Launcher(threads=max(1, processors() // max(jobs, len(gpus))))
        # A worker ends with the thread that started it: these live until `close`.
        self._threads = ThreadPoolExecutor(jobs + SEATS * len(gpus), thread_name_prefix="class")
        self._ended: SimpleQueue[tuple[tuple[str, ...], Future[Outcome]]] = SimpleQueue()

    @property
    def words(self) -> str:
        return f"{counted(len(self._seats), 'GPU')} here" if self._seats else f"{self._jobs} at once here"

    @property
    def uses_gpus(self) -> bool:
        return bool(self._seats)

    def has_room(self, task: WorkerTask) -> bool:
        return bool(self._gpus_for(task)) if task.gpus else self._free_jobs > 0

    def submit(self, task: WorkerTask) -> None:
        gpus = self._gpus_for(task) if task.gpus else ()
        self._take(gpus, 1)
        future = self._threads.submit(self._launcher.run, task, gpus)
        future.add_done_callback(lambda done: self._ended.put((gpus, done)))

    def next(self, timeout_s: float) -> Outcome | None:
        """Raises what kept a worker from being started."""
        try:
            gpus, done = self._ended.get(timeout=timeout_s)
        except Empty:
            return None
        self._take(gpus, -1)
        return done.result()

    def close(self) -> None:
        self._launcher.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _take(self, gpus: Sequence[str], seats: int) -> None:
        for gpu in gpus:
            self._seats[gpu] -= seats if len(gpus) == 1 else seats * SEATS
        self._free_jobs -= 0 if gpus else seats

    def _gpus_for(self, task: WorkerTask) -> tuple[str, ...]:
        """The GPUs for a task now; () if there is no room. A task for several has them for itself, without turns.

        If there are fewer, it gets all of them, and the grading says so.
        """
        needed = min(task.gpus, len(self._seats))
        if needed == 1:
            freest = max(self._seats, key=lambda gpu: self._seats[gpu])
            return (freest,) if self._seats[freest] else ()
        free = [gpu for gpu, seats in self._seats.items() if seats == SEATS]
        return tuple(free[:needed]) if len(free) >= needed else ()
