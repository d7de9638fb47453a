"""The records of collecting, and which files are of interest."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from grader.classroom.collect.limits import Limits
from grader.frozen import dataclass

METADATA = "submission_metadata.yml"  # Gradescope's
TIMESTAMP = "timestamp.txt"  # nbgrader's
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
SOURCES = (".cu", ".py")
METADATA_BYTES = 32 << 20
JUNK = frozenset((".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX", ".git", ".gitignore", "__pycache__"))

TimeFrom = Literal["", "lms", "git", "csv"]


@dataclass(frozen=True)
class Entry:
    """A file that was read. ``parts`` is its path in the source; an archive's name is a part like a folder's.

    Only the first ``outer`` parts were named by the teacher or the LMS: the others are inside a student's archive.
    """

    source: str  # the name of the source, without its suffix
    parts: tuple[str, ...]
    content: bytes
    origin: str
    outer: int
    submitted: datetime | None = None
    time_from: TimeFrom = ""

    @property
    def name(self) -> str:
        return self.parts[-1]


@dataclass(frozen=True)
class Skipped:
    """A file that was not collected, and why; ``student`` is the id if its path says whose it is."""

    origin: str
    reason: str
    student: str = ""

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.origin.replace(": ", "/").rpartition("/")[2]


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)


def without_suffix(name: str) -> str:
    """``week4.zip`` is ``week4``; a folder's name stays as it is."""
    suffix = next((suffix for suffix in sorted(ARCHIVES, key=len, reverse=True) if name.lower().endswith(suffix)), "")
    return name[: len(name) - len(suffix)] or name


def most_bytes(name: str, limits: Limits) -> int | None:
    """How large a file of this name may be; None if it is not of interest at all."""
    if name == METADATA:
        return METADATA_BYTES
    if name == TIMESTAMP or name.lower().endswith(SOURCES):
        return limits.source_bytes
    return limits.archive_bytes if is_archive(name) else None


def is_junk(parts: Sequence[str]) -> bool:
    """Whether it is a file that a system has put there: nobody needs to hear of it."""
    return parts[-1].startswith("._") or not JUNK.isdisjoint(parts)


def name_problem(name: str, limits: Limits) -> str:
    """Why a path in an archive or a repository is refused; "" if it is a plain relative path."""
    parts = name.split("/")
    if not name.isprintable():
        return "its name has control characters or invisible ones"
    if "\\" in name:
        return "its name has a backslash"
    if name.startswith("/") or (len(name) > 1 and name[1] == ":"):
        return "its path is absolute"
    if ".." in parts:
        return "its path leaves the archive"
    too_long = len(name.encode()) > limits.path_bytes or any(len(part.encode()) > limits.name_bytes for part in parts)
    return "its name is too long" if too_long else ""


def parts_of(name: str) -> tuple[str, ...]:
    return tuple(part for part in name.split("/") if part not in ("", "."))


def colliding(names: Iterable[str]) -> frozenset[str]:
    """The names of which there are several in an archive, also where only their case or encoding differs."""
    first: dict[str, str] = {}
    found: set[str] = set()
    for name in names:
        folded = unicodedata.normalize("NFC", "/".join(parts_of(name))).casefold()
        if folded in first:
            found |= {first[folded], name}
        first.setdefault(folded, name)
    return frozenset(found)
