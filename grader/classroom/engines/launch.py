"""Starting workers: each has a folder of its own for its files and its cache, and is killed as a whole if it hangs.

    launcher = Launcher(threads=1)
    outcome = launcher.run(task)             in a thread that lives as long as the launcher: a worker ends with it

**Who writes which cache.** A simulator's child names the machine code that it hands to its parent, so a submission that
takes its child over could store code under the name of another one's kernel. Therefore a worker's cache is in its own
folder and is deleted with it. It begins with what the course's own solution of that exercise left in a cache (`warm`):
the functions that kernels share, and on a GPU the grader's own kernels, take as long to compile as all the rest of a
small grading. Only the launcher writes there, and only from a worker that never saw a submission. Copies are hard
links: a file of a cache is replaced, never changed.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from grader.classroom.engines.base import Outcome, WorkerTask
from grader.classroom.worker import file_names, request_of
from grader.errors import Unsupported, WarpgradeError
from grader.paths import cache_folder
from grader.process.channel import ChannelError, ChannelTimeout
from grader.process.child import Child, Closing, spawn

VISIBLE = "CUDA_VISIBLE_DEVICES"
WAIT_S = 5.0  # for the exit status of a worker that has closed its channel
TAIL_LINES = 3  # of what a dead worker wrote to standard error


class Launcher(Closing):
    """Starts workers; thread-safe. ``threads`` are those of each simulator.

    ``user`` is the user and the group as which a worker's children run: not its own, where root grades in a container.
    """

    def __init__(self, *, threads: int = 1, user: tuple[int, int] | None = None) -> None:
        self._threads = threads
        self._user = user
        self._lock = Lock()
        self._running: set[Child] = set()
        self._own: dict[str, tuple[WorkerTask, Path] | None] = {}  # by exercise
        self._closed = False
        remove_left_over()

    def run(self, task: WorkerTask, gpus: Sequence[str] = ()) -> Outcome:
        """Grade one submission in a worker of its own, with these GPUs alone (as CUDA_VISIBLE_DEVICES names them).

        Raises Unsupported if its folder cannot be written, LauncherClosed.
        """
        try:
            trusted = self._warm(task, gpus) if not self._user else None
            with work_folder() as folder:
                if trusted is not None:
                    _link_all(trusted, folder / "cache")
                return self._in_folder(task, folder, gpus)
        except OSError as error:
            place = cache_folder("class")
            hint = "WARPGRADE_CACHE names another folder; the run goes on where it was"
            raise Unsupported(f"{place} cannot be used: {error.strerror or error}", hint=hint) from None

    def close(self) -> None:
        """Kill the workers in flight, and start no more."""
        with self._lock:
            self._closed = True
            for child in self._running:
                kill_tree(child.pid)

    def _in_folder(self, task: WorkerTask, folder: Path, gpus: Sequence[str]) -> Outcome:
        started = datetime.now(UTC)
        environment = dict(os.environ) | {"WARPGRADE_CACHE": str(folder / "cache")}
        if task.gpus:
            environment |= {VISIBLE: ",".join(gpus)}
        (folder / "files").mkdir()
        for name, content in zip(file_names(task.exercise), (task.kernel, task.host), strict=True):
            if content is not None:
                (folder / "files" / name).write_bytes(content)
        turn = [str(cache_folder("class", f"gpu-{platform.node()}-{gpu}.lock")) for gpu in gpus if task.gpus]
        with self._started(environment, str(folder / "files")) as child:
            request = request_of(task, self._threads, turn) | ({"user": self._user} if self._user else {})
            answer, reason = self._answer(child, request, task.wall_s)
            worker = f"process {child.pid} on {platform.node()}"
        return Outcome(task, worker, started, datetime.now(UTC), answer, reason, ",".join(gpus) if task.gpus else "")

    @contextlib.contextmanager
    def _started(self, environment: dict[str, str], cwd: str) -> Iterator[Child]:
        with self._lock:
            if self._closed:
                raise LauncherClosed
            child = spawn("grader.classroom.worker", env=environment, cwd=cwd)
            self._running.add(child)
        try:
            yield child
        finally:
            with self._lock:  # the number of a process that is reaped may be another's
                self._running.discard(child)
                child.kill()
            child.close()

    def _answer(self, child: Child, request: dict[str, Any], wall_s: float) -> tuple[dict[str, Any] | None, str]:
        """The document; or None, and why there is none."""
        try:
            child.channel.send(request)
            return child.channel.receive(wall_s)[0], ""
        except ChannelTimeout:
            kill_tree(child.pid)
            return None, f"the worker did not end within {wall_s:g} s, and was killed"
        except ChannelError:
            return None, self._death(child)

    def _death(self, child: Child) -> str:
        """``the worker was ended by SIGSEGV``, and the last lines of its standard error."""
        with self._lock:
            child.wait(WAIT_S)
        how = f"was ended by {child.signal_name}" if child.signal_name else f"ended with status {child.returncode}"
        last = [line.strip() for line in child.stderr.splitlines() if line.strip()][-TAIL_LINES:]
        return ": ".join((f"the worker {how}", *[" / ".join(last)] * bool(last)))

    # ------------------------------------------------------------------------------------------------------ warm caches

    def _warm(self, task: WorkerTask, gpus: Sequence[str]) -> Path | None:
        """The cache that the course's own files of this exercise left; None if they could not be graded."""
        if task.exercise not in self._own:
            self._own[task.exercise] = own_files(task)
        warm = self._own[task.exercise]
        if warm is None:
            return None
        own, folder = warm
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with _locked(folder.with_suffix(".lock")):
                if not folder.is_dir() and self._own[task.exercise] and not self._filled(own, folder, gpus):
                    self._own[task.exercise] = None
        return folder if folder.is_dir() else None

    def _filled(self, own: WorkerTask, folder: Path, gpus: Sequence[str]) -> bool:
        """Grade the course's own files, and keep the cache that they leave; False if the worker died."""
        with work_folder() as work:
            (work / "cache").mkdir()
            if self._in_folder(own, work, gpus).document is None:
                return False
            with contextlib.suppress(OSError):  # another machine with the same cache folder was faster
                (work / "cache").rename(folder)
            return True


class LauncherClosed(WarpgradeError):
    """Raised when a task comes after `Launcher.close`."""

    def __init__(self) -> None:
        super().__init__("the run is ending")


def own_files(task: WorkerTask) -> tuple[WorkerTask, Path] | None:
    """The course's solution, else its stub, as a task of its own, and the folder for its cache."""
    from grader.catalog.exercises import load_catalog
    from grader.compile.cache import digest
    from grader.simt.engine.code_cache import engine_key

    try:
        entry = load_catalog([Path(course) for course in task.courses]).find(task.exercise)
        kernel = (entry.solution or entry.stub).read_bytes()
        place = entry.solution_host_file if entry.solution else entry.host_file
        host = place.read_bytes() if place is not None else None
    except (WarpgradeError, OSError):
        return None
    name = digest(engine_key(), task.backend, task.exercise, kernel, host or b"")[:16]
    own = replace(task, submission="", kernel=kernel, host=host, seed=1, variant="")
    return own, cache_folder("class", "warm", f"{task.exercise}-{name}")


def _link_all(source: Path, target: Path) -> None:
    """A folder with the same files; where the file system has no links, with copies."""

    def link(old: str, new: str) -> None:
        try:
            os.link(old, new)
        except OSError:
            shutil.copyfile(old, new)

    shutil.copytree(source, target, copy_function=link)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --------------------------------------------------------------------------------------------- folders and processes


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """A folder for one worker, beside the warm caches so that files can be linked."""
    folder = new_work_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_work_folder() -> Path:
    """A folder whose name says whose it is: the first launcher after the end of this process removes it."""
    parent = cache_folder("class", "work")
    parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{platform.node()}~{os.getpid()}~", dir=parent))


def remove_left_over() -> None:
    """Remove the folders of processes of this machine that were killed."""
    for folder in cache_folder("class", "work").glob(f"{platform.node()}~*~*"):
        process = folder.name.split("~")[1]
        if process.isdigit() and not Path(f"/proc/{process}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def kill_tree(pid: int) -> None:
    """Kill a process with all that it has started, also what has a session of its own."""
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        process.suspend()  # it starts no more
        for one in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.Error):
                one.send_signal(signal.SIGKILL)
