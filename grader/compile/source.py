"""Reading a submission, and checking it before it is compiled."""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from operator import attrgetter
from pathlib import Path

from grader.compile.lexical import (
    BraceBlock,
    Lines,
    assembly,
    blocks,
    line_of,
    line_text,
    reached,
    strings,
    without_comments,
    without_directives,
    without_strings,
)
from grader.compile.toolchain import find_toolchain
from grader.errors import SubmissionError, UsageError
from grader.verdict import Diagnostic

SOURCE_LIMIT = 1 << 20  # bytes
SHOWN = 8  # findings in the message
FINDINGS = 200  # searched for, of each kind: bounds the time for a hostile file

# Headers of the host's standard library and of CUDA's host libraries: a file that includes one has host code.
HOST_HEADERS = frozenset(
    """
    algorithm.h bits/stdc++.h chrono condition_variable cublas_v2.h cublas.h cudnn.h cufft.h curand.h cusparse.h
    cusolverDn.h deque exception filesystem fstream future helper_cuda.h helper_functions.h iomanip ios iostream
    iterator list locale map memory mutex nvtx3/nvToolsExt.h omp.h ostream pthread.h queue random regex set sstream
    stack stdexcept string string_view sys/time.h sys/types.h thread time.h ctime unistd.h unordered_map
    unordered_set vector windows.h
    """.split()  # noqa: SIM905 (fifty quoted names in a row are harder to read)
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_LINE_DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*(?:line\b|\d)", re.MULTILINE)
_HOST = (
    (re.compile(r"\bint\s+main\s*\("), "int main()"),
    (re.compile(r"<<<"), "a launch with <<<…>>>"),
    (re.compile(r"\b(cuda[A-Z]\w*)(?=\s*\()"), "{}()"),
    (
        re.compile(r"\bstd\s*::\s*(?:cout|cerr|endl|vector|string|chrono|thread|map|mt19937\w*|mutex|random_device)\b"),
        "{}",
    ),
    (re.compile(r"\b((?:cublas|cudnn|curand|cufft)[A-Z]\w*)(?=\s*\()"), "{}()"),
)
"""Host code, with its words in the message; a group matches a function's name."""
ON_DEVICE = frozenset(("cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"))
"""Functions of the runtime that kernels may call (programmatic dependent launch)."""
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_MACRO = re.compile(r"#[ \t]*define[ \t]+([A-Za-z_]\w*)\(")
_RUNTIME = re.compile(r"\bcuda[A-Z]\w*(?=\s*\()")
_RUNTIME_HEADERS = ("cuda_runtime_api.h", "cuda_runtime.h")
_INSIDE = re.compile(r"[\w>]::\s{0,99}$")  # `cuda::std::chrono` is not `std::chrono`
_SMUGGLED = re.compile(
    r"\.(?:entry|func|visible|extern|weak|version|target|address_size|file|loc|section|alias|common)\b|inline asm"
)


def read_submission(path: Path) -> bytes:
    """The bytes of the file to grade. Raises UsageError (``not_found``, ``is_a_directory``, ``unreadable``), and
    SubmissionError ``invalid`` for more than `SOURCE_LIMIT` bytes, without reading them all.
    """
    try:
        # Nonblocking, because opening a named pipe would wait for a writer.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable(path, errno.EISDIR if path.is_dir() else errno.EINVAL)
            content = file.read(SOURCE_LIMIT + 1)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise _unreadable(path, error.errno or 0) from None
    except ValueError:  # a NUL in the name
        raise _unreadable(path, errno.ENOENT) from None
    if len(content) > SOURCE_LIMIT:
        raise _too_large(path.name, max(size, len(content)))
    return content


def checked_source(source: bytes, name: str) -> str:
    """The text of a submission. Raises SubmissionError ``invalid`` if it is too large, empty, not UTF-8, or has NUL
    characters, host code, ``#line``, or inline assembly that leaves its function.
    """
    text = _text(source, name)
    _refuse_host_code(text, name)
    if match := _LINE_DIRECTIVE.search(without_strings(text)):
        words = "#line is not allowed, messages would name the wrong lines"
        raise _refused(text, name, line_of(text, match.start()), words, "remove the directive")
    for line, content, whole in assembly(text):
        if reason := smuggling(content, whole=whole):
            words = f"inline assembly must stay inside its function; this one {reason}"
            raise _refused(text, name, line, words, "write the kernel in CUDA C and only the instruction in asm()")
    for line, content in strings(text):
        if "inline asm" in content:
            words = 'a string must not contain the words "inline asm", which mark assembly in the PTX'
            raise _refused(text, name, line, words, "change the string")
    return text


def _text(source: bytes, name: str) -> str:
    if len(source) > SOURCE_LIMIT:
        raise _too_large(name, len(source))
    if not source.strip():
        hint = f"delete it, and `grade start {Path(name).stem}` copies the stub here"
        raise SubmissionError("invalid", f"{name} is empty", hint=hint)
    try:
        text = source.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        message = f"{name} is not text: byte 0x{source[error.start]:02x} in line {line} is not UTF-8"
        hint = "save the file as UTF-8; a compiled file cannot be graded"
        raise SubmissionError("invalid", message, file=name, line=line, hint=hint) from None
    if "\0" in text:
        line = line_of(text, text.index("\0"))
        message = f"{name} is not text: line {line} contains a NUL character"
        raise SubmissionError("invalid", message, file=name, line=line, hint="save it as UTF-8")
    return text


def _refuse_host_code(text: str, name: str) -> None:
    findings = sorted(set(_host_code(text)))
    if not findings:
        return
    places = _places(findings, blocks(without_directives(text))[0])
    more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    message = f"{name} contains host code, which must be removed: {', '.join(list(places)[:SHOWN])}{more}"
    hint = "keep the kernels and their device functions; the launch belongs in the `// launch` line"
    found = (
        Diagnostic("invalid", f"host code: {what}", file=name, line=line, source=line_text(text, line), hint=hint)
        for line, what in islice(places.values(), SHOWN)
    )
    raise SubmissionError("invalid", message, diagnostics=tuple(found), hint=hint)


def _host_code(text: str) -> Iterator[tuple[int, str]]:
    """The line and the words of each host header and each piece of host code."""
    lines, includes, code = Lines(text), without_comments(text), without_strings(text)
    headers = [match for match in _INCLUDE.finditer(includes) if match[1].strip() in HOST_HEADERS]
    if not headers and not any(pattern.search(code) for pattern, _ in _HOST):
        return
    code = reached(code)
    for match in islice(headers, FINDINGS):
        if code[match.start() : match.end()].strip():
            yield lines.of(match.start(1)), f"#include <{match[1].strip()}>"
    own = _defined(code)
    for pattern, words in _HOST:
        found = (match for match in pattern.finditer(code) if not _on_device(code, match, own))
        for match in islice(found, FINDINGS):
            yield lines.of(match.start()), words.format("".join(match[0].split()))


def _on_device(code: str, match: re.Match[str], own: frozenset[str]) -> bool:
    """Whether a match of `_HOST` is not host code: a function of the file, or a name in another namespace."""
    if _INSIDE.search(code[max(0, match.start() - 200) : match.start()]):
        return True
    if not match.groups():
        return False
    runtime = runtime_functions() if match[1].startswith("cuda") else None
    return match[1] in own | ON_DEVICE or (runtime is not None and match[1] not in runtime)


def _defined(code: str) -> frozenset[str]:
    """Names of the file's functions and macros."""
    functions = (name for block in blocks(without_directives(code))[0] for name in _CALLED.findall(block.head))
    return frozenset((*functions, *_MACRO.findall(code)))


@cache
def runtime_functions() -> frozenset[str] | None:
    """The functions of CUDA's runtime, from its headers; None if these are not installed."""
    headers = (folder / name for folder in find_toolchain().include_dirs for name in _RUNTIME_HEADERS)
    texts = [header.read_text("utf-8", "replace") for header in headers if header.is_file()]
    return frozenset(name for text in texts for name in _RUNTIME.findall(text)) or None


def _places(findings: Sequence[tuple[int, str]], outer: list[BraceBlock]) -> dict[str, tuple[int, str]]:
    """What to remove, in words: the function that has the finding, unless it is device code; else the line."""
    places: dict[str, tuple[int, str]] = {}
    for line, what in findings:
        at = bisect_left(outer, line, key=attrgetter("last_line"))
        block = outer[at] if at < len(outer) and outer[at].first_line <= line else None
        words = f"line {line} ({what})"
        if block is not None and "(" in block.head and not re.search("__global__|__device__", block.head):
            single = block.first_line == block.last_line
            lines = f"line {block.first_line}" if single else f"lines {block.first_line}–{block.last_line}"
            words = f"{lines} ({block.head[:60]})"
        places.setdefault(words, (line, what))
    return places


def _refused(text: str, name: str, line: int, words: str, hint: str) -> SubmissionError:
    source = line_text(text, line)
    return SubmissionError("invalid", f"{name}, line {line}: {words}", file=name, line=line, source=source, hint=hint)


def smuggling(assembly_text: str, *, whole: bool = True) -> str:
    """Why this assembly text does not stay inside its function; "" if it does.

    Braces are checked only if the text is the ``whole`` text of the statement.
    """
    plain = re.sub(r"//[^\n]*|/\*.*?(?:\*/|\Z)", " ", assembly_text, flags=re.DOTALL)
    directive = _SMUGGLED.search(plain)
    if directive:
        return f"uses {directive[0]}"
    depth = 0
    for brace in re.findall(r"[{}]", plain) if whole else ():
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return "closes a brace that it did not open"
    return "leaves a brace open" if depth else ""


def _too_large(name: str, size: int) -> SubmissionError:
    message = f"{name} is {size / 1e6:.1f} MB; a submission is at most {SOURCE_LIMIT >> 20} MiB"
    return SubmissionError("invalid", message, hint="submit the .cu source itself, without data")


_START = "`grade start NAME` copies a stub here; --file names another file"
_UNREADABLE = {
    errno.ENOENT: ("not_found", "there is no file {path}", _START),
    errno.ENOTDIR: ("not_found", "there is no file {path}", _START),
    errno.ENAMETOOLONG: ("not_found", "there is no file {path}", "the name is too long"),
    errno.EISDIR: ("is_a_directory", "{path} is a folder, not a .cu file", "name the file inside it"),
    errno.EACCES: ("unreadable", "{path} cannot be read: permission denied", "`chmod u+r` lets you read it"),
    errno.EPERM: ("unreadable", "{path} cannot be read: permission denied", "`chmod u+r` lets you read it"),
    errno.EINVAL: ("unreadable", "{path} is not a regular file", "name a .cu file"),
    errno.ENXIO: ("unreadable", "{path} is not a regular file", "name a .cu file"),
}  # fmt: skip


def _unreadable(path: Path, code: int) -> UsageError:
    other = ("unreadable", "{path} cannot be read: " + os.strerror(code), "name a .cu file")
    word, message, hint = _UNREADABLE.get(code, other)
    return UsageError(message.format(path=path), code=word, hint=hint)
