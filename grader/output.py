"""Printing: how wide the terminal is, whether it shows colours and Unicode, and writing so that nothing can fail."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TextIO

NARROWEST, WIDEST = 40, 100


@dataclass(frozen=True)
class Screen:
    """What standard output can show."""

    width: int
    color: bool
    unicode: bool


def screen(*, no_color: bool = False, stream: TextIO | None = None) -> Screen:
    """Look at ``stream`` (default: standard output), NO_COLOR, FORCE_COLOR, TERM and COLUMNS."""
    stream = stream or sys.stdout
    width = shutil.get_terminal_size((80, 24)).columns
    return Screen(max(NARROWEST, min(WIDEST, width)), not no_color and _colors(stream), _unicode(stream))


def _colors(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").startswith("utf")


def print_text(text: str) -> None:
    """Write a finished text; a character that the encoding lacks is written as an escape."""
    _write(sys.stdout, text)


def print_line(text: str, *, to_stderr: bool = False) -> None:
    """Write one message; control characters in it (of a path, of a name) are made visible."""
    from grader.render.text import safe, to_ascii

    stream = sys.stderr if to_stderr else sys.stdout
    shown = safe(text, lines=True)
    _write(stream, (shown if _unicode(stream) else to_ascii(shown)) + "\n")


@cache
def tell_once(message: str) -> None:
    """Print a trouble, once: `grade watch` would otherwise repeat it at each save."""
    print_line(f"grade: {message}", to_stderr=True)


def wrapped(text: str, *, width: int, indent: str = "") -> str:
    """``text`` in lines of at most ``width`` characters; all but the first begin with ``indent``.

    Lines break only at spaces outside of backticks: a path or a command stays whole, even where it is too long.
    """
    import re
    from textwrap import wrap

    glued = re.sub("`[^`]*`", lambda command: command[0].replace(" ", _GLUE), text)
    lines = wrap(glued, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace(_GLUE, " ")


_GLUE = "\0"  # stands for a space at which no line breaks


def say(text: str) -> None:
    """Print a message in lines of the screen's width."""
    print_line(wrapped(text, width=screen().width))


def print_json(document: Mapping[str, Any]) -> None:
    """Write the one document of a ``--json`` command."""
    from grader.render.json import dumps

    _write(sys.stdout, dumps(document) + "\n")


def _write(stream: TextIO, text: str) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def write_file(path: Path, text: str) -> None:
    """Write a file that somebody asked for. Raises UsageError where that cannot be."""
    from grader.errors import UsageError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", code="cannot_write") from None
