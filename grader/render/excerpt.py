"""A few lines of the student's file around the lines that matter, with numbers, markers and a caret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.render.text import safe

if TYPE_CHECKING:
    from rich.text import Text

CONTEXT = 1  # lines shown before and after each marked line


def excerpt(
    source: str, marks: Mapping[int, str], *, caret: tuple[int, int] | None = None, width: int = 80
) -> list[Text]:
    """Return the marked lines with their neighbours; ``marks`` maps a line number, from 1, to a word beside it.

    ``caret`` is a line and a column, from 1. A gap between two places is drawn as ``⋮``.
    """
    lines = source.splitlines()
    known = sorted(line for line in marks if 1 <= line <= len(lines))
    shown = sorted({near for line in known for near in _around(line, len(lines))})
    digits = len(str(shown[-1])) if shown else 1
    drawn: list[Text] = []
    for previous, line in zip([0, *shown], shown, strict=False):
        if previous and line > previous + 1:
            drawn.append(_gap(digits))
        drawn.append(_row(line, lines[line - 1], marks.get(line), digits, width))
        if caret is not None and line == caret[0]:
            drawn.append(_caret(lines[line - 1], caret[1], digits, width))
    return drawn


def _around(line: int, last: int) -> range:
    return range(max(1, line - CONTEXT), min(last, line + CONTEXT) + 1)


def _row(number: int, code: str, mark: str | None, digits: int, width: int) -> Text:
    from rich.text import Text

    beside = f"  {mark}" if mark else ""
    row = Text("  ▶ " if mark is not None else "    ", style="bold red", no_wrap=True, overflow="ellipsis")
    row.append(f"{number:>{digits}} │ ", style="dim not bold default")
    room = max(10, width - 7 - digits - len(beside))
    text = safe(code).rstrip()
    row.append(
        text if len(text) <= room else text[: room - 1] + "…",
        style="bold default" if mark is not None else "not bold default",
    )
    return row.append(beside, style="bold red")


def _caret(code: str, column: int, digits: int, width: int) -> Text:
    from rich.text import Text

    before = len(safe(code[: max(0, column - 1)]))
    row = Text(" " * (4 + digits) + " │ ", style="dim", no_wrap=True, overflow="crop")
    return row.append(" " * min(before, max(0, width - 9 - digits)) + "^", style="bold red")


def _gap(digits: int) -> Text:
    from rich.text import Text

    return Text(" " * (4 + digits) + " ⋮", style="dim")
