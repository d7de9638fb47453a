"""What a teacher names on the command line: an archive, a folder, a git repository, or a single file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from grader.classroom.collect.archives import DAMAGED, Place, alone, archive_entries, nested_entries
from grader.classroom.collect.entries import (
    Entry,
    Skipped,
    is_archive,
    is_junk,
    most_bytes,
    name_problem,
    without_suffix,
)
from grader.classroom.collect.limits import Budget, Limits, TooMuch
from grader.classroom.collect.repositories import is_repository, repository_entries
from grader.errors import UsageError
from grader.text import bytes_words, safe


def entries_of(
    source: Path, form: str, limits: Limits | None = None, own: Path | None = None
) -> Iterator[Entry | Skipped]:
    """The files of interest in a source, but for the folder ``own``.

    Raises UsageError if the source cannot be read at all, or is too large.
    """
    budget = Budget(limits or Limits())
    try:
        if source.is_dir():
            yield from _of_folder(source, budget, form, own)
        elif is_archive(source.name):
            with source.open("rb") as file:
                yield from archive_entries(file, Place(without_suffix(source.name), (), source.name), budget)
        else:
            source.lstat()  # raises FileNotFoundError: a file that a teacher names is not skipped
            yield from _of_file(source, source.parent.name, (source.name,), source.name, budget)
    except FileNotFoundError:
        hint = "name a folder, an archive, a git repository, or a file that is there"
        raise UsageError(f"there is no {source}", code="not_found", hint=hint) from None
    except TooMuch as error:
        hint = "unpack it yourself, and collect its parts one after the other"
        raise UsageError(f"{source} is not collected: {error.reason}", code="too_large", hint=hint) from None
    except DAMAGED as error:
        hint = "is the download complete? Load it again"
        raise UsageError(f"{source} cannot be read: {error}", code="unreadable", hint=hint) from None


def _of_folder(root: Path, budget: Budget, form: str, own: Path | None) -> Iterator[Entry | Skipped]:
    """The files in a folder and below it; links are not followed. A repository in it is read by git."""
    with_git = form in ("auto", "git")
    place = root.resolve()
    name = safe((place.parent if place.name == ".git" else place).name)
    if with_git and is_repository(root):
        yield from _of_repository(root, name, (name,), name, budget)
        return
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop(0)
        folder = root.joinpath(*parts)
        for item in sorted(os.scandir(folder), key=lambda item: item.name):
            budget.spend(members=1)
            below = (*parts, item.name)
            origin = safe(f"{name}/{'/'.join(below)}")
            if is_junk(below) or (own is not None and place.joinpath(*below) == own):
                continue
            if problem := name_problem(item.name, budget.limits):
                yield Skipped(origin, problem)
            elif item.is_dir(follow_symlinks=False):
                if with_git and is_repository(folder / item.name):
                    yield from _of_repository(folder / item.name, name, below, origin, budget)
                elif len(below) > budget.limits.folders:
                    yield Skipped(origin, f"it is {budget.limits.folders} folders deep")
                else:
                    waiting.append(below)
            elif form != "git":
                yield from _of_file(folder / item.name, name, below, origin, budget)


def _of_repository(
    folder: Path, source: str, parts: tuple[str, ...], origin: str, budget: Budget
) -> Iterator[Entry | Skipped]:
    yield from alone(lambda own: repository_entries(folder, source, parts, origin, own), origin, budget)


def _of_file(path: Path, source: str, parts: tuple[str, ...], origin: str, budget: Budget) -> Iterator[Entry | Skipped]:
    most = most_bytes(path.name, budget.limits)
    if most is None:
        yield Skipped(origin, "it is not a .cu file")
        return
    try:
        content = _content(path, most)
    except OSError as error:
        yield Skipped(origin, "it is a link" if path.is_symlink() else f"it cannot be read: {error.strerror}")
        return
    if content is None:
        yield Skipped(origin, "it is not a regular file")
    elif len(content) > most:
        yield Skipped(origin, f"it is larger than {bytes_words(most)}")
    elif is_archive(path.name):
        from io import BytesIO

        inner = Place(source, parts, origin, len(parts), 2)
        yield from nested_entries(BytesIO(content), inner, budget)
    else:
        budget.spend(read_bytes=len(content))
        yield Entry(source, parts, content, origin, len(parts))


def _content(path: Path, most: int) -> bytes | None:
    """At most one byte more than allowed; None if it is not a regular file (opening a pipe would wait)."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    with open(os.open(path, flags), "rb") as file:
        return file.read(most + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
