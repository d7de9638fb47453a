"""NVRTC's log as diagnostics in terms of the student's file: line, column, source line and what is wrong.

    reduce_v3.cu(12): error: identifier "foo" is undefined
      a[i] = foo;
             ^

Paths of this machine never get out: what lies in a header is told at the student's line that led there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from grader.compile.advice import Advisor
from grader.verdict import Diagnostic

DIAGNOSTIC_LIMIT = 20
MESSAGE_LIMIT = 400  # characters
SOURCE_LIMIT = 300  # a longer line is not shown

_HEAD = re.compile(
    r"^(?:(?P<file>[^\n]*?)\((?P<line>\d+)\): |At end of source: )?"
    r"(?P<kind>(?:catastrophic |internal |command-line )?error|warning|[Nn]ote|[Rr]emark)"
    r"(?: #\d+(?:-[A-Z])?)?: (?P<message>.*)$"
)
_FROM = re.compile(r"at line (\d+)(?: of (.*?))?$")
_ASIDE = re.compile(r"(?:operand|argument|object) types? (?:are|is|list is)\b")
_CANNOT_OPEN = re.compile(r'(cannot open source file ".*?").*', re.DOTALL)
_SUMMARY = re.compile(
    r"\s{0,9}(?:and )?\d{1,9} (?:catastrophic )?errors? detected|Compilation terminated|Error limit reached"
)


@dataclass(frozen=True)
class Report:
    """The log, sorted: ``errors`` with their notes, and the warnings as text for `Program.log`."""

    errors: tuple[Diagnostic, ...]
    error_count: int
    warnings: str


def clean(text: str) -> str:
    """``text`` without control characters (newline and tab stay), bidirectional marks and other invisible ones."""
    return "".join(
        c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    )


def read_log(log: str, name: str, source: str) -> Report:
    """Sort NVRTC's log for the file ``name`` with the text ``source``."""
    lines, advisor = source.split("\n"), Advisor(source)
    messages = [_diagnostic(chunk, name, lines) for chunk in _chunks(log)]
    errors = [message for message in _with_notes(messages) if message.severity != "warning"]
    count = sum(message.severity == "error" for message in messages)
    warnings = [message for message in messages if message.severity == "warning" and message.line is not None]
    # Advice may take a look at the whole source, so it is asked for only where it is shown.
    advised = (
        replace(error, hint=advisor.hint(error.message, _line(lines, error.line) or "", error.column))
        if error.severity == "error"
        else error
        for error in errors[:DIAGNOSTIC_LIMIT]
    )
    return Report(tuple(advised), count, "\n".join(_shown(w) for w in warnings[:DIAGNOSTIC_LIMIT]))


def _chunks(log: str) -> Iterator[list[str]]:
    """The lines of each message: its head and what follows up to the next head."""
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
    assert head is not None  # every chunk begins with one
    caret = next((i for i, text in enumerate(chunk) if i > 1 and text.strip() == "^"), None)
    continued = chunk[1 : len(chunk) if caret is None else caret - 1]
    message = _joined([head["message"], *(text.strip() for text in continued)])
    line, column, inside = _place(head, chunk, caret, name)
    shown = _line(lines, line)
    return Diagnostic(
        kind="compile_error",
        message=_worded(message, head, inside),
        severity=_severity(head["kind"]),
        file=name,
        line=line,
        column=column,
        source=clean(shown) if shown is not None and len(shown) <= SOURCE_LIMIT else None,
    )


def _joined(parts: list[str]) -> str:
    """The lines of one message as one; what NVRTC tells on a line of its own stays apart."""
    message = parts[0]
    for part in parts[1:]:
        message += ("; " if _ASIDE.match(part) and message[-1:] not in ".:;" else " ") + part
    return message


def _place(head: re.Match[str], chunk: list[str], caret: int | None, name: str) -> tuple[int | None, int | None, str]:
    """Line and column in the student's file, and the header's own name if the message is about a header."""
    if head["file"] is None:
        return None, None, ""
    if head["file"] == name:
        # The source line is printed behind two blanks.
        return int(head["line"]), None if caret is None else max(1, chunk[caret].index("^") - 1), ""
    header = head["file"].rpartition("/")[2]
    origins = [
        match
        for match in (_FROM.search(text[-300:]) for text in chunk[1:])
        if match and match[2] in (name, f'"{name}"')
    ]
    return (int(origins[-1][1]) if origins else None), None, header


def _worded(message: str, head: re.Match[str], inside: str) -> str:
    text = _CANNOT_OPEN.sub(r"\1", message)  # whether a file exists, and why it cannot be read, is nobody's business
    text = clean(text)
    text = text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + "…"
    if inside:
        return f"{text} (in <{clean(inside)[:60]}>)"
    return text + " (at the end of the file)" if head["file"] is None and head[0].startswith("At end") else text


def _severity(kind: str) -> Literal["error", "warning", "note"]:
    if "error" in kind:
        return "error"
    return "warning" if kind == "warning" else "note"


def _with_notes(messages: list[Diagnostic]) -> Iterator[Diagnostic]:
    """Errors, each followed by the notes that belong to it and point into the student's file."""
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
