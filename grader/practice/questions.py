"""The interview questions of an exercise: the ``##`` headings of its ``interview.md``, an ``### Answer`` below each."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")


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
