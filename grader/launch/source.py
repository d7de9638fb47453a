"""What of a .cu file matters for its launch: comment lines at file scope, integer constants, kernel signatures.

This is no C++ parser: it knows comments, literals, directives and braces, in one pass over the text, so that a launch
line inside a string, a block comment or a function body is not taken for one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from grader.compile.lexical import Lines
from grader.errors import SubmissionError
from grader.expressions import ExpressionError, evaluate_integer
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


_TOKEN = re.compile(
    r"""
      (?P<comment>    // (?: \\\r?\n | [^\n] )* )
    | (?P<block>      /\* .*? (?: \*/ | \Z ) )
    | (?P<raw>        \bR"(?P<tag>[^\s()\\]{0,16})\( .*? (?: \)(?P=tag)" | \Z ) )
    | (?P<string>     " (?: \\. | [^"\\\n] )* "? )
    | (?P<number>     \b\d (?: '?[\w.] )* )
    | (?P<char>       ' (?: \\. | [^'\\\n] )* '? )
    | (?P<directive>  ^[ \t]*\# (?: \\\r?\n | (?!//|/\*) [^\n] )* )
    | (?P<open>       \{ )
    | (?P<close>      \} )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)

_TRANSPARENT = re.compile(r"(?:\bextern\s*\"[^\"]*\"|\bnamespace\b[\w\s:]*)\s*\Z")
"""What stands before a brace that does not leave file scope."""


@dataclass(frozen=True)
class Comment:
    """A ``//`` comment that stands alone on its line; ``fragment`` begins after the slashes."""

    fragment: Fragment
    in_function: bool


@dataclass(frozen=True)
class Integers:
    """The file's integer constants, and why the others are none ("is BLOCK + x (line 3), which is no integer …")."""

    values: dict[str, int]
    refused: dict[str, str]


@dataclass(frozen=True)
class SourceText:
    """A .cu file: its comments, its directives, and its code at file scope with all else blanked."""

    comments: tuple[Comment, ...]
    directives: tuple[tuple[int, str], ...]  # (offset, text)
    code: str  # as long as the source: comments, literals, directives and function bodies are blanks

    @cached_property
    def kernels(self) -> Mapping[str, list[int]]:
        """Where ``NAME(`` follows a ``__global__``: the places of the parentheses by name."""
        found: dict[str, list[int]] = {}
        for head in _HEAD.finditer(self.code):
            for called in _CALLED.finditer(self.code, *head.span()):
                found.setdefault(called[1], []).append(called.end() - 1)
        return found

    @cached_property
    def closings(self) -> Mapping[int, int]:
        """The place of the bracket that closes each bracket."""
        found: dict[int, int] = {}
        waiting: list[int] = []
        for match in re.finditer(r"[()\[\]{}]", self.code):
            if match[0] in "([{":
                waiting.append(match.start())
            elif waiting:
                found[waiting.pop()] = match.start()
        return found


def read_source(source: str, file: str) -> SourceText:
    """Scan a file once. Nothing is raised: what is no C++ is the compiler's to say."""
    scan = _Scan(source, file)
    for match in _TOKEN.finditer(source):
        scan.take(match)
    return scan.finish()


class _Scan:
    """One pass over the tokens, with the braces that are open: True for each that leaves file scope."""

    def __init__(self, source: str, file: str) -> None:
        self.source, self.file = source, file
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", source))]
        self.braces: list[bool] = []
        self.hidden = 0  # how many of the open braces leave file scope
        self.balanced = True
        self.comments: list[Comment] = []
        self.directives: list[tuple[int, str]] = []
        self.code: list[str] = []
        self.seen = 0

    def take(self, match: re.Match[str]) -> None:
        self._add_code(self.source[self.seen : match.start()])
        action = self._ACTIONS.get(str(match.lastgroup), _Scan._blank)
        action(self, match)
        self.seen = match.end()

    def finish(self) -> SourceText:
        self._add_code(self.source[self.seen :])
        trusted = self.balanced and not self.braces  # else an #if hides a brace, and scopes are anybody's guess
        comments = (Comment(one.fragment, one.in_function and trusted) for one in self.comments)
        return SourceText(tuple(comments), tuple(self.directives), "".join(self.code))

    def _add_code(self, text: str) -> None:
        self.code.append(_blanked(text) if self.hidden else text)

    def _blank(self, match: re.Match[str]) -> None:
        self.code.append(_blanked(match[0]))

    def _number(self, match: re.Match[str]) -> None:
        self._add_code(match[0])

    def _comment(self, match: re.Match[str]) -> None:
        self._blank(match)
        line = bisect_right(self.line_starts, match.start())
        start = self.line_starts[line - 1]
        if self.source[start : match.start()].strip():
            return
        whole = self.source[start : match.end()].rstrip("\r")
        slashes = len(whole) - len(whole.lstrip().lstrip("/"))
        fragment = Fragment(whole, self.file, line, 1, whole.splitlines()[0]).part(slashes)
        self.comments.append(Comment(fragment, self.hidden > 0))

    def _directive(self, match: re.Match[str]) -> None:
        self._blank(match)
        self.directives.append((match.start(), match[0]))

    def _open(self, match: re.Match[str]) -> None:
        before = self.source[max(0, match.start() - 200) : match.start()]
        named = "extern" in before or "namespace" in before
        self.braces.append(not (named and _TRANSPARENT.search(before)))
        self.hidden += self.braces[-1]
        self.code.append(";")

    def _close(self, match: re.Match[str]) -> None:
        self.balanced &= bool(self.braces)
        if self.braces:
            self.hidden -= self.braces.pop()
        self.code.append(";")

    _ACTIONS = {  # noqa: RUF012  # a table of methods, never written to
        "comment": _comment, "number": _number, "directive": _directive, "open": _open, "close": _close,
    }  # fmt: skip


def _blanked(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


# ---------------------------------------------------------------------------------------------------- integer constants

MAX_CONSTANTS = 1000

_DEFINE = re.compile(r"\s*#\s*define\s+([A-Za-z_]\w*+)(.*)", re.DOTALL)
_TYPE = r"(?:(?:unsigned|signed|int|long|short|char|auto|size_t|(?:std::)?u?int\d+_t|(?:std::)?size_t)\b\s*){1,4}"
_CONSTANT = re.compile(
    rf"\b(?:(?:constexpr|const|static|inline|__device__)\s+){{1,5}}{_TYPE}([A-Za-z_]\w*\s*=[^;]{{0,1000}});"
)
_CONST_WORD = re.compile(r"\b(?:constexpr|const)\b")


def read_integers(text: SourceText) -> Integers:
    """The first thousand object-like ``#define``s and ``constexpr int``s at file scope, each over those before it."""
    found, lines = Integers({}, {}), Lines(text.code)
    for offset, name, value in definitions(text)[:MAX_CONSTANTS]:
        _define(found, name, value.strip(), lines.of(offset))
    return found


def definitions(text: SourceText) -> list[tuple[int, str, str]]:
    """Place, name and value as it is written of each ``#define`` and each constant at file scope, in the file's order.

    The place is the directive's, or the declarator's.
    """
    return sorted([*_defines(text), *_constants(text)])


def _defines(text: SourceText) -> Iterator[tuple[int, str, str]]:
    for offset, directive in text.directives:
        if match := _DEFINE.match(directive.replace("\\\r\n", " ").replace("\\\n", " ")):
            yield offset, match[1], "" if match[2].startswith("(") else match[2]  # F(x) takes arguments: no constant


def _constants(text: SourceText) -> Iterator[tuple[int, str, str]]:
    for match in _CONSTANT.finditer(text.code):
        if not _CONST_WORD.search(match[0]):
            continue
        for declarator in Fragment(match[1], "", 0, match.start(1), "").split(","):
            name, equals, value = declarator.text.partition("=")
            if equals:
                yield declarator.column, name.strip(), value


def _define(found: Integers, name: str, value: str, line: int) -> None:
    found.values.pop(name, None)
    found.refused.pop(name, None)
    try:
        found.values[name] = evaluate_integer(value, found.values, suggest=False)
    except ExpressionError:
        shown = f" as {value!r}" if 0 < len(value) <= 60 else ""
        found.refused[name] = f"is defined in line {line}{shown}, which is no integer that a launch line can use"


# ---------------------------------------------------------------------------------------------------------- signatures


LONGEST_SIGNATURE = 4000
"""Characters of a kernel's parameters."""

_HEAD = re.compile(r"__global__(?:(?!__global__)[^;}]){0,500}")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


def signature(text: SourceText, kernel: str) -> tuple[str, ...]:
    """The kernel's parameters as the file declares them ("const float* a"), () where they cannot be found."""
    for opening in text.kernels.get(kernel, ()):
        end = text.closings.get(opening, len(text.code))
        if end - opening < LONGEST_SIGNATURE:
            declared = Fragment(text.code[opening + 1 : end], "", 0, 1, "").split(",")
            return tuple(" ".join(one.text.split()) for one in declared if one.text)
    return ()
