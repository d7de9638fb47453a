"""Grading a class: each submission is one task of an engine, and its result is stored before it counts.

    submissions without a result ──tasks──▶ engine ──outcomes──▶ store
                                     ▲                  │
                                     └─ inconclusive, error: another attempt, in another process
                                     └─ the worker died: once more, until three have; then the submission is set aside

A run can be killed at any moment: the next one begins with what has no result. What decides a verdict is in the task,
so that on the simulator the same submission and secret get the same verdict, in any order and on any machine.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.classroom.engines.base import WALL_S, Engine, Outcome, WorkerTask
from grader.classroom.key import seed, variant_seed
from grader.classroom.records import Assignment, ClassSubmission, Result
from grader.classroom.store import Basis, Death, Store
from grader.classroom.worker import NO_LANDLOCK_HINT, without_run
from grader.errors import GraderFault, Unsupported, UsageError
from grader.exercise import PLAIN
from grader.frozen import dataclass

if TYPE_CHECKING:
    from grader.catalog.courses import CourseExercise
    from grader.catalog.exercises import Catalog

SET_ASIDE = "set_aside"
DEATHS = 3  # of workers, then a submission is set aside
TRIED_AGAIN = ("inconclusive", "error")  # verdicts that are not about the submission
NEEDS_A_TEACHER = (*TRIED_AGAIN, SET_ASIDE, "unsupported")
WAIT_S = 0.25  # for outcomes, between two looks at whether to stop


# ------------------------------------------------------------------------------------------------------ before the run


def basis_of(assignment: Assignment, catalog: Catalog, secret: bytes) -> Basis:
    """What the results are made with. ``secret`` is the assignment's key."""
    from grader import __version__
    from grader.catalog.versions import versions_at

    entries = [catalog.find(exercise.name) for exercise in assignment.exercises]
    versions = sorted({str(versions_at(entry.course.exercises).version) for entry in entries})
    return Basis(
        warpgrade=__version__,
        course=f"{'+'.join(versions)} ({digest_of(entries)})",
        exercises=", ".join(entry.name for entry in entries),
        backend=assignment.backend,
        inputs=hashlib.sha256(b"basis" + secret).hexdigest()[:12],
    )


def digest_of(entries: Iterable[CourseExercise]) -> str:
    """A digest of what decides these exercises' verdicts: their definitions, and their courses' references."""
    entries = list(entries)
    paths = [entry.folder / "exercise.py" for entry in entries]
    for references in sorted({entry.course.kernels_ref for entry in entries}):
        paths += sorted(path for path in references.rglob("*") if path.suffix in (".py", ".cu", ".cuh"))
    total = hashlib.sha256()
    for path in paths:
        content = path.read_bytes() if path.is_file() else b""
        total.update(f"{path.name} {len(content)} ".encode() + content)
    return total.hexdigest()[:8]


@dataclass(frozen=True)
class TaskMaker:
    """Makes the task of a submission, by reading its files."""

    folder: Path
    assignment: Assignment
    secret: bytes  # the assignment's key
    forms: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by exercise that has variants
    gpus: Mapping[str, int] = field(default_factory=dict)  # by exercise: how many a task needs for itself
    courses: tuple[str, ...] = ()
    sandbox: bool = True
    wall_s: float = WALL_S

    def task(self, submission: ClassSubmission) -> WorkerTask:
        """Raises UsageError if a file is missing, or is not what was collected."""
        contents = [self._content(file.path, file.sha256) for file in submission.files]
        kernels = [content for name, content in contents if not name.endswith(".py")]
        hosts = [content for name, content in contents if name.endswith(".py")]
        exercise = submission.exercise
        return WorkerTask(
            submission.key, exercise, kernels[0] if kernels else b"", hosts[0] if hosts else None,
            backend=self.assignment.backend, gpus=self.gpus.get(exercise, 0), variant=self._variant(submission),
            seed=seed(self.secret, exercise), courses=self.courses, sandbox=self.sandbox, wall_s=self.wall_s,
        )  # fmt: skip

    def _variant(self, submission: ClassSubmission) -> str:
        """The form of the exercise that this student got; "" if it has one form."""
        forms = self.forms.get(submission.exercise)
        if not forms:
            return ""
        number = variant_seed(self.secret, submission.student, submission.exercise)
        return forms[number % len(forms)] if self.assignment.variants else PLAIN

    def _content(self, name: str, sha256: str) -> tuple[str, bytes]:
        hint = "`grade class collect` collects it again"
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            message = f"{name} cannot be read: {error.strerror}"
            raise UsageError(message, code="no_submission", hint=hint) from None
        if hashlib.sha256(content).hexdigest() != sha256:
            raise UsageError(f"{name} was changed after it was collected", code="changed_submission", hint=hint)
        return name, content


def in_order(submissions: Sequence[ClassSubmission]) -> list[ClassSubmission]:
    """Each submission once, the last one of each student and exercise first: what counts is known early."""
    unique = {submission.key: submission for submission in submissions}
    return sorted(unique.values(), key=lambda one: -one.number)


# ------------------------------------------------------------------------------------------------------------- the run


@dataclass(frozen=True)
class InFlight:
    """A submission that is being graded."""

    submission: ClassSubmission
    since: datetime
    attempt: int


@dataclass(frozen=True)
class Watched:
    """A run as it is now: what a table shows."""

    total: int  # submissions of this run
    done: int
    verdicts: Mapping[str, int]  # of this run, by word
    in_flight: tuple[InFlight, ...]
    deaths: int = 0


class ClassRun:
    """One run. ``told`` is called with each result after it is stored, and with None when anything else has changed."""

    def __init__(
        self, store: Store, engine: Engine, maker: TaskMaker, basis: Basis, submissions: Sequence[ClassSubmission],
        told: Callable[[Result | None], None] = lambda result: None,
    ) -> None:  # fmt: skip
        self._store, self._engine, self._maker, self._basis = store, engine, maker, basis
        self._told = told
        self._waiting = deque(in_order(submissions))
        self._total = len(self._waiting)
        self._flying: dict[str, InFlight] = {}
        self._attempts: Counter[str] = Counter()
        self._verdicts: Counter[str] = Counter()
        self._deaths = 0
        self._next: tuple[ClassSubmission, WorkerTask] | None = None

    @property
    def watched(self) -> Watched:
        done = sum(self._verdicts.values())
        return Watched(self._total, done, dict(self._verdicts), tuple(self._flying.values()), self._deaths)

    def run(self, stops: Callable[[], bool] = lambda: False) -> bool:
        """Grade until nothing is left, or ``stops``; False if something is left. The caller closes the engine.

        Raises what ends a run: a full disk, a worker of another version or without Landlock.
        """
        while self._waiting or self._next or self._flying:
            if stops():
                return False
            self._start_waiting()
            if outcome := self._engine.next(WAIT_S):
                self._ended(outcome)
            else:
                self._told(None)
        return True

    def _start_waiting(self) -> None:
        """Start as many as there is room for."""
        while prepared := self._prepared():
            submission, task = prepared
            if not self._engine.has_room(task):
                return
            self._next = None
            self._attempts[task.submission] += 1
            attempt = self._attempts[task.submission]
            self._flying[task.submission] = InFlight(submission, datetime.now().astimezone(), attempt)
            self._engine.submit(task)
            self._told(None)

    def _prepared(self) -> tuple[ClassSubmission, WorkerTask] | None:
        """The next submission and its task; one whose files cannot be read has its result at once."""
        while self._next is None and self._waiting:
            submission = self._waiting.popleft()
            try:
                self._next = submission, self._maker.task(submission)
            except UsageError as error:
                now = datetime.now().astimezone()
                run = without_run(submission.exercise, "error", error).to_dict()
                self._store_result(Result(submission.key, "error", None, None, run, now, now))
        return self._next

    def _ended(self, outcome: Outcome) -> None:
        flight = self._flying.pop(outcome.task.submission)
        if outcome.document is None:
            self._died(outcome, flight)
            return
        result = result_of(outcome, flight.attempt)
        self._require(result, outcome)
        if result.verdict in TRIED_AGAIN and flight.attempt < self._maker.assignment.attempts:
            self._waiting.append(flight.submission)
        else:
            self._store_result(result)

    def _died(self, outcome: Outcome, flight: InFlight) -> None:
        """Count the death; grade the submission once more, or set it aside."""
        key = flight.submission.key
        self._deaths += 1
        deaths = self._store.add_death(Death(key, outcome.ended, outcome.worker, outcome.reason))
        if deaths < DEATHS:
            self._attempts[key] -= 1  # it was no attempt
            self._waiting.append(flight.submission)
            self._told(None)
            return
        message = f"{deaths} workers ended while they graded this submission; the last time {outcome.reason}"
        verdict = without_run(outcome.task.exercise, SET_ASIDE, GraderFault(message, hint=ASIDE_HINT))
        run = verdict.to_dict()
        self._store_result(
            Result(key, SET_ASIDE, None, None, run, outcome.started, outcome.ended, worker=outcome.worker)
        )

    def _store_result(self, result: Result) -> None:
        versions = {"course": self._basis.course, "warpgrade": self._basis.warpgrade} | dict(result.versions)
        result = replace(result, versions=versions, sandbox=result.sandbox if self._maker.sandbox else "none")
        self._store.add(result)
        self._verdicts[result.verdict] += 1
        self._told(result)

    def _require(self, result: Result, outcome: Outcome) -> None:
        """Raises what makes all further results of this worker worthless."""
        assert outcome.document is not None
        if refused := outcome.document.get("refused"):
            raise Unsupported(f"{outcome.worker}: {refused}", hint=NO_LANDLOCK_HINT)
        if (found := result.versions.get("warpgrade")) != self._basis.warpgrade:
            hint = "install the same version on every machine"
            message = f"{outcome.worker} has warpgrade {found}, and this run has {self._basis.warpgrade}"
            raise UsageError(message, code="other_version", hint=hint)


ASIDE_HINT = "read the file, and grade it again alone (`grade class run --again --student … --exercise …`) or override \
its points"


def result_of(outcome: Outcome, attempts: int) -> Result:
    """The result in a worker's document. What could not be graded has no points."""
    document = outcome.document or {}
    run: Mapping[str, Any] = document.get("run", {"verdict": "error", "score": 0, "max_score": 0, "sandbox": "none"})
    graded = run["max_score"] > 0 and run["verdict"] != "error"
    return Result(
        submission=outcome.task.submission,
        verdict=run["verdict"],
        points=float(run["score"]) if graded else None,
        max_points=float(run["max_score"]) if graded else None,
        run=run,
        started=outcome.started,
        ended=outcome.ended,
        attempts=attempts,
        worker=outcome.worker,
        sandbox=run["sandbox"],
        machine=dict(document.get("machine", {})) | ({"gpu_number": outcome.gpu} if outcome.gpu else {}),
        versions=document.get("versions", {}),
    )
