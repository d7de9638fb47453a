"""Which bytes an operation touched: sorted, disjoint spans of addresses, as an int64 array of shape (n, 2). Pure.

Copies have one span. A kernel has as many as it left gaps: a strided one may have a hundred thousand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Spans = npt.NDArray[np.int64]

NONE: Spans = np.empty((0, 2), np.int64)


def span(start: int, size: int) -> Spans:
    """One run of bytes; none where it is empty."""
    return np.array([[start, start + size]], np.int64) if size > 0 else NONE


def union(parts: Iterable[Spans]) -> Spans:
    """All of them, joined where they touch."""
    rows = np.concatenate([NONE, *parts])
    if len(rows) < 2:
        return rows
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    reach = np.maximum.accumulate(rows[:, 1])
    first = np.flatnonzero(np.concatenate([[True], rows[1:, 0] > reach[:-1]]))
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
    """Which pieces begin in a span; no span ends inside of a piece."""
    at = np.searchsorted(spans[:, 0], pieces[:, 0], side="right") - 1
    inside: npt.NDArray[np.bool_] = (at >= 0) & (pieces[:, 0] < spans[np.maximum(at, 0), 1])
    return inside


def total(spans: Spans) -> int:
    """How many bytes."""
    return int((spans[:, 1] - spans[:, 0]).sum())


def clip(spans: Spans, start: int, end: int) -> Spans:
    """The part of them that lies in [start, end)."""
    cut = np.clip(spans, start, end)
    return cut[cut[:, 0] < cut[:, 1]]


def common(a: Spans, b: Spans) -> int | None:
    """The first address that is in both; None where there is none."""
    if not len(a) or not len(b) or a[0, 0] >= b[-1, 1] or b[0, 0] >= a[-1, 1]:
        return None
    found = [x for x in (_first(a, b), _first(b, a)) if x is not None]
    return min(found, default=None)


def _first(a: Spans, b: Spans) -> int | None:
    """The first beginning of a span of ``a`` that lies in a span of ``b``."""
    inside = _covered(a, b)
    return int(a[inside.argmax(), 0]) if inside.any() else None


@dataclass(frozen=True, eq=False)
class Footprint:
    """What one operation read, wrote, and updated atomically."""

    reads: Spans = field(default_factory=lambda: NONE)
    writes: Spans = field(default_factory=lambda: NONE)
    atomics: Spans = field(default_factory=lambda: NONE)

    @property
    def touched(self) -> Spans:
        return union((self.reads, self.writes, self.atomics))

    @property
    def changed(self) -> Spans:
        return union((self.writes, self.atomics))


def clash(a: Footprint, b: Footprint) -> tuple[str, str, int] | None:
    """How ``a`` and ``b`` touch the same byte, one of them writing: ("writes", "reads", address).

    What the second reads of the first comes first, for that is what goes wrong for a person. Two atomic updates do not
    clash.
    """
    pairs = (
        ("writes", "reads", a.writes, b.reads), ("writes", "reads", a.atomics, b.reads),
        ("reads", "writes", a.reads, b.writes), ("reads", "writes", a.reads, b.atomics),
        ("writes", "writes", a.writes, b.writes), ("writes", "writes", a.writes, b.atomics),
        ("writes", "writes", a.atomics, b.writes),
    )  # fmt: skip
    for first, second, left, right in pairs:
        address = common(left, right)
        if address is not None:
            return first, second, address
    return None
