"""How well the engines of a run worked side by side, by the modelled clock. Pure.

    overlap(operations, elapsed_s, model) -> float

An engine's share is the time that its useful work takes by itself ÷ the elapsed time; the largest share counts. Work is
useful where the host's memory gets something of it in the end. Otherwise a file whose engines take turns would look as
if they did not, with nothing but a fill beside each copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from grader.standin.device.model import Model
from grader.standin.device.operations import Operation
from grader.standin.device.spans import common, span, union
from grader.standin.protocol import HOST_BASE

COUNTED = ("kernel", "to_device", "to_host")
"""Kinds of operation that count; each has an engine of its own. Fills, prefetches and other copies do not count."""

HOST = span(HOST_BASE, 1 << 40)
"""The addresses of all memory that the host may touch."""


def overlap(operations: Iterable[Operation], elapsed_s: float, model: Model) -> float:
    """The largest part of the time that an engine's useful work takes; 0 where nothing was done."""
    work_s: dict[tuple[int, str], float] = defaultdict(float)
    for op in _useful(operations):
        if op.job.kind in COUNTED:
            work_s[op.job.device, op.job.kind] += _work_s(op, model)
    return max(work_s.values(), default=0.0) / elapsed_s if elapsed_s else 0.0


def _work_s(op: Operation, model: Model) -> float:
    """Without what it takes to begin: else the same work in more pieces would look like more of it."""
    kernel_s = model.graph_node_s if op.in_graph else model.launch_s
    begin_s = kernel_s if op.job.kind == "kernel" else model.link_latency_s
    return max(0.0, (op.duration_s or 0.0) - begin_s)


def _useful(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield, last first, what writes to the host's memory, and what writes something that one of these reads."""
    needed = HOST
    for op in sorted(operations, key=lambda one: -one.number):
        prints = op.footprint
        if prints is not None and (op.job.kind == "to_host" or common(prints.changed, needed) is not None):
            needed = union((needed, prints.reads, prints.atomics))
            yield op
