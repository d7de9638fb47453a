"""From PTX to a cubin, with the registers, spills, local and shared memory of each entry; or why ptxas refuses it."""

from __future__ import annotations

import base64
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from grader.compile import cache
from grader.compile.lexical import kernels, line_of, line_text, without_strings
from grader.compile.log import clean
from grader.compile.program import Program
from grader.compile.toolchain import INSTALL, Toolchain, find_toolchain, is_script
from grader.errors import GraderFault, RefusedProgram, Unsupported
from grader.frozen import dataclass
from grader.paths import PACKAGE
from grader.process import kept
from grader.process.channel import ChannelError, ChannelTimeout
from grader.process.child import give_to_children, spawn
from grader.process.sandbox import Sandbox

CHILD = "grader.process.tool"
CPU_S = 60  # of each run of ptxas
WALL_S = 300.0  # only backs up the limit on processor time: a busy machine must not fail anybody
MEMORY_BYTES = 4 << 30
CUBIN_BYTES = 64 << 20
FORMAT = "3"

# The C library's folders, for a ptxas that is not statically linked; read-only.
_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")
_SYSTEM_PROGRAMS = ("/bin", "/usr", "/opt")  # the shell and the real ptxas, if `ptxas` is a script
_ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
_SPILLS = re.compile(r"(\d{1,9}) bytes spill stores, (\d{1,9}) bytes spill loads")
_USED = re.compile(r"Used (\d{1,9}) registers")
_SHARED = re.compile(r"(\d{1,9}) bytes smem")
_LOCAL = re.compile(r"(\d{1,9}) bytes stack frame")
_CALLS = re.compile(r"(\d{1,9}) bytes cumulative stack size")
_OTHER_VERSION = re.compile(r"Unsupported \.version (\S+?);|PTX version|not supported on this version", re.IGNORECASE)


@dataclass(frozen=True)
class Resources:
    """What one entry needs on the architecture it was assembled for, per thread unless stated otherwise."""

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    static_shared_bytes: int  # per block
    local_bytes: int = 0  # the stack: arrays that do not fit into registers, spills, calls


@dataclass(frozen=True)
class Assembly:
    """A cubin, and the resources of its entries by name."""

    cubin: bytes
    resources: Mapping[str, Resources]


def assembly(program: Program, arch: str) -> Assembly:
    """The cubin of ``program`` for the architecture ``arch`` (``sm_90``), and the resources of its entries.

    Raises Unsupported (no ptxas, or one older than NVRTC), RefusedProgram (``limit``, ``compile_error``), GraderFault.
    """
    toolchain = find_toolchain()
    ptxas = toolchain.ptxas
    if ptxas is None:
        raise Unsupported("ptxas, NVIDIA's assembler, is not installed", hint=f"install it: {INSTALL}")
    state = ptxas.stat()
    key = cache.digest("cubin", FORMAT, program.key, arch, f"{ptxas} {state.st_size} {state.st_mtime_ns}")
    found = _stored(key)
    if found is None:
        answer = _kept_answer(program, arch, ptxas) or _answered(program, arch, ptxas)
        output = answer["output"].decode("utf-8", "replace")
        if answer["status"] != 0:
            raise _failure(program, arch, answer["status"], output, toolchain)
        found = Assembly(answer["result"], read_resources(output))
        resources = {name: asdict(needs) for name, needs in found.resources.items()}
        value = {"cubin": base64.b64encode(found.cubin).decode(), "resources": resources}
        cache.store("cubin", key, value)
    return found


def assemble(program: Program, arch: str) -> bytes:
    """The cubin of ``program`` for ``arch``; raises what `assembly` raises."""
    return assembly(program, arch).cubin


@contextmanager
def _folder_of_a_child() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="warpgrade-") as folder:
        give_to_children(folder)
        yield folder


def _answered(program: Program, arch: str, ptxas: Path) -> dict[str, Any]:
    with (
        _folder_of_a_child() as folder,
        spawn(CHILD, sandbox=_limits(ptxas, str(Path(folder).resolve()))) as child,
    ):
        try:
            child.channel.send(_request(program, arch, ptxas, folder))
            return child.channel.receive(WALL_S)[0]
        except ChannelTimeout:
            raise GraderFault(f"assembling {program.name} never ended") from None
        except ChannelError:
            child.wait(5.0)
            raise GraderFault(f"the assembler's child died: {child.stderr[-500:].strip()}") from None


def _kept_answer(program: Program, arch: str, ptxas: Path) -> dict[str, Any] | None:
    """The answer of a persistent child; None if there is none."""
    if kept.KEPT is None:
        return None
    limits = _limits(ptxas, str(Path(kept.KEPT.folder).resolve()))
    with tempfile.TemporaryDirectory(dir=kept.KEPT.folder) as folder:
        request = _request(program, arch, ptxas, folder)
        start = partial(spawn, CHILD, sandbox=limits)
        return kept.KEPT.answer((CHILD, *limits.execute), start, lambda used: kept.asked(used, request, WALL_S))


def _limits(ptxas: Path, folder: str) -> Sandbox:
    return Sandbox(
        files=True,
        # The child runs Python code while it is closed in, which may still import from the standard library.
        read=(*_SYSTEM_LIBRARIES, sys.base_prefix, str(PACKAGE)),
        write=(folder, "/dev/null"),
        execute=(str(ptxas), *_SYSTEM_LIBRARIES, *(_SYSTEM_PROGRAMS if is_script(ptxas) else ())),
        network=False,
        memory_bytes=MEMORY_BYTES,
        cpu_s=CPU_S,
        file_bytes=CUBIN_BYTES,
    )


def _request(program: Program, arch: str, ptxas: Path, folder: str) -> dict[str, Any]:
    return {
        "folder": str(Path(folder).resolve()),
        "input_name": "program.ptx",
        "input": program.ptx.encode(),
        "result_name": "program.cubin",
        "command": [
            str(ptxas), f"--gpu-name={arch}", "--verbose", "--generate-line-info", "program.ptx", "-o", "program.cubin",
        ],
    }  # fmt: skip


def _failure(program: Program, arch: str, status: int, output: str, toolchain: Toolchain) -> Exception:
    words = clean(output).strip()
    if status == -24:  # SIGXCPU
        return _beyond(program, f"more than {CPU_S} s of processor time")
    if status < 0 or "out of memory" in words.lower():
        return _beyond(program, f"more than {MEMORY_BYTES >> 30} GiB of memory, or crashes the assembler")
    if _OTHER_VERSION.search(words):
        have, need = _dotted(toolchain.ptxas_version), _dotted(toolchain.nvrtc_version)
        return Unsupported(
            f"ptxas {have} ({toolchain.ptxas}) is older than NVRTC {need} and cannot read its PTX",
            hint=f"install both from one release: {INSTALL.replace('install', 'install --upgrade')}",
        )
    if "is not defined for option 'gpu-name'" in words:
        return Unsupported(f"ptxas does not know {arch}", hint="install a newer CUDA release")
    if ".target is higher" in words:
        return Unsupported(f"{program.name} is compiled for {program.target}, which {arch} is older than")
    return _refusal(program, arch, words)


# ------------------------------------------------------------------------------------------------ what ptxas refuses

STATIC_SHARED_BYTES = 48 << 10
"""The maximum for `__shared__` arrays with a size in the source; dynamic shared memory may be larger."""

_ERROR = re.compile(
    r"^ptxas\s*(?:program\.ptx, line (?P<line>\d+);)?\s*(?:error|fatal)\s*:\s*(?P<words>.*)$", re.MULTILINE
)
_TOO_MUCH_SHARED = re.compile(r"Entry function '([^']+)' uses too much shared data \(0x([0-9a-f]+) bytes")
_NOT_ASCII = re.compile(r"Unexpected non-ASCII character encountered on line (\d+)")
_LOC = re.compile(r"^[ \t]*\.loc[ \t]+(\d+) (\d+) \d+(?:[^\n]*\binlined_at (\d+) (\d+) \d+)?", re.MULTILINE)


def _refusal(program: Program, arch: str, output: str) -> RefusedProgram:
    """Why ptxas refuses the program, with the line of the source; in ptxas' words if the error is not a known one."""
    if shared := _TOO_MUCH_SHARED.search(output):
        return too_much_shared(program, arch, shared[1], int(shared[2], 16))
    first = _ERROR.search(output)
    words, at = (first["words"], first["line"]) if first else (output, None)
    hint = "too much shared or constant memory, or inline assembly that this GPU does not have, ends here"
    if "// begin inline asm" in program.ptx:
        hint = "look at the inline assembly: the PTX manual says what each instruction takes, and which GPUs have it"
    if text := _NOT_ASCII.search(words):
        words, at = "a character of inline assembly is not ASCII", text[1]
        hint = "write the text of asm() in plain ASCII, its comments too"
    return _refused(program, arch, words[:300], source_line(program, int(at)) if at else None, hint)


def too_much_shared(program: Program, arch: str, kernel: str, declared: int) -> RefusedProgram:
    """A kernel whose `__shared__` arrays are larger than any launch allows."""
    words = f"{kernel} declares {declared} bytes of __shared__ arrays; the maximum is {STATIC_SHARED_BYTES}"
    hint = "a larger array has to be dynamic: extern __shared__ NAME[], and its bytes as shared= in the launch line"
    return _refused(program, arch, words, kernel_line(program, kernel), hint)


def _refused(program: Program, arch: str, words: str, line: int | None, hint: str) -> RefusedProgram:
    place = "" if line is None else f", at {program.name}:{line}"
    return RefusedProgram(
        "compile_error", f"{program.name} compiles, but cannot be assembled for {arch}: {words}{place}",
        file=program.name, line=line, source=line_text(program.source, line), hint=hint,
    )  # fmt: skip


def kernel_line(program: Program, kernel: str) -> int | None:
    """The line where the source defines ``kernel``; None if it is not found, because of macros."""
    code = without_strings(program.source)
    places = kernels(code).get(kernel)
    return line_of(code, places[0][0]) if places else None


def source_line(program: Program, line: int) -> int | None:
    """The line of the source for line ``line`` of the PTX; None if unknown.

    For code of a header's function it is the line where that function was inlined.
    """
    before = "\n".join(program.ptx.split("\n")[:line])
    own = re.search(rf'\.file[ \t]+(\d+) "(?:[^"\n]*/)?{re.escape(program.name)}"', program.ptx)
    if own is None:
        return None
    function = max(before.rfind(".entry"), before.rfind(".func"))
    for file, at, into, inlined_at in reversed(_LOC.findall(before, function)):
        if own[1] in (file, into):
            return int(at if file == own[1] else inlined_at)
    return None


def _dotted(version: tuple[int, int] | None) -> str:
    return "of an unknown release" if version is None else "{}.{}".format(*version)


def _beyond(program: Program, what: str) -> RefusedProgram:
    return RefusedProgram(
        "limit", f"assembling {program.name} takes {what}", hint="unroll less: the kernel is far too large"
    )


def read_resources(output: str) -> dict[str, Resources]:
    """Resources by entry, from what ``ptxas --verbose`` prints."""
    starts = [*_ENTRY.finditer(output)]
    ends = [match.start() for match in starts[1:]] + [len(output)]
    return {match[1]: _resources(output[match.end() : end]) for match, end in zip(starts, ends, strict=False)}


def _resources(text: str) -> Resources:
    spills = _SPILLS.search(text)
    stores, loads = (int(number) for number in spills.groups()) if spills else (0, 0)
    local = max(_number(_LOCAL, text), _number(_CALLS, text))
    return Resources(_number(_USED, text), stores, loads, _number(_SHARED, text), local)


def _number(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return int(match[1]) if match else 0


def _stored(key: str) -> Assembly | None:
    value = cache.load("cubin", key)
    try:
        resources = {name: Resources(**needs) for name, needs in value["resources"].items()}
        return Assembly(base64.b64decode(value["cubin"]), resources)
    except (TypeError, KeyError, ValueError):
        return None
