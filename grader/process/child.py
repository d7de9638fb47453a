"""Child processes: starting (`spawn`), watching and ending them.

`ChildPool` keeps children for the next program: only for programs of the course or a test, where starting a child takes
most of the time.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import IO, Self

from grader.errors import GraderFault
from grader.frozen import dataclass
from grader.paths import PACKAGE
from grader.process.channel import Channel, ChannelClosed, ChannelError
from grader.process.sandbox import Sandbox

ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",  # the same messages and the same text encoding everywhere
    # One thread: a thread that exists before the sandbox is applied would not be restricted, and starting an unused
    # thread pool takes time in every child.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
INHERITED = ("LD_LIBRARY_PATH",)  # so that the child finds the same interpreter and driver libraries
TAIL_BYTES = 64 << 10  # of standard error
PIPE_BYTES = 1 << 20
SESSION_END_S = 2.0
_user: tuple[int, int] | None = None  # user and group of the children; None: those of this process
_OF_A_PROCESS = 2  # in the number of a Linux CPU clock, with a process id: processor time of all threads together

# The child's first lines. -I and -S ignore the environment, the current folder and *.pth code; the search path is the
# parent's, so the child imports the same modules as the parent.
_BOOT = (
    "import sys, json; from importlib import import_module; "
    "sys.path[:] = json.loads(sys.argv.pop(1)); import_module(sys.argv.pop(1)).main()"
)


class Closing(ABC):
    """A context manager that is closed at its end."""

    @abstractmethod
    def close(self) -> None:
        """End it; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Child(Closing):
    """A running child: its channel, the last part of its standard error, and its exit status.

    As a context manager it is killed on exit, with its whole process group, and reaped.
    """

    def __init__(self, process: subprocess.Popen[bytes], channel: Channel) -> None:
        self.channel = channel
        self.pid = process.pid  # of the working process: a fork replaces it with its own when it is ready
        # Both are known after its end: peak resident memory, if that was its own, and user and kernel time.
        self.peak_memory_bytes: int | None = None
        self.cpu_s: float | None = None
        self._process = process
        self._errors = _Tail(process.stderr)
        self._inherited_bytes = _peak_bytes()

    @property
    def stderr(self) -> str:
        """The last 64 KiB that it has written to standard error; complete after its end."""
        if self._process.returncode is not None:
            self._errors.join()  # the pipe may still have unread text
        return self._errors.text()

    @property
    def returncode(self) -> int | None:
        """None while it runs, else its exit status; negative for a signal."""
        return self._process.returncode

    @property
    def signal_name(self) -> str | None:
        """The signal that ended it, e.g. ``SIGSEGV``; None if it still runs or ended by itself."""
        code = self.returncode
        if code is None or code >= 0:
            return None
        try:
            return signal.Signals(-code).name
        except ValueError:  # real-time signals have no names
            return f"signal {-code}"

    def used_s(self) -> float | None:
        """Seconds of processor time so far, of all its threads; None if the system does not report it."""
        try:
            return time.clock_gettime((~self.pid << 3) | _OF_A_PROCESS)
        except OSError:
            return None

    def holds(self) -> tuple[int, int]:
        """Its threads, and its peak memory in bytes: pages, including shared ones, and open anonymous files.

        (0, 0) if the system does not report them.
        """
        folder = Path(f"/proc/{self.pid}")
        try:
            status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
            files = {(file.st_dev, file.st_ino): file for file in map(_status, (folder / "fd").iterdir()) if file}
            unnamed = sum(512 * file.st_blocks for file in files.values() if not file.st_nlink)
            return int(status["Threads"]), 1024 * int(status["VmHWM"].split()[0]) + unnamed
        except (OSError, KeyError, ValueError):
            return 0, 0

    def is_ready(self) -> bool:
        """Whether one of its threads is running or ready to run; False if the system does not report it."""
        try:
            threads = [*Path(f"/proc/{self.pid}/task").iterdir()]
            return any((thread / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"R" for thread in threads)
        except OSError:  # also if a thread ends meanwhile
            return False

    def ended_session(self) -> bool:
        """End the session of a child that forks, and wait for its end; False if the child does not answer."""
        try:
            self.channel.send({"do": "end"})
            while self.channel.receive(SESSION_END_S)[0].get("is") != "ended":
                pass
        except ChannelError:
            return False
        self.pid = self._process.pid
        return True

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until it has ended; returns its exit status, or None after ``timeout_s`` seconds."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        pause_s = 0.0002
        while not self._reaped(block=deadline is None):
            if deadline is not None and time.monotonic() >= deadline:
                return None
            time.sleep(pause_s)
            pause_s = min(0.02, pause_s * 2)
        return self.returncode

    def kill(self) -> None:
        """Kill it with every process of its group, and reap it; does nothing after its end."""
        if self._process.returncode is None:
            # Not reaped yet, so the number cannot belong to another process group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        self.wait()

    def close(self) -> None:
        """Kill it and close the channel."""
        self.kill()
        self.channel.close()
        self._errors.join()

    def _reaped(self, *, block: bool) -> bool:
        if self._process.returncode is not None:
            return True
        # Without reaping it first: while it is a zombie, the number of its process group cannot be used again.
        if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | (0 if block else os.WNOHANG)) is None:
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        if peak_bytes > self._inherited_bytes:  # after fork() the peak begins with the parent's
            self.peak_memory_bytes = peak_bytes
        self.cpu_s = usage.ru_utime + usage.ru_stime
        return True


def _status(path: Path) -> os.stat_result | None:
    """The status of another process's descriptor; None if it is not a file, or was closed meanwhile."""
    with contextlib.suppress(OSError):
        status = path.stat()
        return status if stat.S_ISREG(status.st_mode) else None
    return None


def _peak_bytes() -> int:
    """The peak resident memory of this process, with which a child's ru_maxrss begins; 0 if it does not (not Linux).

    Not this process's ru_maxrss, which begins with its parent's: a large parent would hide every child's peak.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


class _Tail:
    """The last bytes of a stream, read by a thread so that a child with much output neither blocks nor fills memory."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._content = bytearray()
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def text(self) -> str:
        return bytes(self._content).decode("utf-8", "replace")

    def join(self) -> None:
        # With a timeout: a process that left the group may keep the stream open; the thread is a daemon.
        self._thread.join(0.5)

    def _drain(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 1 << 16):
                self._content = (self._content + chunk)[-TAIL_BYTES:]


def run_children_as(user: int, group: int) -> None:
    """From now on, start each child as another user, without further groups. Only root may.

    For a container whose kernel has no Landlock: what only root may read, no child reads.
    """
    global _user
    _user = user, group


def runs_as_another_user() -> bool:
    return _user is not None


def give_to_children(folder: str) -> None:
    """Let children write in a folder that this process has made for them."""
    if _user is not None:
        os.chown(folder, *_user)


def spawn(
    module: str,
    *,
    sandbox: Sandbox | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Iterable[int] = (),
    cwd: str = "/",
    forks: bool = False,
) -> Child:
    """Start ``main()`` of ``module`` in a child process with its own session, and a channel to it.

    Its environment is `ENVIRONMENT`, `INHERITED` and ``env``; other variables of this process are not passed on.
    ``pass_fds`` stay open in the child under the same numbers (for shared mappings). With ``forks`` a module that calls
    `fork_for_each_session` serves one session after another. Raises GraderFault if no process can be started.
    """
    root = str(PACKAGE.parent)
    search_path = [root, *(str(Path(folder).absolute()) for folder in sys.path if folder and folder != root)]
    flags = ["-I", "-S", "-X", "utf8", *(["-B"] if sys.dont_write_bytecode else [])]
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    child_read, parent_write = _pipe()
    parent_read, child_write = _pipe()
    numbers = (child_read, child_write, os.getpid())
    user, group, groups = (None, None, None) if _user is None else (*_user, ())
    try:
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", _BOOT, json.dumps(search_path), module, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=(child_read, child_write, *pass_fds),
            start_new_session=True,  # its own process group, so that all of it can be killed
            cwd=cwd,
            user=user,
            group=group,
            extra_groups=groups,
            env={**ENVIRONMENT, **inherited, **(env or {})},
        )
    except OSError as error:
        os.close(parent_read)
        os.close(parent_write)
        raise GraderFault(f"a child process could not be started: {error.strerror}") from None
    finally:
        os.close(child_read)
        os.close(child_write)
    child = Child(process, Channel(parent_read, parent_write))
    with contextlib.suppress(ChannelClosed):  # the child is dead already: the next receive() reports it
        child.channel.send({"sandbox": (sandbox or Sandbox()).to_dict(), "forks": forks})
    return child


def _pipe() -> tuple[int, int]:
    read_fd, write_fd = os.pipe()
    if sys.platform == "linux":
        import fcntl

        # Larger than the default 64 KiB: fewer context switches. If it fails (a user's pipe quota), 64 KiB remain.
        with contextlib.suppress(OSError):
            fcntl.fcntl(write_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return read_fd, write_fd


@dataclass(frozen=True)
class PooledChild:
    """A child, the number of programs that it has run, and keys of what its user has stored in it."""

    child: Child
    programs: int = 0
    holds: set[str] = field(default_factory=set)


class ChildPool(Closing):
    """Idle children, each replaced after ``programs`` programs. Thread-safe."""

    def __init__(self, start: Callable[[], Child], *, programs: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._start = start
        self._programs = programs
        self._idle: list[PooledChild] = []
        self._lock = threading.Lock()
        # A child ends with the thread that started it, so one long-lived thread starts all of them.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="kept-children")

    def take(self) -> PooledChild:
        """Return an idle child, or a new one. Raises GraderFault if none can be started."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return PooledChild(self._starter.submit(self._start).result())

    def give_back(self, pooled: PooledChild) -> None:
        """Return a child that has run one more program; it is closed if that was its last one."""
        if pooled.programs + 1 >= self._programs:
            pooled.child.close()
            return
        with self._lock:
            self._idle.append(PooledChild(pooled.child, pooled.programs + 1, pooled.holds))

    def close(self) -> None:
        """End the idle children."""
        for pooled in self._idle:
            pooled.child.close()
        self._idle.clear()
        self._starter.shutdown()
