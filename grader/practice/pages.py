"""Pages of an exercise that are shown bit by bit: the hints of ``hints.md``, the questions of ``interview.md``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_STARTS = (re.compile(r"##\s.*"), re.compile(r"\d+[.)]\s+"))
"""What a hint begins with: a heading, or an item of a numbered list where there are no headings."""


def hints_in(markdown: str) -> tuple[str, ...]:
    """Return every hint as Markdown, without its heading or number; text that is neither is a single hint."""
    for start in _STARTS:
        parts: list[list[str]] = [[]]
        for line, in_code in _lines(markdown):
            if not in_code and start.match(line):
                parts.append([])
            parts[-1].append(line)
        if len(parts) > 1:  # the first is what stands before the first hint
            return tuple(text for part in parts[1:] if (text := start.sub("", "\n".join(part), count=1).strip()))
    whole = markdown.strip()
    return (whole,) if whole else ()


def _lines(markdown: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it stands in a block of code."""
    in_code = False
    for line in markdown.splitlines():
        in_code ^= bool(_FENCE.match(line))
        yield line, in_code


@dataclass(frozen=True)
class Question:
    """One question and its answer, both Markdown."""

    text: str
    answer: str


def questions_in(markdown: str) -> tuple[Question, ...]:
    """Return every question in order; what stands before the first is no question."""
    found: list[tuple[str, list[str]]] = []
    for line, in_code in _lines(markdown):
        if not in_code and line.startswith("## "):
            found.append((line[3:].strip(), []))
        elif found and (in_code or line.strip() != "### Answer"):
            found[-1][1].append(line)
    return tuple(Question(text, "\n".join(lines).strip()) for text, lines in found)
