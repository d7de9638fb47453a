"""Which of some files was saved: the system's notifications wake, a look at the files decides.

Editors save in many ways: they write in place, or write another file and rename it, or first empty the file. Whatever
happened, the file's time, size or number differs from when it was last looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

QUIET_MS = 50  # a save is over when nothing more happens for this long
LONGEST_MS = 400  # or when it has gone on for this long
LOOK_MS = 1000  # look without a notification: not every file system sends them

Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """What changes with every save: modification time, size and number; None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Saves:
    """The files' stamps when they were last looked at."""

    def __init__(self) -> None:
        self._seen: dict[Path, Stamp | None] = {}

    def look(self, paths: Iterable[Path]) -> list[Path]:
        """The files that were saved since the last look, the newest first; a file that has gone is none of them."""
        found = {path: stamp(path) for path in paths}
        saved = [path for path, now in found.items() if now is not None and now != self._seen.get(path)]
        self._seen |= found
        return newest_first(saved)

    def has_new(self, paths: Iterable[Path]) -> bool:
        """Whether one of the files was saved since the last look; this is no look. From any thread."""
        return any((now := stamp(path)) is not None and now != self._seen.get(path) for path in paths)


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """The paths by modification time, those that have gone at the end."""
    return sorted(paths, key=lambda path: stamp(path) or (0, 0, 0), reverse=True)


def wake_at_saves(folders: Iterable[Path], wake: Callable[[], None], stop: threading.Event) -> None:
    """Call ``wake`` whenever something may have changed in one of the folders, and each second, until ``stop``."""
    try:
        from watchfiles import watch

        for _ in watch(
            *folders, watch_filter=None, debounce=LONGEST_MS, step=QUIET_MS, stop_event=stop, rust_timeout=LOOK_MS,
            yield_on_timeout=True, raise_interrupt=False, recursive=False,
        ):  # fmt: skip
            wake()
    except (ImportError, OSError, RuntimeError):  # not installed, or the system has no notifications left
        pass
    while not stop.wait(LOOK_MS / 1000):
        wake()
