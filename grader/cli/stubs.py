"""The files of an exercise as they are called in this folder, and which of them are there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from grader.catalog.exercises import Catalog, CourseExercise
from grader.render.text import listed


def of_a_file(catalog: Catalog, path: Path) -> CourseExercise | None:
    """The exercise whose file in this folder ``path`` is: ``pinned_copy_host.py`` as well as ``pinned_copy.cu``."""
    return next((entry for entry in catalog.exercises if str(path) in (file.name for file in files_of(entry))), None)


def files_of(entry: CourseExercise) -> list[Path]:
    """What `grade start` copies: the stub, and of a host exercise the Python file too."""
    return [path for path in (entry.stub, entry.host_file) if path is not None]


def missing_here(entry: CourseExercise) -> list[Path]:
    """Those of the exercise's files that have no namesake in this folder; a broken link is one."""
    return [path for path in files_of(entry) if not os.path.lexists(path.name)]


def named(paths: Iterable[Path]) -> str:
    """``./pinned_copy.cu and ./pinned_copy_host.py``: the files as they are called in this folder."""
    return listed(f"./{path.name}" for path in paths)


def to_edit(entry: CourseExercise) -> list[Path]:
    """The stubs in which something is left to write: of a host exercise it may be one of the two files, or both."""
    stubs = files_of(entry)
    return [path for path in stubs if path.is_file() and b"YOUR CODE" in path.read_bytes()] or stubs
