"""What a profiler would count, from the engine's raw counters: for each launch, and for each source line. Pure.

Names are explained in docs/counters.md. Requests, sectors and wavefronts are those of PTX instructions; the
sectors of atomics are counted apart, as profilers do. `active_lanes` is the mean number of lanes of an executed
instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.simt.engine.codegen import Kernel
from grader.simt.engine.launch import Launched
from grader.simt.engine.sites import BLOCK_COUNTERS, SITE_COUNTERS, Site

SECTOR_BYTES = 32
BARRIERS = ("bar.sync", "bar.cta", "bar.red", "bar.arrive", "barrier")  # of a block: not `bar.warp.sync`
KINDS = ("load", "store", "atomic")
SPACES = ("global", "shared")


@dataclass(frozen=True)
class Counters:
    """Counters of one launch, and of each source line that did something."""

    total: Mapping[str, float]
    lines: Mapping[int, Mapping[str, float]]


def count(launched: Launched) -> Counters:
    """Counters of one launch."""
    kernel = launched.kernel
    by_line: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for i, row in enumerate(launched.blocks.tolist()):
        _add_block(by_line, kernel, i, dict(zip(BLOCK_COUNTERS, row, strict=True)))
    for site, row in zip(kernel.sites, launched.sites.tolist(), strict=True):
        _add_site(by_line[site.line], site, dict(zip(SITE_COUNTERS, row, strict=True)))
    lines = {line: derive(raw) for line, raw in sorted(by_line.items()) if line and any(raw.values())}
    return Counters(_with_overlap(derive(_sum(by_line.values()))) | {"launches": 1.0}, lines)


def _with_overlap(total: dict[str, float]) -> dict[str, float]:
    """Only of a whole launch: a line that ends fetches answers for the instructions of other lines."""
    fetching = total.get("fetching_instructions")
    return total | {"overlap": total.get("overlapped_instructions", 0.0) / fetching} if fetching else total


def _add_block(by_line: Mapping[int, dict[str, int]], kernel: Kernel, index: int, row: Mapping[str, int]) -> None:
    """Spread a basic block's counts over the lines of its instructions."""
    runs = row["executions"]
    ops, lines = kernel.block_ops[index], kernel.block_lines[index]
    for op, line in zip(ops, lines, strict=True):
        raw = by_line[line]
        raw["instructions"] += runs
        raw["thread_instructions"] += row["active_lanes"]
        raw["branches"] += runs * (op == "bra")
        raw["barriers"] += runs * (op in BARRIERS)
        raw["wmma_instructions"] += runs * (op in ("wmma.mma", "mma.sync"))
        raw["shuffles"] += runs * (op == "shfl")
    if lines:
        by_line[lines[-1]]["divergent_branches"] += row["divergent"]
        by_line[lines[-1]]["thread_instructions"] -= row["predicated_off"]


def _add_site(raw: dict[str, int], site: Site, row: Mapping[str, int]) -> None:
    if site.kind == "copy":  # where an asynchronous copy writes; its reads are a load's
        for name in ("requests", "bytes", "wavefronts"):
            raw[f"async_copy_{name}"] += row[name]
        raw["_excess"] += row["wavefronts"] - row["ideal_wavefronts"]
    raw["overlapped_instructions"] += row["overlapped"]
    raw["fetching_instructions"] += row["fetching"]
    if site.kind not in KINDS or site.space not in (*SPACES, "generic"):
        return
    space = site.space if site.space != "generic" else ("shared" if row["wavefronts"] else "global")
    prefix = f"{space}_{site.kind}"
    raw[f"{prefix}_requests"] += row["requests"]
    raw[f"{prefix}_bytes"] += row["bytes"]
    if space == "global":
        raw[f"{prefix}_sectors"] += row["sectors"]
        raw["_widest"] = max(raw["_widest"], site.bytes if row["requests"] and site.kind != "atomic" else 0)
    else:
        raw[f"{prefix}_wavefronts"] += row["wavefronts"]
        excess = row["wavefronts"] - row["ideal_wavefronts"]
        raw["_excess"] += excess
        if site.kind == "load":
            raw["shared_load_excess_wavefronts"] += excess


def _sum(rows: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for row in rows:
        for name, value in row.items():
            total[name] = max(total[name], value) if name == "_widest" else total[name] + value
    return total


def derive(raw: Mapping[str, int]) -> dict[str, float]:
    """The named counters with the ratios that people read."""

    def of(name: str) -> int:
        return raw.get(name, 0)

    out = {name: float(value) for name, value in sorted(raw.items()) if not name.startswith("_") and value}
    sectors = of("global_load_sectors") + of("global_store_sectors")
    requested = of("global_load_bytes") + of("global_store_bytes")
    plain = of("global_load_requests") + of("global_store_requests")
    out["global_requests"] = float(plain)
    out["shared_requests"] = float(of("shared_load_requests") + of("shared_store_requests"))
    out["shared_bytes"] = float(of("shared_load_bytes") + of("shared_store_bytes"))
    if sectors:
        out["sectors"] = float(sectors)
        out["sector_efficiency"] = requested / (SECTOR_BYTES * sectors)
        out["sectors_per_request"] = sectors / plain
        out["bytes_per_lane"] = float(of("_widest"))
    if out["shared_requests"] or of("shared_atomic_requests") or of("async_copy_requests"):
        out["wavefronts"] = float(sum(of(f"shared_{k}_wavefronts") for k in KINDS) + of("async_copy_wavefronts"))
        out["excess_wavefronts"] = float(of("_excess"))
    if of("instructions"):
        out["active_lanes"] = of("thread_instructions") / of("instructions")
    return {name: value for name, value in out.items() if value or name in ("sector_efficiency", "excess_wavefronts")}
