"""Access-policy windows: how much of one can stay in the L2 cache, and what is in the way where nothing can.

The device has no L2. It counts what a window asks for, where that can help: bytes that kernels read here and there,
each access waiting for its own. Who reads memory from end to end waits for bandwidth, and every byte comes once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.render.text import bytes_words
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
    """What a stream was given; ``where`` is the line that did it. One of 0 bytes is none."""

    base: int
    size: int
    hit_ratio: float
    hit: int
    where: int

    @property
    def end(self) -> int:
        return self.base + self.size


@dataclass(frozen=True)
class SetAside:
    """Bytes of the L2 cache for persisting accesses, and the line that said so; 0 where nobody did."""

    size: int = 0
    where: int = 0


@dataclass(frozen=True)
class Policy:
    """What was in force when a kernel was launched."""

    window: Window
    stream: str
    set_aside: SetAside


@dataclass(frozen=True)
class KeptInL2:
    """Bytes that can stay; where that is not all that was asked for, why, and how far the search for it got."""

    size: int
    why: str = ""
    rank: int = 0


def kept(policy: Policy, kernel: str, reads: Spans, region: MemoryRegion | None, name: str) -> KeptInL2:
    """What one kernel has of its window. ``region`` holds the window's beginning, and is called ``name``."""
    window = policy.window
    there = clip(reads, window.base, window.end)
    obstacles = (
        (window.hit != PERSISTING, _not_persisting(window.hit)),
        (not policy.set_aside.size, _nothing_set_aside(policy.set_aside)),
        (not window.hit_ratio, "its hitRatio is 0, as in a new cudaStreamAttrValue"),
        (region is None, "its base_ptr lies in no memory of this GPU"),
        (region is not None and window.end > region.end + ROOM_BEHIND, f"it ends behind {name}"),
        (not len(there), f"it lies on {name}, and no kernel that was launched with it reads there"),
        (_end_to_end(there), f"it lies on {name}, which kernels read from end to end"),
    )
    for rank, (holds, why) in enumerate(obstacles):
        if holds:
            return KeptInL2(0, why, rank)
    share = min(window.hit_ratio, policy.set_aside.size / window.size, 1.0)
    why = _short(window, kernel, reads, region, name) or _part(share, policy)
    return KeptInL2(int(window.size * share), why, len(obstacles))


def _not_persisting(hit: int) -> str:
    name = PROPERTIES[hit] if 0 <= hit < len(PROPERTIES) else str(hit)
    return f"its hitProp is {name}, and only persisting hits stay"


def _nothing_set_aside(aside: SetAside) -> str:
    since = f" since line {aside.where}" if aside.where else ""
    return f"no part of L2 is set aside (cudaLimitPersistingL2CacheSize is 0{since})"


def _end_to_end(there: Spans) -> bool:
    return len(there) > 0 and total(there) >= END_TO_END * (there[-1, 1] - there[0, 0])


def _short(window: Window, kernel: str, reads: Spans, region: MemoryRegion | None, name: str) -> str:
    """Where the kernel reads the same memory outside of the window, too."""
    around = clip(reads, region.start, region.end) if region is not None else reads
    if around[0, 0] >= window.base and around[-1, 1] <= window.end:
        return ""
    part = window.size / (around[-1, 1] - around[0, 0])
    return f"it covers {part:.0%} of what kernel {kernel} reads of {name} (num_bytes counts bytes)"


def _part(share: float, policy: Policy) -> str:
    if share == 1.0:
        return ""
    window, aside = policy.window, policy.set_aside.size
    if share == window.hit_ratio:
        return f"its hitRatio is {window.hit_ratio:.3g}, and no more of it asks to stay"
    return f"it has {bytes_words(window.size)}, and only {bytes_words(aside)} of L2 is set aside"


class Persistence:
    """What came of the windows of one run."""

    def __init__(self) -> None:
        self._best: tuple[Policy, KeptInL2] | None = None

    def launched(self, policy: Policy, found: KeptInL2) -> int:
        """A kernel was launched with a window. The bytes that can stay."""
        if self._best is None or (found.size, found.rank) > (self._best[1].size, self._best[1].rank):
            self._best = policy, found
        return found.size

    def trouble(self, streams: Sequence[tuple[str, Window]], busy: Iterable[str], aside: SetAside) -> tuple[str, int]:
        """Why the windows keep less than they were to, and the line that it is about; nothing where all is well.

        ``streams`` are those that were given a window, of any size, and ``busy`` those with kernels in this run.
        """
        if self._best is not None:
            policy, found = self._best
            keeps = "only a part of it" if found.size else "nothing"
            told = f"the access-policy window of {policy.stream} keeps {keeps} in L2: {found.why}"
            return (told, policy.window.where) if found.why else ("", 0)
        if streams:
            return _not_in_force(*streams[-1], [*dict.fromkeys(busy)])
        if aside.size:
            return (
                f"{bytes_words(aside.size)} of L2 is set aside, and no stream has an access-policy window",
                aside.where,
            )
        return "", 0


def _not_in_force(stream: str, window: Window, busy: list[str]) -> tuple[str, int]:
    """No kernel was launched with a window; the last one that a stream was given."""
    if not window.size:
        return (
            f"the access-policy window of {stream} was taken away before this run's kernels were launched",
            window.where,
        )
    if stream in busy:
        return (
            f"the access-policy window of {stream} was set behind the launches: it holds for later ones",
            window.where,
        )
    there = f": they are on {busy[0]}" if busy else ""
    return f"the access-policy window belongs to {stream}, and no kernel is launched there{there}", window.where
