"""A few lines of the student's file around the lines that matter, with numbers, markers and a caret."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.text import safe

if TYPE_CHECKING:
    from rich.text import Text

CONTEXT = 1  # lines shown before and after each marked line


@dataclass(frozen=True)
class _Window:
    """What of a long line is shown: ``text``, and at which of its characters the caret belongs."""

    text: str
    caret: int | None


def excerpt(
    source: str,
    marks: Mapping[int, str],
    *,
    caret: tuple[int, int] | None = None,
    width: int = 80,
    names: Sequence[str] = (),
) -> list[Text]:
    """Return the marked lines with their neighbours; ``marks`` maps a line number, from 1, to a word beside it.

    ``caret`` is a line and a column, from 1. A gap between two places is drawn as ``⋮``. A line that is too long is
    cut, so that the caret's column stays in sight; without a caret, in a marked line, the first of ``names`` with an
    index behind it.
    """
    lines = source.splitlines()
    known = sorted(line for line in marks if 1 <= line <= len(lines))
    shown = sorted({near for line in known for near in _around(line, len(lines))})
    digits = len(str(shown[-1])) if shown else 1
    drawn: list[Text] = []
    for previous, line in zip([0, *shown], shown, strict=False):
        if previous and line > previous + 1:
            drawn.append(_gap(digits))
        mark, column = marks.get(line), caret[1] if caret is not None and line == caret[0] else None
        focus = column or (_column_of(lines[line - 1], names) if mark is not None else None)
        window = _window(lines[line - 1], focus, width - 7 - digits - len(_beside(mark)))
        drawn.append(_row(line, window.text, mark, digits))
        if window.caret is not None and column is not None:
            drawn.append(_caret(window, digits))
    return drawn


def _column_of(code: str, names: Sequence[str]) -> int | None:
    """The column of the index of the first of ``names`` that stands in ``code``: that is where the mistake may be."""
    found = (re.search(rf"\b{re.escape(name)}\s*\[", code) for name in names)
    return next((match.end() for match in found if match), None)


def _around(line: int, last: int) -> range:
    return range(max(1, line - CONTEXT), min(last, line + CONTEXT) + 1)


def _window(code: str, column: int | None, room: int) -> _Window:
    """At most ``room`` characters of ``code``, those around ``column`` where that would be cut off."""
    text, room = safe(code).rstrip(), max(10, room)
    at = None if column is None else min(len(safe(code[: max(0, column - 1)])), len(text))
    if len(text) <= room:
        return _Window(text, at)
    begin = 0 if at is None or at < room - 1 else min(at - room // 2, len(text) - room + 1)
    end = begin + room - (begin > 0)  # one character goes to the … before it
    if end < len(text):
        end -= 1
    shown = ("…" if begin else "") + text[begin:end] + ("…" if end < len(text) else "")
    return _Window(shown, None if at is None else at - begin + (begin > 0))


def _beside(mark: str | None) -> str:
    return f"  {mark}" if mark else ""


def _row(number: int, code: str, mark: str | None, digits: int) -> Text:
    from rich.text import Text

    row = Text("  ▶ " if mark is not None else "    ", style="bold red", no_wrap=True, overflow="ellipsis")
    row.append(f"{number:>{digits}} │ ", style="dim not bold default")
    row.append(code, style="bold default" if mark is not None else "not bold default")
    return row.append(_beside(mark), style="bold red")


def _caret(window: _Window, digits: int) -> Text:
    """The row below; a … in the line's first column stands here too, so that both rows grow alike in plain ASCII."""
    from rich.text import Text

    cut = "…" if window.text.startswith("…") else ""
    row = Text(" " * (4 + digits) + " │ ", style="dim", no_wrap=True, overflow="crop")
    row.append(cut)
    return row.append(" " * ((window.caret or 0) - len(cut)) + "^", style="bold red")


def _gap(digits: int) -> Text:
    from rich.text import Text

    return Text(" " * (4 + digits) + " ⋮", style="dim")
