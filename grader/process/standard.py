"""What a process does first: open standard streams that are closed, collect garbage rarely, compute on one thread."""

from __future__ import annotations

import gc
import os
import sys

GARBAGE = 100_000
"""Allocations between two collections of garbage: imports make 60,000 objects, and all of them stay."""


def collect_rarely() -> None:
    """Collect garbage less often than Python does by default (700): that is a twentieth of a short process's time."""
    gc.set_threshold(GARBAGE)


def compute_on_one_thread() -> None:
    """Let NumPy, which is imported later, multiply matrices on one thread.

    Those of oracles are small, and OpenBLAS's other threads wait for the next one by spinning: more than half of the
    command's processor time, which the simulator's process could have used.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


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
