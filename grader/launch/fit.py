"""Whether CUDA could start a launch, by the resources of its kernel from ptxas. Pure.

Limits in the PTX itself (`__launch_bounds__`, static shared memory) are checked with the launch lines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grader.findings.record import Finding
from grader.simt.occupancy import NotPossible, Occupancy, multiprocessor, occupancy, registers_of_warp, warps_of

if TYPE_CHECKING:
    from grader.compile.ptxas import Resources
    from grader.launch.records import Launch, LaunchPlan

MOST_LOCAL_BYTES = 512 << 10
"""Per thread (CUDA programming guide, "Technical Specifications per Compute Capability")."""


def first_misfit(
    plan: LaunchPlan, resources: Mapping[str, Resources], arch: str, file: str, sm_count: int | None = None
) -> Finding | None:
    """The first launch that CUDA would not start. With ``sm_count`` cooperative launches are checked, too.

    Kernels that are not in ``resources`` are not checked.
    """
    for launch in plan.launches:
        if needs := resources.get(launch.kernel):
            found = misfit(launch, needs, arch)
            if found is None and sm_count is not None:
                found = not_resident(launch, needs, arch, sm_count)
            if found is not None:
                return replace(found, file=file)
    return None


def misfit(launch: Launch, needs: Resources, arch: str) -> Finding | None:
    """Why not even one block fits on a multiprocessor of ``arch``; None if one does, or ``arch`` is unknown."""
    if needs.local_bytes > MOST_LOCAL_BYTES:
        return _refused(launch, "local", bytes=needs.local_bytes, most=MOST_LOCAL_BYTES)
    has = _resident(launch, needs, arch)
    if has is None or has.blocks:
        return None
    threads, of = math.prod(launch.block), multiprocessor(arch)
    if "registers" not in has.limiters:
        wanted = needs.static_shared_bytes + launch.shared_bytes
        return _refused(launch, "shared", bytes=wanted, most=of.shared_bytes_per_block)
    in_all = warps_of(threads) * registers_of_warp(needs.registers)
    return _refused(
        launch, "registers", registers=needs.registers, threads=threads, in_all=in_all, most=of.registers
    )  # fmt: skip


def not_resident(launch: Launch, needs: Resources, arch: str, sm_count: int) -> Finding | None:
    """Why the blocks of a cooperative launch cannot all be resident; None if they can, or need not."""
    has = _resident(launch, needs, arch)
    blocks = math.prod(launch.grid)
    if not launch.cooperative or has is None or blocks <= has.blocks * sm_count:
        return None
    each = f"{has.blocks} blocks of {math.prod(launch.block)} threads with {needs.registers} registers each"
    text = (
        f"a cooperative launch of {blocks} blocks, of which only {has.blocks * sm_count} can be resident at once "
        f"({sm_count} multiprocessors × {each})"
    )
    return Finding("launch_limit", "cooperative", line=launch.line, kernel=launch.kernel, facts={"text": text})


def _resident(launch: Launch, needs: Resources, arch: str) -> Occupancy | None:
    threads, shared = math.prod(launch.block), needs.static_shared_bytes + launch.shared_bytes
    try:
        return occupancy(arch, threads=threads, registers=max(1, needs.registers), shared_bytes=shared)
    except NotPossible:  # an architecture newer than the table
        return None


def _refused(launch: Launch, cause: str, **facts: Any) -> Finding:
    return Finding("launch", cause, line=launch.line, kernel=launch.kernel, facts=facts)
