"""``grade doctor``: what is installed, which GPU is here, what is missing and the command that installs it."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Literal

from grader.errors import WarpgradeError
from grader.output import print_line, print_text, screen, wrapped

WIDTH = 80
UNBROKEN = 4096  # for rich: a path stays whole, so that it can be copied
State = Literal["ok", "missing", "optional"]

INSTALL = "pip install 'warpgrade[cuda12]'"
INSTALL_13 = "pip install 'warpgrade[cuda13]' (for drivers from 580 on)"


@dataclass(frozen=True)
class Check:
    """One line: ``missing`` means that nothing can be graded without it, ``optional`` that less can be."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def show_doctor(*, no_color: bool) -> int:
    """Print every check; exit 4 where grading is impossible here, as any command would."""
    found = list(checks())
    shown = screen(no_color=no_color)
    print_text(to_text(found, color=shown.color, unicode=shown.unicode))
    for line in conclusion(found):
        print_line(wrapped(line, width=WIDTH))
    return 4 if any(check.state == "missing" for check in found) else 0


def checks() -> Iterator[Check]:
    """Look at everything in turn; what cannot be looked at is a check that failed, never an exception."""
    for name, look, state, remedy in _CHECKS:
        try:
            yield Check(name, "ok", look())
        except WarpgradeError as error:
            yield Check(name, state, error.message, remedy or error.hint)
        except Exception as error:
            yield Check(name, state, str(error) if isinstance(error, LookupError) else repr(error), remedy)


def conclusion(found: Sequence[Check]) -> list[str]:
    """What can be graded here, in one sentence."""
    state = {check.name: check.state for check in found}
    if "missing" in state.values():
        return ["", f"Nothing can be graded yet: {INSTALL}", f"or {INSTALL_13}"]
    if state["GPU"] == "ok" and state["CuPy"] == "ok":
        return ["", "Everything is here: correctness, technique and speed are graded."]
    return ["", "Correctness and technique are graded here, on the simulator; speed needs an NVIDIA GPU."]


def to_text(found: Sequence[Check], *, color: bool, unicode: bool) -> str:
    """Return the table of checks."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from grader.render.text import safe, to_ascii

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    room = WIDTH - 5 - max(len(check.name) for check in found)
    for check in found:
        symbol, style = _SYMBOLS[check.state]
        detail = Text("\n".join(wrapped(line, width=room) for line in safe(check.detail, lines=True).split("\n")))
        if check.remedy:
            detail.append("\n" + wrapped(f"→ {safe(check.remedy)}", width=room, indent="  "), style="cyan")
        table.add_row(Text(symbol, style=style), Text(check.name), detail)
    file = StringIO()
    Console(file=file, width=UNBROKEN, force_terminal=color, no_color=not color, highlight=False).print(table)
    text = "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"
    return text if unicode else to_ascii(text)


_SYMBOLS = {"ok": ("✔", "green"), "missing": ("✘", "bold red"), "optional": ("○", "yellow")}


# ------------------------------------------------------------------------------------------------------------ the looks


def _python() -> str:
    return f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"


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
        raise LookupError("ptxas was not found; a GPU needs it")
    if (toolchain.ptxas_version or (0, 0)) < (toolchain.nvrtc_version or (0, 0)):
        raise LookupError(f"ptxas {_release(toolchain.ptxas_version)} is older than NVRTC: {toolchain.ptxas}")
    return f"ptxas {_release(toolchain.ptxas_version)}, {toolchain.ptxas}"


def _release(version: tuple[int, int] | None) -> str:
    return "?" if version is None else "{}.{}".format(*version)


def _package(name: str) -> Callable[[], str]:
    """A look at an installed package; any of several names."""

    def look() -> str:
        for candidate in name.split("|"):
            try:
                return f"{candidate} {metadata.version(candidate)}"
            except metadata.PackageNotFoundError:
                continue
        raise LookupError(f"none of {name.replace('|', ', ')} is installed")

    return look


def _sandbox() -> str:
    from grader.process import sandbox

    if sandbox.available() != "landlock":
        raise WarpgradeError("sandbox: none; this kernel has no Landlock, so only your own files should be graded here")
    return f"Landlock (ABI {sandbox.abi()}): a submission's compilation and simulation cannot read your files"


def _gpu() -> str:
    from grader.gpus.detect import detect

    gpu = detect()
    memory = f"{gpu.memory_bytes / 2**30:.0f} GiB"
    return f"{gpu.name}, {gpu.arch}, {memory}, driver {gpu.driver or 'unknown'} (CUDA {gpu.cuda_driver})"


def _cache() -> str:
    from grader.paths import cache_folder

    return str(cache_folder())


def _course() -> str:
    from grader.catalog.exercises import built_in_course, load_catalog

    catalog = load_catalog()
    if not catalog.exercises:
        raise LookupError(f"no exercise in {built_in_course().exercises}")
    return f"{len(catalog.exercises)} exercises in {built_in_course().exercises}"


_CHECKS: tuple[tuple[str, Callable[[], str], State, str], ...] = (
    ("Python", _python, "missing", ""),
    ("course", _course, "missing", "reinstall warpgrade"),
    ("compiler", _compiler, "missing", ""),
    ("headers", _headers, "optional", INSTALL),
    ("assembler", _assembler, "optional", INSTALL),
    ("simulator", _package("llvmlite"), "missing", "pip install llvmlite"),
    ("CuPy", _package("cupy-cuda12x|cupy-cuda13x|cupy"), "optional", INSTALL),
    ("CUDA bindings", _package("cuda-bindings"), "optional", INSTALL),
    ("GPU", _gpu, "optional", "on a machine with an NVIDIA GPU, install its driver; elsewhere the simulator grades"),
    ("sandbox", _sandbox, "optional", "a Linux kernel from 5.13 on has Landlock"),
    ("cache", _cache, "optional", ""),
)
"""Name, look, what its failure means, remedy ("" for the error's own hint)."""
