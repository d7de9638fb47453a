"""Text for terminals, made with rich: renderables as a string, statements, source files in colours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from grader.text import safe, to_ascii

if TYPE_CHECKING:
    from rich.markdown import Markdown


def rendered(parts: Iterable[RenderableType], *, width: int, color: bool, unicode: bool) -> str:
    """Return the parts, one below the other, as text for a terminal of ``width``, without trailing spaces."""
    file = StringIO()
    console = Console(
        file=file, width=width, force_terminal=color, no_color=not color, color_system="standard" if color else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    for part in parts:
        console.print(part, crop=False)
    text = "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    return text if unicode else to_ascii(text)


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


def statement_text(markdown: str, *, width: int = 80, color: bool = True, unicode: bool = True) -> str:
    """Return ``markdown`` rendered for a terminal. Code blocks are never wrapped: they contain drawings."""
    visible = re.sub(r"\n{3,}", "\n\n", _PICTURE.sub(r"*Picture* `\2`: \1", _COMMENT.sub("", markdown)))
    return rendered([_with_drawings(safe(visible, lines=True))], width=width, color=color, unicode=unicode)


def _with_drawings(markdown: str) -> Markdown:
    from rich.markdown import CodeBlock, Markdown

    class Drawing(CodeBlock):
        """A code block, line by line, unchanged but indented."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for line in str(self.text).rstrip("\n").split("\n"):
                yield Text(f"  {line}", style="cyan", no_wrap=True, overflow="ignore")

    class Statement(Markdown):
        elements = Markdown.elements | {"fence": Drawing, "code_block": Drawing}

    return Statement(markdown, hyperlinks=False)
