"""`dask.distributed`: the same workers, started inside dask's workers on this machine, on others, or by Slurm.

    run ──submit(graded_here, task)──▶ scheduler ──▶ dask worker ──Launcher──▶ grader.classroom.worker
        ◀─────────Outcome────────────                (one for each GPU)

A submission's files travel with the task: workers need no common folder, only the same warpgrade and course. GPUs are a
resource of dask, so that no two tasks share one. A dask worker that dies is replaced (by its nanny, or by Slurm); what
it graded counts as a death and is graded elsewhere. This module and `dask` are imported only when asked for.
"""

from __future__ import annotations

import logging
import os
import signal
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from grader.classroom.engines.base import Engine, Outcome, WorkerTask
from grader.classroom.engines.launch import VISIBLE, Launcher, new_work_folder, remove_left_over
from grader.classroom.engines.local import processors
from grader.errors import Unsupported, UsageError
from grader.expressions import did_you_mean
from grader.frozen import dataclass
from grader.text import counted

if TYPE_CHECKING:
    from distributed import Client, Future, SpecCluster

INSTALL = "`pip install 'warpgrade[class]'` installs it"
CONNECT_S = 20.0
LOOK_S = 1.0  # between two looks at the number of workers
GPU = "GPU"  # the name of the resource
# TLS with a key of this run alone, for which dask needs `cryptography`: who reaches a scheduler can run code.
SECURE: Mapping[str, Any] = {"security": True, "protocol": "tls://"}
PAGES = "127.0.0.1:0"  # where a scheduler shows its pages: any free port, to this machine alone


# ------------------------------------------------------------------------------------------- inside a worker of dask

_launchers: dict[str, Launcher] = {}  # by run: an address may serve several classes


def graded_here(task: WorkerTask, run: str, gpus: Sequence[str]) -> Outcome:
    """Grade one submission in this process of dask. ``gpus``: by the number of dask's worker; () if it knows."""
    from distributed import get_worker

    threads = max(1, processors() // max(1, len(gpus))) if task.gpus else 1
    launcher = _launchers.get(run) or _launchers.setdefault(run, Launcher(threads=threads))
    mine = [gpus[int(get_worker().name)]] if gpus else visible() if task.gpus else []
    return launcher.run(task, mine[: task.gpus])


def dask_setup(worker: object) -> None:
    """Called by dask when one of its workers starts (``preload``): Ctrl-C is for the run, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def visible() -> list[str]:
    """The GPUs of this process, as CUDA_VISIBLE_DEVICES names them: Slurm and people set it."""
    if named := os.environ.get(VISIBLE):
        return named.split(",")
    from grader.gpus.detect import count

    return list(map(str, range(count())))


def end_here(run: str) -> None:
    """Kill the workers of a run in this process of dask."""
    if launcher := _launchers.pop(run, None):
        launcher.close()


# ---------------------------------------------------------------------------------------------------------- the engine


class DaskEngine(Engine):
    """Workers in a cluster of dask. ``gpus`` of this machine are given to its workers by their numbers."""

    def __init__(
        self, client: Client, opened: ExitStack, name: str, *, wants_gpus: bool, gpus: Sequence[str] = ()
    ) -> None:
        self._client, self._opened, self._name = client, opened, name
        self._wants_gpus, self._numbered = wants_gpus, tuple(gpus)
        self._run = uuid4().hex
        self._flying: dict[Future, tuple[WorkerTask, datetime]] = {}
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._slots, self._looked_at = 0, 0.0
        self._look()

    @property
    def words(self) -> str:
        self._look()
        if not self._slots:
            return f"{self._name}, which has no worker yet"
        return f"{self._name}, {counted(self._slots, 'GPU') if self._wants_gpus else f'{self._slots} at once'}"

    @property
    def uses_gpus(self) -> bool:
        return self._wants_gpus

    def has_room(self, task: WorkerTask) -> bool:
        self._look()
        return len(self._flying) < self._slots

    def submit(self, task: WorkerTask) -> None:
        resources = {GPU: task.gpus} if task.gpus else None
        future = self._client.submit(
            graded_here, task, self._run, self._numbered, pure=False, resources=resources, retries=0
        )
        self._flying[future] = task, datetime.now(UTC)
        future.add_done_callback(self._ended.put)

    def next(self, timeout_s: float) -> Outcome | None:
        """Raises Unsupported if the scheduler is gone, or a worker of dask cannot start workers."""
        try:
            future = self._ended.get(timeout=timeout_s)
        except Empty:
            self._require_scheduler()
            return None
        task, started = self._flying.pop(future)
        return self._outcome(future, task, started)

    def close(self) -> None:
        with suppress(Exception):  # a cluster that is gone has nothing to end
            self._client.cancel(list(self._flying), force=True)
            self._client.run(end_here, self._run, on_error="ignore")
        self._opened.close()

    def _outcome(self, future: Future, task: WorkerTask, started: datetime) -> Outcome:
        from distributed import KilledWorker

        try:
            outcome: Outcome = future.result(timeout=CONNECT_S)
        except KilledWorker as error:
            worker = f"dask's worker at {error.last_worker.address}"
            return Outcome(task, worker, started, datetime.now(UTC), reason=f"{worker} ended")
        except Exception as error:
            self._require_scheduler()
            message = f"a worker of dask cannot grade: {type(error).__name__}: {error}"
            hint = "install the same warpgrade where the workers run, with the same Python"
            raise Unsupported(message, hint=hint) from None
        finally:
            future.release()
        return outcome

    def _require_scheduler(self) -> None:
        if self._client.status not in ("running", "connecting"):
            hint = "what is stored stays: start the run again, which grades only what is missing"
            raise Unsupported(f"the scheduler of {self._name} is gone", hint=hint)

    def _look(self) -> None:
        """Count what the workers can grade at once, at most once a second."""
        if time.monotonic() - self._looked_at < LOOK_S:
            return
        self._looked_at = time.monotonic()
        with suppress(OSError, TimeoutError):
            self._slots = sum(map(self._slots_of, self._client.scheduler_info(n_workers=-1)["workers"].values()))

    def _slots_of(self, worker: Mapping[str, Any]) -> int:
        threads = int(worker["nthreads"])
        return min(threads, int(worker["resources"].get(GPU, 0))) if self._wants_gpus else threads


def require_dask(option: str) -> None:
    """Raise Unsupported, with how to install it, where the extra is missing."""
    if any(find_spec(name) is None for name in ("distributed", "dask_jobqueue", "cryptography")):
        raise Unsupported(f"{option} needs dask.distributed, which is not installed", hint=INSTALL)


def _folder() -> str:
    """A folder for what dask writes. It stays until the next run: dask removes its keys when this process ends."""
    remove_left_over()
    return str(new_work_folder())


# ---------------------------------------------------------------------------------------------------- kinds of clusters


def on_this_machine(workers: int, gpus: Sequence[str]) -> DaskEngine:
    """Workers on this machine: processes, or one for each of the first GPUs."""
    require_dask("--workers")
    if gpus and workers > len(gpus):
        hint = "a GPU has one worker; leave --workers out to use all of them"
        raise UsageError(
            f"{counted(workers, 'worker')} for {counted(len(gpus), 'GPU')}", code="too_few_gpus", hint=hint
        )
    import dask
    from distributed import LocalCluster

    with ExitStack() as opening:
        dask.config.set({"distributed.scheduler.allowed-failures": 0})  # the run counts deaths itself
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=PAGES,
            memory_limit=0, silence_logs=logging.CRITICAL, resources={GPU: 1} if gpus else None,
            local_directory=_folder(), preload=[__name__], **SECURE,
        )  # fmt: skip
        return _engine(cluster, opening, "dask here", wants_gpus=bool(gpus), gpus=gpus[:workers])


def at_scheduler(address: str, backend: str) -> DaskEngine:
    """The workers of a running scheduler; with ``auto`` those with a GPU, if there are any."""
    require_dask("--scheduler")
    from distributed import Client

    with ExitStack() as opening:
        try:
            client = Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            hint = "`dask scheduler` prints its address, such as tcp://10.0.0.5:8786"
            raise UsageError(f"there is no scheduler at {address}: {error}", code="no_scheduler", hint=hint) from None
        opening.enter_context(client)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        wants_gpus = backend == "gpu" or (backend == "auto" and any(GPU in one["resources"] for one in workers))
        return DaskEngine(client, opening.pop_all(), f"dask at {address}", wants_gpus=wants_gpus)


def on_slurm(path: Path, backend: str) -> DaskEngine:
    """Workers that Slurm starts, as the template says; with ``auto`` its jobs decide whether GPUs are used."""
    require_dask("--slurm")
    template = read_template(path)
    if backend == "gpu" and not template.gpus:
        hint = 'write gpus = 1 into it, or backend = "sim" into assignment.toml'
        raise UsageError(f"the jobs of {path} have no GPU", code="bad_slurm", hint=hint)
    wants_gpus = backend != "sim" and template.gpus > 0
    import dask
    from dask_jobqueue import SLURMCluster

    with ExitStack() as opening:
        dask.config.set({"distributed.scheduler.allowed-failures": 0})
        cluster = SLURMCluster(**template.options(_folder(), wants_gpus=wants_gpus))
        cluster.adapt(minimum_jobs=template.workers, maximum_jobs=template.workers, interval="2s")
        return _engine(cluster, opening, f"Slurm ({path.name})", wants_gpus=wants_gpus)


def _engine(
    cluster: SpecCluster, opening: ExitStack, name: str, *, wants_gpus: bool, gpus: Sequence[str] = ()
) -> DaskEngine:
    from distributed import Client

    opening.enter_context(cluster)
    client = opening.enter_context(Client(cluster, set_as_default=False))
    return DaskEngine(client, opening.pop_all(), name, wants_gpus=wants_gpus, gpus=gpus)


# -------------------------------------------------------------------------------------------------------- the template


@dataclass(frozen=True)
class SlurmTemplate:
    """What `slurm.toml` says: how Slurm starts the workers. docs/classes.md explains each field."""

    workers: int = 1  # jobs, each with one worker of dask
    cores: int = 1  # of a job; without a GPU it grades so many at once
    memory: str = "8 GB"
    walltime: str = "02:00:00"
    gpus: int = 0
    queue: str = ""
    account: str = ""
    interface: str = ""  # of the network between the machines
    python: str = ""  # of the workers; default: the one that runs this
    directives: tuple[str, ...] = ()  # more lines of #SBATCH
    prologue: tuple[str, ...] = ()  # shell lines before the worker starts

    def options(self, folder: str, *, wants_gpus: bool) -> dict[str, Any]:
        """The arguments of dask-jobqueue. A job with GPUs grades one submission at a time."""
        gpus = [f"--gres=gpu:{self.gpus}"] if self.gpus else []
        return {
            "cores": 1 if wants_gpus else self.cores,
            "job_cpu": self.cores,
            "processes": 1,
            "memory": self.memory,
            "walltime": self.walltime,
            "queue": self.queue or None,
            "account": self.account or None,
            "interface": self.interface or None,
            "python": self.python or None,
            "job_extra_directives": [*gpus, *self.directives],
            "job_script_prologue": list(self.prologue),
            "worker_extra_args": ["--no-dashboard", *(["--resources", f"{GPU}={self.gpus}"] if wants_gpus else [])],
            "log_directory": folder,
            "shared_temp_directory": folder,
            "scheduler_options": {"dashboard_address": PAGES},
            "silence_logs": logging.CRITICAL,
            **SECURE,
        }


_KINDS: Mapping[type, str] = {int: "a number", str: "a text in quotes", tuple: "a list of texts"}


def read_template(path: Path) -> SlurmTemplate:
    """The template. Raises UsageError, naming the field, for what is not valid."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "docs/classes.md has an example"
        raise UsageError(f"{path} cannot be read: {error.strerror}", code="no_slurm", hint=hint) from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}", code="bad_slurm") from None
    usual = asdict(SlurmTemplate())
    for name, value in values.items():
        values[name] = value = _frozen(value)
        if name not in usual:
            hint = did_you_mean(name, usual) or f"the fields are {', '.join(usual)}"
            raise UsageError(f"{path}: {name} is no field", code="bad_slurm", hint=hint)
        if type(value) is not type(usual[name]) or (isinstance(value, int) and value < 0):
            raise UsageError(f"{path}: {name} must be {_KINDS[type(usual[name])]}", code="bad_slurm")
    return SlurmTemplate(**values)


def _frozen(value: object) -> object:
    """A list of texts as a tuple; anything else as it is."""
    return tuple(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else value
