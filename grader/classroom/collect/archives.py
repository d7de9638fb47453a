"""Reading zip and tar archives of unknown people, member by member, into memory.

    archive ──members──▶ Member (name, size, problem) ──only those of interest──▶ Entry | Skipped

Refused is what is not a regular file with a plain relative name: links, devices, encrypted and sparse members, `..`,
absolute paths, backslashes, names that differ only in case. The list of a zip's members and the headers of a tar are
read through `_Bounded`, because their own lengths are in the archive's hands.
"""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import IO

from grader.classroom.collect.entries import (
    Entry,
    Skipped,
    colliding,
    is_archive,
    is_junk,
    most_bytes,
    name_problem,
    parts_of,
)
from grader.classroom.collect.limits import INNER, Budget, TooMuch
from grader.frozen import dataclass
from grader.text import bytes_words

ENCRYPTED, UTF8_NAME = 0x1, 0x800  # flags of a zip's member
UNIX = 3
PLAIN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others need memory as the archive says
# What Python's readers raise for damaged archives, found by mutating good ones. RuntimeError includes zipfile's for a
# method of compression that it does not know.
DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError,
    struct.error, IndexError, KeyError, OverflowError,
)  # fmt: skip
CHUNK = 1 << 20


@dataclass(frozen=True)
class Member:
    """A file in an archive. ``problem`` is why it is refused, before its name is looked at."""

    name: str
    size: int
    packed: int
    problem: str
    read: Callable[[], bytes]


@dataclass(frozen=True)
class Place:
    """Where an archive is: the name of the source, the path in it, and how people are told."""

    source: str
    parts: tuple[str, ...]
    origin: str
    outer: int | None = None  # `Entry.outer` of all that is in it; None: each member's own path is the LMS's
    depth: int = 1


def archive_entries(file: IO[bytes], place: Place, budget: Budget) -> Iterator[Entry | Skipped]:
    """The files of interest in an archive, and what is skipped. Raises TooMuch, and one of `DAMAGED`."""
    with _members(file, place.origin, budget) as members:
        doubled = colliding(member.name for member in members)
        for member in members:
            yield from _member_entries(member, place, budget, doubled)


def _member_entries(member: Member, place: Place, budget: Budget, doubled: frozenset[str]) -> Iterator[Entry | Skipped]:
    parts = parts_of(member.name)
    if not parts or is_junk(parts):
        return
    origin = f"{place.origin}: {member.name}" if place.depth == 1 else f"{place.origin}/{member.name}"
    most = most_bytes(parts[-1], budget.limits)
    if reason := _refused(member, most, budget, doubled):
        yield Skipped(origin, reason)
        return
    try:
        content = member.read()
    except DAMAGED as error:
        yield Skipped(origin, f"it is damaged: {error}")
        return
    budget.spend(read_bytes=len(content))
    path = (*place.parts, *parts)
    outer = len(path) if place.outer is None else place.outer
    if is_archive(parts[-1]):
        inner = Place(place.source, path, origin, outer, place.depth + 1)
        yield from nested_entries(io.BytesIO(content), inner, budget)
    else:
        yield Entry(place.source, path, content, origin, outer)


def _refused(member: Member, most: int | None, budget: Budget, doubled: frozenset[str]) -> str:
    """Why a member is not read; "" if it is."""
    limits = budget.limits
    if problem := name_problem(member.name, limits) or member.problem:
        return problem
    if member.name in doubled:
        return "the archive has several files of this name, if small and capital letters are the same"
    if most is None:
        return "it is not a .cu file"
    if member.size > most:
        return f"it is larger than {bytes_words(most)}"
    if member.size > limits.ratio_from and member.size > limits.ratio * max(1, member.packed):
        return f"it would become more than {limits.ratio} times as large"
    return ""


def nested_entries(file: IO[bytes], place: Place, budget: Budget) -> Iterator[Entry | Skipped]:
    """The files of a student's archive, with a budget of its own."""
    if place.depth > budget.limits.depth:
        yield Skipped(place.origin, f"it is an archive in {budget.limits.depth} others")
        return
    yield from alone(lambda own: archive_entries(file, place, own), place.origin, budget)


def alone(read: Callable[[Budget], Iterator[Entry | Skipped]], origin: str, budget: Budget) -> list[Entry | Skipped]:
    """What is read with a budget of its own; only why it is skipped, if it needs more, or is damaged."""
    own = Budget(INNER, budget)
    try:
        return list(read(own))
    except TooMuch as error:
        if error.budget is not own:
            raise
        return [Skipped(origin, error.reason)]
    except DAMAGED as error:
        return [Skipped(origin, f"it cannot be read: {error}")]


# ------------------------------------------------------------------------------------------------------ zip and tar


@contextmanager
def _members(file: IO[bytes], name: str, budget: Budget) -> Iterator[Sequence[Member]]:
    """The members of an archive, which can be read inside the ``with``."""
    if name.lower().endswith(".zip"):
        with zipfile.ZipFile(_Bounded(file, budget.limits.directory_bytes)) as packed:
            budget.spend(members=len(packed.infolist()))
            yield [_of_zip(packed, info) for info in packed.infolist() if not info.is_dir()]
    else:
        inflated = nullcontext(file) if name.lower().endswith(".tar") else _inflated(file, budget)
        with inflated as plain, tarfile.open(fileobj=_Bounded(plain, CHUNK), mode="r:") as archive:
            yield list(_of_tar(archive, budget))


def _of_zip(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    def read() -> bytes:
        with packed.open(info) as file:
            return file.read(info.file_size + 1)

    kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == UNIX else 0
    problem = ""
    if info.flag_bits & ENCRYPTED:
        problem = "it is encrypted"
    elif kind not in (0, stat.S_IFREG):
        problem = "it is a link" if kind == stat.S_IFLNK else "it is not a regular file"
    elif info.compress_type not in PLAIN_METHODS:
        problem = "it is compressed in an unusual way"
    return Member(_zip_name(info), info.file_size, info.compress_size, problem, read)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The whole name; as UTF-8 if it is that, also where the archive does not say so (macOS)."""
    if info.flag_bits & UTF8_NAME:
        return info.orig_filename
    try:
        return info.orig_filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.orig_filename


def _of_tar(archive: tarfile.TarFile, budget: Budget) -> Iterator[Member]:
    for info in archive:
        budget.spend(members=1)
        if info.isdir():
            continue
        problem = "" if info.isreg() and not info.issparse() else "it is not a regular file"
        problem = "it is a link" if info.issym() or info.islnk() else problem

        def read(info: tarfile.TarInfo = info) -> bytes:
            file = archive.extractfile(info)
            return b"" if file is None else b"".join(iter(lambda: file.read(CHUNK // 2), b""))

        yield Member(info.name, info.size, info.size, problem, read)


@contextmanager
def _inflated(file: IO[bytes], budget: Budget) -> Iterator[IO[bytes]]:
    """What a gzip file holds, in a temporary file. Raises TooMuch for one that grows beyond reason."""
    size, limits = 0, budget.limits
    with tempfile.SpooledTemporaryFile(max_size=16 << 20) as plain:
        with gzip.GzipFile(fileobj=file) as packed:
            while chunk := packed.read(CHUNK):
                size += len(chunk)
                budget.spend()  # looks at the clock
                if size > limits.inflated_bytes:
                    raise TooMuch(budget, f"it becomes larger than {bytes_words(limits.inflated_bytes)}")
                if size > limits.ratio_from and size > limits.ratio * max(1, file.tell()):
                    raise TooMuch(budget, f"it becomes more than {limits.ratio} times as large")
                plain.write(chunk)
        plain.seek(0)
        yield plain


class _Bounded(io.RawIOBase):
    """A file of which no single read may be large: `zipfile` and `tarfile` read what a header says into memory."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        super().__init__()
        self._file = file
        self._most = most

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            size = self._most + 1
        if size > self._most:
            position = self._file.tell()
            size = min(size, self._file.seek(0, io.SEEK_END) - position)  # a rest that is small is no danger
            self._file.seek(position)
        if size > self._most:
            raise OSError(f"a list of members or a header is longer than {bytes_words(self._most)}")
        return self._file.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True
