"""One submission from bytes to a Program, and from there to a cubin; both kept by content."""

from __future__ import annotations

import re
from functools import cache as once
from pathlib import Path, PurePath

from grader.compile import Entry, Parameter, Program, cache
from grader.compile.inspect import inspect_ptx
from grader.compile.log import clean, read_log
from grader.compile.nvrtc import Compilation, run_nvrtc
from grader.compile.source import checked_source
from grader.compile.toolchain import Toolchain, find_toolchain, require_nvrtc
from grader.errors import SubmissionError, Unsupported

INCLUDE = Path(__file__).parent / "include"
FORMAT = "2"  # of a cache entry: counts up when what is stored, or what is checked before storing, changes
_TARGET = re.compile(r"sm_(\d{2,3}[af]?)")


def compile_source(source: bytes, name: str, *, target: str = "sm_80", cache: bool = True) -> Program:
    """See `grader.compile.compile_source`."""
    name = _shown_name(name)
    text = checked_source(source, name)
    toolchain = find_toolchain()
    require_nvrtc(toolchain)
    options = _options(target)
    key = _key(text, name, options, toolchain)
    program = _stored(key, text, name, target) if cache else None
    if program is None:
        program = _compiled(text, name, target, options, toolchain)
        if cache:
            _store(key, program)
    return program


def _options(target: str) -> tuple[str, ...]:
    match = _TARGET.fullmatch(target)
    if match is None:
        raise Unsupported(f"{target!r} names no GPU architecture", hint="it looks like this: sm_80")
    return (
        f"--gpu-architecture=compute_{match[1]}",
        "--std=c++17",
        "--generate-line-info",
        "--device-as-default-execution-space",  # helper functions need no __device__
        "--pre-include=warpgrade_prelude.h",
    )


def _compiled(text: str, name: str, target: str, options: tuple[str, ...], toolchain: Toolchain) -> Program:
    include = (str(INCLUDE), *map(str, toolchain.include_dirs), str(INCLUDE / "fallback"))
    result = run_nvrtc(text, name, options, include, toolchain)
    report = read_log(result.log, name, text)
    if not result.ptx:
        raise _compile_error(result, name, text)
    return Program(
        name=name,
        source=text,
        ptx=result.ptx,
        target=target,
        entries=inspect_ptx(result.ptx, name, text),
        key=cache_key_of(result.ptx, target),
        log=report.warnings,
    )


def cache_key_of(ptx: str, target: str) -> str:
    """The key under which everything made from this PTX is kept."""
    return cache.digest("ptx", target, ptx)


def _compile_error(result: Compilation, name: str, text: str) -> SubmissionError:
    report = read_log(result.log, name, text)
    if not report.errors:
        message = f"{name} does not compile: {clean(result.log).strip()[:300]}"
        return SubmissionError("compile_error", message)
    first = report.errors[0]
    count = report.error_count if not result.log_cut else f"more than {report.error_count}"
    place = f", line {first.line}" if first.line else ""
    others = "" if report.error_count == 1 and not result.log_cut else f" ({count} errors; this is the first)"
    return SubmissionError(
        "compile_error",
        f"{name}{place}: {first.message}{others}",
        diagnostics=report.errors,
        hint=first.hint or "mend the first error first: later ones often follow from it",
    )


def _shown_name(name: str) -> str:
    """A file name that can stand in messages, in compiler options and in the PTX."""
    plain = clean(PurePath(name.replace("\\", "/")).name).replace("\n", "").replace("\t", " ")
    return re.sub(r'["<>()]', "_", plain)[:120] or "submission.cu"


@once
def _stand_ins() -> str:
    """Hash of our own headers."""
    files = sorted(path for path in INCLUDE.rglob("*") if path.is_file())
    return cache.digest(*(part for path in files for part in (path.name, path.read_bytes())))


def _key(text: str, name: str, options: tuple[str, ...], toolchain: Toolchain) -> str:
    return cache.digest(FORMAT, text, name, *options, _stand_ins(), toolchain.fingerprint())


def _store(key: str, program: Program) -> None:
    entries = [
        [e.name, [[p.type, p.bytes, p.align] for p in e.parameters], e.static_shared_bytes] for e in program.entries
    ]
    cache.store("compile", key, {"ptx": program.ptx, "log": program.log, "entries": entries})


def _stored(key: str, text: str, name: str, target: str) -> Program | None:
    value = cache.load("compile", key)
    try:
        entries = tuple(
            Entry(e, tuple(Parameter(*p) for p in params), shared) for e, params, shared in value["entries"]
        )
        ptx, log = str(value["ptx"]), str(value["log"])
    except (TypeError, KeyError, ValueError):
        return None
    return Program(name, text, ptx, target, entries, cache_key_of(ptx, target), log)
