"""A run of a class, with an engine that is told what its workers do."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from grader.classroom.engines.base import Engine, Outcome, WorkerTask
from grader.classroom.records import AssignedExercise, Assignment, ClassSubmission, SubmittedFile
from grader.classroom.run import ClassRun, TaskMaker
from grader.classroom.store import Basis, Store
from grader.errors import Unsupported, UsageError

NOW = datetime(2026, 11, 21, 17, 5, tzinfo=UTC)
BASIS = Basis("0.1.0", "1 (aa)", "vector_add", "sim", "bb")
ASSIGNMENT = Assignment("week4", "Week 4", (AssignedExercise("vector_add"),), backend="sim", attempts=3)


class ScriptedEngine(Engine):
    """Answers each task with the next word of its student: a verdict, or how the worker dies."""

    words, uses_gpus = "scripted", False

    def __init__(self, scripts: dict[str, list[str]], at_once: int = 2) -> None:
        self.scripts = {student: deque(words) for student, words in scripts.items()}
        self.at_once = at_once
        self.running: deque[WorkerTask] = deque()
        self.started: list[str] = []
        self.keys: list[str] = []

    def has_room(self, task):
        return len(self.running) < self.at_once

    def submit(self, task):
        assert self.has_room(task)
        self.running.append(task)
        self.keys.append(task.submission)
        self.started.append(task.submission.split("/")[0])

    def next(self, timeout_s):
        if not self.running:
            return None
        task = self.running.popleft()
        word = self.scripts[task.submission.split("/")[0]].popleft()
        outcome = Outcome(task, "process 7 on lab", NOW, NOW)
        if word.startswith("SIG"):
            return replace(outcome, reason=f"the worker was ended by {word}")
        if word == "no landlock":
            return replace(outcome, document={"refused": "no Landlock"})
        run = {"verdict": word, "score": 80 * (word == "pass"), "max_score": 80, "sandbox": "landlock"}
        return replace(outcome, document={"run": run, "machine": {}, "versions": {"warpgrade": self.version}})

    version = "0.1.0"

    def close(self):
        self.running.clear()


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path) as store:
        yield store


@pytest.fixture
def graded(tmp_path, store):
    """Runs a class of scripted students; returns the run."""

    def run(engine, stops=lambda: False, **changes):
        submissions = [submitted(tmp_path, student) for student in engine.scripts]
        done = store.graded()
        maker = TaskMaker(tmp_path, replace(ASSIGNMENT, **changes), b"secret")
        run = ClassRun(store, engine, maker, BASIS, [one for one in submissions if one.key not in done])
        run.run(stops)
        return run

    return run


def submitted(folder, student: str) -> ClassSubmission:
    content = f"// {student}".encode()
    (folder / f"{student}.cu").write_bytes(content)
    file = SubmittedFile(f"{student}.cu", hashlib.sha256(content).hexdigest())
    return ClassSubmission(student, "vector_add", 1, (file,))


def verdicts(store) -> dict[str, str]:
    return {result.submission.split("/")[0]: result.verdict for result in store.results()}


def test_each_submission_is_graded_once_and_stored(store, graded):
    engine = ScriptedEngine({"ada": ["pass"], "bob": ["wrong"], "eve": ["race"]})
    assert graded(engine).watched.verdicts == {"pass": 1, "wrong": 1, "race": 1}
    assert verdicts(store) == {"ada": "pass", "bob": "wrong", "eve": "race"}
    again = ScriptedEngine({"ada": [], "bob": [], "eve": []})
    graded(again)
    assert again.started == []


def test_what_is_inconclusive_or_a_fault_of_the_grader_is_tried_as_often_as_the_assignment_says(store, graded):
    scripts = {"ada": ["inconclusive", "pass"], "bob": ["inconclusive"] * 3, "eve": ["error", "error", "slow"]}
    graded(ScriptedEngine(scripts))
    assert verdicts(store) == {"ada": "pass", "bob": "inconclusive", "eve": "slow"}
    assert sorted(result.attempts for result in store.results()) == [2, 3, 3]


def test_a_submission_whose_workers_die_is_graded_again_and_then_set_aside(store, graded):
    graded(ScriptedEngine({"ada": ["SIGKILL", "pass"], "eve": ["SIGSEGV"] * 3}))
    assert verdicts(store) == {"ada": "pass", "eve": "set_aside"}
    aside = next(result for result in store.results() if result.verdict == "set_aside")
    assert aside.points is None
    (found,) = aside.run["diagnostics"]
    assert found["message"].endswith("the last time the worker was ended by SIGSEGV")


def test_deaths_are_remembered_when_the_run_is_killed_in_between(store, graded):
    stopped = iter([False, False, True])
    engine = ScriptedEngine({"eve": ["SIGSEGV"] * 3})
    graded(engine, stops=lambda: next(stopped))
    assert len(store.deaths(engine.keys[0])) == 2
    again = ScriptedEngine({"eve": ["SIGSEGV"]})
    graded(again)
    assert verdicts(store) == {"eve": "set_aside"}


def test_a_run_that_is_stopped_leaves_the_rest_for_the_next(store, graded):
    stopped = iter([False, True])
    engine = ScriptedEngine({"ada": ["pass"], "bob": ["pass"], "eve": ["pass"]}, at_once=1)
    graded(engine, stops=lambda: next(stopped))
    assert verdicts(store) == {"ada": "pass"}
    graded(ScriptedEngine({"ada": [], "bob": ["pass"], "eve": ["pass"]}))
    assert verdicts(store) == {"ada": "pass", "bob": "pass", "eve": "pass"}


def test_a_file_that_is_gone_or_was_changed_is_an_error_and_keeps_nobody_waiting(tmp_path, store):
    gone, changed, right = (submitted(tmp_path, student) for student in ("gone", "changed", "right"))
    (tmp_path / "gone.cu").unlink()
    (tmp_path / "changed.cu").write_text("something else")
    engine = ScriptedEngine({"right": ["pass"]})
    ClassRun(store, engine, TaskMaker(tmp_path, ASSIGNMENT, b"secret"), BASIS, [gone, changed, right]).run()
    assert verdicts(store) == {"gone": "error", "changed": "error", "right": "pass"}
    reasons = {result.submission.split("/")[0]: result.run["diagnostics"] for result in store.results()[:2]}
    assert reasons["changed"][0]["message"] == "changed.cu was changed after it was collected"


def test_a_worker_of_another_version_or_without_landlock_ends_the_run(graded):
    engine = ScriptedEngine({"ada": ["pass"]})
    engine.version = "0.2.0"
    with pytest.raises(UsageError, match=r"process 7 on lab has warpgrade 0\.2\.0"):
        graded(engine)
    with pytest.raises(Unsupported, match="no Landlock"):
        graded(ScriptedEngine({"bob": ["no landlock"]}))


def test_the_same_submission_and_secret_make_the_same_task(tmp_path):
    submission = submitted(tmp_path, "ada")
    maker = TaskMaker(tmp_path, ASSIGNMENT, b"secret")
    assert maker.task(submission) == maker.task(submission)
    assert maker.task(submission).seed != replace(maker, secret=b"other").task(submission).seed


def test_a_student_gets_the_form_that_the_secret_chooses(tmp_path):
    submissions = [submitted(tmp_path, f"s{number}") for number in range(20)]
    maker = TaskMaker(tmp_path, replace(ASSIGNMENT, variants=True), b"secret", {"vector_add": ("plain", "reversed")})
    assert {maker.task(one).variant for one in submissions} == {"plain", "reversed"}
    plain = replace(maker, assignment=ASSIGNMENT)
    assert {plain.task(one).variant for one in submissions} == {"plain"}
