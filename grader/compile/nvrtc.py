"""The parent's side of the compile child: what to send, and what its end means."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from grader.compile.toolchain import Toolchain, require_nvrtc
from grader.errors import GraderFault, SubmissionError, Unsupported
from grader.process.channel import ChannelClosed, ChannelError, ChannelTimeout
from grader.process.child import Child, spawn
from grader.process.sandbox import Sandbox

if TYPE_CHECKING:
    from grader.compile.kept import KeptCompilers

CHILD = "grader.compile.child"
CPU_S = 20
WALL_S = 120.0  # only backs up the limit on processor time: a busy machine must not fail anybody
MEMORY_BYTES = 2 << 30
LOG_BYTES = 64 << 10
PTX_BYTES = 8 << 20

# nvrtcResult of nvrtc.h
_OUT_OF_MEMORY, _INVALID_OPTION, _COMPILATION, _BUILTINS = 1, 5, 6, 7

KEPT: KeptCompilers | None = None
"""Children that stay, while `grader.compile.kept.compilers_kept` holds."""


@dataclass(frozen=True)
class Compilation:
    """What NVRTC answered: ``ptx`` is empty when it found errors, which then are in ``log``."""

    ptx: str
    log: str
    log_cut: bool
    sandbox: str


def run_nvrtc(
    source: str, name: str, options: tuple[str, ...], include: tuple[str, ...], toolchain: Toolchain
) -> Compilation:
    """Compile in a child process with limits.

    Raises SubmissionError (``limit``, ``compile_error`` when the compiler itself dies), Unsupported, GraderFault.
    """
    request = {
        "source": source.encode(),
        "name": name,
        "options": [*options, *(f"--include-path={folder}" for folder in include)],
        "log_limit": LOG_BYTES,
        "ptx_limit": PTX_BYTES,
    }
    answer = KEPT.answer(request, include, toolchain) if KEPT else None
    return _compilation(answer or _answered(request, include, toolchain), name, toolchain)


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
    """A compile child that has been told its libraries; what it reads is added to ``limits``."""
    library = require_nvrtc(toolchain)
    env = {"TMPDIR": temporary} if temporary else {}
    child = spawn(CHILD, sandbox=replace(limits, read=(*include, str(library.parent))), env=env)
    with suppress(ChannelClosed):  # a child that is dead already: its user finds out when it receives
        child.channel.send({"library": str(library), "builtins": str(toolchain.nvrtc_builtins)})
    return child


def _compilation(answer: dict[str, Any], name: str, toolchain: Toolchain) -> Compilation:
    log = answer["log"].decode("utf-8", "replace")
    status = answer["status"]
    if status == _OUT_OF_MEMORY or (status == _COMPILATION and "catastrophic error: out of memory" in log):
        raise too_much_memory(name)
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
    return Compilation(ptx, log, log_cut=answer.get("log_bytes", 0) > LOG_BYTES, sandbox=answer["sandbox"])


def _death(child: Child, name: str, error: ChannelError) -> Exception:
    """What it means that the child did not answer: its limits, the compiler's crash, or our own fault."""
    if isinstance(error, ChannelTimeout):
        child.kill()
        return _too_long(name) if (child.cpu_s or 0) > CPU_S / 2 else GraderFault(f"compiling {name} never ended")
    child.wait(5.0)
    trouble = child.stderr
    if child.signal_name == "SIGXCPU":
        return _too_long(name)
    starved = (child.peak_memory_bytes or 0) > MEMORY_BYTES // 2
    if "MemoryError" in trouble or "out of memory" in trouble.lower() or "bad_alloc" in trouble:
        return too_much_memory(name)
    if child.signal_name and (starved or child.signal_name == "SIGKILL"):
        return too_much_memory(name)
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


def too_much_memory(name: str) -> SubmissionError:
    """The ``limit`` of a compilation that needs more memory than it may have."""
    return SubmissionError(
        "limit",
        f"compiling {name} needs more than {MEMORY_BYTES >> 30} GiB of memory",
        hint="look for templates or macros that expand without end, and for initialised arrays",
    )
