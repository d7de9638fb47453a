"""What a host file's process may read: Python and its packages, and nothing of the course or the grader."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from grader.errors import Unsupported
from grader.paths import PACKAGE

SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/opt")
PACKAGES = ("site-packages", "dist-packages")
PROCESS = ("/proc/self", "/proc/sys", "/proc/meminfo", "/proc/cpuinfo", "/dev/urandom")


def require_sandbox() -> None:
    """Raise Unsupported where this system cannot close files to a process."""
    from grader.process.sandbox import available

    if available() == "none":
        raise Unsupported(
            "this system cannot close its files to a host file's code (no Landlock)",
            hint="--no-sandbox runs it all the same, with your own rights: only for files that you trust",
        )


def readable(courses: Iterable[Path] = ()) -> tuple[str, ...]:
    """Files and folders that may be read: the system's and Python's, without the grader's package and the courses.

    Solutions lie inside of the installed package, in a folder of Python's. A rule for a folder holds for everything
    in it, so a folder with something closed inside is replaced by what else it holds.
    """
    closed = {PACKAGE, *(course.resolve() for course in courses)}
    open_ = dict.fromkeys(path for root in _roots() for path in _without(root, closed))
    return (*map(str, open_), *PROCESS)


def _roots() -> Iterator[Path]:
    """The system's folders, and Python's: of the search path only installed packages, and no clone of the course."""
    prefixes = [Path(prefix).resolve() for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix}]
    yield from (Path(folder) for folder in SYSTEM)
    yield from (prefix / part for prefix in prefixes for part in ("lib", "lib64") if prefix != Path("/"))
    for folder in (Path(entry).resolve() for entry in sys.path if entry):
        if folder.name in PACKAGES or any(folder.is_relative_to(prefix) for prefix in prefixes):
            yield folder


def _without(folder: Path, closed: set[Path]) -> Iterator[Path]:
    """``folder``, or what it holds but for the closed ones."""
    real = folder.resolve()
    if any(real.is_relative_to(one) for one in closed):
        return
    if not any(one.is_relative_to(real) for one in closed):
        yield folder
        return
    try:
        inside = sorted(real.iterdir())
    except OSError:
        return
    for path in inside:
        yield from _without(path, closed)
