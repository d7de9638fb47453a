"""Grades the files of a course, several at once, through the pipeline of the command ``grade``.

A simulator child that has finished a program runs the next one: importing LLVM and NumPy takes longer than most kernels
run. The graded files are the course's own, so they need no isolation from one another. The two children of a host
exercise serve its files one after another, each file in a fork.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Lock
from typing import TYPE_CHECKING
from zlib import crc32

from grader.backends.sim.hostfile.backend import Pair
from grader.backends.sim.session import SimBackend, SimSession
from grader.backends.starting import simulator_child
from grader.catalog.courses import CourseExercise
from grader.dev.wrong import WrongAnswer
from grader.grading.grade import grade
from grader.grading.records import Request
from grader.grading.services import Hardware, Task, simulator
from grader.process.child import ChildPool, Closing
from grader.process.kept import children_kept
from grader.verdict import Verdict

if TYPE_CHECKING:
    from grader.backends.base import Limits
    from grader.compile import Program
    from grader.exercise import Exercise
    from grader.grading.cases import CaseBook
    from grader.grading.records import Oracle
    from grader.process.child import Child

PROGRAMS = 60
"""A simulator child is replaced after so many programs: their machine code stays in its memory, about 4 MB of each."""


class CourseGrader(Closing):
    """Returns verdicts as futures. A context manager, which ends its children on exit.

    The files of an exercise share a fixed seed for their inputs: these, and the oracle's outputs, are made once, and a
    course that passed its check passes it again.
    """

    def __init__(self, *, workers: int | None = None, device: int = 0) -> None:
        count = workers or available_cpus()
        self._threads = 1 if count > 1 else 0
        self._workers = ThreadPoolExecutor(count, thread_name_prefix="grading")
        # One worker: a timed run must not share its GPU.
        self._gpu_worker = ThreadPoolExecutor(1, thread_name_prefix="grading-gpu")
        self._device = device
        self._children = simulator_children()
        self._pairs = PairPool()
        self._books = Books()
        self._kept = ExitStack()
        self._kept.enter_context(children_kept())
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
        request = self._request(entry, file, "sim")
        services, submission = request.services, request.submission
        if entry.exercise.host and services.simulator is not None:
            backend = simulator(entry, submission, threads=self._threads, pairs=self._pairs.take)
            services = replace(services, simulator=backend)
        elif services.simulator is not None:
            services = replace(services, simulator=PooledSimulator(self._children, threads=self._threads))
        services = replace(services, book=partial(self._books.book, entry))
        return grade(replace(request, services=services))

    def close(self) -> None:
        """Wait for running gradings, cancel the queued ones, and end the children."""
        self._workers.shutdown(cancel_futures=True)
        self._gpu_worker.shutdown(cancel_futures=True)
        self._children.close()
        self._pairs.close()
        self._kept.close()
        self._folder.cleanup()


def request(entry: CourseExercise, path: Path, backend: str, device: int = 0, *, host: Path | None = None) -> Request:
    """The pipeline's request for ``grade NAME --file PATH --backend BACKEND``, with the exercise's seed.

    A host exercise's ``path`` has its host file beside it, or takes ``host``; a host file takes the solution's kernels.
    """
    alone = path.suffix == ".py"
    task = Task(entry, entry.solution or entry.stub, host=path) if alone else Task(entry, path, host=host)
    return Hardware.found(backend, device).request(task, seed=crc32(entry.name.encode()))


def available_cpus() -> int:
    """The number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# ------------------------------------------------------------------------------------------ simulator children, reused


def simulator_children() -> ChildPool:
    """A pool of simulator children that are used again."""
    return ChildPool(simulator_child, programs=PROGRAMS)


class PooledSimulator(SimBackend):
    """A simulator backend on the children of a pool."""

    def __init__(self, pool: ChildPool, *, threads: int = 1) -> None:
        super().__init__(threads=threads)
        self._pool = pool

    def start(self) -> None:
        """Does nothing: the pool starts the children that it needs."""

    def new_session(self, program: Program, limits: Limits) -> SimSession:
        """A session with an idle child of the pool, or with a new one. Raises GraderFault if none starts."""
        pooled = self._pool.take()
        return _PooledSession(pooled.child, program, limits, lambda: self._pool.give_back(pooled))


class _PooledSession(SimSession):
    """A session that returns its child to the pool if every request was answered; otherwise it ends the child."""

    def __init__(self, child: Child, program: Program, limits: Limits, give_back: Callable[[], None]) -> None:
        super().__init__(child, program, limits)
        self._give_back: Callable[[], None] | None = give_back

    def close(self) -> None:
        give_back, self._give_back = self._give_back, None  # closing twice is fine
        if self.waiting:
            super().close()
        elif give_back is not None:
            give_back()


# ------------------------------------------------------------------------------------ inputs and right outputs, shared


class Books:
    """The cases' data of the exercises whose files are graded at the moment. Thread-safe."""

    def __init__(self) -> None:
        self._books = deque[tuple[CourseExercise, "CaseBook"]](maxlen=available_cpus() + 1)
        self._lock = Lock()

    def book(self, entry: CourseExercise, exercise: Exercise, oracle: Oracle, seed: int) -> CaseBook:
        """The exercise's book, or a new one, for which the oldest is forgotten."""
        from grader.grading.cases import CaseBook

        with self._lock:
            found = next((book for known, book in self._books if known is entry), None)
            if found is None:
                found = CaseBook(exercise, oracle, seed)
                self._books.append((entry, found))
            return found


# ----------------------------------------------------------------------------------- a host exercise's children, reused


class PairPool(Closing):
    """Idle pairs of children, each for files of one exercise. Thread-safe."""

    def __init__(self) -> None:
        self._idle: list[tuple[Exercise, Pair]] = []
        self._lock = Lock()
        # A child ends with the thread that started it, so one long-lived thread starts all of them.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="kept-pairs")

    def take(self, exercise: Exercise, courses: tuple[Path, ...], *, sandbox: bool) -> Pair:
        """An idle pair, or a new one. Pairs of other exercises are ended: few files of those are left."""
        with self._lock:
            others = [pair for known, pair in self._idle if known is not exercise]
            idle = [pair for known, pair in self._idle if known is exercise]
            self._idle = [(exercise, pair) for pair in idle[1:]]
        for other in others:
            other.give_back = None
            other.close()
        if idle:
            return idle[0]
        pair = self._starter.submit(Pair.start, exercise, courses, sandbox=sandbox, forks=True).result()
        pair.give_back = lambda: self._give_back(exercise, pair)
        return pair

    def _give_back(self, exercise: Exercise, pair: Pair) -> None:
        with self._lock:
            self._idle.append((exercise, pair))

    def close(self) -> None:
        """End the idle pairs."""
        for _, pair in self._idle:
            pair.give_back = None
            pair.close()
        self._idle.clear()
        self._starter.shutdown()
