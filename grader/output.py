"""Printing: the terminal's width, colours and Unicode, and writing in any encoding."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TextIO

from grader.frozen import dataclass

if TYPE_CHECKING:
    from rich.table import Table


NARROWEST, WIDEST = 40, 100


@dataclass(frozen=True)
class Screen:
    """What standard output can show."""

    width: int
    color: bool
    unicode: bool


def screen(*, no_color: bool = False) -> Screen:
    """The properties of standard output, by NO_COLOR, FORCE_COLOR, TERM and COLUMNS."""
    width = shutil.get_terminal_size((80, 24)).columns
    plain = no_color or os.environ.get("NO_COLOR")
    shows_color = os.environ.get("FORCE_COLOR") or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")
    return Screen(max(NARROWEST, min(WIDEST, width)), bool(shows_color and not plain), _unicode(sys.stdout))


def _unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").startswith("utf")


def print_text(text: str) -> None:
    """Write a text as it is; a character that the encoding does not have is written as an escape."""
    _write(sys.stdout, text)


def print_line(text: str, *, to_stderr: bool = False) -> None:
    """Write one message; control characters (in a path or a name) are made visible.

    On a terminal the lines of standard error are wrapped; elsewhere they stay whole, so that programs can search them.
    """
    from grader.text import safe, to_ascii

    stream = sys.stderr if to_stderr else sys.stdout
    shown = safe(text, lines=True)
    if to_stderr and stream.isatty():
        shown = "\n".join(map(_wrapped_line, shown.split("\n")))
    _write(stream, (shown if _unicode(stream) else to_ascii(shown)) + "\n")


def _wrapped_line(line: str) -> str:
    """A line of a message; what does not fit stands below its first word, or below what follows ``grade:``."""
    import re

    start = len(line) - len(re.sub(r"^(grade:)?\s*", "", line))
    return line[:start] + wrapped(line[start:], width=screen().width - start).replace("\n", "\n" + " " * start)


@cache
def tell_once(message: str) -> None:
    """Print a warning once: `grade watch` would otherwise repeat it at each save."""
    print_line(f"grade: {message}", to_stderr=True)


def wrapped(text: str, *, width: int, indent: str = "") -> str:
    """``text`` in lines of at most ``width`` characters; all but the first begin with ``indent``.

    Lines break only at spaces outside backticks and numbers: a path or a command is not broken, even if it is too long.
    """
    import re
    from textwrap import wrap

    from grader.text import glued

    whole = re.sub("`[^`]*`", lambda command: command[0].replace(" ", NO_BREAK), glued(text, NO_BREAK))
    lines = wrap(whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(NO_BREAK, " ")


NO_BREAK = "\0"  # a space at which no line may break


def say(text: str) -> None:
    """Print a message, wrapped at the screen's width."""
    print_line(wrapped(text, width=screen().width))


def print_json(document: Mapping[str, Any]) -> None:
    """Write the one document of a ``--json`` command."""
    from grader.render.json import dumps

    _write(sys.stdout, dumps(document) + "\n")


def _write(stream: TextIO, text: str) -> None:
    """Write ``text`` to ``stream``; characters that its encoding lacks are escaped.

    Raises UsageError where standard output cannot be written, and ignores that of standard error.
    """
    from grader.errors import UsageError

    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if stream is not sys.stderr:
            raise UsageError(f"cannot write to standard output: {error.strerror}", code="cannot_write") from None


def write_file(path: Path, text: str) -> None:
    """Write a file that the user requested. Raises UsageError if it cannot be written."""
    from grader.errors import UsageError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None


def table_of(*headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def print_table(table: Table) -> None:
    """Write a table of rich, without colours, at least 100 characters wide."""
    from io import StringIO

    from rich.console import Console

    from grader.text import to_ascii

    shown = screen()
    file = StringIO()
    Console(file=file, width=max(100, shown.width), no_color=True, markup=False, highlight=False).print(table)
    print_text(file.getvalue() if shown.unicode else to_ascii(file.getvalue()))


ERASE = "\r\x1b[K"  # back to the margin, and erase to the end of the line


@contextmanager
def waiting(
    name: str, *, doing: str = "grading", quiet: bool = False, stream: TextIO | None = None
) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the progress of ``name`` on one line; it does nothing if ``stream`` is no terminal.

    A terminal that cannot erase (``TERM=dumb``) gets one line at the start.
    """
    stream = stream or sys.stderr
    if quiet or not stream.isatty():
        yield lambda words: None
    elif os.environ.get("TERM", "dumb") == "dumb":
        with suppress(OSError):  # the terminal was closed; the grading continues
            _write(stream, f"{doing} {name} {'…' if _unicode(stream) else '...'}\n")
        yield lambda words: None
    else:
        line = _Line(f"{doing} {name}", stream)
        try:
            yield line.show
        finally:
            line.close()


class _Line:
    """One line that is overwritten; two backends may call it from their threads, even after `close`."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name = name
        self._stream = stream
        self._lock = Lock()
        self._closed = False

    def show(self, words: str) -> None:
        width = shutil.get_terminal_size((80, 24)).columns - 1  # a full line would wrap, and could not be erased
        with self._lock:
            if not self._closed:
                _write(self._stream, ERASE + f"{self._name} … {words}"[:width])

    def close(self) -> None:
        with self._lock:
            self._closed = True
            _write(self._stream, ERASE)
