"""Workers of this machine: what one does ends with it, and what a submission compiled is for that submission alone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from grader import grade
from grader.classroom.engines.base import Outcome, WorkerTask
from grader.classroom.engines.launch import Launcher
from grader.classroom.engines.local import LocalEngine
from grader.classroom.turns import InTurn, Turn
from grader.errors import Unsupported
from grader.paths import cache_folder

KERNEL = b"""// launch vector_add(a, b, c, n): grid=cdiv(n, 256) block=256
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
TASK = WorkerTask("ada/vector_add/1", "vector_add", KERNEL, seed=7)


@pytest.fixture(scope="module")
def launcher():
    with Launcher() as launcher, ThreadPoolExecutor(2) as threads:
        launcher.threads = threads
        yield launcher


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def left_over() -> Callable[[], set[Path]]:
    """The folders that a test leaves; those of dask stay until this process ends."""

    def folders() -> set[Path]:
        return set(cache_folder("class", "work").glob(f"*~{os.getpid()}~*"))

    before = folders()
    return lambda: folders() - before


def test_a_worker_grades_as_the_api_does_and_its_machine_code_goes_with_it(launcher, left_over):
    outcome = launcher.threads.submit(launcher.run, TASK).result()
    run = outcome.document["run"]
    here = grade("vector_add", source=KERNEL.decode(), backend="sim", seed=7).to_dict()
    assert {name: run[name] for name in ("verdict", "score", "file")} == {
        "verdict": "pass", "score": here["score"], "file": "vector_add.cu",
    }  # fmt: skip
    assert [launch["counters"] for launch in run["launches"]] == [launch["counters"] for launch in here["launches"]]
    assert run["seed"] is None
    assert run.keys() == here.keys()
    assert left_over() == set()
    (folder,) = cache_folder("class", "warm").glob("vector_add-*/sim")
    warm = files_below(folder)
    other = launcher.threads.submit(launcher.run, TASK).result()
    assert other.document["run"] | {"elapsed_s": 0} == run | {"elapsed_s": 0}
    assert files_below(folder) == warm != set()


def test_a_worker_that_hangs_is_killed_with_all_that_it_started(launcher, left_over):
    outcome = launcher.threads.submit(launcher.run, replace(TASK, wall_s=0.01)).result()
    assert outcome.document is None
    assert outcome.reason == "the worker did not end within 0.01 s, and was killed"
    assert left_over() == set()


def test_a_worker_that_is_killed_is_reported_with_its_signal(launcher):
    future = launcher.threads.submit(launcher.run, TASK)
    while not launcher._running:
        assert not future.done()
    (child,) = launcher._running
    os.kill(child.pid, signal.SIGKILL)
    assert future.result().reason == "the worker was ended by SIGKILL"


def test_an_engine_that_is_closed_ends_its_workers(left_over):
    engine = LocalEngine(1)
    assert engine.has_room(TASK)
    engine.submit(TASK)
    assert not engine.has_room(TASK)
    engine.close()
    assert left_over() == set()


def test_a_gpu_has_two_workers_in_flight_and_a_task_for_several_gpus_has_them_alone(monkeypatch):
    ran = []

    def run(self, task, gpus=()):
        ran.append(gpus)
        return Outcome(task, "", None, None, {})

    monkeypatch.setattr(Launcher, "run", run)
    task = replace(TASK, backend="auto", gpus=1)
    several = replace(TASK, backend="auto", gpus=8)  # more than there are: it has all, and its verdict says so
    with LocalEngine(1, ("0", "2")) as engine:
        for _ in range(4):
            assert engine.has_room(task)
            engine.submit(task)
        assert not engine.has_room(task)
        for _ in range(4):
            assert not engine.has_room(several)
            assert engine.next(10) is not None
        engine.submit(several)
        assert not engine.has_room(task)
        assert engine.next(10) is not None
        assert engine.has_room(task)
    assert sorted(ran) == [("0",), ("0",), ("0", "2"), ("2",), ("2",)]


class OneGpu:
    """A GPU's backend as far as turns need it."""

    name = "gpu"

    def __init__(self, log):
        self.log = log

    def open(self, program, limits):
        self.log.append(f"{program} opens")

    def close(self):
        self.log.append("closes")


def test_two_workers_of_one_gpu_use_it_one_after_the_other(tmp_path):
    log: list[str] = []
    turns = [Turn([str(tmp_path / "gpu-0.lock")]) for _ in range(2)]
    first, second = (InTurn(OneGpu(log), turn) for turn in turns)
    first.start()
    first.open("first", None)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(second.open, "second", None)
        log.append("first is timed")
        first.close()
        waiting.result()
    second.close()
    assert log == ["first opens", "first is timed", "closes", "second opens", "closes"]
    assert turns[0].held["gpu_until"] <= turns[1].held["gpu_from"]


def test_what_cannot_be_found_is_an_error_and_not_a_death(launcher):
    outcome = launcher.threads.submit(launcher.run, replace(TASK, exercise="no_such_one")).result()
    assert outcome.document["run"]["verdict"] == "error"


def test_a_folder_that_cannot_be_written_ends_the_run_and_blames_no_submission(launcher, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("WARPGRADE_CACHE", str(tmp_path / "file"))
    with pytest.raises(Unsupported, match="cannot be used: Not a directory"):
        launcher.threads.submit(launcher.run, replace(TASK, backend="gpu")).result()
