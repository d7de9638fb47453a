"""Child processes: how they are started, watched and ended. `spawn` is the way in.

`ChildPool` keeps children for the next program: for what the course or a test wrote, where starting one costs most.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from grader.errors import GraderFault
from grader.paths import PACKAGE
from grader.process.channel import Channel, ChannelClosed, ChannelError
from grader.process.sandbox import Sandbox

ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",  # the same messages and the same text encoding everywhere
    # One thread: a thread that exists before the sandbox is applied would stay outside it, and starting
    # a pool that nobody uses costs every child its start-up time.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
INHERITED = ("LD_LIBRARY_PATH",)  # else an interpreter or driver library that was found here is not found there
TAIL_BYTES = 64 << 10  # of standard error
PIPE_BYTES = 1 << 20
SESSION_END_S = 2.0
_OF_A_PROCESS = 2  # of a clock's number, beside the process's: its threads' processor time together (Linux)

# The child's first lines. -I and -S keep the environment, the current folder and *.pth code out; the search path is
# the parent's own, so the child imports exactly what the parent would.
_BOOT = (
    "import sys, json; from importlib import import_module; "
    "sys.path[:] = json.loads(sys.argv.pop(1)); import_module(sys.argv.pop(1)).main()"
)


class Closing(ABC):
    """A context manager that is closed at its end."""

    @abstractmethod
    def close(self) -> None:
        """End it; closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Child(Closing):
    """A running child: its channel, the end of its standard error, and its own end.

    As a context manager it is killed on exit, with its whole process group, and reaped.
    """

    def __init__(self, process: subprocess.Popen[bytes], channel: Channel) -> None:
        self.channel = channel
        self.pid = process.pid  # of who works: a fork of the process says so when it is ready
        # Both are known once it has ended: resident memory, where that was its own, and user and kernel time.
        self.peak_memory_bytes: int | None = None
        self.cpu_s: float | None = None
        self._process = process
        self._errors = _Tail(process.stderr)
        self._inherited_bytes = _peak_bytes()

    @property
    def stderr(self) -> str:
        """The last 64 kB of what it wrote to standard error so far; all of its last words once it has ended."""
        if self._process.returncode is not None:
            self._errors.join()  # the pipe may still hold what it wrote before it died
        return self._errors.text()

    @property
    def returncode(self) -> int | None:
        """None while it runs; else its exit status, negative for a signal."""
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
        """Seconds of processor time so far, of all its threads; None where the system does not say."""
        try:
            return time.clock_gettime((~self.pid << 3) | _OF_A_PROCESS)
        except OSError:
            return None

    def holds(self) -> tuple[int, int]:
        """Its threads, and the most memory that it had: pages, shared ones too, and files without names that are open.

        (0, 0) where the system does not say.
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
        """Whether one of its threads works, or would if it had a processor; False where the system does not say."""
        try:
            threads = [*Path(f"/proc/{self.pid}/task").iterdir()]
            return any((thread / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"R" for thread in threads)
        except OSError:  # also where a thread ends meanwhile
            return False

    def ended_session(self) -> bool:
        """End the session of a child that forks, and wait for it; False where the child does not do that."""
        try:
            self.channel.send({"do": "end"})
            while self.channel.receive(SESSION_END_S)[0].get("is") != "ended":
                pass
        except ChannelError:
            return False
        self.pid = self._process.pid
        return True

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until it has ended; its return code, or None when ``timeout_s`` seconds were not enough."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        pause_s = 0.0002
        while not self._reaped(block=deadline is None):
            if deadline is not None and time.monotonic() >= deadline:
                return None
            time.sleep(pause_s)
            pause_s = min(0.02, pause_s * 2)
        return self.returncode

    def kill(self) -> None:
        """End it at once, with every process of its group, and reap it; does nothing after the end."""
        if self._process.returncode is None:
            # Not yet reaped, so the number cannot belong to another process group by now.
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
        # First a look that leaves it unreaped: while it is a zombie its process group's number is still ours to kill.
        if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | (0 if block else os.WNOHANG)) is None:
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        if peak_bytes > self._inherited_bytes:  # a fork begins with its parent's memory, and Linux remembers that
            self.peak_memory_bytes = peak_bytes
        self.cpu_s = usage.ru_utime + usage.ru_stime
        return True


def _status(path: Path) -> os.stat_result | None:
    """What a descriptor of another process is; None where it is no file, or was closed meanwhile."""
    with contextlib.suppress(OSError):
        status = path.stat()
        return status if stat.S_ISREG(status.st_mode) else None
    return None


def _peak_bytes() -> int:
    """What this process has had resident at most; 0 where a child's usage does not begin with it.

    Not its own usage, which begins with what its parent had: a large one, long ago, would hide every child's.
    """
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


class _Tail:
    """The last bytes of a stream, drained by a thread so that a chatty child neither blocks nor fills memory."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._content = bytearray()
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def text(self) -> str:
        return bytes(self._content).decode("utf-8", "replace")

    def join(self) -> None:
        # Bounded: a process that left the group may hold the stream open; the thread is a daemon.
        self._thread.join(0.5)

    def _drain(self) -> None:
        with self._stream:
            while chunk := os.read(self._stream.fileno(), 1 << 16):
                self._content = (self._content + chunk)[-TAIL_BYTES:]


def spawn(
    module: str,
    *,
    sandbox: Sandbox | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Iterable[int] = (),
    cwd: str = "/",
    forks: bool = False,
) -> Child:
    """Start ``main()`` of ``module`` in a child process of its own session, with a channel to it.

    ``env`` is added to the few variables of `ENVIRONMENT`; nothing else of this process's environment is passed on.
    ``pass_fds`` stay open in the child under the same numbers (for shared mappings). With ``forks`` a module that calls
    `fork_for_each_session` serves one session after another. Raises GraderFault when no process can be started.
    """
    root = str(PACKAGE.parent)
    search_path = [root, *(str(Path(folder).absolute()) for folder in sys.path if folder and folder != root)]
    flags = ["-I", "-S", "-X", "utf8", *(["-B"] if sys.dont_write_bytecode else [])]
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    child_read, parent_write = _pipe()
    parent_read, child_write = _pipe()
    numbers = (child_read, child_write, os.getpid())
    try:
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", _BOOT, json.dumps(search_path), module, *map(str, numbers)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=(child_read, child_write, *pass_fds),
            start_new_session=True,  # a process group of its own, so that all of it can be killed
            cwd=cwd,
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
    with contextlib.suppress(ChannelClosed):  # a child that is dead already: its user finds out when it receives
        child.channel.send({"sandbox": (sandbox or Sandbox()).to_dict(), "forks": forks})
    return child


def _pipe() -> tuple[int, int]:
    read_fd, write_fd = os.pipe()
    if sys.platform == "linux":
        import fcntl

        # Larger than the usual 64 KiB: fewer switches between the two sides. A refusal (a user's pipe quota) is fine.
        with contextlib.suppress(OSError):
            fcntl.fcntl(write_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return read_fd, write_fd


@dataclass(frozen=True)
class Used:
    """A child, how many programs it has run, and notes of its user about what it holds."""

    child: Child
    programs: int = 0
    holds: set[str] = field(default_factory=set)


class ChildPool(Closing):
    """Children that wait for work, each replaced after ``programs`` programs. Thread-safe."""

    def __init__(self, start: Callable[[], Child], *, programs: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._start = start
        self._programs = programs
        self._idle: list[Used] = []
        self._lock = threading.Lock()
        # A child ends with the thread that started it, so all are started by one that stays.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="kept-children")

    def take(self) -> Used:
        """Return an idle child, or a new one. Raises GraderFault where none can be started."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Used(self._starter.submit(self._start).result())

    def give_back(self, used: Used) -> None:
        """Keep a child that has run one more program for the next one, unless it has run enough of them."""
        if used.programs + 1 >= self._programs:
            used.child.close()
            return
        with self._lock:
            self._idle.append(Used(used.child, used.programs + 1, used.holds))

    def close(self) -> None:
        """End the children that wait."""
        for used in self._idle:
            used.child.close()
        self._idle.clear()
        self._starter.shutdown()
