"""Stopping a grading from another thread: `grade watch` does so when the file is saved while it is graded.

    stopper = Stopper()
    with stopper:              # in the thread that grades
        grade(request)         # raises Stopped, and its children end
    stopper.stop()             # meanwhile, in another thread

Every channel to a child that is opened inside of the ``with`` belongs to the grading: all waits on it end at once.
"""

from __future__ import annotations

import os
from typing import Self


class Stopped(BaseException):
    """Raised in the threads of a grading that was stopped. No Exception: nobody is to take it for a fault."""


class Stopper:
    """One grading's end; once stopped it stays so. One at a time can be entered."""

    def __init__(self) -> None:
        self.read_fd, self._write_fd = os.pipe()  # a pipe, because who waits for a child waits in poll()

    def stop(self) -> None:
        """End every wait that belongs to the grading; from any thread, any number of times."""
        os.write(self._write_fd, b".")

    def __enter__(self) -> Self:
        global _current
        _current = self
        return self

    def __exit__(self, *_: object) -> None:
        global _current
        _current = None

    def __del__(self) -> None:  # not at the end of the `with`: threads of the grading may still be about to end
        os.close(self.read_fd)
        os.close(self._write_fd)


_current: Stopper | None = None


def current() -> Stopper | None:
    """The stopper of the grading that is going on, if it has one."""
    return _current
