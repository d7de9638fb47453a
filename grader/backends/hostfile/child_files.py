"""The files of a host file's process: those it may read, its output, and the stacks that tell its current line.

    parent: files = ChildFiles(); spawn(..., pass_fds=files.fds); channel.send({..., **files.to_dict()})
    child:  Printed(limit, printed); dump_stack_on_request(stacks)
    parent: files.printed(limit), where(child, files, "sums_host.py")

The parent creates the files and the child writes them, so they are hostile data: only a line of the host file is
accepted. The process may read Python and its packages, but nothing of the course or the grader (`readable`).
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from grader.backends.output import anonymous_file
from grader.errors import Unsupported
from grader.paths import PACKAGE

if TYPE_CHECKING:
    from grader.process.child import Child


TELL_S = 0.5  # to wait for the stack of a process that is running
TAIL_BYTES = 64 << 10  # of the stacks that are read: a stack has at most a hundred lines


class ChildFiles:
    """The parent's side."""

    def __init__(self) -> None:
        self.fds: tuple[int, ...] = (anonymous_file("printed"), anonymous_file("stacks"))

    def to_dict(self) -> dict[str, int]:
        """The descriptors by name, for the child's first message."""
        return dict(zip(("printed", "stacks"), self.fds, strict=True))

    def printed(self, limit_bytes: int) -> str:
        """The output that the child has not sent yet, cut at the limit."""
        return os.pread(self.fds[0], limit_bytes, 0).decode("utf-8", "replace") if self.fds else ""

    def line(self, file: str) -> int | None:
        """The innermost line of ``file`` in the last stack that has one; None if there is none."""
        if not self.fds:
            return None
        content = os.pread(self.fds[1], TAIL_BYTES, max(0, os.fstat(self.fds[1]).st_size - TAIL_BYTES))
        name = re.escape(file.encode("ascii", "backslashreplace"))
        stacks = reversed(content.split(b"(most recent call first)"))  # newer Pythons write C's stack after it
        found = (re.search(rb'File "%s", line (\d{1,7}) in ' % name, stack) for stack in stacks)
        return next((int(one[1]) for one in found if one), 0) or None

    def clear(self) -> None:
        """Empty both files."""
        for fd in self.fds:
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)

    def close(self) -> None:
        """Close the files; closing twice is fine."""
        for fd in self.fds:
            os.close(fd)
        self.fds = ()


def where(child: Child, files: ChildFiles, file: str) -> int | None:
    """The line of the host file that its process is executing, or was when it died; None if unknown."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGUSR1)
    ends = time.monotonic() + TELL_S
    while (line := files.line(file)) is None and time.monotonic() < ends:
        if child.wait(0.01) is not None:
            return files.line(file)
    return line


def dump_stack_on_request(stacks: int) -> None:
    """In the child: write the stack at the parent's signal, at a fatal signal, and before `os._exit`."""
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False)
    faulthandler.enable(file=stacks, all_threads=False)
    leave = os._exit

    def leaving(status: int) -> NoReturn:
        faulthandler.dump_traceback(file=stacks, all_threads=False)
        leave(status)

    os._exit = leaving


SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/opt")
PACKAGES = ("site-packages", "dist-packages")
PROCESS = ("/proc/self", "/proc/sys", "/proc/meminfo", "/proc/cpuinfo", "/dev/urandom")


def require_sandbox() -> None:
    """Raise Unsupported if this system has no Landlock, and children have our rights."""
    from grader.process.child import runs_as_another_user
    from grader.process.sandbox import available

    if available() == "none" and not runs_as_another_user():
        raise Unsupported(
            "this system cannot close its files to a host file's code (no Landlock)",
            hint="--no-sandbox runs it all the same, with your own rights: only for files that you trust",
        )


def readable(courses: Iterable[Path] = ()) -> tuple[str, ...]:
    """Files and folders that a host file may read: the system's and Python's, without the grader and the courses.

    Solutions are inside the installed package, in one of Python's folders. A Landlock rule for a folder holds for
    everything in it, so a folder that contains a forbidden one is replaced by its other entries.
    """
    closed = {PACKAGE, *(course.resolve() for course in courses)}
    open_ = dict.fromkeys(path for root in _roots() for path in _without(root, closed))
    return (*map(str, open_), *PROCESS)


def _roots() -> Iterator[Path]:
    """The system's folders and Python's; of the search path only installed packages, not a clone of the course."""
    prefixes = [Path(prefix).resolve() for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix}]
    yield from (Path(folder) for folder in SYSTEM)
    yield from (prefix / part for prefix in prefixes for part in ("lib", "lib64") if prefix != Path("/"))
    for folder in (Path(entry).resolve() for entry in sys.path if entry):
        if folder.name in PACKAGES or any(folder.is_relative_to(prefix) for prefix in prefixes):
            yield folder


def _without(folder: Path, closed: set[Path]) -> Iterator[Path]:
    """``folder``, or its entries, recursively, without the ``closed`` folders."""
    real = folder.resolve()
    if any(real.is_relative_to(one) for one in closed):
        return
    if not any(one.is_relative_to(real) for one in closed):
        yield folder
        return
    try:
        inside = sorted(real.iterdir())
    except OSError:
        return
    for path in inside:
        yield from _without(path, closed)
