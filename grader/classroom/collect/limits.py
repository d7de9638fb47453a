"""What reading a source may cost. A student's archive or repository has a smaller budget, and is skipped alone."""

from __future__ import annotations

import time
from collections.abc import Callable

from grader.frozen import dataclass
from grader.text import bytes_words, counted


@dataclass(frozen=True)
class Limits:
    """The limits of a source; `INNER` has those of an archive or a repository in it."""

    members: int = 30_000
    read_bytes: int = 512 << 20  # of all files that are read: they are in memory
    inflated_bytes: int = 4 << 30  # of what a tar.gz holds: it is on the disk while it is read
    seconds: float = 600.0
    source_bytes: int = 1 << 20  # of a .cu or .py file: the grader takes no larger one
    archive_bytes: int = 64 << 20  # of an archive in an archive
    directory_bytes: int = 8 << 20  # of a zip's list of members
    ratio: int = 200  # of uncompressed to compressed bytes, from `ratio_from` on
    ratio_from: int = 16 << 20
    depth: int = 3  # archives in archives
    folders: int = 20  # folders in folders
    name_bytes: int = 255  # of a folder's or file's name
    path_bytes: int = 1000


INNER = Limits(members=2000, read_bytes=64 << 20, inflated_bytes=256 << 20, seconds=20.0, directory_bytes=1 << 20)


class TooMuch(Exception):
    """Raised when a budget is used up; ``reason`` is which limit, in words."""

    def __init__(self, budget: Budget, reason: str) -> None:
        super().__init__(reason)
        self.budget = budget
        self.reason = reason


class Budget:
    """What is left of the limits. What is spent is also taken from the budget around it."""

    def __init__(
        self, limits: Limits, around: Budget | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits
        self._around = around
        self._clock: Callable[[], float] = around._clock if around else clock
        self._ends = self._clock() + limits.seconds
        self._members = 0
        self._bytes = 0

    def spend(self, *, members: int = 0, read_bytes: int = 0) -> None:
        """Raises TooMuch if a limit is passed, here or around it."""
        if self._around is not None:
            self._around.spend(members=members, read_bytes=read_bytes)
        self._members += members
        self._bytes += read_bytes
        limits = self.limits
        if self._members > limits.members:
            raise TooMuch(self, f"it has more than {counted(limits.members, 'member')}")
        if self._bytes > limits.read_bytes:
            raise TooMuch(self, f"its files are more than {bytes_words(limits.read_bytes)}")
        if self._clock() > self._ends:
            raise TooMuch(self, f"reading it takes more than {limits.seconds:g} s")
