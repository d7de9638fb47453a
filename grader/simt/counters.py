"""A profiler's counters, from the engine's raw counters: for each launch, and for each source line. Pure.

Also the worst requests of a launch, lane by lane, for pictures. A site keeps the request with the most sectors or
wavefronts, and of equal ones the first.

Names are explained in docs/counters.md. Requests, sectors and wavefronts are those of PTX instructions. Loads, stores
and atomics are counted separately, as profilers do; a counter that names none of them is for all three. `active_lanes`
is the mean number of active lanes of an executed instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.simt.engine.codegen import Kernel
from grader.simt.engine.device import Device
from grader.simt.engine.flatten import plain_name
from grader.simt.engine.launch import Dim3, Launched
from grader.simt.engine.layout import BLOCK_COUNTERS, SITE_COUNTERS, WORST
from grader.simt.engine.operands import PARAMETER_BASE
from grader.simt.engine.shadows import Bytes
from grader.simt.engine.sites import Site
from grader.simt.units import PRODUCTS, counted

SECTOR_BYTES = 32
LANES = 32
KINDS = ("load", "store", "atomic")


@dataclass(frozen=True)
class Counters:
    """Counters of one launch, and of each source line that was executed."""

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
    raw = _sum(by_line.values())
    total = derive(raw) | {"launches": 1.0}
    executions = launched.blocks[:, BLOCK_COUNTERS.index("executions")].tolist()
    if chained := sum(runs * chain for runs, chain in zip(executions, kernel.block_chains, strict=True)):
        total |= {"chained_instructions": float(chained), "ilp": raw["instructions"] / chained}
    # Only for a whole launch: the counters of a line that ends fetches include instructions of other lines.
    if fetching := total.get("fetching_instructions"):
        total["overlap"] = total.get("overlapped_instructions", 0.0) / fetching
        if raw["_grouped"]:
            total["groups_in_flight"] = raw["_grouped"] / fetching
    return Counters(total, lines)


@dataclass(frozen=True)
class SiteCounters:
    """Counters of one instruction in one launch."""

    kernel: str
    site: int
    line: int
    counters: Mapping[str, float]


def count_sites(launched: Launched) -> tuple[SiteCounters, ...]:
    """What each instruction did: its requests, and the products of matrices."""
    kernel, found = launched.kernel, []
    executions = launched.blocks[:, BLOCK_COUNTERS.index("executions")].tolist()
    for site, row in zip(kernel.sites, launched.sites.tolist(), strict=True):
        raw: dict[str, int] = defaultdict(int)
        _add_site(raw, site, dict(zip(SITE_COUNTERS, row, strict=True)))
        raw["wmma_instructions"] = executions[site.block] * site.name.startswith(PRODUCTS)
        if any(raw.values()):
            found.append(SiteCounters(kernel.name, site.index, site.line, derive(raw)))
    return tuple(found)


def _add_block(by_line: Mapping[int, dict[str, int]], kernel: Kernel, index: int, row: Mapping[str, int]) -> None:
    """Spread a basic block's counts over the lines of its instructions."""
    runs = row["executions"]
    ops, lines = kernel.block_ops[index], kernel.block_lines[index]
    for op, line in zip(ops, lines, strict=True):
        raw = by_line[line]
        raw["instructions"] += runs
        raw["thread_instructions"] += row["active_lanes"]
        for name, amount in counted(op):
            raw[name] += runs * amount
    if lines:
        by_line[lines[-1]]["divergent_branches"] += row["divergent"]
        by_line[lines[-1]]["thread_instructions"] -= row["predicated_off"]


def _is_counted(site: Site) -> bool:
    return site.kind in KINDS and site.space in ("global", "shared", "generic")


def _add_site(raw: dict[str, int], site: Site, row: Mapping[str, int]) -> None:
    if site.kind == "copy":  # the writes of an asynchronous copy; its reads count as loads
        for name in ("requests", "bytes", "wavefronts"):
            raw[f"async_copy_{name}"] += row[name]
        raw["_excess"] += row["wavefronts"] - row["ideal_wavefronts"]
    raw["overlapped_instructions"] += row["overlapped"]
    raw["fetching_instructions"] += row["fetching"]
    raw["_grouped"] += row["grouped"]
    raw["local_bytes"] += row["local_bytes"]
    if site.space == "const":
        raw["constant_excess_wavefronts"] += row["wavefronts"] - row["ideal_wavefronts"]
    if not _is_counted(site):
        return
    space = site.space if site.space != "generic" else ("shared" if row["wavefronts"] else "global")
    prefix = f"{space}_{site.kind}"
    raw[f"{prefix}_requests"] += row["requests"]
    raw[f"{prefix}_bytes"] += row["bytes"]
    if space == "global":
        raw[f"{prefix}_sectors"] += row["sectors"]
        raw["_wanted"] += row["wanted"]
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
    """The public counters, with ratios, from raw ones."""

    def of(name: str) -> int:
        return raw.get(name, 0)

    out = {name: float(value) for name, value in sorted(raw.items()) if not name.startswith("_") and value}

    def of_all(space: str, what: str) -> int:
        return sum(of(f"{space}_{kind}_{what}") for kind in KINDS)

    sectors = of_all("global", "sectors")
    out["global_requests"] = float(of_all("global", "requests"))
    out["shared_requests"] = float(of_all("shared", "requests"))
    out["shared_bytes"] = float(of_all("shared", "bytes"))
    if sectors:
        out["sectors"] = float(sectors)
        out["sector_efficiency"] = of("_wanted") / (SECTOR_BYTES * sectors)
        out["sectors_per_request"] = sectors / out["global_requests"]
        out["bytes_per_lane"] = float(of("_widest"))
    if out["shared_requests"] or of("async_copy_requests"):
        out["wavefronts"] = float(of_all("shared", "wavefronts") + of("async_copy_wavefronts"))
        out["excess_wavefronts"] = float(of("_excess"))
    if of("instructions"):
        out["active_lanes"] = of("thread_instructions") / of("instructions")
    return {name: value for name, value in out.items() if value or name in ("sector_efficiency", "excess_wavefronts")}


# ------------------------------------------------------------------------------------------------------------- requests
KEPT = 4
"""The number of requests of each launch: those with the most waste."""


@dataclass(frozen=True)
class WarpRequest:
    """One warp's request. ``offsets`` are bytes from the start of ``array``, None for an inactive lane; ``base`` is the
    array's offset in the block's shared memory (0 in global memory, where arrays are aligned).
    """

    line: int
    space: str  # global | shared
    kind: str  # load | store | atomic
    array: str | None
    base: int
    block: Dim3
    warp: int
    bytes_per_lane: int
    offsets: tuple[int | None, ...]
    taken: int  # sectors or wavefronts
    least: int  # the fewest possible for the same bytes

    @property
    def waste(self) -> int:
        return self.taken - self.least


def worst_requests(device: Device, launched: Launched, grid: Dim3, dynamic_shared: int) -> tuple[WarpRequest, ...]:
    """The worst request of each line, kind and space: at most `KEPT`, sorted by waste."""
    found: dict[tuple[int, str, str], WarpRequest] = {}
    for site, record in zip(launched.kernel.sites, launched.worst, strict=True):
        if not _is_counted(site) or not site.line or not WORST.read(record, "taken"):
            continue
        request = _request(device, launched.kernel, site, record, grid, dynamic_shared)
        if request is None:
            continue
        place = (site.line, request.space, request.kind)
        if place not in found or request.waste > found[place].waste:
            found[place] = request
    return tuple(sorted(found.values(), key=lambda r: (-r.waste, -r.taken, r.line))[:KEPT])


def _request(
    device: Device, kernel: Kernel, site: Site, record: Bytes, grid: Dim3, dynamic_shared: int
) -> WarpRequest | None:
    shared, lanes, block = bool(WORST.read(record, "shared")), WORST.read(record, "lanes"), WORST.read(record, "block")
    addresses = [WORST.read(record, "address", lane) for lane in range(LANES)]
    active = [address for lane, address in enumerate(addresses) if lanes >> lane & 1]
    if not active or (not shared and active[0] >= PARAMETER_BASE):
        return None
    name, start, base = "", 0, 0
    if shared:
        rows = [(at, name) for name, at, size in kernel.shared
                if at <= min(active) < at + (size if size >= 0 else dynamic_shared)]  # fmt: skip
        if not rows:
            return None
        start, name = max(rows)
        base = start
    elif found := device.locate(active[0]):
        name, start = found[0].name, found[0].address
    else:
        return None
    offsets = tuple(a - start if lanes >> lane & 1 else None for lane, a in enumerate(addresses))
    return WarpRequest(
        line=site.line,
        space="shared" if shared else "global",
        kind=site.kind,
        array=plain_name(name),
        base=base,
        block=(block % grid[0], block // grid[0] % grid[1], block // (grid[0] * grid[1])),
        warp=WORST.read(record, "warp"),
        bytes_per_lane=site.bytes,
        offsets=offsets,
        taken=WORST.read(record, "taken"),
        least=WORST.read(record, "least") if shared else least_sectors(offsets, site.bytes),
    )


def least_sectors(offsets: Sequence[int | None], width: int) -> int:
    """The least number of sectors for the distinct bytes of the lanes."""
    distinct = {offset for offset in offsets if offset is not None}
    return -(-len(distinct) * width // SECTOR_BYTES)
