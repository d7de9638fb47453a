"""Grades one submission: `python -m grader.classroom.worker`, started by `engines.launch` for each.

    run ──task──▶ worker ──▶ compiler, simulator, GPU: children with their sandboxes
        ◀─document──

The worker is the grader's own code; the submission runs in the worker's children, as always. What it does to the worker
all the same (a fault of the grader, all memory used) ends with the worker. Task and document pass through the private
channel of `grader.process`, and the worker ends with the process that started it.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from grader.backends import starting
from grader.classroom.engines.base import WorkerTask
from grader.classroom.turns import InTurn, Turn
from grader.errors import UsageError, WarpgradeError
from grader.process.channel import attach
from grader.process.child import run_children_as, runs_as_another_user
from grader.verdict import STAGES, Diagnostic, StageResult, Verdict


def main() -> None:
    """Answer the parent's one task."""
    channel, sandbox = attach()
    sandbox.apply()
    request, _ = channel.receive(None)
    threads, turn = int(request.pop("threads")), Turn(request.pop("turn"))
    if user := request.pop("user", None):
        run_children_as(*user)
    channel.send(document(task_from(request), threads, turn))


FILES = ("kernel", "host")  # fields of a task that the launcher has written into the worker's folder


def request_of(task: WorkerTask, threads: int, turn: Sequence[str]) -> dict[str, Any]:
    """The task as a message, without its files. ``threads`` are those of the simulator, ``turn`` the GPUs' locks."""
    values = {field.name: getattr(task, field.name) for field in fields(task) if field.name not in FILES}
    return values | {"threads": threads, "turn": list(turn)}


def task_from(request: Mapping[str, Any]) -> WorkerTask:
    """The task of a message, with the files of the current folder."""
    kernel, host = (Path(name) for name in file_names(request["exercise"]))
    content = host.read_bytes() if host.exists() else None
    return WorkerTask(
        **dict(request) | {"courses": tuple(request["courses"])}, kernel=kernel.read_bytes(), host=content
    )


def file_names(exercise: str) -> tuple[str, str]:
    """The names under which files are graded, whatever they were handed in as."""
    return f"{exercise}.cu", f"{exercise}_host.py"


def document(task: WorkerTask, threads: int, turn: Turn) -> dict[str, Any]:
    """Grade the submission in the current folder, which is its own: the run's document, the machine and the versions.

    ``refused`` is there instead if this machine must not grade it.
    """
    from grader.process.sandbox import available
    from grader.render.json import plain, versions

    if task.sandbox and available() == "none" and not runs_as_another_user():
        return {"refused": NO_LANDLOCK}
    verdict = graded(task, threads, turn)
    # The seed is the class's secret: no page or export may have it. What comes next is the teacher's matter.
    verdict = replace(verdict, seed=None, next_step="" if verdict.passed else verdict.next_step)
    run = plain(verdict.to_dict())
    known = {name: version for name, version in versions().items() if version}
    return {"run": run, "machine": machine(task) | turn.held, "versions": known}


NO_LANDLOCK = "this system cannot close its files to a submission's code (no Landlock)"
NO_LANDLOCK_HINT = (
    "grade on Linux 5.13 or later; --no-sandbox grades all the same, with your rights: only for files that \
you trust, or in a container or a virtual machine of their own"
)


def graded(task: WorkerTask, threads: int, turn: Turn) -> Verdict:
    """Grade as `grade NAME` does, with relative paths: no report shows a folder of the teacher."""
    from grader.catalog.exercises import load_catalog
    from grader.catalog.variants import entry_with
    from grader.grading.grade import grade
    from grader.grading.services import Hardware, Task
    from grader.practice.moved import refuse_old

    if task.host is None:  # a host exercise needs other children
        starting.start_early(simulator=task.backend != "gpu")
    path = Path(file_names(task.exercise)[0])
    try:
        catalog = load_catalog([Path(course) for course in task.courses])
        entry = catalog.find(task.exercise)
        entry = entry_with(entry, task.variant) if task.variant else entry
        one = Task(entry, path)
        refuse_old(catalog, entry, path, one.host_file)
        request = Hardware.found(task.backend, 0).request(one, seed=task.seed, sandbox=task.sandbox, threads=threads)
        if request.services.gpu is not None:
            services = replace(request.services, gpu=InTurn(request.services.gpu, turn))
            request = replace(request, services=services)
        return grade(request)
    except UsageError as error:
        word = "invalid" if error.code == "moved_exercise" else "error"
        return without_run(task.exercise, word, error)
    finally:
        starting.end_early()


def without_run(exercise: str, word: str, error: WarpgradeError) -> Verdict:
    """The verdict on a submission that was not run."""
    stages = tuple(StageResult(name, "not_graded", error.message if name == STAGES[0] else "") for name in STAGES)
    found = Diagnostic(word, error.message, hint=error.hint)
    return Verdict(exercise, "sim", word, 0, 0, None, stages, diagnostics=(found,), file=f"{exercise}.cu")


@cache
def processor() -> str:
    """The processor's model, as the system names it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def machine(task: WorkerTask) -> dict[str, str]:
    """What graded: host and processor, and the GPU and its driver if it had one."""
    found = {"host": platform.node(), "processor": processor()}
    if task.gpus:
        from grader.errors import Unsupported
        from grader.gpus.detect import detect

        try:
            gpu = detect(0)
        except Unsupported as error:
            return found | {"gpu": "", "why_no_gpu": error.message}
        found |= {"gpu": gpu.name, "driver": gpu.driver, "cuda": gpu.cuda_driver}
    return found
