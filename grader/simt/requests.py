"""The worst requests of a launch, lane by lane: what pictures are drawn from. Pure.

A site keeps the request that touched the most sectors or took the most wavefronts, the first of equals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.simt.engine.codegen import Kernel
from grader.simt.engine.device import Device, Dim3
from grader.simt.engine.launch import Launched
from grader.simt.engine.layout import WORST
from grader.simt.engine.operands import PARAMETER_BASE
from grader.simt.engine.shadows import Bytes
from grader.simt.engine.sites import Site
from grader.simt.symbols import plain_name

LANES = 32
SECTOR_BYTES = 32
KINDS = ("load", "store", "atomic")
SPACES = ("global", "shared", "generic")
KEPT = 4
"""Requests of each launch, those that waste most."""


@dataclass(frozen=True)
class Request:
    """One warp's request. ``offsets`` are bytes from the start of ``array``, None for a lane that takes no part;
    ``base`` is where that array starts in the block's shared memory (0 in global memory, where arrays are aligned).
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
    least: int  # as few as would do for the same bytes


def worst_requests(device: Device, launched: Launched, grid: Dim3, dynamic_shared: int) -> tuple[Request, ...]:
    """The worst request of each line, kind and space: at most KEPT, those first that waste most."""
    found: dict[tuple[int, str, str], Request] = {}
    for site, record in zip(launched.kernel.sites, launched.worst, strict=True):
        if site.kind not in KINDS or site.space not in SPACES or not site.line or not _number(record, "taken"):
            continue
        request = _request(device, launched.kernel, site, record, grid, dynamic_shared)
        if request is None:
            continue
        place = (site.line, request.space, request.kind)
        if place not in found or _waste(request) > _waste(found[place]):
            found[place] = request
    return tuple(sorted(found.values(), key=lambda r: (-_waste(r), -r.taken, r.line))[:KEPT])


def _waste(request: Request) -> int:
    return request.taken - request.least


def _number(record: Bytes, name: str, size: int = 4) -> int:
    at = WORST.offset[name]
    return int.from_bytes(record[at : at + size].tobytes(), "little")


def _request(
    device: Device, kernel: Kernel, site: Site, record: Bytes, grid: Dim3, dynamic_shared: int
) -> Request | None:
    shared, lanes, block = bool(_number(record, "shared")), _number(record, "lanes"), _number(record, "block", 8)
    addresses = [_number(record[8 * lane :], "address", 8) for lane in range(LANES)]
    active = [address for lane, address in enumerate(addresses) if lanes >> lane & 1]
    if not active or (not shared and active[0] >= PARAMETER_BASE):
        return None
    place = _shared_array(kernel, min(active), dynamic_shared) if shared else _global_array(device, active[0])
    if place is None:
        return None
    name, start, base = place
    offsets = tuple(a - start if lanes >> lane & 1 else None for lane, a in enumerate(addresses))
    return Request(
        line=site.line,
        space="shared" if shared else "global",
        kind=site.kind,
        array=plain_name(name),
        base=base,
        block=(block % grid[0], block // grid[0] % grid[1], block // (grid[0] * grid[1])),
        warp=_number(record, "warp"),
        bytes_per_lane=site.bytes,
        offsets=offsets,
        taken=_number(record, "taken"),
        least=_number(record, "least") if shared else least_sectors(offsets, site.bytes),
    )


def least_sectors(offsets: Sequence[int | None], width: int) -> int:
    """How many sectors hold as many bytes as the lanes ask for, each counted once."""
    distinct = {offset for offset in offsets if offset is not None}
    return -(-len(distinct) * width // SECTOR_BYTES)


def _global_array(device: Device, address: int) -> tuple[str, int, int] | None:
    """Name, start in the address space, and base of the array that holds the address."""
    found = device.locate(address)
    return None if found is None else (found[0].name, found[0].address, 0)


def _shared_array(kernel: Kernel, address: int, dynamic: int) -> tuple[str, int, int] | None:
    """The same of a block's shared memory, where addresses begin at 0."""
    rows = [(at, size if size >= 0 else dynamic, name) for name, at, size in kernel.shared]
    below = [row for row in rows if row[0] <= address < row[0] + row[1]]
    if not below:
        return None
    at, _, name = max(below)
    return name, at, at
