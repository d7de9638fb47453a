"""Standard input, output and error, which whoever starts a process may have closed."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Put the null device where standard input, output or error is closed.

    Otherwise the next pipe or file gets that number: a child takes it for its standard input, and an error message is
    written into it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:  # as Python leaves it, where it was closed at the start
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
