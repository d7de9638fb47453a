"""The parts of a .cu file that matter for launches: comment lines at file scope, integer constants, kernel signatures.

This is not a C++ parser: it recognises comments, literals, directives and braces (`grader.compile.lexical`), so that a
line in a string, a block comment or a function body is not taken for a launch line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

from grader.c_types import C_NAMES, HOLDS
from grader.compile.lexical import Lines, blank, blocks, directives, kernels, line_comments, without_directives
from grader.errors import SubmissionError
from grader.expressions import ExpressionError, evaluate_integer
from grader.frozen import dataclass

_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


@dataclass(frozen=True)
class LaunchFragment:
    """A piece of one line of a file. ``line`` and ``column`` (of its first character) count from 1."""

    text: str
    file: str
    line: int
    column: int
    source: str  # the whole line

    def part(self, start: int, stop: int | None = None) -> LaunchFragment:
        """``text[start:stop]`` without the blanks around it."""
        piece = self.text[start:stop]
        indent = len(piece) - len(piece.lstrip())
        return LaunchFragment(piece.strip(), self.file, self.line, self.column + start + indent, self.source)

    def group(self, match: re.Match[str], group: int | str) -> LaunchFragment:
        return self.part(*match.span(group))

    def split(self, separator: str) -> list[LaunchFragment]:
        """The parts between the separators that are outside all brackets."""
        cuts = [-1, *(i for i, depth in self.depths() if depth == 0 and self.text[i] == separator), len(self.text)]
        return [self.part(a + 1, b) for a, b in pairwise(cuts)]

    def depths(self) -> Iterator[tuple[int, int]]:
        """Every index with its depth of brackets; a bracket itself counts as outside its own pair."""
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


def invalid(message: str, at: LaunchFragment, *, hint: str = "", shift: int = 0, cause: str = "") -> SubmissionError:
    """The error for a launch line; ``shift`` moves the caret that many characters into ``at``."""
    return SubmissionError(
        "invalid",
        message,
        file=at.file,
        line=at.line,
        column=at.column + shift,
        source=at.source,
        hint=hint,
        cause=cause,
    )


@dataclass(frozen=True)
class Comment:
    """A ``//`` comment that is alone on its line; ``fragment`` begins after the slashes."""

    fragment: LaunchFragment
    in_function: bool


@dataclass(frozen=True)
class Integers:
    """The file's integer constants, and why other definitions are not ("is defined in line 3 …, which is not …")."""

    values: dict[str, int]
    refused: dict[str, str]


@dataclass(frozen=True)
class SourceText:
    """A .cu file: its comments, its directives, and its code at file scope with everything else blanked."""

    comments: tuple[Comment, ...]
    directives: tuple[tuple[int, str], ...]  # (offset, text)
    code: str  # as long as the source: comments, literals, directives and function bodies are blanks

    @cached_property
    def kernels(self) -> Mapping[str, list[tuple[int, int]]]:
        return kernels(self.code)

    @cached_property
    def closings(self) -> Mapping[int, int]:
        """The offset of the closing bracket for the offset of each opening one."""
        closings: dict[int, int] = {}
        opened: list[int] = []
        for match in re.finditer(r"[()\[\]{}]", self.code):
            if match[0] in "([{":
                opened.append(match.start())
            elif opened:
                closings[opened.pop()] = match.start()
        return closings


def read_source(source: str, file: str) -> SourceText:
    """Scan a file once. Raises nothing: the compiler reports invalid C++."""
    code = without_directives(source)
    found, balanced = blocks(code)  # unbalanced: an #if hides a brace, and scopes are anybody's guess
    bodies = [block.braces for block in found]
    at_file_scope, end = [], 0
    for opened, closed in bodies:
        at_file_scope += [code[end:opened], blank(code[opened:closed]).replace(" ", ";", 1)]
        end = closed
    at_file_scope.append(code[end:])
    outside = re.sub("[{}]", ";", "".join(at_file_scope))
    comments = _comments(source, file, bodies if balanced else [])
    return SourceText(tuple(comments), directives(source), outside)


def _comments(source: str, file: str, bodies: list[tuple[int, int]]) -> Iterator[Comment]:
    """The ``//`` comments that are alone on their lines; ``bodies`` are the offsets of all functions' braces."""
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    for place, text in line_comments(source):
        line = bisect_right(starts, place)
        start = starts[line - 1]
        if source[start:place].strip():
            continue
        whole = source[start : place + len(text)].rstrip("\r")
        slashes = len(whole) - len(whole.lstrip().lstrip("/"))
        fragment = LaunchFragment(whole, file, line, 1, whole.splitlines()[0]).part(slashes)
        body = bisect_right(bodies, (place, 0)) - 1
        yield Comment(fragment, body >= 0 and place < bodies[body][1])


# ---------------------------------------------------------------------------------------------------- integer constants

MAX_CONSTANTS = 1000

_DEFINE = re.compile(r"\s*#\s*define\s+([A-Za-z_]\w*+)(.*)", re.DOTALL)
_TYPE = r"(?:(?:unsigned|signed|int|long|short|char|auto|size_t|(?:std::)?u?int\d+_t|(?:std::)?size_t)\b\s*){1,4}"
_CONSTANT = re.compile(
    rf"\b(?:(?:constexpr|const|static|inline|__device__)\s+){{1,5}}{_TYPE}([A-Za-z_]\w*\s*=[^;]{{0,1000}});"
)
_CONST_WORD = re.compile(r"\b(?:constexpr|const)\b")


def read_integers(text: SourceText) -> Integers:
    """The first thousand object-like ``#define``s and ``constexpr int``s at file scope; the last of a name counts."""
    integers, lines = Integers({}, {}), Lines(text.code)
    for offset, name, written in definitions(text)[:MAX_CONSTANTS]:
        value = written.strip()
        integers.values.pop(name, None)
        integers.refused.pop(name, None)
        try:
            integers.values[name] = evaluate_integer(value, integers.values, suggest=False)
        except ExpressionError:
            place = f"line {lines.of(offset)}" + (f" as {value!r}" if 0 < len(value) <= 60 else "")
            integers.refused[name] = f"is defined in {place}, which is not an integer that a launch line can use"
    return integers


def definitions(text: SourceText) -> list[tuple[int, str, str]]:
    """Offset, name and value (as written) of each ``#define`` and each constant at file scope, in the file's order.

    The offset is that of the directive or the declarator.
    """
    found = []
    for offset, directive in text.directives:
        if match := _DEFINE.match(directive.replace("\\\r\n", " ").replace("\\\n", " ")):
            value = "" if match[2].startswith("(") else match[2]  # F(x) is a function-like macro, not a constant
            found.append((offset, match[1], value))
    for match in filter(lambda match: _CONST_WORD.search(match[0]), _CONSTANT.finditer(text.code)):
        for declarator in LaunchFragment(match[1], "", 0, match.start(1), "").split(","):
            name, equals, value = declarator.text.partition("=")
            if equals:
                found.append((declarator.column, name.strip(), value))
    return sorted(found)


# ---------------------------------------------------------------------------------------------------------- signatures


LONGEST_SIGNATURE = 4000
"""The maximum number of characters of a kernel's parameters."""


def signature(text: SourceText, kernel: str) -> tuple[str, ...]:
    """The kernel's parameters as the file declares them ("const float* a"); () if they are not found."""
    for _, opening in text.kernels.get(kernel, ()):
        end = text.closings.get(opening, len(text.code))
        if end - opening < LONGEST_SIGNATURE:
            declared = LaunchFragment(text.code[opening + 1 : end], "", 0, 1, "").split(",")
            return tuple(" ".join(parameter.text.split()) for parameter in declared if parameter.text)
    return ()


_QUALIFIER = re.compile(r"\b(?:const|volatile|restrict|__restrict__|__restrict|__grid_constant__|struct)\b")
_UNNAMED = re.compile(r"(?:int|float|double|char|short|long|unsigned|signed|bool|half|void)\d?")


@dataclass(frozen=True)
class SourceParameter:
    """One parameter: ``declared`` is ``const float* a``; ``element`` is ``float``, "" if it is not a plain pointer."""

    declared: str
    name: str
    element: str


def parameters(text: SourceText, kernel: str) -> tuple[SourceParameter, ...]:
    """The kernel's parameters; () if they are not found."""
    return tuple(map(_parameter, signature(text, kernel)))


def parameter_names(source: str, kernel: str) -> tuple[str, ...]:
    """The names of the kernel's parameters, "" for one without a name; () if they are not found."""
    return tuple(parameter.name for parameter in parameters(_read(source), kernel))


def float_names(source: str, kernel: str) -> tuple[str, ...]:
    """The names of the kernel's parameters that are arrays of floats."""
    return tuple(one.name for one in parameters(_read(source), kernel) if one.element in ("float", "double", "__half"))


@lru_cache(maxsize=4)
def _read(source: str) -> SourceText:
    return read_source(source, "")


def _parameter(declared: str) -> SourceParameter:
    plain = " ".join(_QUALIFIER.sub(" ", declared).split("=")[0].split())
    pointer = re.fullmatch(r"([\w: ]+?) ?(?:\* ?(\w*)|(?<= )(\w+) ?\[\w*\])", plain)
    if pointer:
        return SourceParameter(declared, pointer[2] or pointer[3] or "", pointer[1])
    last = re.search(r"(\w+)(?: ?\[[^\]]*\])*$", plain)
    named = last is not None and last.start() > 0 and not _UNNAMED.fullmatch(last[1])
    return SourceParameter(declared, last[1] if last and named else "", "")


@dataclass(frozen=True)
class Misread:
    """A parameter whose element type cannot hold the elements of the array that the launch line passes."""

    kernel: str
    parameter: SourceParameter
    array: str
    dtype: str

    @property
    def should_be(self) -> str:
        """The declaration with the array's type: ``const float* a``."""
        wanted = C_NAMES.get(self.dtype, self.dtype)
        return re.sub(rf"\b{re.escape(self.parameter.element)}\b", wanted, self.parameter.declared, count=1)


def misread(
    text: SourceText, kernel: str, args: Sequence[str | int | float], dtypes: Mapping[str, str]
) -> tuple[Misread, ...]:
    """The parameters of ``kernel`` that misread their arguments; ``dtypes`` has the dtype of each array by name."""
    declared = parameters(text, kernel)
    if len(declared) != len(args):
        return ()
    pairs = zip(declared, args, strict=True)
    arrays = [(parameter, arg) for parameter, arg in pairs if isinstance(arg, str) and arg in dtypes]
    return tuple(
        Misread(kernel, parameter, arg, dtypes[arg])
        for parameter, arg in arrays
        if dtypes[arg] not in HOLDS.get(parameter.element, (dtypes[arg],))
    )
