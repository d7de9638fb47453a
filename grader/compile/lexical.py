"""Views of a CUDA C source without its comments and strings, with every line where it was.

Not a parser: what macros build is not seen here. The PTX is what is finally inspected; these views serve messages.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_TOKEN = re.compile(
    r"""
      (?P<comment> //(?:\\\r?\n|[^\n])* | /\*.*?(?:\*/|\Z) )
    | (?P<string>
          (?:u8|[uUL])?R"(?P<fence>[^()\\\s"]{0,16})\((?P<raw>.*?)(?:\)(?P=fence)"|\Z)
        | "(?:\\.|[^"\\\n])*"?
        | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])*'?
      )
    """,
    re.VERBOSE | re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b(?:\s|volatile|__volatile__|inline|goto)*\(")
_TRANSPARENT = re.compile(r"(?:^|[;{}])\s*(?:extern\s*|(?:inline\s+)?namespace\b[\w:\s]*)$")


@dataclass(frozen=True)
class Block:
    """A top-level ``{…}`` with the declaration before it; lines are 1-based and inclusive."""

    first_line: int
    last_line: int
    head: str  # e.g. "int main(int argc, char** argv)"


def without_comments(source: str) -> str:
    """``source`` with comments blanked; line numbers and columns stay."""
    return _TOKEN.sub(lambda match: _blank(match[0]) if match["comment"] else match[0], source)


def without_strings(source: str) -> str:
    """``source`` with comments, string and character literals blanked; line numbers and columns stay."""
    return _TOKEN.sub(lambda match: _blank(match[0]), source)


class Lines:
    """Line numbers of positions in one text; a hostile file asks for those of a hundred thousand places."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def of(self, position: int) -> int:
        """The 1-based line of a position."""
        return bisect_left(self._ends, position) + 1


def line_of(text: str, position: int) -> int:
    """The 1-based line of one position in ``text``."""
    return text.count("\n", 0, position) + 1


def strings(source: str) -> Iterator[tuple[int, str]]:
    """Every run of string literals with only blanks and comments between them: its line and its content, joined."""
    line, start, content, end = 1, 0, "", 0
    for match in _TOKEN.finditer(source):
        if match["comment"]:
            continue
        if content and _between(source, end, match.start()).strip():
            yield line, content
            content = ""
        if not content:
            line += source.count("\n", start, match.start())
            start = match.start()
        content += _content(match) or ""
        end = match.end()
    if content:
        yield line, content


def assembly(source: str) -> Iterator[tuple[int, str]]:
    """Every inline assembly statement whose text is written out: its line and its text.

    A statement ends at its first parenthesis, or where another one begins: each piece of the source is read once.
    """
    code = without_strings(source)
    lines = Lines(code)
    for statement, following in pairwise([*_ASM.finditer(code), None]):
        assert statement is not None
        position, limit = statement.end(), len(code) if following is None else following.start()
        end = code.find(")", position, limit)
        text = source[position : limit if end < 0 else end]
        yield (
            lines.of(position),
            "".join(_content(match) or "" for match in _TOKEN.finditer(text) if not match["comment"]),
        )


def blocks(source: str) -> list[Block]:
    """The top-level blocks of ``source``; ``extern "C" {`` and namespaces count as transparent."""
    code = re.sub(
        r"^[ \t]*#(?:\\\r?\n|[^\n])*", lambda match: _blank(match[0]), without_strings(source), flags=re.MULTILINE
    )
    lines = Lines(code)
    found: list[Block] = []
    stack: list[bool] = []  # of each open brace: is it transparent?
    depth = head_start = opened = 0  # depth counts the open braces that are not
    for match in re.finditer(r"[{};]", code):
        if match[0] == "{":
            opened = opened if depth else match.start()
            stack.append(not depth and bool(_TRANSPARENT.search(code[max(0, head_start - 1) : opened])))
            depth += not stack[-1]
            head_start = match.end() if stack[-1] else head_start
        elif match[0] == "}" and stack:
            opaque = not stack.pop()
            depth -= opaque
            if opaque and not depth:
                found.append(_block(code[head_start:opened], head_start, match.start(), lines))
        if not depth and match[0] != "{":
            head_start = match.end()
    return found


def _block(head: str, start: int, closed: int, lines: Lines) -> Block:
    first = start + len(head) - len(head.lstrip())
    return Block(lines.of(first), lines.of(closed), " ".join(head.split()))


def _between(source: str, start: int, end: int) -> str:
    return without_comments(source[start:end])


def _content(match: re.Match[str]) -> str | None:
    if match["raw"] is not None:
        return match["raw"]
    text = match[0]
    return _unescaped(text[1:].removesuffix('"')) if text.startswith('"') else None


def _unescaped(text: str) -> str:
    plain = text.replace("\\\n", "")
    return re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", lambda match: _character(match[1]), plain, flags=re.DOTALL)


def _character(escape: str) -> str:
    named = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "0": "\0"}
    if escape in named:
        return named[escape]
    if escape[0] == "x" and len(escape) > 1:
        return chr(int(escape[1:], 16) & 0xFF)
    return chr(int(escape, 8) & 0xFF) if escape[0] in "01234567" else escape


def _blank(text: str) -> str:
    return _NOT_NEWLINE.sub(" ", text)
