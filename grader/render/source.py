"""A source file with colours, as a terminal shows it."""

from __future__ import annotations

from io import StringIO

from grader.text import safe

_LEXERS = {".cu": "cuda", ".py": "python"}


def source_text(source: str, suffix: str) -> str:
    """Return ``source`` coloured in the terminal's own sixteen colours; no line is broken, wrapped or padded."""
    from rich.console import Console
    from rich.syntax import Syntax

    file = StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard", legacy_windows=False)
    lexer = _LEXERS.get(suffix, "text")
    text = Syntax("", lexer, theme="ansi_dark").highlight(safe(source, lines=True))
    console.print(text, end="", soft_wrap=True)
    return file.getvalue()
