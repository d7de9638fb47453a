"""The line that says how far a grading is: on a terminal's standard error, and gone when the report comes."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TextIO

ERASE = "\r\x1b[K"  # back to the margin, and erase to the end of the line


@contextmanager
def waiting(
    name: str, *, doing: str = "grading", quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callable[[str], None]]:
    """Give a function that shows how far ``name`` is, in place; nothing is shown where nobody would see it.

    A terminal that cannot erase (``TERM=dumb``) gets one plain line at the start.
    """
    stream = stream or sys.stderr
    if quiet or not stream.isatty():
        yield lambda words: None
    elif os.environ.get("TERM", "dumb") == "dumb":
        _write(stream, f"{doing} {name} …\n")
        yield lambda words: None
    else:
        line = _Line(f"{doing} {name}", stream)
        try:
            yield line.show
        finally:
            line.close()


class _Line:
    """One line that is written over; two backends may call from their threads, the last one late."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._stream = stream
        self._lock = Lock()
        self._closed = False

    def show(self, words: str) -> None:
        width = shutil.get_terminal_size((80, 24)).columns - 1  # a full line would wrap, and could not be erased
        with self._lock:
            if not self._closed:
                _write(self._stream, ERASE + f"{self._name} … {words}"[:width])

    def close(self) -> None:
        with self._lock:
            self._closed = True
            _write(self._stream, ERASE)


def _write(stream: TextIO, text: str) -> None:
    encoding = stream.encoding or "ascii"
    try:
        shown = text if encoding.lower().startswith("utf") else text.replace("…", "...")
        stream.write(shown.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except OSError:  # the terminal has gone; the grading goes on
        pass
