"""Pieces of the student's text that know their place, and errors that show it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from grader.errors import SubmissionError
from grader.verdict import Diagnostic

_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


@dataclass(frozen=True)
class Fragment:
    """A piece of one line of a file. ``line`` and ``column`` (of its first character) count from 1."""

    text: str
    file: str
    line: int
    column: int
    source: str  # the whole line

    def part(self, start: int, stop: int | None = None) -> Fragment:
        """``text[start:stop]`` without the blanks around it."""
        piece = self.text[start:stop]
        indent = len(piece) - len(piece.lstrip())
        return Fragment(piece.strip(), self.file, self.line, self.column + start + indent, self.source)

    def group(self, match: re.Match[str], group: int | str) -> Fragment:
        return self.part(*match.span(group))

    def split(self, separator: str) -> list[Fragment]:
        """The parts between the separators that stand outside all brackets."""
        cuts = [-1, *(i for i, depth in self.depths() if depth == 0 and self.text[i] == separator), len(self.text)]
        return [self.part(a + 1, b) for a, b in pairwise(cuts)]

    def depths(self) -> Iterator[tuple[int, int]]:
        """Every index with the depth of brackets around it; a bracket itself counts as outside of its own pair."""
        depth = 0
        for i, character in enumerate(self.text):
            step = _BRACKETS.get(character, 0)
            depth += min(step, 0)
            yield i, depth
            depth += max(step, 0)

    def closing(self, opening: int) -> int | None:
        """The index of the bracket that closes the one at ``opening``."""
        level = next(depth for i, depth in self.depths() if i == opening)
        return next((i for i, depth in self.depths() if i > opening and depth <= level and self.text[i] in ")]}"), None)


def invalid(
    message: str, at: Fragment, *, hint: str = "", kernel: str | None = None, shift: int = 0
) -> SubmissionError:
    """The error that a launch line deserves; ``shift`` moves the caret that many characters into ``at``."""
    diagnostic = Diagnostic(
        kind="invalid",
        message=message,
        file=at.file,
        line=at.line,
        column=at.column + shift,
        source=at.source,
        hint=hint,
    )
    return SubmissionError("invalid", message, diagnostics=(diagnostic,), hint=hint)
