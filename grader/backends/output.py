"""The output of kernels and host files, captured in an anonymous file: results use a channel of their own."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from io import TextIOWrapper


class Printed:
    """Standard output of this process, redirected into an anonymous file for the rest of its life.

    The CUDA driver writes a kernel's ``printf`` to descriptor 1 when the stream is synchronized. ``file`` is a
    descriptor from the parent, which can read the file even if this process dies.
    """

    def __init__(self, limit_bytes: int, file: int | None = None) -> None:
        self._limit = limit_bytes
        self._file = anonymous_file("printed") if file is None else file
        os.dup2(self._file, 1)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # so that output before an endless loop is in the file

    def catch_errors(self) -> None:
        """Redirect standard error as well: `traceback`, `logging` and failing libraries write there."""
        os.dup2(self._file, 2)

    def take(self) -> tuple[str, bool]:
        """The output since the last call, cut at the limit, and whether it was longer."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # the file is full, or a host file has closed or replaced the stream
                stream.flush()
        ctypes.CDLL(None).fflush(None)  # the driver writes through the C library's buffers
        size = os.fstat(self._file).st_size
        content = os.pread(self._file, self._limit, 0)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return content.decode("utf-8", "replace"), size > self._limit


def anonymous_file(label: str) -> int:
    """The descriptor of a new anonymous file, in memory if the system supports it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(label, os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
