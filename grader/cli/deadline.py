"""The deadline of the process that grades: another one waits for it, and speaks for it if it does not end.

    grade NAME ──fork──▶ reads, grades, prints
        │ waits            a thread with more than `CPU_S` of processor time, or a signal: the fork is ended,
        └──────fork──▶ reports that as the verdict of this file, and grades the files after it

All readers of a hostile text are in the fork. docs/design/005-children.md says why it is made like this.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

from grader.cli import FAULT, guarded, leave
from grader.errors import REPORT, GraderFault
from grader.frozen import dataclass
from grader.output import ERASE
from grader.paths import PACKAGE
from grader.process import kept

CPU_S = 300.0
"""Of one thread, for one file. The worst known text takes its slowest reader 6 s."""
LOOK_S = 1.0  # between two looks at the fork
DEATH_S = 10.0  # for writing its stack

Ended = Mapping[int, str]
"""Why the grading of a file was ended, by the file's number."""

NONE_ENDED: Ended = {}

_FRAME = re.compile(r'^  File "([^"\n]{1,4096})", line (\d{1,9}) in (\S{1,200})', re.MULTILINE)
_begun = memoryview(bytearray(4)).cast("i")  # in a fork, memory that it shares with the process that waits


def begin(number: int) -> None:
    """The grading of file ``number`` (from 0) begins: its time counts from here."""
    _begun[0] = number + 1


def in_time(work: Callable[[Ended], int], *, as_json: bool = False, again: bool = True) -> int:
    """The exit code of ``work``, which runs in a fork, and ``again`` after a fork that had to be ended.

    Raises GraderFault if a fork was ended without a file, twice for the same one, or without ``again``.
    Where a fork cannot be watched (not Linux) or its children are shared (a test), ``work`` runs in this process.
    """
    if kept.KEPT is not None or sys.platform != "linux":
        return work(NONE_ENDED)
    ended: dict[int, str] = {}
    while True:
        end = _forked(lambda: work(ended), as_json=as_json)
        if end.code is not None:
            return end.code
        if end.number < 0 or end.number in ended or not again:
            raise GraderFault(f"the process that reads the files {end.reason}", hint=REPORT)
        ended[end.number] = end.reason


def ends_in_time(command: Callable[..., int]) -> Callable[..., int]:
    """A command of a class that reads submissions in its own process: where one cannot be read in time, it ends."""

    @wraps(command)
    def called(*values: Any, **options: Any) -> int:
        return in_time(lambda ended: command(*values, **options), as_json=bool(options.get("as_json")), again=False)

    return called


@dataclass(frozen=True)
class _End:
    """The end of a fork: its exit code, or None and the reason; ``number`` is the last file that it began, or -1."""

    code: int | None
    number: int
    reason: str = ""


def _forked(work: Callable[[], int], *, as_json: bool) -> _End:
    import mmap

    shared, stack = memoryview(mmap.mmap(-1, 4)).cast("i"), os.memfd_create("stack")
    alive, held = os.pipe()  # its other end closes when the fork ends, however that happens
    parent = os.getpid()
    sys.stdout.flush()
    try:
        pid = os.fork()
        if pid == 0:
            _work(work, shared, stack, parent, as_json=as_json)
        os.close(held)
        reason = _watched(pid, alive, shared)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status >= 0 and not reason:
            return _End(status, shared[0] - 1)
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            os.write(2, ERASE.encode())  # the line that it had begun
        reason = reason or f"was ended by {signal.Signals(-status).name}"
        return _End(None, shared[0] - 1, reason + _place(stack))
    finally:
        os.close(alive)
        os.close(stack)


def _work(work: Callable[[], int], shared: memoryview[int], stack: int, parent: int, *, as_json: bool) -> NoReturn:
    """In the fork: work, and leave with the exit code."""
    global _begun
    import faulthandler

    from grader.process.sandbox import die_with_parent, limit

    code = FAULT
    try:
        die_with_parent(parent)
        signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C ends the process that waits, and so this one
        limit()  # no core dumps
        faulthandler.enable(stack)
        _begun = shared
        code = guarded(work, as_json=as_json)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else FAULT
    finally:
        leave(code)


def _watched(pid: int, alive: int, shared: memoryview[int]) -> str:
    """Wait for the end of a fork; one whose thread takes too long is ended. Returns why it was ended, or ""."""
    ended = select.poll()
    ended.register(alive, select.POLLIN)
    begun, before = 0, dict[int, float]()
    while not ended.poll(1000 * LOOK_S):
        used = _used_s(pid)
        if shared[0] != begun:
            begun, before = shared[0], used
        thread = max(used, key=lambda one: used[one] - before.get(one, 0.0), default=pid)
        if used.get(thread, 0.0) - before.get(thread, 0.0) > CPU_S:
            os.kill(thread, signal.SIGABRT)  # this thread writes its stack first
            if not ended.poll(1000 * DEATH_S):
                os.kill(pid, signal.SIGKILL)
            return f"used more than {CPU_S:g} s of processor time"
    return ""


def _used_s(pid: int) -> dict[int, float]:
    """Seconds of processor time of each thread of a process."""
    used, ticks = dict[int, float](), os.sysconf("SC_CLK_TCK")
    for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            fields = stat.read_bytes().rpartition(b")")[2].split()
        except OSError:  # the thread has ended
            continue
        used[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / ticks
    return used


def _place(stack: int) -> str:
    """`` in parse_launches (launch/parse.py, line 41)``: the innermost function of the grader; "" if unknown."""
    text = os.pread(stack, 1 << 16, 0).decode(errors="replace").partition("Current thread")[2]
    for file, line, function in _FRAME.findall(text):
        if Path(file).is_relative_to(PACKAGE):
            return f" in {function} ({Path(file).relative_to(PACKAGE)}, line {line})"
    return ""
