"""Pages of an exercise that are shown bit by bit: the hints of ``hints.md``, the questions of ``interview.md``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_STARTS = (re.compile(r"##\s.*"), re.compile(r"\d+[.)]\s+"))
"""What a hint begins with: a heading, or an item of a numbered list where there are no headings."""


def hints_in(markdown: str) -> tuple[str, ...]:
    """Return every hint as Markdown, without its heading or number; text that is neither is a single hint."""
    for start in _STARTS:
        parts = _split(markdown, start)
        if len(parts) > 1:  # the first is what stands before the first hint
            return tuple(text for part in parts[1:] if (text := start.sub("", part, count=1).strip()))
    whole = markdown.strip()
    return (whole,) if whole else ()


def _split(markdown: str, start: re.Pattern[str]) -> list[str]:
    """The text cut before every line that matches ``start`` and stands outside of code."""
    parts: list[list[str]] = [[]]
    in_code = False
    for line in markdown.splitlines():
        if _FENCE.match(line):
            in_code = not in_code
        if not in_code and start.match(line):
            parts.append([])
        parts[-1].append(line)
    return ["\n".join(part) for part in parts]


@dataclass(frozen=True)
class Question:
    """One question and its answer, both Markdown."""

    text: str
    answer: str


def questions_in(markdown: str) -> tuple[Question, ...]:
    """Return every question in order; what stands before the first is no question."""
    found: list[tuple[str, list[str]]] = []
    in_code = False
    for line in markdown.splitlines():
        in_code ^= bool(_FENCE.match(line))
        if not in_code and line.startswith("## "):
            found.append((line[3:].strip(), []))
        elif found and (in_code or line.strip() != "### Answer"):
            found[-1][1].append(line)
    return tuple(Question(text, "\n".join(lines).strip()) for text, lines in found)
