"""What kernels and host files print: caught in an anonymous file of the child, never mixed with results."""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from contextlib import suppress
from io import TextIOWrapper


class Printed:
    """Standard output of this process, redirected for good into a file without a name.

    The CUDA driver writes a kernel's ``printf`` to descriptor 1 when the stream is waited for; results go through the
    private channel.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._file = _anonymous_file()
        os.dup2(self._file, 1)
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(line_buffering=True)  # what was printed before an endless loop is there at its end

    def take(self) -> tuple[str, bool]:
        """What was printed since the last call, cut at the limit, and whether the limit was passed."""
        with suppress(OSError):  # there was no more room; what is left comes next time
            sys.stdout.flush()
        ctypes.CDLL(None).fflush(None)  # the driver writes through the C library's buffer
        size = os.fstat(self._file).st_size
        content = os.pread(self._file, self._limit, 0)
        os.ftruncate(self._file, 0)
        os.lseek(self._file, 0, os.SEEK_SET)
        return content.decode("utf-8", "replace"), size > self._limit


def printed_so_far(pid: int, limit_bytes: int) -> str:
    """What a child has printed that cannot be asked any more, but still runs; "" where that cannot be seen.

    What its descriptor 1 is, the child may have changed: only a file is read, and nothing is waited for.
    """
    try:
        file = os.open(f"/proc/{pid}/fd/1", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        is_file = stat.S_ISREG(os.fstat(file).st_mode)
        return os.pread(file, limit_bytes, 0).decode("utf-8", "replace") if is_file else ""
    finally:
        os.close(file)


def _anonymous_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("printed", os.MFD_CLOEXEC)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
