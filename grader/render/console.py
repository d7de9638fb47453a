"""Text for terminals, made with rich: renderables as a string, statements, source files in colours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from grader.text import glued, safe, to_ascii

if TYPE_CHECKING:
    from rich.markdown import Markdown


def rendered(parts: Iterable[RenderableType], *, width: int, color: bool, unicode: bool, glue: str = "") -> str:
    """Return the parts, one below the other, as text for a terminal of ``width``, without trailing spaces.

    ``glue`` is a character that becomes a space when all lines are broken.
    """
    file = StringIO()
    console = Console(
        file=file, width=width, force_terminal=color, no_color=not color, color_system="standard" if color else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    for part in parts:
        console.print(part, crop=False)
    text = "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    text = text.replace(glue, " ") if glue else text
    return text if unicode else to_ascii(text)


UNBROKEN = 4096  # columns, for what no terminal is narrower than


def source_text(source: str, suffix: str) -> str:
    """Return ``source`` in the terminal's sixteen colours; no line is broken or padded."""
    from rich.syntax import Syntax

    file = StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard", legacy_windows=False)
    lexer = {".cu": "cuda", ".py": "python"}.get(suffix, "text")
    text = Syntax("", lexer, theme="ansi_dark").highlight(safe(source, lines=True))
    console.print(text, end="", soft_wrap=True)
    return file.getvalue()


_COMMENT = re.compile(r"^<!--.*?-->[ \t]*\n?", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"^!\[([^\n]*)\]\(([^\n]*)\)[ \t]*$", re.MULTILINE)
"""A terminal shows a picture's text, which has the figures, and the file's name."""
_LADDER = re.compile(r"\[([^\]\n]*)\]\(\.\./(\w+)\.md[^)\s]*\)")
_REPOSITORY = re.compile(r"\[([^\]\n]*)\]\((?:\.\./)+docs/[^)\s]*\)")
"""Links to a ladder's page, which a command shows, and to pages that only the repository has."""
_GLUE = "\ue000"  # no space to rich; what was written by others has passed `safe`, and has none


def statement_text(markdown: str, *, width: int = 80, color: bool = True, unicode: bool = True) -> str:
    """Return ``markdown`` rendered for a terminal. Code blocks are never wrapped: they contain drawings."""
    visible = re.sub(r"\n{3,}", "\n\n", _PICTURE.sub(r"*Picture* `\2`: \1", _COMMENT.sub("", markdown)))
    reachable = _REPOSITORY.sub(r"\1", _LADDER.sub(r"\1 (`grade show \2`)", visible))
    parts = [_with_drawings(glued(safe(reachable, lines=True), _GLUE))]
    return rendered(parts, width=width, color=color, unicode=unicode, glue=_GLUE)


def _with_drawings(markdown: str) -> Markdown:
    from rich.markdown import CodeBlock, Markdown, TableElement
    from rich.measure import Measurement
    from rich.table import Table

    class Drawing(CodeBlock):
        """A code block, line by line, unchanged but indented."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for line in str(self.text).rstrip("\n").split("\n"):
                yield Text(f"  {line}", style="cyan", no_wrap=True, overflow="ignore")

    class Rows(TableElement):
        """A table; where its words need more than the width, its columns stand closer. No word is cut off."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for table in super().__rich_console__(console, options):
                if isinstance(table, Table):
                    words = Measurement.get(console, options.update(max_width=UNBROKEN), table).minimum
                    if words + len(table.columns) > options.max_width:
                        table.padding = (0, 0)
                    for column in table.columns:
                        column.overflow = "fold"
                yield table

    class Statement(Markdown):
        elements = Markdown.elements | {"fence": Drawing, "code_block": Drawing, "table_open": Rows}

    return Statement(markdown, hyperlinks=False)
