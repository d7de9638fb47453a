"""What a kernel prints: caught in an anonymous file, never mixed with results. Child side."""

from __future__ import annotations

import ctypes
import os
import sys


class Printed:
    """Standard output of this process, redirected for good into a file without a name.

    The CUDA driver writes a kernel's ``printf`` to descriptor 1 when the stream is waited for; results go through the
    private channel.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._file = _anonymous_file()
        os.dup2(self._file, 1)

    def take(self) -> tuple[str, bool]:
        """What was printed since the last call, cut at the limit, and whether the limit was passed."""
        sys.stdout.flush()
        ctypes.CDLL(None).fflush(None)  # the driver writes through the C library's buffer
        size = os.fstat(self._file).st_size
        content = os.pread(self._file, self._limit, 0)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return content.decode("utf-8", "replace"), size > self._limit


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("printed", os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
