"""Every counter by its name: how a submission's launches add up to one number, and what a host file's counters mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from grader.text import bytes_words

# -------------------------------------------------------------------------------------- what the simulator counts


@dataclass(frozen=True)
class KernelCounter:
    """How the values of several launches make one: their sum, the largest, the least, or the ratio of the sums.

    ``over`` is the counter that a ratio is a ratio over, ``empty`` the ratio where nothing of that was counted.
    """

    total: Literal["sum", "largest", "least", "ratio"]
    over: str = ""
    empty: float = math.nan


_ACCESSES = ("load", "store", "atomic")

KERNEL_COUNTERS: Mapping[str, KernelCounter] = {
    # amounts of work; the simulator leaves out those that are zero
    **dict.fromkeys(
        (
            "launches", "instructions", "thread_instructions", "branches", "divergent_branches", "barriers", "shuffles",
            "threads", "wmma_instructions", "global_requests", "sectors", "shared_requests", "shared_bytes",
            "wavefronts", "excess_wavefronts", "shared_load_excess_wavefronts", "overlapped_instructions",
            "fetching_instructions",
            *(f"global_{kind}_{what}" for kind in _ACCESSES for what in ("requests", "bytes", "sectors")),
            *(f"shared_{kind}_{what}" for kind in _ACCESSES for what in ("requests", "bytes", "wavefronts")),
            *(f"async_copy_{what}" for what in ("requests", "bytes", "wavefronts")),
        ),
        KernelCounter("sum"),
    ),
    # properties of each launch
    **dict.fromkeys(
        ("bytes_per_lane", "shared_memory_bytes", "registers", "spill_bytes", "grid_growth"), KernelCounter("largest")
    ),
    "occupancy": KernelCounter("least"),
    # averages, weighted by what they are a ratio over
    "sector_efficiency": KernelCounter("ratio", "sectors"),
    "sectors_per_request": KernelCounter("ratio", "global_requests"),
    "active_lanes": KernelCounter("ratio", "instructions"),
    "overlap": KernelCounter("ratio", "fetching_instructions", empty=0.0),
}  # fmt: skip
"""docs/counters.md explains each."""

# ------------------------------------------------------------------------------------------ what a host file did


@dataclass(frozen=True)
class HostCounter:
    """What the stand-in counts. ``one`` and ``many`` have a place for the value.

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
        "Calls that start something on the GPU: one for each kernel that the host file launches, one for each launch "
        "of a graph, whatever the graph holds. A kernel that `run` captures into a graph counts, too: it costs the "
        "host as much as a launch.",
    ),
    "graph_launches": _count("graph launch", "The part of `launch_calls` that launches a graph.", "graph launches"),
    "cooperative_launches": _count(
        "cooperative launch", "Launches whose blocks may wait for each other (`grid.sync()`).", "cooperative launches"
    ),
    "streams": _count("stream", "Streams in which at least one operation was put, the default stream included."),
    "host_waits": _count(
        "wait of the host",
        "Calls that waited for the GPU, after which the host file put something more into a stream. The wait at the "
        "end of `run()` is none: something has to wait there.",
        "waits of the host",
    ),
    "copies": _count(
        "copy",
        "Copies between host and device, in either direction, those of a graph counted at each launch. Copies within a "
        "device or between devices are none, prefetches neither.",
        "copies",
    ),
    "copied_bytes": _amount("{} copied", "The bytes of `copies`."),
    "pageable_bytes": _amount(
        "{} copied from or to pageable memory",
        "The part of `copied_bytes` whose side on the host is not pinned.",
    ),
    "mapped_bytes": _amount(
        "{} moved through mapped memory",
        "32 × the sectors that kernels touched in mapped host memory: what crosses the link without a copy. A sector "
        "that is touched again counts again. Managed memory that a kernel uses on the host (`SetAccessedBy`) counts by "
        "its bytes.",
    ),
    "prefetched_bytes": _amount(
        "{} prefetched",
        "Bytes of managed memory that prefetches named, towards a GPU, without the pages that the host changed after "
        "the call and before the prefetch was waited for: those are on the host again.",
    ),
    "faulted_bytes": _amount(
        "{} moved by page faults",
        "Managed memory that a kernel touched while its pages were on the host, in whole pages of 64 KiB. Pages that "
        "it may use there do not count (`SetAccessedBy`).",
    ),
    "peer_bytes": _amount(
        "{} between GPUs", "Bytes copied from one GPU to another, or touched by a kernel in another GPU's memory."
    ),
    "device_bytes": _amount("{} of device memory", "The most device memory that was allocated at one time."),
    "persisting_bytes": _amount(
        "{} kept in L2",
        "The most that an access-policy window could keep in L2 for a kernel: its bytes × `hitRatio`, or as many as "
        "are set aside. Only a window with persisting hits counts, on live memory that the kernel reads here and "
        "there: less than half of the bytes between the first and the last one. A kernel that reads memory from end to "
        "end waits for bandwidth.",
    ),
    "host_written_bytes": _amount(
        "{} of the outputs written by the host itself",
        "Bytes of outputs that no operation of the GPU put there, and that hold a value which no operation put "
        "anywhere in the host's memory: handing on what the GPU computed is not counted.",
    ),
    "staged_bytes": _amount(
        "{} moved by the host itself",
        "What the host wrote to pinned allocations (`alloc_pinned_memory`, `cupyx.empty_pinned`), and what it put into "
        "outputs of what the GPU had computed: bytes that the processor moves, and no copy engine. Counted in words of "
        "4 bytes that have another value afterwards.",
    ),
    "pinned_bytes": _amount(
        "{} pinned in run",
        "Bytes that `run` pinned (`hostRegister`) or allocated as pinned memory. That takes longer than copying them.",
    ),
    "modelled_overlap": _amount(
        "overlap {} (the busiest engine's part of the time, modelled)",
        "Of copies in, copies out and kernels, those whose work would take longest by itself: that time ÷ the elapsed "
        "time, by the modelled clock. 1 where nothing but that work takes time. Not counted: what it takes to begin an "
        "operation; operations of which nothing reaches the host; fills, prefetches, and copies within a device or "
        "between devices.",
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
    known = HOST_COUNTERS[counter]
    return (known.one if value == 1 else known.many).format(amount(counter, value))
