"""What an engine is told and what it says: it gives each task to a worker, and reports a document or a death.

engine.submit(task)           only if engine.has_room(task)
outcome = engine.next(0.5)    Outcome(document=…), or Outcome(reason="SIGSEGV …"); None: nothing has ended yet
engine.close()                ends the workers in flight
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from grader.frozen import dataclass
from grader.process.child import Closing

WALL_S = 900.0
"""The time of one worker. The grader's own limits of a minute for each session end first: this is for a worker that
hangs."""


@dataclass(frozen=True)
class WorkerTask:
    """One submission to grade, with all that a worker needs: it may run on a machine without the class folder."""

    submission: str  # ClassSubmission.key
    exercise: str
    kernel: bytes  # the .cu
    host: bytes | None = None  # the host file
    backend: str = "sim"
    gpus: int = 0  # that it must have for itself
    seed: int = 0
    variant: str = ""  # the form of the exercise that the student got; "" if it has one form
    courses: tuple[str, ...] = ()
    sandbox: bool = True
    wall_s: float = WALL_S


@dataclass(frozen=True)
class Outcome:
    """What became of a task: the worker's document, or the reason why there is none: the worker died."""

    task: WorkerTask
    worker: str  # "process 4711 on lab3"
    started: datetime
    ended: datetime
    document: Mapping[str, Any] | None = None
    reason: str = ""
    gpu: str = ""  # the GPU that the task had for itself, as CUDA_VISIBLE_DEVICES names it


class Engine(Closing):
    """Where tasks run. Used by one thread."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is now, for people: ``2 at once here``."""

    @property
    @abstractmethod
    def uses_gpus(self) -> bool:
        """Whether its tasks have GPUs."""

    @abstractmethod
    def has_room(self, task: WorkerTask) -> bool:
        """Whether the task would start at once."""

    @abstractmethod
    def submit(self, task: WorkerTask) -> None:
        """Start a task for which there is room."""

    @abstractmethod
    def next(self, timeout_s: float) -> Outcome | None:
        """Wait until a task has ended; None if none has within ``timeout_s`` seconds."""
