"""The student's source as the rules of advice read it: conditions, loops, barriers, by line. Pure.

Read as text, with comments blanked, going by indentation: what is said of it stays a question or a plain quotation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from grader.compile.lexical import without_comments

QUOTED = 60  # characters of a condition; a longer one is not shown
READ = 300  # characters of a line that are looked at
FAR = 12  # lines in which the barrier at a loop's end is looked for
_ASKS = re.compile(r"([^?=,;{}]{1,80}?)\?")
_BARRIER = re.compile(r"(?<!\w)(__syncthreads|__syncwarp)\s*([(;])")
_RETURN = re.compile(r"(?<!\w)return\s*;")


class SourceView:
    """One file. Lines are numbered from 1; a line that is not there is empty."""

    def __init__(self, source: str = "") -> None:
        self._source = source

    @cached_property
    def lines(self) -> Sequence[str]:
        return without_comments(self._source).split("\n")

    def text(self, line: int) -> str:
        return self.lines[line - 1][:READ] if 1 <= line <= len(self.lines) else ""

    # ------------------------------------------------------------------------------------------------------- places

    def barriers(self, first: int, last: int) -> list[tuple[int, str, bool]]:
        """Line, name and whether it is called, of the barriers in these lines."""
        return [
            (at, match[1], match[2] == "(")
            for at in range(first, last + 1)
            for match in _BARRIER.finditer(self.text(at))
        ]

    def first_return(self, first: int = 1, last: int | None = None) -> int | None:
        """The first line with a ``return;``."""
        end = len(self.lines) if last is None else last
        return next((at for at in range(first, end + 1) if _RETURN.search(self.text(at))), None)

    def kernel_of(self, line: int) -> int:
        """The line where the kernel begins that ``line`` is in, or 1: what stands above may never be called."""
        return max((at for at in range(1, line + 1) if "__global__" in self.text(at)), default=1)

    # -------------------------------------------------------------------------------------------------------- loops

    def loop_near(self, line: int) -> int | None:
        """The line of the loop that ``line`` is in; None where there is none near."""
        return next((at for at in self.loops_around(line) if at > line - FAR), None)

    def loops_around(self, line: int) -> Iterator[int]:
        """The lines of the loops that ``line`` is in, the innermost first."""
        depth = self.depth(line)
        for at in range(line - 1, 0, -1):
            if self._is_code(at) and self.depth(at) < depth:
                depth = self.depth(at)
                if re.match(r"\s*(?:for|while)\b", self.text(at)):
                    yield at

    def loop_around_both(self, first: int, last: int) -> int | None:
        """The line of the innermost loop around line ``first`` that goes on to line ``last``."""
        inside = (at for at in range(first + 1, last + 1) if self._is_code(at) and self.text(at).strip() != "{")
        shallowest = min(map(self.depth, inside), default=None)
        loops = self.loops_around(first)
        return next((at for at in loops if shallowest is None or self.depth(at) < shallowest), None)

    def end_of_loop(self, loop: int, line: int) -> int:
        """The last line of the body that ``line`` is in, of the loop in line ``loop``, as far as it is looked for."""
        body = range(line, min(line + FAR, len(self.lines)) + 1)
        ends = (at for at in body if self.text(at).strip() and self.depth(at) <= self.depth(loop))
        return next(ends, line + FAR)

    def leaves_the_block(self, first: int, last: int) -> bool:
        """Whether code between the lines is less deep than the first: the second stands in a function of its own."""
        return any(self.depth(at) < self.depth(first) for at in range(first, last + 1) if self._is_code(at))

    def _is_code(self, line: int) -> bool:
        """Whether a line's indentation says where it belongs: `#pragma unroll` may stand at the left edge."""
        text = self.text(line)
        return bool(text.strip()) and not text.lstrip().startswith("#")

    def depth(self, line: int) -> int:
        text = self.text(line).expandtabs(4)
        return len(text) - len(text.lstrip())

    # -------------------------------------------------------------------------------------------------- expressions

    def guard(self, line: int, name: str) -> str:
        """The condition of an ``if`` or a ``?`` before ``name[…]`` on its line, or of an ``if`` on the line before."""
        here, before = self.text(line), self.text(line - 1).rstrip().rstrip("{").rstrip()
        if match := re.search(r"\bif\s*\(", here):
            return _bracketed(here, match.end() - 1, "()")
        match = _ASKS.search(here.partition("=")[2])
        if match is not None:
            chosen = here[here.index(match[0]) + len(match[0]) :]
            return _short(match[1]) if re.search(rf"\b{re.escape(name)}\s*\[", chosen) else ""
        match = re.search(r"\bif\s*\(", before)
        if match is None:
            return ""
        condition = _bracketed(before, match.end() - 1, "()")
        return condition if before.endswith(f"{condition})") else ""

    def index_of(self, name: str, line: int) -> str:
        """The expression in ``name[…]``; "" where the line has several, or more follows: another index, a member."""
        text, found = self.text(line), {}
        for match in re.finditer(rf"\b{re.escape(name)}\s*\[", text):
            inside = _bracketed(text, match.end() - 1, "[]")
            found[inside] = text[match.end() + len(inside) :].lstrip(" ]")[:1]
        (expression, after), *more = [*found.items()] or [("", "")]
        return "" if more or after in ("[", ".") else expression

    def indices(self, name: str, line: int) -> set[str]:
        """The different indices of ``name`` in a line, without blanks."""
        found = re.findall(rf"\b{re.escape(name)}\s*\[([^\]]*)\]", self.text(line))
        return {re.sub(r"\s", "", index) for index in found}


def _bracketed(text: str, start: int, pair: str) -> str:
    """What stands between the bracket at ``start`` and the one that closes it, on one line."""
    depth = 0
    for at in range(start, min(len(text), start + QUOTED + 2)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return text[start + 1 : at].strip()
    return ""


def _short(text: str) -> str:
    words = text.strip()
    return words if len(words) <= QUOTED and words.count("(") == words.count(")") else ""


def linear(thread: tuple[int, int, int]) -> str:
    return str(thread[0]) if thread[1:] == (0, 0) else str(thread)
