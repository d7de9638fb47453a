"""Grading in workers of dask.distributed: real ones of this machine, of which one is killed."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys

import psutil
import pytest

from grader.classroom.engines import dask as engines
from grader.classroom.engines.dask import SlurmTemplate, read_template
from grader.classroom.records import AssignedExercise, Assignment, ClassSubmission, SubmittedFile
from grader.classroom.run import ClassRun, TaskMaker
from grader.classroom.store import Basis, Store
from grader.errors import Unsupported, UsageError

ASSIGNMENT = Assignment("week4", "Week 4", (AssignedExercise("vector_add"),), backend="sim")


def basis() -> Basis:
    from grader import __version__

    return Basis(__version__, "1", "vector_add", "sim", "aa")


def submitted(folder, student: str) -> ClassSubmission:
    content = f"this is not CUDA, says {student}".encode()
    (folder / f"{student}.cu").write_bytes(content)
    return ClassSubmission(
        student, "vector_add", 1, (SubmittedFile(f"{student}.cu", hashlib.sha256(content).hexdigest()),)
    )


@pytest.mark.slow
def test_a_killed_worker_of_dask_is_replaced_and_its_submission_graded_elsewhere(tmp_path):
    pytest.importorskip("distributed")
    submissions = [submitted(tmp_path, student) for student in ("ada", "bob", "eve")]
    killed: list[int] = []

    with engines.on_this_machine(2, ()) as engine, Store.open(tmp_path) as store:
        hosts = list(engine._client.run(os.getpid).values())

        def kill_one_that_grades(result) -> None:
            grading = [pid for pid in hosts if not killed and psutil.Process(pid).children()]
            for pid in grading[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

        run = ClassRun(
            store, engine, TaskMaker(tmp_path, ASSIGNMENT, b"secret"), basis(), submissions, kill_one_that_grades
        )
        assert run.run()
        engine._client.wait_for_workers(2, timeout=120)  # the killed one has a successor
        results = store.results()
    assert killed
    assert run.watched.deaths in (1, 2)  # another task may have been waiting there
    assert {result.submission: result.verdict for result in results} == {
        one.key: "compile_error" for one in submissions
    }
    assert not [pid for pid in hosts if psutil.pid_exists(pid)]


def test_grading_one_file_imports_no_dask():
    program = (
        "import sys, grader; verdict = grader.grade('vector_add', source='not CUDA', backend='sim'); "
        "import grader.cli.commands, grader.cli.classroom_run; "
        "print([name for name in sys.modules if name.split('.')[0] in ('dask', 'distributed', 'dask_jobqueue')])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"


def test_without_the_extra_the_option_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    with pytest.raises(Unsupported, match="--workers needs dask") as error:
        engines.on_this_machine(2, ())
    assert error.value.hint == "`pip install 'warpgrade[class]'` installs it"


def test_a_gpu_has_one_worker():
    with pytest.raises(UsageError, match="3 workers for 2 GPUs"):
        engines.on_this_machine(3, ("0", "1"))


def test_the_template_says_how_slurm_starts_the_workers(tmp_path):
    path = tmp_path / "slurm.toml"
    path.write_text('workers = 4\ngpus = 1\ncores = 8\nqueue = "gpu"\ndirectives = ["--constraint=h200"]\n')
    template = read_template(path)
    assert template == SlurmTemplate(workers=4, gpus=1, cores=8, queue="gpu", directives=("--constraint=h200",))
    options = template.options(str(tmp_path), wants_gpus=True)
    assert options["cores"] == 1  # one submission at a time
    assert options["job_cpu"] == 8
    assert options["job_extra_directives"] == ["--gres=gpu:1", "--constraint=h200"]
    assert options["worker_extra_args"] == ["--no-dashboard", "--resources", "GPU=1"]
    assert template.options(str(tmp_path), wants_gpus=False)["cores"] == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker = 4", "worker is no field"),
        ('workers = "4"', "workers must be a number"),
        ("workers = -1", "workers must be a number"),
        ("queue = 4", "queue must be a text in quotes"),
        ("prologue = [1]", "prologue must be a list of texts"),
        ("workers =", "slurm.toml: "),
    ],
)
def test_a_wrong_field_of_the_template_is_named(tmp_path, text, message):
    path = tmp_path / "slurm.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_template(path)


def test_a_template_without_gpus_is_refused_where_the_assignment_needs_them(tmp_path):
    path = tmp_path / "slurm.toml"
    path.write_text("workers = 1")
    with pytest.raises(UsageError, match="have no GPU"):
        engines.on_slurm(path, "gpu")
    with pytest.raises(UsageError, match="cannot be read"):
        engines.on_slurm(tmp_path / "none.toml", "sim")
