"""Access-policy windows: how much of a window can stay in the L2 cache, and why nothing or not all of it can.

The device has no L2. It counts the bytes that a window requests where this can help: bytes that kernels read at
scattered addresses, where each access waits for the memory's latency. A kernel that reads memory from end to end needs
every byte once, and is limited by bandwidth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from grader.frozen import dataclass
from grader.standin.device.memory import MemoryRegion
from grader.standin.device.spans import Spans, clip, total

PERSISTING = 2
"""cudaAccessPropertyPersisting."""
PROPERTIES = ("cudaAccessPropertyNormal", "cudaAccessPropertyStreaming")
ROOM_BEHIND = 512
"""Bytes that a window may reach past its array: the granularity of allocations."""
END_TO_END = 0.5
"""A kernel that reads at least this part of the bytes from its first to its last address reads from end to end."""


@dataclass(frozen=True, eq=False)
class Window:
    """A stream's access-policy window, set on ``line`` of the host file. A size of 0 bytes means no window."""

    base: int
    size: int
    hit_ratio: float
    hit: int
    line: int

    @property
    def end(self) -> int:
        return self.base + self.size


@dataclass(frozen=True)
class SetAside:
    """Bytes of the L2 cache for persisting accesses, and the line that set them aside; 0 if none did."""

    size: int = 0
    line: int = 0


@dataclass(frozen=True)
class Policy:
    """The settings in force when a kernel was launched. ``stream`` is its number and its device."""

    window: Window
    stream: tuple[int, int]
    set_aside: SetAside


@dataclass(frozen=True)
class KeptInL2:
    """Bytes that can stay in the L2 cache. If they are not the whole window: why, and the rank of the cause."""

    size: int
    cause: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 0


def kept(policy: Policy, kernel: str, reads: Spans, region: MemoryRegion | None, name: str) -> KeptInL2:
    """How much of a kernel's window can stay. ``region`` holds the window's first address; ``name`` is its name."""
    window, aside = policy.window, policy.set_aside
    reads_inside = clip(reads, window.base, window.end)
    causes: tuple[tuple[bool, str, dict[str, Any]], ...] = (
        (window.hit != PERSISTING, "not_persisting", {"property": _property(window.hit)}),
        (not aside.size, "nothing_set_aside", {"since": aside.line}),
        (not window.hit_ratio, "no_hit_ratio", {}),
        (region is None, "no_memory", {}),
        (region is not None and window.end > region.end + ROOM_BEHIND, "too_long", {"memory": name}),
        (not len(reads_inside), "not_read", {"memory": name}),
        (_end_to_end(reads_inside), "read_end_to_end", {"memory": name}),
    )
    for rank, (holds, cause, facts) in enumerate(causes):
        if holds:
            return KeptInL2(0, cause, facts, rank)
    share = min(window.hit_ratio, aside.size / window.size, 1.0)
    part = _covered_part(window, reads, region)
    if part is not None:
        cause, facts = "too_short", {"part": part, "kernel": kernel, "memory": name}
    elif share == 1.0:
        cause, facts = "", {}
    elif share == window.hit_ratio:
        cause, facts = "hit_ratio", {"hit_ratio": window.hit_ratio}
    else:
        cause, facts = "little_set_aside", {"bytes": window.size, "set_aside": aside.size}
    return KeptInL2(int(window.size * share), cause, facts, len(causes))


def _property(hit: int) -> str:
    return PROPERTIES[hit] if 0 <= hit < len(PROPERTIES) else str(hit)


def _end_to_end(reads: Spans) -> bool:
    return len(reads) > 0 and total(reads) >= END_TO_END * (reads[-1, 1] - reads[0, 0])


def _covered_part(window: Window, reads: Spans, region: MemoryRegion | None) -> float | None:
    """The part of the kernel's reads of this memory that the window covers; None if it covers all of them."""
    around = clip(reads, region.start, region.end) if region is not None else reads
    if around[0, 0] >= window.base and around[-1, 1] <= window.end:
        return None
    return float(window.size / (around[-1, 1] - around[0, 0]))


Trouble = tuple[int, str, dict[str, Any]]
"""Line of the host file, cause, and facts."""


class Persistence:
    """How much the windows of one run keep in the L2 cache."""

    def __init__(self) -> None:
        self._best: tuple[Policy, KeptInL2] | None = None

    def launched(self, policy: Policy, kept: KeptInL2) -> int:
        """Record a launch with a window; returns the bytes that can stay."""
        if self._best is None or (kept.size, kept.rank) > (self._best[1].size, self._best[1].rank):
            self._best = policy, kept
        return kept.size

    def trouble(
        self, streams: Sequence[tuple[tuple[int, int], Window]], busy: Sequence[tuple[int, int]], aside: SetAside
    ) -> Trouble | None:
        """Why the windows keep less than they cover; None if they keep all.

        ``streams`` are the streams whose window was set, of any size, and ``busy`` those with kernels in this run.
        """
        if self._best is not None:
            policy, kept = self._best
            facts = {"stream": list(policy.stream), "some": kept.size > 0, **kept.facts}
            return (policy.window.line, kept.cause, facts) if kept.cause else None
        if streams:  # no kernel was launched with a window: explain the last window that was set
            stream, window = streams[-1]
            cause = "taken_away" if not window.size else "set_late" if stream in busy else "other_stream"
            other = [list(busy_stream) for busy_stream in busy[:1]] if cause == "other_stream" else []
            return window.line, cause, {"stream": list(stream), "busy": other}
        return (aside.line, "no_window", {"set_aside": aside.size}) if aside.size else None
