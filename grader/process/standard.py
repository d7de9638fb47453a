"""What a process does first: open standard streams that are closed, and collect garbage rarely."""

from __future__ import annotations

import gc
import os
import sys

GARBAGE = 100_000
"""Allocations between two collections of garbage: imports make 60,000 objects, and all of them stay."""


def collect_rarely() -> None:
    """Collect garbage less often than Python does by default (700): that is a twentieth of a short process's time."""
    gc.set_threshold(GARBAGE)


def open_closed_streams() -> None:
    """Open the null device for each of standard input, output and error that is closed.

    Otherwise the next pipe or file gets that number: a child takes it for its standard input, and an error message is
    written into it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:  # it was closed when Python started
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
