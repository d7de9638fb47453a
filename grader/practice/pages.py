"""Pages of an exercise that are shown in parts: the hints of ``hints.md``, and the lines of any page."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_STARTS = (re.compile(r"##\s.*"), re.compile(r"\d+[.)]\s+"))
"""The beginning of a hint: a heading, or an item of a numbered list if there are no headings."""


def hints_in(markdown: str) -> tuple[str, ...]:
    """Return every hint as Markdown, without its heading or number; a text without either is a single hint."""
    for start in _STARTS:
        parts: list[list[str]] = [[]]
        for line, in_code in lines_of(markdown):
            if not in_code and start.match(line):
                parts.append([])
            parts[-1].append(line)
        if len(parts) > 1:  # the first part is the text before the first hint
            return tuple(text for part in parts[1:] if (text := start.sub("", "\n".join(part), count=1).strip()))
    whole = markdown.strip()
    return (whole,) if whole else ()


def lines_of(markdown: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is in a code block."""
    in_code = False
    for line in markdown.splitlines():
        in_code ^= bool(_FENCE.match(line))
        yield line, in_code
