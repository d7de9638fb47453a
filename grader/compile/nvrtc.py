"""A submission's bytes to a Program, with a cache: the parent's side of the compile child."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path, PurePath
from typing import Any

from grader.compile.cache import digest, load, store
from grader.compile.constants import (
    names_in_launch_lines,
    tail,
    take_values,
    with_values_after_kernels,
    without_errors,
)
from grader.compile.inspect import inspect_ptx
from grader.compile.log import CompilerLog, clean, read_log
from grader.compile.program import Entry, Parameter, Program
from grader.compile.source import checked_source
from grader.compile.toolchain import Toolchain, find_toolchain, require_nvrtc
from grader.errors import GraderFault, SubmissionError, Unsupported
from grader.frozen import dataclass
from grader.process import kept
from grader.process.channel import ChannelClosed, ChannelError, ChannelTimeout
from grader.process.child import Child, PooledChild, spawn
from grader.process.sandbox import Sandbox

INCLUDE = Path(__file__).parent / "include"
FORMAT = "5"  # of a cache entry: raise it when the stored data, or the checks before storing, change
WITHOUT_LIBCUXX = "--define-macro=_CG_LIMIT_INCLUDED_DEPENDENCIES="
"""Leaves libcu++ out of <cooperative_groups.h>: NVRTC takes a second to compile it, and few kernels need it."""
_TARGET = re.compile(r"sm_(\d{2,3}[af]?)")

Headers = Mapping[str, str]
NO_HEADERS: Headers = {}

CHILD = "grader.compile.child"
CPU_S = 20
WALL_S = 120.0  # far above CPU_S, so that a busy machine fails nobody
MEMORY_BYTES = 2 << 30
LOG_BYTES = 64 << 10
LONGEST_LINE = 1000
"""Characters: NVRTC repeats the line in each warning, and a line may have a hundred thousand."""
PTX_BYTES = 8 << 20

# nvrtcResult of nvrtc.h
_OUT_OF_MEMORY, _INVALID_OPTION, _COMPILATION, _BUILTINS = 1, 5, 6, 7


def compile_source(
    source: bytes, name: str, *, target: str = "sm_80", headers: Headers = NO_HEADERS, cache: bool = True
) -> Program:
    """Compile one submission for ``target`` in a child process with limits, and inspect the PTX.

    ``name`` is the file's name in every message; ``headers`` are the course's own, by the names in ``#include``. With
    ``cache`` a program is cached by its content; errors are not.
    Raises SubmissionError (``invalid``, ``compile_error``, ``limit``, ``policy``), Unsupported (no NVRTC, or one that
    does not know ``target``), GraderFault.
    """
    # The name goes into messages, NVRTC's options and the PTX: no folders, quotes or brackets, and no "-" at its start.
    name = clean(PurePath(name.replace("\\", "/")).name).replace("\n", "").replace("\t", " ")
    name = re.sub(r'["<>()]|^-', "_", name)[:120] or "submission.cu"
    text = checked_source(source, name)
    toolchain = find_toolchain()
    require_nvrtc(toolchain)
    match = _TARGET.fullmatch(target)
    if match is None:
        raise Unsupported(f"{target!r} names no GPU architecture", hint="it looks like this: sm_80")
    options = (
        f"--gpu-architecture=compute_{match[1]}",
        "--std=c++17",
        "--generate-line-info",
        "--device-as-default-execution-space",  # helper functions need no __device__
        "--pre-include=warpgrade_prelude.h",
        *((WITHOUT_LIBCUXX,) if "cooperative_groups" in text else ()),
        *(("--disable-warnings",) if any(len(line) > LONGEST_LINE for line in text.splitlines()) else ()),
    )
    given = (part for header, content in sorted(headers.items()) for part in (header, content))
    key = digest(FORMAT, text, name, *options, _stand_ins(), toolchain.fingerprint(), *given)
    program = _stored(key, text, name, target) if cache else None
    if program is None:
        program = _compiled(text, name, target, options, headers, toolchain)
        if cache:
            _store(key, program)
    return program


def _compiled(
    text: str, name: str, target: str, options: tuple[str, ...], headers: Headers, toolchain: Toolchain
) -> Program:
    include = (str(INCLUDE), *map(str, toolchain.include_dirs), str(INCLUDE / "fallback"))
    attempts = _Attempts(name, include, headers, toolchain)
    result, names = _with_names(text, options, attempts)
    if not result.ptx and WITHOUT_LIBCUXX in options:  # the source may use libcu++; if not, its errors are the same
        options = tuple(option for option in options if option != WITHOUT_LIBCUXX)
        result, names = _with_names(text, options, attempts)
    report = read_log(result.log, name, text)
    if not result.ptx:
        raise _compile_error(result, report, name)
    ptx, constants = take_values(result.ptx, names)
    return Program(
        name=name,
        source=text,
        ptx=ptx,
        target=target,
        entries=inspect_ptx(ptx, name, text),
        key=cache_key_of(ptx, target),
        log=report.warnings,
        constants=constants,
    )


class _Attempts:
    """The compilations of one source: all together have one limit of processor time."""

    def __init__(self, name: str, include: tuple[str, ...], headers: Headers, toolchain: Toolchain) -> None:
        self._name, self._include, self.headers, self._toolchain = name, include, headers, toolchain
        self._spent_s = 0.0

    def run(self, text: str, options: tuple[str, ...]) -> Compilation:
        """Raises what `run_nvrtc` raises."""
        if self._spent_s > CPU_S:
            raise _too_long(self._name)
        result = run_nvrtc(text, self._name, options, self._include, self._toolchain, self.headers)
        self._spent_s += result.cpu_s
        return result


def _with_names(text: str, options: tuple[str, ...], attempts: _Attempts) -> tuple[Compilation, tuple[str, ...]]:
    """NVRTC's result for ``text``, and the names whose values are in its PTX."""
    names = names_in_launch_lines(text, *attempts.headers.values())
    extended = with_values_after_kernels(text, names)
    result = attempts.run(extended + tail(names), options)
    if not result.ptx and extended != text:
        result = attempts.run(text + tail(names), options)
    while not result.ptx and (fewer := without_errors(names, result.log, text)) != names:
        names = fewer
        result = attempts.run(text + tail(names), options)
    return result, names


def cache_key_of(ptx: str, target: str) -> str:
    """The cache key of everything that is made from this PTX."""
    return digest("ptx", target, ptx)


def _compile_error(result: Compilation, report: CompilerLog, name: str) -> SubmissionError:
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
        hint=first.hint or "fix the first error first: later ones often follow from it",
    )


@cache
def _stand_ins() -> str:
    """Hash of our own headers."""
    files = sorted(path for path in INCLUDE.rglob("*") if path.is_file())
    return digest(*(part for path in files for part in (path.name, path.read_bytes())))


def _store(key: str, program: Program) -> None:
    entries = [
        [
            e.name, [[p.type, p.bytes, p.align] for p in e.parameters],
            [e.static_shared_bytes, e.max_threads, e.required_block, e.required_cluster],
        ]
        for e in program.entries
    ]  # fmt: skip
    store("compile", key, {"ptx": program.ptx, "log": program.log, "entries": entries, "constants": program.constants})


def _stored(key: str, text: str, name: str, target: str) -> Program | None:
    value = load("compile", key)
    try:
        entries = tuple(
            Entry(e, tuple(Parameter(*p) for p in params), shared, threads, tuple(block), tuple(cluster))
            for e, params, (shared, threads, block, cluster) in value["entries"]
        )
        ptx, log = str(value["ptx"]), str(value["log"])
        constants = {str(known): int(number) for known, number in value["constants"].items()}
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return Program(name, text, ptx, target, entries, cache_key_of(ptx, target), log, constants)


# --------------------------------------------------------------------------------------------------------- the child


@dataclass(frozen=True)
class Compilation:
    """NVRTC's result: ``ptx`` is empty if there are errors, which are in ``log``."""

    ptx: str
    log: str
    log_cut: bool
    cpu_s: float


def run_nvrtc(
    source: str,
    name: str,
    options: tuple[str, ...],
    include: tuple[str, ...],
    toolchain: Toolchain,
    headers: Headers = NO_HEADERS,
) -> Compilation:
    """Compile in a child process with limits.

    Raises SubmissionError (``limit``, ``compile_error`` when the compiler itself dies), Unsupported, GraderFault.
    """
    request = {
        "source": source.encode(),
        "name": name,
        "headers": dict(headers),
        "options": [*options, *(f"--include-path={folder}" for folder in include)],
        "log_limit": LOG_BYTES,
        "ptx_limit": PTX_BYTES,
    }
    answer = _kept_answer(request, include, toolchain) or _answered(request, include, toolchain)
    log = answer["log"].decode("utf-8", "replace")
    status = answer["status"]
    if status == _OUT_OF_MEMORY or (status == _COMPILATION and "catastrophic error: out of memory" in log):
        raise _too_much_memory(name)
    if status == _INVALID_OPTION:
        version = "{}.{}".format(*toolchain.nvrtc_version or (0, 0))
        raise Unsupported(f"NVRTC {version} cannot compile for what this needs: {log.strip()[:200]}")
    if status == _BUILTINS:
        raise Unsupported(
            "NVRTC is installed only in part: " + log.strip()[:200], hint="install it again, with its builtins"
        )
    if status not in (0, _COMPILATION):
        raise GraderFault(f"NVRTC failed with code {status} on {name}: {log.strip()[:200]}")
    if answer["ptx_bytes"] > PTX_BYTES:
        raise SubmissionError(
            "limit",
            f"{name} compiles to {answer['ptx_bytes'] / 1e6:.0f} MB of PTX; the limit is {PTX_BYTES >> 20} MiB",
            hint="unroll less, and fill large arrays in the kernel instead of initialising them",
        )
    ptx = answer["ptx"].decode("utf-8", "replace")
    return Compilation(ptx, log, log_cut=answer.get("log_bytes", 0) > LOG_BYTES, cpu_s=float(answer["cpu_s"]))


def _answered(request: dict[str, Any], include: tuple[str, ...], toolchain: Toolchain) -> dict[str, Any]:
    limits = Sandbox(
        files=True, processes=False, network=False, memory_bytes=MEMORY_BYTES, cpu_s=CPU_S, file_bytes=0
    )  # fmt: skip
    with started(limits, include, toolchain) as child:
        try:
            child.channel.send(request)
            return child.channel.receive(WALL_S)[0]
        except ChannelError as error:
            raise _death(child, request["name"], error) from None


def started(limits: Sandbox, include: tuple[str, ...], toolchain: Toolchain, temporary: str = "") -> Child:
    """A compile child with NVRTC loaded, which may read ``include`` and NVRTC's folder beside what ``limits`` allow."""
    library = require_nvrtc(toolchain)
    env = {"TMPDIR": temporary} if temporary else {}
    child = spawn(CHILD, sandbox=limits._replace(read=(*include, str(library.parent))), env=env)
    with suppress(ChannelClosed):  # the child is dead already: the caller sees it when it receives
        child.channel.send({"library": str(library), "builtins": str(toolchain.nvrtc_builtins)})
    return child


def _death(child: Child, name: str, error: ChannelError) -> Exception:
    """The error for a child that did not answer: a limit, a crash of the compiler, or our own fault."""
    if isinstance(error, ChannelTimeout):
        child.kill()
        return _too_long(name) if (child.cpu_s or 0) > CPU_S / 2 else GraderFault(f"compiling {name} never ended")
    child.wait(5.0)
    trouble = child.stderr
    if child.signal_name == "SIGXCPU":
        return _too_long(name)
    starved = (child.peak_memory_bytes or 0) > MEMORY_BYTES // 2
    if "MemoryError" in trouble or "out of memory" in trouble.lower() or "bad_alloc" in trouble:
        return _too_much_memory(name)
    if child.signal_name and (starved or child.signal_name == "SIGKILL"):
        return _too_much_memory(name)
    if child.signal_name:
        return SubmissionError(
            "compile_error",
            f"the compiler itself crashed ({child.signal_name}) on {name}",
            hint="some wrong programs do that to NVRTC: comment out the newest lines until it compiles again",
        )
    return GraderFault(f"the compile child ended with status {child.returncode} on {name}: {trouble[-500:].strip()}")


def _too_long(name: str) -> SubmissionError:
    return SubmissionError(
        "limit",
        f"compiling {name} took more than {CPU_S} s of processor time",
        hint="look for templates, macros or constant expressions that expand without end, and very long expressions",
    )


def _too_much_memory(name: str) -> SubmissionError:
    return SubmissionError(
        "limit",
        f"compiling {name} needs more than {MEMORY_BYTES >> 30} GiB of memory",
        hint="look for templates or macros that expand without end, and for initialised arrays",
    )


# -------------------------------------------------------------------------------------------- persistent compilers
# A persistent process compiles the headers that take NVRTC a second only once (NVRTC's precompiled headers are valid in
# one process only). The PTX is the same.

KEPT_WALL_S = 60.0  # a source that takes longer is compiled in a process of its own, whose limits say why
KEPT_MEMORY_BYTES = 8 << 30
HEADER_BYTES = 1 << 30
_INCLUDES = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/|#include <[^>\n]*>[^\n]*\n)*", re.DOTALL)
_INCLUDE = re.compile(r"^#include <[^>\n]*>", re.MULTILINE)
_SLOW = re.compile(r"<cuda/")


def _kept_answer(request: dict[str, Any], include: tuple[str, ...], toolchain: Toolchain) -> dict[str, Any] | None:
    """The answer of a persistent child; None if there is none."""
    if kept.KEPT is None:
        return None
    folder = kept.KEPT.folder
    limits = Sandbox(
        files=True, write=(folder,), processes=False, network=False, memory_bytes=KEPT_MEMORY_BYTES,
        file_bytes=HEADER_BYTES,
    )  # fmt: skip
    start = partial(started, limits, include, toolchain, folder)
    return kept.KEPT.answer(
        (CHILD, *include, toolchain.fingerprint()), start, lambda used: _asked(used, request, folder)
    )


def _asked(used: PooledChild, request: dict[str, Any], folder: str) -> dict[str, Any]:
    if headers := slow_headers(request["source"].decode()):
        request = request | {"options": [*request["options"], *_precompiled(used, request, headers, folder)]}
    return kept.asked(used, request, KEPT_WALL_S)


def _precompiled(used: PooledChild, request: dict[str, Any], headers: str, folder: str) -> list[str]:
    """The options that use ``headers`` precompiled by this child; it compiles them at their first use."""
    options = [*request["options"]]
    name = digest(headers, *options)[:16]
    place = [f"--pch-dir={folder}", "--pch-messages=false"]
    file = f"{used.child.pid}-{name}.pch"
    if name not in used.holds:
        used.holds.add(name)
        made = {"source": headers.encode(), "headers": {}, "options": [*options, f"--create-pch={file}", *place]}
        kept.asked(used, request | made, KEPT_WALL_S)
    return [f"--use-pch={file}", *place] if Path(folder, file).is_file() else []


def slow_headers(text: str) -> str:
    """The includes at the beginning of ``text`` up to the last slow header; "" if there is none."""
    start = _INCLUDES.match(text)
    includes = _INCLUDE.findall(start[0]) if start else []
    last = max((index for index, line in enumerate(includes) if _SLOW.search(line)), default=-1)
    return "".join(f"{line}\n" for line in includes[: last + 1])
