"""Standard input, output and error, which may be closed when the process starts."""

from __future__ import annotations

import os
import sys


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
