"""What kernels and host files print: caught in an anonymous file of the child, never mixed with results."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from io import TextIOWrapper


class Printed:
    """Standard output of this process, redirected for good into a file without a name.

    The CUDA driver writes a kernel's ``printf`` to descriptor 1 when the stream is waited for; results go through the
    private channel. ``file`` is one that the parent has made, and can read where this process is gone.
    """

    def __init__(self, limit_bytes: int, file: int | None = None) -> None:
        self._limit = limit_bytes
        self._file = anonymous_file("printed") if file is None else file
        os.dup2(self._file, 1)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # what was printed before an endless loop is there at its end

    def catch_errors(self) -> None:
        """From now on the same for standard error: `traceback`, `logging` and a library that gives up write there."""
        os.dup2(self._file, 2)

    def take(self) -> tuple[str, bool]:
        """What was printed since the last call, cut at the limit, and whether the limit was passed."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # there is no more room, or a host file has closed it or put another there
                stream.flush()
        ctypes.CDLL(None).fflush(None)  # the driver writes through the C library's buffer
        size = os.fstat(self._file).st_size
        content = os.pread(self._file, self._limit, 0)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return content.decode("utf-8", "replace"), size > self._limit


def anonymous_file(label: str) -> int:
    """The descriptor of a new file without a name, in memory where the system can."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(label, os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
