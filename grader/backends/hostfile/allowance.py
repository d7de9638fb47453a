"""Limits of a host file's process on threads and memory, which the parent checks while it waits.

`limit_threads` checks Python's threads in the child as well, where they are started: so the report has the line, and
threads that end before the parent's next check count.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

MOST_THREADS = 256
LOOK_S = 0.1
"""Seconds between the parent's checks."""

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
