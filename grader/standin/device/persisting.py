"""Access-policy windows: how much of one can stay in the L2 cache, and what is in the way where nothing can.

The device has no L2. It counts what a window asks for, where that can help: bytes that kernels read here and there,
each access waiting for its own. Who reads memory from end to end waits for bandwidth, and every byte comes once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.standin.device.memory import MemoryRegion
from grader.standin.device.spans import Spans, clip, total

PERSISTING = 2
"""cudaAccessPropertyPersisting."""
PROPERTIES = ("cudaAccessPropertyNormal", "cudaAccessPropertyStreaming")
ROOM_BEHIND = 512
"""Bytes that a window may end behind its array: memory is given out in pieces of so many."""
END_TO_END = 0.5
"""The part of the bytes between the first and the last one that a kernel reads, from which on it reads them all."""


@dataclass(frozen=True, eq=False)
class Window:
    """What a stream was given; ``line`` is the line that did it. One of 0 bytes is none."""

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
    """Bytes of the L2 cache for persisting accesses, and the line that said so; 0 where nobody did."""

    size: int = 0
    line: int = 0


@dataclass(frozen=True)
class Policy:
    """What was in force when a kernel was launched. ``stream`` is its number and its device."""

    window: Window
    stream: tuple[int, int]
    set_aside: SetAside


@dataclass(frozen=True)
class KeptInL2:
    """Bytes that can stay; where that is not all that was asked for, why, and how far the search for it got."""

    size: int
    cause: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    rank: int = 0


def kept(policy: Policy, kernel: str, reads: Spans, region: MemoryRegion | None, name: str) -> KeptInL2:
    """What one kernel has of its window. ``region`` holds the window's beginning, and is called ``name``."""
    window, aside = policy.window, policy.set_aside
    there = clip(reads, window.base, window.end)
    causes: tuple[tuple[bool, str, dict[str, Any]], ...] = (
        (window.hit != PERSISTING, "not_persisting", {"property": _property(window.hit)}),
        (not aside.size, "nothing_set_aside", {"since": aside.line}),
        (not window.hit_ratio, "no_hit_ratio", {}),
        (region is None, "no_memory", {}),
        (region is not None and window.end > region.end + ROOM_BEHIND, "too_long", {"memory": name}),
        (not len(there), "not_read", {"memory": name}),
        (_end_to_end(there), "read_end_to_end", {"memory": name}),
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


def _end_to_end(there: Spans) -> bool:
    return len(there) > 0 and total(there) >= END_TO_END * (there[-1, 1] - there[0, 0])


def _covered_part(window: Window, reads: Spans, region: MemoryRegion | None) -> float | None:
    """The part that the window has of what the kernel reads of the same memory; None where it has all of it."""
    around = clip(reads, region.start, region.end) if region is not None else reads
    if around[0, 0] >= window.base and around[-1, 1] <= window.end:
        return None
    return float(window.size / (around[-1, 1] - around[0, 0]))


Trouble = tuple[int, str, dict[str, Any]]
"""The line that it is about, the cause, and facts."""


class Persistence:
    """What came of the windows of one run."""

    def __init__(self) -> None:
        self._best: tuple[Policy, KeptInL2] | None = None

    def launched(self, policy: Policy, found: KeptInL2) -> int:
        """A kernel was launched with a window. The bytes that can stay."""
        if self._best is None or (found.size, found.rank) > (self._best[1].size, self._best[1].rank):
            self._best = policy, found
        return found.size

    def trouble(
        self, streams: Sequence[tuple[tuple[int, int], Window]], busy: Sequence[tuple[int, int]], aside: SetAside
    ) -> Trouble | None:
        """Why the windows keep less than they were to; None where all is well.

        ``streams`` are those that were given a window, of any size, and ``busy`` those with kernels in this run.
        """
        if self._best is not None:
            policy, found = self._best
            facts = {"stream": list(policy.stream), "some": found.size > 0, **found.facts}
            return (policy.window.line, found.cause, facts) if found.cause else None
        if streams:  # no kernel was launched with a window: the last one that a stream was given
            stream, window = streams[-1]
            taken = "taken_away" if not window.size else "set_late" if stream in busy else "other_stream"
            there = [list(one) for one in busy[:1]] if taken == "other_stream" else []
            return window.line, taken, {"stream": list(stream), "busy": there}
        return (aside.line, "no_window", {"set_aside": aside.size}) if aside.size else None
