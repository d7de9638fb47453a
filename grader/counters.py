"""All counters by name: how the values of several launches are combined, and the meaning of a host file's counters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from grader.frozen import dataclass
from grader.text import bytes_words

# ---------------------------------------------------------------------------------------------- counters of kernels


@dataclass(frozen=True)
class KernelCounter:
    """How the values of several launches are combined: their sum, the largest, the least, or a weighted mean.

    ``over`` is the counter that is the weight of a ratio, ``empty`` the ratio if that counter is 0.
    """

    total: Literal["sum", "largest", "least", "ratio"]
    over: str = ""
    empty: float = math.nan


_ACCESSES = ("load", "store", "atomic")

IN_CODE: Mapping[str, str] = {
    "tma_loads_in_code": r"cp\.async\.bulk\.tensor\.[\w:.]*shared::(?:cluster|cta)\.global",
    "wgmma_in_code": r"wgmma\.mma_async",
    "setmaxnreg_in_code": r"setmaxnreg",
    "multicast_loads_in_code": r"cp\.async\.bulk\.[\w:.]*\.multicast::cluster",
}
"""Counters of a kernel's instructions in PTX, which need no run: the beginnings of their opcodes."""

KERNEL_COUNTERS: Mapping[str, KernelCounter] = {
    # amounts of work; the simulator omits those that are zero
    **dict.fromkeys(
        (
            "launches", "instructions", "thread_instructions", "branches", "divergent_branches", "barriers", "shuffles",
            "threads", "wmma_instructions", "global_requests", "sectors", "shared_requests", "shared_bytes",
            "wavefronts", "excess_wavefronts", "shared_load_excess_wavefronts", "overlapped_instructions",
            "fetching_instructions", "chained_instructions", "special_function_instructions", "f64_instructions",
            "slow_divisions", "integer_instructions", "local_bytes", "constant_excess_wavefronts",
            *(f"global_{kind}_{what}" for kind in _ACCESSES for what in ("requests", "bytes", "sectors")),
            *(f"shared_{kind}_{what}" for kind in _ACCESSES for what in ("requests", "bytes", "wavefronts")),
            *(f"async_copy_{what}" for what in ("requests", "bytes", "wavefronts")),
        ),
        KernelCounter("sum"),
    ),
    # properties of each launch
    **dict.fromkeys(
        ("bytes_per_lane", "shared_memory_bytes", "registers", "spill_bytes", "grid_growth", *IN_CODE),
        KernelCounter("largest"),
    ),
    "occupancy": KernelCounter("least"),
    # means, weighted by another counter
    "sector_efficiency": KernelCounter("ratio", "sectors"),
    "sectors_per_request": KernelCounter("ratio", "global_requests"),
    "active_lanes": KernelCounter("ratio", "instructions"),
    "ilp": KernelCounter("ratio", "chained_instructions"),
    "overlap": KernelCounter("ratio", "fetching_instructions", empty=0.0),
    "groups_in_flight": KernelCounter("ratio", "fetching_instructions", empty=0.0),
}  # fmt: skip
"""docs/counters.md explains each."""

HEADINGS: Mapping[str, str] = {
    "sector_efficiency": "sector eff.",
    "excess_wavefronts": "bank excess",
    "active_lanes": "lanes",
    "instructions": "warp instr.",
    "registers": "regs",
}
"""The counters of a report's table, with their headings."""

OF_INSTRUCTIONS = frozenset(
    (
        "bytes_per_lane", "sector_efficiency", "sectors", "wmma_instructions", "shared_bytes", "wavefronts",
        "constant_excess_wavefronts",
        *(name for name in KERNEL_COUNTERS if name.startswith(("global_", "shared_", "async_copy_"))),
    )
) - {"shared_memory_bytes"}  # fmt: skip
"""Made of what single instructions do, each for itself: requests, and products of matrices."""

# ------------------------------------------------------------------------------------------- counters of host files


@dataclass(frozen=True)
class HostCounter:
    """A counter of the stand-in. ``one`` and ``many`` are format strings for the value, singular and plural.

    ``explained`` is the row of docs/counters.md.
    """

    unit: Literal["count", "bytes", "part"]
    one: str
    many: str
    explained: str


def _count(noun: str, explained: str, plural: str = "") -> HostCounter:
    return HostCounter("count", f"{{}} {noun}", f"{{}} {plural or f'{noun}s'}", explained)


def _amount(words: str, explained: str, unit: Literal["bytes", "part"] = "bytes") -> HostCounter:
    return HostCounter(unit, words, words, explained)


HOST_COUNTERS: Mapping[str, HostCounter] = {
    "launch_calls": _count(
        "launch call",
        "Calls that start work on the GPU: one for each kernel that the host file launches, and one for each launch of "
        "a graph, whatever the graph contains. A kernel that `run` captures into a graph counts, too: it takes the "
        "host as long as a launch.",
    ),
    "graph_launches": _count("graph launch", "The part of `launch_calls` that launches a graph.", "graph launches"),
    "cooperative_launches": _count(
        "cooperative launch", "Launches whose blocks may wait for each other (`grid.sync()`).", "cooperative launches"
    ),
    "streams": _count("stream", "Streams on which at least one operation was queued, including the default stream."),
    "host_waits": _count(
        "wait of the host",
        "Calls that waited for the GPU, if the host file queued another operation after them. The wait at the end of "
        "`run()` does not count, because it is necessary.",
        "waits of the host",
    ),
    "copies": _count(
        "copy",
        "Copies between host and device, in either direction; those of a graph count at each launch. Copies within a "
        "device or between devices, and prefetches, do not count.",
        "copies",
    ),
    "copied_bytes": _amount("{} copied", "The bytes of `copies`."),
    "pageable_bytes": _amount(
        "{} copied from or to pageable memory",
        "The part of `copied_bytes` whose host memory is not pinned.",
    ),
    "mapped_bytes": _amount(
        "{} moved through mapped memory",
        "32 × the sectors that kernels accessed in mapped host memory: bytes that cross the link without a copy. A "
        "sector that is accessed again counts again. Managed memory that a kernel accesses on the host "
        "(`SetAccessedBy`) counts by its bytes.",
    ),
    "prefetched_bytes": _amount(
        "{} prefetched",
        "Bytes of managed memory in prefetches to a GPU, without the pages that the host changed while the prefetch "
        "was in flight: those are on the host again.",
    ),
    "faulted_bytes": _amount(
        "{} moved by page faults",
        "Managed memory that a kernel accessed while its pages were on the host, in whole pages of 64 KiB. Pages that "
        "it may access there (`SetAccessedBy`) do not count.",
    ),
    "peer_bytes": _amount(
        "{} between GPUs",
        "Bytes copied from one GPU to another, or accessed by a kernel in another GPU's memory. A copy goes through "
        "the host's memory, and does not count, where neither may access the other's (`deviceEnablePeerAccess`).",
    ),
    "two_way_peer_bytes": _amount(
        "{} between GPUs with as many bytes the other way",
        "The part of `peer_bytes` for which as many bytes went the other way between the same two GPUs. If three or "
        "more GPUs pass data round in one direction only, it is 0.",
    ),
    "device_bytes": _amount("{} of device memory", "The maximum of device memory that was allocated at one time."),
    "persisting_bytes": _amount(
        "{} kept in L2",
        "The maximum that an access-policy window could keep in L2 for a kernel: its bytes × `hitRatio`, but not more "
        "than are set aside. Only a window with persisting hits counts, on allocated memory that the kernel reads at "
        "scattered addresses: less than half of the bytes between the first and the last one. A kernel that reads "
        "memory from end to end is limited by bandwidth.",
    ),
    "host_written_bytes": _amount(
        "{} of the outputs written by the host itself",
        "Bytes of outputs that no operation of the GPU wrote there, with a value that no operation wrote anywhere in "
        "host memory: copying a result of the GPU does not count. Also outputs that the host computed, gave to the GPU "
        "and got back from there, where they are more than half of an output.",
    ),
    "staged_bytes": _amount(
        "{} moved by the host itself",
        "Bytes that the host wrote to pinned allocations (`alloc_pinned_memory`, `cupyx.empty_pinned`), and results of "
        "the GPU that it copied into outputs: bytes that the processor moves instead of a copy engine. Counted in "
        "words of 4 bytes whose value has changed.",
    ),
    "pinned_bytes": _amount(
        "{} pinned in run",
        "Bytes that `run` pinned (`hostRegister`) or allocated as pinned memory. This takes longer than copying them.",
    ),
    "modelled_overlap": _amount(
        "overlap {} (the busiest engine's part of the time, modelled)",
        "Of copies in, copies out and kernels, the kind whose work takes longest by itself: that time ÷ the elapsed "
        "time, by the modelled clock. 1 if only this work takes time. Not counted: the latency of starting an "
        "operation; operations whose results do not reach the host; fills, prefetches, and copies within a device or "
        "between devices.",
        "part",
    ),
    "modelled_peer_overlap": _amount(
        "peer overlap {} (the part of the kernels' time with a copy between GPUs beside it, modelled)",
        "The part of the kernels' time in which the same GPU also copies bytes from or to another one, by the modelled "
        "clock. A kernel that accesses another GPU's memory itself counts as one with such a copy.",
        "part",
    ),
}
"""In the order in which reports show them."""


def amount(counter: str, value: float) -> str:
    """Return the value alone: ``64 MiB``, ``0.85``, ``12``."""
    if HOST_COUNTERS[counter].unit == "bytes":
        return bytes_words(value)
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"


def in_words(counter: str, value: float) -> str:
    """Return the counter in words: ``1 launch call``, ``64 MiB copied``."""
    definition = HOST_COUNTERS[counter]
    return (definition.one if value == 1 else definition.many).format(amount(counter, value))
