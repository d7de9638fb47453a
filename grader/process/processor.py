"""One processor for processes that take turns: to wake up one on another processor costs an interrupt.

with one_processor([child.pid]):      this thread and the child run on the processor that this thread runs on now
    ...                               afterwards all of them run anywhere, as before
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_PROCESSOR = 36
"""The field of /proc/…/stat with the processor that a thread runs on, counted behind the name (proc(5): field 39)."""


@contextlib.contextmanager
def one_processor(pids: Iterable[int]) -> Iterator[None]:
    """Run this thread and the main threads of ``pids`` on one processor.

    It is chosen anew each time, so that the system can balance its load in between.
    """
    everywhere = _allowed()
    if len(everywhere) < 2:
        yield
        return
    everyone = (0, *pids)
    here = _current()
    _place(everyone, {here} & everywhere)
    try:
        yield
    finally:
        _place(everyone, everywhere)


def _allowed() -> set[int]:
    """The processors of this thread; none where the system has no such list."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _current() -> int:
    """The processor that this thread runs on; -1 if the system does not say."""
    try:
        text = Path("/proc/thread-self/stat").read_text()
        return int(text.rpartition(")")[2].split()[_PROCESSOR])
    except (OSError, ValueError, IndexError):
        return -1


def _place(pids: Iterable[int], processors: set[int]) -> None:
    for pid in pids if processors else ():
        with contextlib.suppress(OSError):  # it has ended, or the system refuses
            os.sched_setaffinity(pid, processors)
