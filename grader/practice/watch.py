"""The events of `grade watch`: single key presses of a terminal, and saves of files.

Keys are read without Enter and without echo, and the terminal's settings are always restored. For saves, the system's
notifications wake the watcher, which then checks the files. Editors save in many ways: they write in place, or write
another file and rename it, or first empty the file. In every case the file's modification time, size or inode number
changes.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, Self

END = "\x04"  # the character of Ctrl-D, also reported when the terminal is closed
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)  # an arrow or a function key
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_BACKGROUND_PAUSE_S = 0.2


class Keyboard:
    """A context manager that calls ``press`` with every key, in its own thread.

    If standard input is not a terminal, or another program has it, ``listens`` is False and nothing happens.
    """

    def __init__(self, press: Callable[[str], None]) -> None:
        self.listens = False
        self._press = press
        self._saved: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        self.listens = _is_ours()
        if self.listens:
            self._input = sys.stdin.fileno()
            self._wake_reader, self._wake_writer = os.pipe()
            self._take_signals()
            self._read_single_keys()
            self._thread = threading.Thread(target=self._listen, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.listens:
            self._closed.set()
            os.write(self._wake_writer, b".")
            self._thread.join()
            self.restore()
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            os.close(self._wake_reader)
            os.close(self._wake_writer)

    def restore(self) -> None:
        """Restore the terminal's settings; may be called at any time, from any thread."""
        import termios

        if self._saved is not None and _in_foreground(self._input):
            termios.tcsetattr(self._input, termios.TCSANOW, self._saved)

    # -- the terminal

    def _read_single_keys(self) -> None:
        import termios
        import tty

        if _in_foreground(self._input):
            self._saved = self._saved or termios.tcgetattr(self._input)
            tty.setcbreak(self._input, termios.TCSANOW)

    def _listen(self) -> None:
        while not self._closed.is_set():
            ready, _, _ = select.select([self._input, self._wake_reader], [], [])
            if self._wake_reader in ready:
                return
            if not _in_foreground(self._input):  # the keys are for another program
                self._closed.wait(_BACKGROUND_PAUSE_S)
                continue
            try:
                pressed = os.read(self._input, 64) or END.encode()
            except OSError:
                pressed = END.encode()
            for key in _SEQUENCE.sub("", pressed.decode("ascii", "ignore")):
                self._press(key)
            if pressed == END.encode():
                return

    # -- signals: restore the terminal first, then act as without these handlers

    def _take_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        handlers = dict.fromkeys(_ENDING, self._ending)
        handlers |= {"SIGTSTP": self._stopping, "SIGCONT": lambda *_: self._read_single_keys()}
        for name, handler in handlers.items():
            number = getattr(signal, name)
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, handler)

    def _ending(self, number: int, frame: FrameType | None) -> None:
        self.restore()
        before = self._handlers[number]
        if callable(before):
            before(number, frame)
        else:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def _stopping(self, number: int, frame: FrameType | None) -> None:
        self.restore()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)  # stops here until SIGCONT, or not at all if no shell could continue it
        signal.signal(number, self._stopping)
        self._read_single_keys()


def _is_ours() -> bool:
    """Whether standard input is a terminal that this program may read."""
    try:
        return find_spec("termios") is not None and sys.stdin.isatty() and _in_foreground(sys.stdin.fileno())
    except (ImportError, AttributeError, ValueError, OSError):
        return False


def _in_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return False


# ---------------------------------------------------------------------------------------------------------------- saves

QUIET_MS = 50  # a save is over when nothing more happens for this long
LONGEST_MS = 400  # or when it has gone on for this long
LOOK_MS = 1000  # check without a notification this often: not every file system sends them

Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """The file's modification time, size and inode number, which change with every save; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Saves:
    """The files' stamps at the last look."""

    def __init__(self) -> None:
        self._seen: dict[Path, Stamp | None] = {}

    def look(self, paths: Iterable[Path]) -> list[Path]:
        """The existing files that were saved since the last look, newest first."""
        stamps = {path: stamp(path) for path in paths}
        saved = [path for path, now in stamps.items() if now is not None and now != self._seen.get(path)]
        self._seen |= stamps
        return newest_first(saved)

    def has_new(self, paths: Iterable[Path]) -> bool:
        """Whether one of the files was saved since the last look; does not count as a look. From any thread."""
        return any((now := stamp(path)) is not None and now != self._seen.get(path) for path in paths)


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """The paths by modification time; missing files come last."""
    return sorted(paths, key=lambda path: stamp(path) or (0, 0, 0), reverse=True)


def wake_at_saves(folders: Iterable[Path], wake: Callable[[], None], stop: threading.Event) -> None:
    """Call ``wake`` whenever a file in one of the folders may have changed, and each second, until ``stop``."""
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
