"""Views of a CUDA C source without its comments and strings, with unchanged line numbers.

This is not a parser, and it does not expand macros: it serves messages. What may run is decided from the PTX.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise

from grader.frozen import dataclass

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
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_ASM = re.compile(r"\b(?:asm|__asm__|__asm)\b(?:\s|volatile|__volatile__|inline|goto)*\(")
_TRANSPARENT = re.compile(r"(?:^|[;{}])\s*(?:extern\s*|(?:inline\s+)?namespace\b[\w:\s]*)$")


@dataclass(frozen=True)
class BraceBlock:
    """A top-level ``{…}`` with the declaration before it; lines are 1-based and inclusive."""

    first_line: int
    last_line: int
    head: str  # e.g. "int main(int argc, char** argv)"
    braces: tuple[int, int]  # positions of both braces


def blank(text: str) -> str:
    """``text`` with blanks for all characters but newlines."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(source: str) -> str:
    """``source`` with comments blanked; line numbers and columns stay."""
    return _TOKEN.sub(lambda match: blank(match[0]) if match["comment"] else match[0], source)


def without_strings(source: str) -> str:
    """``source`` with comments, string and character literals blanked; line numbers and columns stay."""
    return _TOKEN.sub(lambda match: blank(match[0]), source)


class Lines:
    """Line numbers of positions in one text, by bisection: a hostile file may need a hundred thousand of them."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def of(self, position: int) -> int:
        """The 1-based line of a position."""
        return bisect_left(self._ends, position) + 1


def line_of(text: str, position: int) -> int:
    """The 1-based line of one position in ``text``."""
    return text.count("\n", 0, position) + 1


def line_text(text: str, line: int | None) -> str | None:
    """The text of one line for an excerpt, at most 500 characters; None if there is no such line."""
    lines = text.split("\n")
    return lines[line - 1].rstrip("\r")[:500] if line and line <= len(lines) else None


def strings(source: str) -> Iterator[tuple[int, str]]:
    """The line and the content of every string; adjacent literals are one string, as in C."""
    line, start, content, end = 1, 0, "", 0
    for match in _TOKEN.finditer(source):
        if match["comment"]:
            continue
        if content and without_comments(source[end : match.start()]).strip():
            yield line, content
            content = ""
        if not content:
            line += source.count("\n", start, match.start())
            start = match.start()
        content += _content(match) or ""
        end = match.end()
    if content:
        yield line, content


def assembly(source: str) -> Iterator[tuple[int, str, bool]]:
    """Every inline assembly statement: its line, its text, and whether this is certainly the whole text.

    Macros and conditions may add or remove text. A statement is read up to its first closing parenthesis or to the next
    statement, so that the time is linear.
    """
    code = without_strings(source)
    lines = Lines(code)
    for statement, following in pairwise([*_ASM.finditer(code), None]):
        assert statement is not None
        position, limit = statement.end(), len(code) if following is None else following.start()
        end = code.find(")", position, limit)
        end = limit if end < 0 else end
        text = source[position:end]
        content = "".join(_content(match) or "" for match in _TOKEN.finditer(text) if not match["comment"])
        yield lines.of(position), content, not code[position:end].partition(":")[0].strip()


def line_comments(source: str) -> Iterator[tuple[int, str]]:
    """Every ``//`` comment with its position."""
    for match in _TOKEN.finditer(source):
        if match[0].startswith("//"):
            yield match.start(), match[0]


def directives(source: str) -> tuple[tuple[int, str], ...]:
    """Every preprocessor directive with its position, without comments."""
    code = without_comments(source)
    return tuple((match.start(), code[slice(*match.span())]) for match in _DIRECTIVE.finditer(without_strings(source)))


def without_directives(source: str) -> str:
    """``source`` with comments, literals and directives blanked; line numbers and columns stay."""
    return _DIRECTIVE.sub(lambda match: blank(match[0]), without_strings(source))


_CONDITION = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b(.*)", re.DOTALL)
_DEFINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAMED = re.compile(r"\s*+(!?)\s*+(?:defined\b)?\s*+(?:\(\s*+(\w++)\s*+\)|(\w++))\s*+")
_GIVEN = frozenset(("__CUDACC__", "__CUDACC_RTC__", "__CUDA_ARCH__", "__cplusplus"))
"""Macros that NVRTC predefines, as far as people test for them."""


def reached(code: str) -> str:
    """``code`` (see `without_strings`) with blanks for what the compiler ignores: dead branches, unused macros.

    A condition is evaluated if it consists of numbers and of names that the source does not define; of other conditions
    all branches stay.
    """
    own = {define[1] for directive in _DIRECTIVE.finditer(code) if (define := _DEFINE.match(directive[0]))}
    pieces: list[str] = []  # code and directives in turn
    defines: list[tuple[int, re.Match[str]]] = []  # with their indices in ``pieces``
    branches: list[tuple[bool, bool]] = []  # of each open `#if`: is this branch dead, are all that follow?
    end = 0
    for directive in _DIRECTIVE.finditer(code):
        dead = bool(branches) and branches[-1][0]
        between, text = code[end : directive.start()], directive[0]
        pieces += [blank(between), blank(text)] if dead else [between, text]
        if condition := _CONDITION.match(text):
            _follow(branches, condition[1], _holds(condition[2], own))
        elif (define := _DEFINE.match(text)) and not dead:
            defines.append((len(pieces) - 1, define))
        end = directive.end()
    pieces.append(code[end:])
    used = _expanded(set(_WORD.findall(" ".join(pieces[::2]))), [define for _, define in defines])
    for at, define in defines:
        if define[1] not in used:
            pieces[at] = blank(pieces[at])
    return "".join(pieces)


def _follow(branches: list[tuple[bool, bool]], word: str, holds: bool | None) -> None:
    if word == "ifndef" and holds is not None:
        holds = not holds
    done = False
    if word in ("elif", "else", "endif"):
        done = branches.pop()[1] if branches else False
    if word != "endif":
        outer = bool(branches) and branches[-1][0]
        holds = True if word == "else" else holds
        branches.append((outer or done or holds is False, done or holds is True))


def _holds(condition: str, own: set[str]) -> bool | None:
    """Whether a condition of `#if` is true, None if unknown; ``own`` are the macros that the source defines."""
    for mark, decides in (("||", True), ("&&", False)):
        if mark in condition:
            values = [_holds(part, own) for part in condition.split(mark)]
            return decides if decides in values else None if None in values else not decides
    match = _NAMED.fullmatch(condition)
    name = "" if match is None else match[2] or match[3]
    if match is None or name in own or (name[0].isdigit() and not name.isdigit()):
        return None
    value = bool(name.strip("0")) if name.isdigit() else name in _GIVEN
    return value != bool(match[1])


def _expanded(words: set[str], defines: list[re.Match[str]]) -> set[str]:
    """``words``, with the words of every macro among them, and of the macros among these."""
    bodies: dict[str, set[str]] = {}
    for define in defines:
        bodies.setdefault(define[1], set()).update(_WORD.findall(define.string, define.end()))
    waiting = [word for word in words if word in bodies]
    while waiting:
        fresh = bodies[waiting.pop()] - words
        words |= fresh
        waiting += [word for word in fresh if word in bodies]
    return words


def blocks(code: str) -> tuple[list[BraceBlock], bool]:
    """The top-level blocks of ``code`` (see `without_directives`), and whether its braces match.

    Blocks in ``extern "C" {`` and in namespaces count as top-level. A block that is never closed ends with the text.
    """
    lines = Lines(code)
    found: list[BraceBlock] = []
    stack: list[bool] = []  # of each open brace: is it transparent?
    depth = start = opened = 0  # depth counts the open braces that are not transparent; start is the declaration's
    balanced = True

    def add(closed: int) -> None:
        head = code[start:opened]
        first = start + len(head) - len(head.lstrip())
        found.append(BraceBlock(lines.of(first), lines.of(closed), " ".join(head.split()), (opened, closed)))

    for match in re.finditer(r"[{};]", code):
        if match[0] == "{":
            opened = opened if depth else match.start()
            stack.append(not depth and bool(_TRANSPARENT.search(code[max(0, start - 1) : opened])))
            depth += not stack[-1]
            start = match.end() if stack[-1] else start
        elif match[0] == "}" and stack:
            opaque = not stack.pop()
            depth -= opaque
            if opaque and not depth:
                add(match.start())
        else:
            balanced &= match[0] == ";"
        if not depth and match[0] != "{":
            start = match.end()
    if depth:
        add(len(code))
    return found, balanced and not stack


_HEAD = re.compile(r"__global__(?:(?!__global__)[^;{}]){0,500}")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def kernels(code: str) -> dict[str, list[tuple[int, int]]]:
    """Every ``NAME(`` in the head of a kernel, by name: the positions of its ``__global__`` and of the parenthesis."""
    found: dict[str, list[tuple[int, int]]] = {}
    for head in _HEAD.finditer(code):
        for called in _CALLED.finditer(code, *head.span()):
            found.setdefault(called[1], []).append((head.start(), called.end() - 1))
    return found


def _content(match: re.Match[str]) -> str | None:
    if match["raw"] is not None:
        return match["raw"]
    text = match[0]
    if not text.startswith('"'):
        return None
    plain = text[1:].removesuffix('"').replace("\\\n", "")
    return re.sub(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", lambda match: _character(match[1]), plain, flags=re.DOTALL)


def _character(escape: str) -> str:
    named = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "0": "\0"}
    if escape in named:
        return named[escape]
    if escape[0] == "x" and len(escape) > 1:
        return chr(int(escape[1:], 16) & 0xFF)
    return chr(int(escape, 8) & 0xFF) if escape[0] in "01234567" else escape
