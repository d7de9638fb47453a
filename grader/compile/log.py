"""NVRTC's log as diagnostics about the student's file: line, column, source line and message.

    reduce_v3.cu(12): error: identifier "foo" is undefined
      a[i] = foo;
             ^

No diagnostic has a path of this machine: an error in a header is reported at the line that includes or uses it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Literal

from grader.compile.lexical import without_comments
from grader.frozen import dataclass
from grader.verdict import Diagnostic

DIAGNOSTIC_LIMIT = 20
MESSAGE_LIMIT = 400  # characters
SOURCE_LIMIT = 300  # a longer line is not shown

_HEAD = re.compile(
    r"^(?:(?P<file>[^\n]*?)\((?P<line>\d{1,9})\): |At end of source: )?"
    r"(?P<kind>(?:catastrophic |internal |command-line )?error|warning|[Nn]ote|[Rr]emark)"
    r"(?: #\d+(?:-[A-Z])?)?: (?P<message>.*)$"
)
_FROM = re.compile(r"at line (\d{1,9})(?: of (.*?))?$")
_ELSEWHERE = re.compile(r'( at line \d{1,9} of )"?[^"()\n]{0,300}/([^"()/\n]{1,60})"?')
_ASIDE = re.compile(r"(?:operand|argument|object) types? (?:are|is|list is)\b")
_CANNOT_OPEN = re.compile(r'(cannot open source file ".*?").*', re.DOTALL)
_MISSING = re.compile(r': expected an? "[;,)\]]"$')
_SUMMARY = re.compile(
    r"\s{0,9}(?:and )?\d{1,9} (?:catastrophic )?errors? detected|Compilation terminated|Error limit reached"
)


@dataclass(frozen=True)
class CompilerLog:
    """``errors`` with their notes, at most 20; the number of errors; and the warnings as text, for `Program.log`."""

    errors: tuple[Diagnostic, ...]
    error_count: int
    warnings: str


def clean(text: str) -> str:
    """``text`` without control characters (newline and tab stay), bidirectional marks and other invisible ones."""
    return "".join(
        c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    )


def read_log(log: str, name: str, source: str) -> CompilerLog:
    """Parse NVRTC's log for the file ``name`` with the text ``source``."""
    lines, advisor = source.split("\n"), Advisor(source)
    messages = [
        advisor.where_it_is_missing(_diagnostic(chunk, name, lines), missing=bool(_MISSING.search(chunk[0])))
        for chunk in _chunks(log)
    ]
    errors = [message for message in _with_notes(messages) if message.severity != "warning"]
    count = sum(message.severity == "error" for message in messages)
    own = (message for message in messages if message.line is not None and message.line <= len(lines))
    warnings = [message for message in own if message.severity == "warning"]
    # Advice may scan the whole source, so it is made only for the errors that are shown.
    advised = (
        replace(error, hint=advisor.hint(error.message, _line(lines, error.line) or "", error.column))
        if error.severity == "error"
        else error
        for error in errors[:DIAGNOSTIC_LIMIT]
    )
    return CompilerLog(tuple(advised), count, "\n".join(_shown(w) for w in warnings[:DIAGNOSTIC_LIMIT]))


_UNUSED = re.compile(r'variable "(\w+)" was (?:declared but never referenced|set but never used)')


def telling(warnings: str, stub: str) -> tuple[str, bool]:
    """`CompilerLog.warnings` without unused variables that the stub declares, and whether one may explain a failure."""
    given = set(re.findall(r"\w+", without_comments(stub)))
    unused = [(chunk, _UNUSED.search(chunk[0])) for chunk in _chunks(warnings)]
    kept = [(chunk, found) for chunk, found in unused if found is None or found[1] not in given]
    return "\n".join("\n".join(chunk) for chunk, _ in kept), any(found is None for _, found in kept)


def _chunks(log: str) -> Iterator[list[str]]:
    """The lines of each message: from its head to the next head."""
    chunk: list[str] = []
    for line in log.split("\n"):
        if _HEAD.match(line) or _SUMMARY.match(line):
            if chunk:
                yield chunk
            chunk = []
        if _HEAD.match(line) or (chunk and line.strip()):
            chunk.append(line)
    if chunk:
        yield chunk


def _line(lines: list[str], line: int | None) -> str | None:
    return lines[line - 1].rstrip("\r") if line is not None and 0 < line <= len(lines) else None


def _diagnostic(chunk: list[str], name: str, lines: list[str]) -> Diagnostic:
    head = _HEAD.match(chunk[0])
    assert head is not None  # every chunk begins with a head
    caret = next((i for i, text in enumerate(chunk) if i > 1 and text.strip() == "^"), None)
    continued = chunk[1 : len(chunk) if caret is None else caret - 1]
    message = _joined([head["message"], *(text.strip() for text in continued)])
    line, column, inside = _place(head, chunk, caret, name)
    if inside and head["kind"] == "warning":  # a header's warning is not shown: the student cannot change it
        line = None
    shown = _line(lines, line)
    return Diagnostic(
        kind="compile_error",
        message=_worded(message, head, inside),
        severity=_SEVERITY.get(head["kind"].split()[-1], "note"),
        file=name,
        line=line,
        column=column,
        source=clean(shown) if shown is not None and len(shown) <= SOURCE_LIMIT else None,
    )


_SEVERITY: Mapping[str, Literal["error", "warning"]] = {"error": "error", "warning": "warning"}


def _joined(parts: list[str]) -> str:
    """The lines of one message as one line, with a semicolon before a list of types that NVRTC adds."""
    message = parts[0]
    for part in parts[1:]:
        message += ("; " if _ASIDE.match(part) and message[-1:] not in ".:;" else " ") + part
    return message


def _place(head: re.Match[str], chunk: list[str], caret: int | None, name: str) -> tuple[int | None, int | None, str]:
    """Line and column in the student's file, and the header's own name if the message is about a header."""
    if head["file"] is None:
        return None, None, ""
    if head["file"] == name:
        # NVRTC indents the source line by two blanks.
        return int(head["line"]), None if caret is None else max(1, chunk[caret].index("^") - 1), ""
    header = head["file"].rpartition("/")[2]
    origins = [
        match
        for match in (_FROM.search(text[-300:]) for text in chunk[1:])
        if match and match[2] in (name, f'"{name}"')
    ]
    return (int(origins[-1][1]) if origins else None), None, header


def _worded(message: str, head: re.Match[str], inside: str) -> str:
    text = _CANNOT_OPEN.sub(r"\1", message)  # a submission must not learn whether a file exists on this machine
    text = _ELSEWHERE.sub(r"\1<\2>", clean(text))
    text = text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + "…"
    if inside:
        return f"{text} (in <{clean(inside)[:60]}>)"
    return text + " (at the end of the file)" if head["file"] is None and head[0].startswith("At end") else text


def _with_notes(messages: list[Diagnostic]) -> Iterator[Diagnostic]:
    """Errors and warnings; an error is followed by its notes that have a line in the student's file."""
    last = None
    for message in messages:
        last = message if message.severity != "note" else last
        if message.severity != "note" or (last is not None and last.severity == "error" and message.line is not None):
            yield message


def _shown(message: Diagnostic) -> str:
    head = f"{message.file}({message.line}): warning: {message.message}"
    if message.source is None or message.column is None:
        return head
    code = message.source.lstrip()
    before = code[: max(0, message.column - 1 - (len(message.source) - len(code)))]
    margin = "".join("\t" if c == "\t" else " " for c in before)
    return f"{head}\n  {code}\n  {margin}^"


# ------------------------------------------------------------------------------------------- what to do about an error

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]{1,100})[>"]', re.MULTILINE)
_USING = re.compile(r"\busing\s+namespace\s+(?:::\s*)?(nvcuda)\s*;")
_NOT_A_NAMESPACE = re.compile(r'name (?:followed by "::" )?must be a (?:class or )?namespace name')
_UNDEFINED = re.compile(r'identifier "(\w{1,60})" is undefined')
_NO_MEMBER = re.compile(r'namespace "(?:cooperative_groups|cuda)" has no member "(\w{1,60})"')

_HEADERS = {
    **dict.fromkeys(("half", "half2", "__half", "__half2", "__float2half", "__half2float"), "cuda_fp16.h"),
    **dict.fromkeys(("__nv_bfloat16", "__nv_bfloat162", "__float2bfloat16"), "cuda_bf16.h"),
    **dict.fromkeys(("cooperative_groups", "cg"), "cooperative_groups.h"),
    **dict.fromkeys(("reduce", "plus", "less", "greater", "bit_and", "bit_or"), "cooperative_groups/reduce.h"),
    **dict.fromkeys(("inclusive_scan", "exclusive_scan"), "cooperative_groups/scan.h"),
    **dict.fromkeys(("atomic", "atomic_ref", "atomic_thread_fence"), "cuda/atomic"),
    **dict.fromkeys(("barrier", "memcpy_async"), "cuda/barrier"),
    **dict.fromkeys(("pipeline", "make_pipeline", "pipeline_shared_state"), "cuda/pipeline"),
}  # fmt: skip
"""The header that declares a name."""

_IN_WMMA = frozenset(
    ("fragment", "matrix_a", "matrix_b", "accumulator", "row_major", "col_major", "mem_row_major", "mem_col_major",
     "fill_fragment", "load_matrix_sync", "store_matrix_sync", "mma_sync")
)  # fmt: skip
_IN_GROUPS = frozenset(("this_thread_block", "this_grid", "tiled_partition", "coalesced_threads", "thread_block"))

_FIXED = (
    (
        re.compile(r"cannot open source file"),
        "only CUDA's own headers, and those given with the exercise, can be included: write the rest into this file",
    ),
    (
        re.compile(r'incomplete type "nvcuda::wmma::fragment<'),
        "wmma has no such fragment: check shape and type; matrix_a and matrix_b also need row_major or col_major",
    ),
)


_BUILT_IN = (
    "__syncthreads", "__syncwarp", "__threadfence", "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize",
    "__shfl_sync", "__shfl_down_sync", "__shfl_up_sync", "__shfl_xor_sync", "__ballot_sync", "__activemask",
    "__shared__", "__global__", "__device__", "__restrict__", "atomicAdd", "atomicMax", "atomicMin", "atomicCAS",
)  # fmt: skip
"""Names of CUDA C that people misspell."""

_COMMENT_LINE = re.compile(r"(?:/\s*)?(launch|passes|scratch|zero|constant)\s+[A-Za-z_]\w*\s*(?:[(:=,]|\Z)")
"""A line of the launch description without its two slashes, and without blanks before."""

_DIM3_ALONE = re.compile(r"\b(blockDim|gridDim|threadIdx|blockIdx)\b(?!\s*\.)")
_CONST = re.compile(r"\bconst\b(?=([^,;(){}]{1,120}))")
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w{0,60})\s*\[[^=;]{0,200}\]\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")


class Advisor:
    """Hints for one file's errors, if the cause is known: mostly a missing header or namespace.

    For an unknown name NVRTC says only that it "must be a class or namespace name": the name is taken from the source,
    at the position of the message, and the hint depends on the headers that the file includes.
    """

    def __init__(self, source: str) -> None:
        self._source = source

    def where_it_is_missing(self, found: Diagnostic, *, missing: bool) -> Diagnostic:
        """The error at the end of the code before it, if a `;` is missing there: NVRTC points at the next word, perhaps
        lines below.
        """
        if not missing or found.line is None or found.column is None:
            return found
        above = self._code.split("\n")[: found.line]
        if above[-1][: found.column - 1].strip():
            return found
        code = (number for number, text in enumerate(above[:-1], start=1) if text.strip() and text.lstrip()[0] != "#")
        line = max(code, default=None)
        shown = _line(self._source.split("\n"), line)
        if line is None or shown is None:
            return found
        source = clean(shown) if len(shown) <= SOURCE_LIMIT else None
        return replace(found, line=line, column=len(above[line - 1].rstrip()) + 1, source=source)

    def hint(self, message: str, line: str, column: int | None) -> str:
        """What to do about ``message``, whose caret is at ``column`` (from 1) of ``line``; "" if unknown."""
        fixed = next((hint for pattern, hint in _FIXED if pattern.search(message)), "")
        if fixed:
            return fixed
        if _NOT_A_NAMESPACE.search(message):
            return next(filter(None, map(self._on_namespace, _names_at(line, column))), "")
        if match := _NO_MEMBER.search(message):
            return self._include(match[1])
        if match := _COMMENT_LINE.match(line.lstrip()):
            return f"a {match[1]} line is a comment: begin it with `// {match[1]}`"
        if match := _UNDEFINED.search(message):
            return self._on_identifier(match[1])
        return self.on_line(message, line[:_LOOKED_AT])

    def on_line(self, message: str, line: str) -> str:
        """A hint from the text of the line; "" if unknown."""
        if re.search(r"\b(?:dim3|uint3)\b", message) and (match := _DIM3_ALONE.search(line)):
            return f"did you mean `{match[1]}.x`? {match[1]} has three parts, .x, .y and .z"
        if "must be a modifiable lvalue" in message:  # a pointer to const, as inputs are
            names = (match[1] for match in _ASSIGNED.finditer(line) if match[1] in self._to_const)
            const = next(names, None)
            if const is not None:
                return f"`{const}` points to const: inputs must not be changed, so store the result elsewhere"
        if "must be a pointer" in message and "=*" in line:  # ``s =* 2`` is ``s = *2``
            return "did you mean `*=`?"
        return ""

    def _on_namespace(self, path: str) -> str:
        """A hint for a qualified name: ``wmma::fragment``, ``cuda::std::atomic``, ``cg``."""
        first, _, rest = path.partition("::")
        if first in ("wmma", "nvcuda"):
            return self._on_wmma(qualified=first == "nvcuda")
        if first == "cg" and "cooperative_groups.h" in self._included:
            return "add `namespace cg = cooperative_groups;` below the #include"
        if first == "cuda":
            return self._include(rest.partition("::")[0])
        return self._include(first) if first in ("cg", "cooperative_groups") else ""

    def _on_wmma(self, *, qualified: bool) -> str:
        named = qualified or self._uses_nvcuda
        if "mma.h" not in self._included:
            return "add `#include <mma.h>` at the top" + ("" if named else ", and below it `using namespace nvcuda;`")
        return "" if named else "add `using namespace nvcuda;` below `#include <mma.h>`, or write `nvcuda::wmma`"

    def _on_identifier(self, name: str) -> str:
        if name in _IN_WMMA and ("mma.h" in self._included or re.search(r"\b(?:wmma|nvcuda)\b", self._code)):
            return self._on_wmma(qualified=False) or f"write `wmma::{name}`"
        if name in _IN_GROUPS:
            return self._include("cooperative_groups") or f"write `cooperative_groups::{name}`"
        if _HEADERS.get(name, "").startswith("cuda_"):
            return self._include(name)
        from grader.expressions import did_you_mean

        near = did_you_mean(name, _BUILT_IN).replace("'", "`")
        return near if name not in _BUILT_IN else ""

    def _include(self, name: str) -> str:
        header = _HEADERS.get(name)
        return f"add `#include <{header}>` at the top" if header and header not in self._included else ""

    @cached_property
    def _code(self) -> str:
        return without_comments(self._source)

    @cached_property
    def _included(self) -> frozenset[str]:
        return frozenset(_INCLUDE.findall(self._code))

    @cached_property
    def _to_const(self) -> frozenset[str]:
        """Every word that follows `const … *`: this includes the names of all pointers to const."""
        declarators = (match[1].partition("*")[2] for match in _CONST.finditer(self._code))
        return frozenset(word for text in declarators for word in re.findall(r"\w+", text))

    @cached_property
    def _uses_nvcuda(self) -> bool:
        return _USING.search(self._code) is not None


_PATH = re.compile(r"\w+(?:\s*::\s*\w+)*")
_LOOKED_AT = 300  # characters of a line


def _names_at(line: str, column: int | None) -> list[str]:
    """The qualified names of a line, that at the caret first: the caret may be after its name, or missing."""
    paths = list(_PATH.finditer(line[:_LOOKED_AT]))
    here = [path for path in paths if column is not None and path.start() < column <= path.end()]
    return [re.sub(r"\s", "", path[0]) for path in [*here, *paths]]
