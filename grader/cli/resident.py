"""``grade device --block THREADS``: how many blocks of a kernel fit on a multiprocessor, and why not more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from grader.errors import Unsupported
from grader.occupancy import Occupancy, multiprocessor, occupancy
from grader.output import print_json, print_line, screen, wrapped

SCHEMA = "warpgrade/occupancy/1"
SIMULATED = "sm_80"
CELLS = 40


@dataclass(frozen=True)
class Question:
    """``arch`` None means the GPU at hand, and the simulated device where there is none."""

    arch: str | None
    threads: int
    registers: int
    shared_bytes: int


def show_occupancy(asked: Question, device: int, *, as_json: bool) -> int:
    """Answer in words, or as ``warpgrade/occupancy/1``. Raises UsageError for what no block can have."""
    arch, name = (asked.arch, asked.arch) if asked.arch else _here(device)
    found = occupancy(arch, threads=asked.threads, registers=asked.registers, shared_bytes=asked.shared_bytes)
    if as_json:
        print_json(
            {"schema": SCHEMA, **asdict(asked), "arch": arch, **asdict(found)}
            | {"fraction": found.fraction, "limiters": list(found.limiters)}
        )
        return 0
    shown = screen()
    for line in occupancy_lines(asked, found, arch, name, unicode=shown.unicode):
        print_line(wrapped(line, width=shown.width))
    return 0


def _here(device: int) -> tuple[str, str]:
    from grader.gpus.detect import detect

    try:
        gpu = detect(device)
    except Unsupported:
        return SIMULATED, f"the simulated A100 ({SIMULATED})"
    return gpu.arch, f"{gpu.name} ({gpu.arch})"


def occupancy_lines(asked: Question, found: Occupancy, arch: str, name: str, *, unicode: bool = True) -> Iterator[str]:
    """Yield the answer: the figure, the warps drawn, and what each resource would allow."""
    has = multiprocessor(arch)
    yield (
        f"Blocks of {asked.threads} threads with {asked.registers} registers each and {asked.shared_bytes} bytes of "
        f"shared memory, on one multiprocessor of {name}:"
    )
    yield ""
    yield f"  {_bar(found, unicode)}  {found.warps} of {found.most_warps} warps: {found.fraction:.1%}"
    yield ""
    yield f"  {'resource':<14} {'there is':<34} blocks"
    there = {
        "warps": f"room for {has.warps} warps",
        "blocks": f"room for {has.blocks} blocks",
        "registers": f"{has.registers} registers",
        "shared memory": f"{has.shared_bytes} bytes, {has.shared_bytes_per_block} a block",
    }
    for resource, most in found.limits.items():
        mark = ("  ◀ the limit" if unicode else "  <- the limit") if resource in found.limiters else ""
        yield f"  {resource:<14} {there[resource]:<34} {most:>6}{mark}"
    if not found.blocks:
        yield ""
        yield f"Not one block fits: it needs more {' and '.join(found.limiters)} than it can get, so no launch works."


def _bar(found: Occupancy, unicode: bool) -> str:
    full, empty = ("█", "░") if unicode else ("#", ".")
    width = min(found.most_warps, CELLS)
    held = round(width * found.fraction)
    return full * held + empty * (width - held)
