"""A statement (Markdown) as a terminal shows it."""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING

from grader.text import safe, to_ascii

if TYPE_CHECKING:
    from rich.markdown import Markdown


def statement_text(markdown: str, *, width: int = 80, color: bool = True, unicode: bool = True) -> str:
    """Return ``markdown`` rendered by rich. Code blocks are never wrapped: they hold drawings."""
    from rich.console import Console

    file = StringIO()
    console = Console(
        file=file, width=width, force_terminal=color, no_color=not color, color_system="standard" if color else None,
        legacy_windows=False,
    )  # fmt: skip
    console.print(_with_drawings(safe(_without_unseen(markdown), lines=True)), crop=False)
    text = "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    return text if unicode else to_ascii(text)


def _without_unseen(markdown: str) -> str:
    """The text without comments and pictures, which a terminal does not show: no blank lines stand for them."""
    seen = _UNSEEN.sub("", markdown)
    return re.sub(r"\n{3,}", "\n\n", seen)


_UNSEEN = re.compile(r"^(?:<!--.*?-->|!\[[^\n]*\]\([^\n]*\))[ \t]*\n?", re.MULTILINE | re.DOTALL)


def _with_drawings(markdown: str) -> Markdown:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import CodeBlock, Markdown
    from rich.text import Text

    class Drawing(CodeBlock):
        """A code block line by line as it is, a little indented."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for line in str(self.text).rstrip("\n").split("\n"):
                yield Text(f"  {line}", style="cyan", no_wrap=True, overflow="ignore")

    class Statement(Markdown):
        elements = Markdown.elements | {"fence": Drawing, "code_block": Drawing}

    return Statement(markdown, hyperlinks=False)
