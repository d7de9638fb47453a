"""Which bytes an operation accessed: sorted, disjoint spans [begin, end) of addresses, an int64 array of shape (n, 2).

A copy has one span. A kernel has one for each contiguous run: a strided kernel may have a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from grader.frozen import dataclass

Spans = npt.NDArray[np.int64]

NONE: Spans = np.empty((0, 2), np.int64)


def span(start: int, size: int) -> Spans:
    """One span of ``size`` bytes; no span if ``size`` is 0 or less."""
    return np.array([[start, start + size]], np.int64) if size > 0 else NONE


def union(parts: Iterable[Spans]) -> Spans:
    """The union of all spans, joined where they meet."""
    filled = [spans for spans in parts if len(spans)]
    if not filled:
        return NONE
    rows = np.concatenate(filled) if len(filled) > 1 else filled[0]
    if len(rows) < 2:
        return rows
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    ends = np.maximum.accumulate(rows[:, 1])
    first = np.flatnonzero(np.concatenate([[True], rows[1:, 0] > ends[:-1]]))
    return np.stack([rows[first, 0], np.maximum.reduceat(rows[:, 1], first)], axis=1)


def without(spans: Spans, other: Spans) -> Spans:
    """The bytes of ``spans`` that are not in ``other``; both are sorted and disjoint."""
    if not len(other) or not len(spans):
        return spans
    gaps = np.stack([np.append(spans[0, 0], other[:, 1]), np.append(other[:, 0], spans[-1, 1])], axis=1)
    edges = np.unique(np.concatenate([spans.ravel(), gaps[gaps[:, 0] < gaps[:, 1]].ravel()]))
    pieces = np.stack([edges[:-1], edges[1:]], axis=1)
    return union([pieces[_covered(pieces, spans) & ~_covered(pieces, other)]])


def _covered(pieces: Spans, spans: Spans) -> npt.NDArray[np.bool_]:
    """Which pieces begin in a span; no span may end inside a piece."""
    at = np.searchsorted(spans[:, 0], pieces[:, 0], side="right") - 1
    inside: npt.NDArray[np.bool_] = (at >= 0) & (pieces[:, 0] < spans[np.maximum(at, 0), 1])
    return inside


def total(spans: Spans) -> int:
    """The number of bytes in the spans."""
    return int((spans[:, 1] - spans[:, 0]).sum())


def clip(spans: Spans, start: int, end: int) -> Spans:
    """The part of the spans in [start, end)."""
    cut = np.clip(spans, start, end)
    return cut[cut[:, 0] < cut[:, 1]]


def common(a: Spans, b: Spans) -> int | None:
    """The first address that is in both; None if there is none."""
    if not len(a) or not len(b) or a[0, 0] >= b[-1, 1] or b[0, 0] >= a[-1, 1]:
        return None
    starts = [start for start in (_first(a, b), _first(b, a)) if start is not None]
    return min(starts, default=None)


def _first(a: Spans, b: Spans) -> int | None:
    """The first start of a span of ``a`` that is in a span of ``b``."""
    inside = _covered(a, b)
    return int(a[inside.argmax(), 0]) if inside.any() else None


@dataclass(frozen=True, eq=False)
class Footprint:
    """The bytes that one operation read, wrote, and updated atomically."""

    reads: Spans = field(default_factory=lambda: NONE)
    writes: Spans = field(default_factory=lambda: NONE)
    atomics: Spans = field(default_factory=lambda: NONE)

    @cached_property
    def touched(self) -> Spans:
        return union((self.reads, self.writes, self.atomics))

    @cached_property
    def changed(self) -> Spans:
        return union((self.writes, self.atomics))

    @cached_property
    def parts(self) -> tuple[tuple[int, int, str, Spans], ...]:
        """Reads, writes and atomics, without empty ones: the first address, the end, the kind, and the spans."""
        named = (("reads", self.reads), ("writes", self.writes), ("atomics", self.atomics))
        return tuple((int(spans[0, 0]), int(spans[-1, 1]), kind, spans) for kind, spans in named if len(spans))


_CLASHES = (
    ("writes", "reads"), ("atomics", "reads"), ("reads", "writes"), ("reads", "atomics"), ("writes", "writes"),
    ("writes", "atomics"), ("atomics", "writes"),
)  # fmt: skip
"""In order of importance: first, that the second reads what the first writes. Two atomic updates do not conflict."""


def clash(a: Footprint, b: Footprint) -> tuple[str, str, int] | None:
    """How ``a`` and ``b`` access the same byte, at least one writing: ("writes", "reads", address); None if not."""
    candidates = {
        (first, second): (left, right)
        for start, end, first, left in a.parts
        for other_start, other_end, second, right in b.parts
        if start < other_end and other_start < end
    }
    for kinds in _CLASHES if candidates else ():
        address = common(*candidates[kinds]) if kinds in candidates else None
        if address is not None:
            did, does = ("writes" if kind == "atomics" else kind for kind in kinds)
            return did, does, address
    return None
