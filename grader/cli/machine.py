"""``grade doctor`` and ``grade device``: installed packages, the GPU's peaks and ceilings, and occupancy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib import metadata
from platform import machine, python_version, system
from typing import TYPE_CHECKING, Any, Literal

from grader.errors import Unsupported, UsageError, WarpgradeError
from grader.frozen import dataclass
from grader.output import print_json, print_line, print_table, print_text, screen, table_of, wrapped
from grader.paths import cache_folder
from grader.simt.occupancy import SIMULATED, NotPossible, Occupancy, multiprocessor, occupancy
from grader.text import percent, rate, safe

if TYPE_CHECKING:
    from rich.table import Table

    from grader.bench.report import CeilingRow
    from grader.gpus.detect import Gpu
    from grader.timing.roofline import Peaks

WIDTH = 80
UNBROKEN = 4096  # columns, for rich: paths are not wrapped, so that they can be copied
State = Literal["ok", "missing", "optional"]

INSTALL = "pip install 'warpgrade[cuda12]'"
INSTALL_13 = "pip install 'warpgrade[cuda13]' (for drivers from 580 on)"


@dataclass(frozen=True)
class Check:
    """One line: ``missing`` means that nothing can be graded, ``optional`` that some stages cannot."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def show_doctor(*, no_color: bool) -> int:
    """Print every check; exit 4 if nothing can be graded here, as any command would."""
    results = list(checks())
    shown = screen(no_color=no_color)
    print_text(to_text(results, color=shown.color, unicode=shown.unicode))
    for line in conclusion(results):
        print_line(wrapped(line, width=WIDTH))
    return 4 if any(check.state == "missing" for check in results) else 0


def checks() -> Iterator[Check]:
    """Yield the result of every check; an exception is a failed check."""
    for name, detail_of, state, remedy in _CHECKS:
        try:
            yield Check(name, "ok", detail_of())
        except WarpgradeError as error:
            yield Check(name, state, error.message, remedy or error.hint)
        except Exception as error:
            yield Check(name, state, str(error) if isinstance(error, LookupError) else repr(error), remedy)


def conclusion(results: Sequence[Check]) -> list[str]:
    """What can be graded here, in one sentence."""
    state = {check.name: check.state for check in results}
    if "missing" in state.values():
        return ["", f"Nothing can be graded yet: {INSTALL}", f"or {INSTALL_13}"]
    if state["GPU"] == "ok" and state["CuPy"] == "ok":
        return ["", "Everything is installed: correctness, technique and speed are graded."]
    return ["", "Correctness and technique are graded here, on the simulator; speed needs an NVIDIA GPU."]


def to_text(results: Sequence[Check], *, color: bool, unicode: bool) -> str:
    """Return the table of checks."""
    from rich.table import Table
    from rich.text import Text

    from grader.render.console import rendered

    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    room = WIDTH - 5 - max(len(check.name) for check in results)
    for check in results:
        symbol, style = _SYMBOLS[check.state]
        detail = Text("\n".join(wrapped(line, width=room) for line in safe(check.detail, lines=True).split("\n")))
        if check.remedy:
            detail.append("\n" + wrapped(f"→ {safe(check.remedy)}", width=room, indent="  "), style="cyan")
        table.add_row(Text(symbol, style=style), Text(check.name), detail)
    return rendered([table], width=UNBROKEN, color=color, unicode=unicode)


_SYMBOLS = {"ok": ("✔", "green"), "missing": ("✘", "bold red"), "optional": ("○", "yellow")}


# ----------------------------------------------------------------------------------------------------------- the checks


def _compiler() -> str:
    from grader.compile.toolchain import find_toolchain, require_nvrtc

    toolchain = find_toolchain()
    return f"NVRTC {_release(toolchain.nvrtc_version)}, {require_nvrtc(toolchain)}"


def _headers() -> str:
    from grader.compile.toolchain import find_toolchain

    toolchain = find_toolchain()
    absent = [text.rsplit(": ", 1)[0] for text in toolchain.missing if not text.startswith(("NVRTC", "ptxas"))]
    if absent:
        raise LookupError("not found: " + ", ".join(absent))
    return ", ".join(str(folder) for folder in toolchain.include_dirs[:1])


def _assembler() -> str:
    from grader.compile.toolchain import find_toolchain

    toolchain = find_toolchain()
    if toolchain.ptxas is None:
        raise LookupError(
            "ptxas was not found; grading on a GPU needs it, and without it nothing says what a GPU would refuse"
        )
    if (toolchain.ptxas_version or (0, 0)) < (toolchain.nvrtc_version or (0, 0)):
        raise LookupError(f"ptxas {_release(toolchain.ptxas_version)} is older than NVRTC: {toolchain.ptxas}")
    return f"ptxas {_release(toolchain.ptxas_version)}, {toolchain.ptxas}"


def _release(version: tuple[int, int] | None) -> str:
    return "?" if version is None else "{}.{}".format(*version)


def _package(*names: str) -> str:
    """Name and version of the first of these packages that is installed. Raises LookupError."""
    for name in names:
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    raise LookupError(f"none of {', '.join(names)} is installed")


def _simulator() -> str:
    try:
        from grader.simt.engine.code_cache import why_unusable
    except ImportError:
        raise LookupError("llvmlite is not installed") from None
    if reason := why_unusable():
        raise LookupError(reason)
    return f"llvmlite {metadata.version('llvmlite')}"


def _sandbox() -> str:
    from grader.process import sandbox

    if sandbox.available() != "landlock":
        raise WarpgradeError("none: this kernel has no Landlock, so grade only your own files on this machine")
    return f"Landlock (ABI {sandbox.abi()}): a submission's compilation and simulation cannot read your files"


def _gpu() -> str:
    from grader.gpus.detect import detect

    gpu = detect()
    memory = f"{gpu.memory_bytes / 2**30:.0f} GiB"
    return f"{gpu.name}, {gpu.arch}, {memory}, driver {gpu.driver or 'unknown'} (CUDA {gpu.cuda_driver})"


def _course() -> str:
    from grader.catalog.courses import built_in_course
    from grader.catalog.exercises import load_catalog

    catalog = load_catalog()
    if not catalog.exercises:
        raise LookupError(f"no exercise in {built_in_course().exercises}")
    return f"{len(catalog.exercises)} exercises in {built_in_course().exercises}"


_CHECKS: tuple[tuple[str, Callable[[], str], State, str], ...] = (
    ("Python", lambda: f"{python_version()} on {system()} {machine()}, {sys.executable}", "missing", ""),
    ("course", _course, "missing", "reinstall warpgrade"),
    ("compiler", _compiler, "missing", ""),
    ("headers", _headers, "optional", INSTALL),
    ("assembler", _assembler, "optional", INSTALL),
    ("simulator", _simulator, "missing", "pip install 'llvmlite<0.48'"),
    ("CuPy", lambda: _package("cupy-cuda12x", "cupy-cuda13x", "cupy"), "optional", INSTALL),
    ("CUDA bindings", lambda: _package("cuda-bindings"), "optional", INSTALL),
    ("GPU", _gpu, "optional", "on a machine with an NVIDIA GPU, install its driver; elsewhere the simulator grades"),
    ("sandbox", _sandbox, "optional", "a Linux kernel from 5.13 on has Landlock"),
    ("cache", lambda: str(cache_folder()), "optional", ""),
)
"""Name, function of the detail, state on failure, and remedy ("" for the error's own hint)."""


# -------------------------------------------------------------------------------------------------------------- device

DEVICE_SCHEMA = "warpgrade/device/1"


def show_device(index: int, *, as_json: bool) -> int:
    """Print a GPU's peaks and its measured ceilings. Raises Unsupported if there is no such GPU."""
    from grader.backends.gpu import GpuBackend
    from grader.bench.solutions import measured_ceilings
    from grader.catalog.courses import built_in_course
    from grader.gpus.detect import detect
    from grader.timing.roofline import peaks

    gpu = detect(index)
    limits = peaks(gpu)
    rows = measured_ceilings(built_in_course(), GpuBackend(gpu))
    if as_json:
        print_json(device_document(gpu, limits, rows))
        return 0
    for line in device_lines(gpu, limits):
        print_line(line)
    print_table(ceiling_table(rows))
    return 0


def device_document(gpu: Gpu, limits: Peaks, rows: Sequence[CeilingRow]) -> dict[str, Any]:
    """Return the document ``warpgrade/device/1``: rates in bytes or operations per second."""
    from grader.render.json import plain

    document = {"device": asdict(gpu), "peaks": asdict(limits), "ceilings": [asdict(row) for row in rows]}
    return {"schema": DEVICE_SCHEMA, **plain(document)}


def device_lines(gpu: Gpu, limits: Peaks) -> list[str]:
    """Return lines with the GPU's properties and peaks."""
    source = "published" if limits.published else "by formula: this GPU is not in the table of names"
    tensor = rate(limits.fp16_tensor, "FLOP") if limits.fp16_tensor is not None else "none"
    of_bytes = rate(limits.int8_tensor, "OP") if limits.int8_tensor is not None else "none"
    int8 = rate(limits.int8, "OP") if limits.int8 is not None else "not known"
    shared = rate(limits.shared, "B") if limits.shared is not None else "not known"
    return [
        f"{gpu.name} (number {gpu.index}), {gpu.arch}, {gpu.sm_count} SMs, "
        f"{gpu.memory_bytes / 2**30:.0f} GiB, L2 {gpu.l2_bytes / 2**20:.0f} MiB",
        f"peaks, {source}: memory {rate(limits.bandwidth, 'B')}, fp32 {rate(limits.fp32, 'FLOP')}, "
        f"fp16 tensor {tensor}, int8 tensor {of_bytes}, int8 (dp4a, by formula) {int8}, "
        f"shared memory (by formula) {shared}",
        "",
    ]


def ceiling_table(rows: Sequence[CeilingRow]) -> Table:
    """Return the table of measured ceilings: the rates that the simplest kernels reach."""
    table = table_of("ceiling", "what", "reached", "of peak")
    for row in rows:
        of_peak = "–" if row.fraction is None else percent(row.fraction)
        table.add_row(row.name, row.what, rate(row.rate, row.unit), of_peak)
    return table


# ----------------------------------------------------------------------------------------------------------- occupancy

OCCUPANCY_SCHEMA = "warpgrade/occupancy/1"
CELLS = 40


@dataclass(frozen=True)
class OccupancyQuestion:
    """A question about occupancy. ``arch`` None means this machine's GPU, or the simulated one if there is none."""

    arch: str | None
    threads: int
    registers: int
    shared_bytes: int


def show_occupancy(question: OccupancyQuestion, device: int, *, as_json: bool) -> int:
    """Answer in words, or as ``warpgrade/occupancy/1``. Raises UsageError for an impossible block."""
    from grader.gpus.detect import detect

    if question.arch:
        arch = name = question.arch
    else:
        try:
            gpu = detect(device)
            arch, name = gpu.arch, f"{gpu.name} ({gpu.arch})"
        except Unsupported:
            arch, name = SIMULATED, f"the simulated A100 ({SIMULATED})"
    try:
        result = occupancy(
            arch, threads=question.threads, registers=question.registers, shared_bytes=question.shared_bytes
        )
    except NotPossible as error:
        raise UsageError(error.message, code=error.code, hint=error.hint) from None
    if as_json:
        print_json(
            {"schema": OCCUPANCY_SCHEMA, **asdict(question), "arch": arch, **asdict(result)}
            | {"fraction": result.fraction, "limiters": list(result.limiters)}
        )
        return 0
    shown = screen()
    for line in occupancy_lines(question, result, arch, name, unicode=shown.unicode):
        print_line(wrapped(line, width=shown.width))
    return 0


def occupancy_lines(
    question: OccupancyQuestion, result: Occupancy, arch: str, name: str, *, unicode: bool = True
) -> Iterator[str]:
    """Yield the answer: a bar of resident warps, the percentage, and the blocks that each resource allows."""
    has = multiprocessor(arch)
    yield (
        f"Blocks of {question.threads} threads with {question.registers} registers each and {question.shared_bytes} "
        f"bytes of shared memory, on one multiprocessor of {name}:"
    )
    yield ""
    full, empty = ("█", "░") if unicode else ("#", ".")
    cells = min(result.most_warps, CELLS)
    filled = round(cells * result.fraction)
    bar = f"{full * filled}{empty * (cells - filled)}"
    yield f"  {bar}  {result.warps} of {result.most_warps} warps: {result.fraction:.1%}"
    yield ""
    yield f"  {'resource':<14} {'available':<34} blocks"
    available = {
        "warps": f"room for {has.warps} warps",
        "blocks": f"room for {has.blocks} blocks",
        "registers": f"{has.registers} registers",
        "shared memory": f"{has.shared_bytes} bytes, {has.shared_bytes_per_block} a block",
    }
    for resource, most in result.limits.items():
        mark = ("  ◀ the limit" if unicode else "  <- the limit") if resource in result.limiters else ""
        yield f"  {resource:<14} {available[resource]:<34} {most:>6}{mark}"
    if not result.blocks:
        yield ""
        yield f"No block fits: it needs more {' and '.join(result.limiters)} than available, so every launch fails."
