"""Limits of a host file's process on threads and memory, which the parent checks while it waits.

`limit_threads` checks Python's threads in the child as well, where they are started: so the report has the line, and
threads that end before the parent's next check count.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.process.child import Child

MOST_THREADS = 256
LOOK_S = 0.1
"""Seconds between the parent's checks."""


class Allowance:
    """The limits of one child, in the parent."""

    def __init__(self, child: Child, memory_bytes: int) -> None:
        self._child = child
        self._memory_bytes = memory_bytes
        self._looks_at = 0.0

    def passed(self, *, now: bool = False) -> tuple[str, str]:
        """The limit that the child exceeds, in words, and the next step; ("", "") if none.

        Without ``now`` it checks at most every `LOOK_S`.
        """
        if not now and time.monotonic() < self._looks_at:
            return "", ""
        threads, memory_bytes = self._child.holds()
        self._looks_at = time.monotonic() + LOOK_S
        if threads > MOST_THREADS:
            return f"has more than {MOST_THREADS} threads", FEWER_THREADS
        if memory_bytes > self._memory_bytes:
            return f"uses more than {self._memory_bytes / 1e9:.2g} GB of memory", LESS_MEMORY
        return "", ""


FEWER_THREADS = f"start fewer threads, and join them: a process may have {MOST_THREADS} at once"
LESS_MEMORY = "free memory that is no longer needed, and do not keep copies of whole arrays"


class TooManyThreads(BaseException):
    """Raised when a host file starts one thread too many. Not an Exception, so that nobody catches it by accident."""


def limit_threads() -> None:
    """In the child: let Python start at most `MOST_THREADS` threads from now on."""
    for name in ("_start_new_thread", "_start_joinable_thread"):  # until Python 3.12, and since
        if hasattr(threading, name):
            setattr(threading, name, _counted(getattr(threading, name)))


def _counted(start: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*args: Any, **keywords: Any) -> Any:
        if len(sys._current_frames()) >= MOST_THREADS:
            raise TooManyThreads
        return start(*args, **keywords)

    return counted
