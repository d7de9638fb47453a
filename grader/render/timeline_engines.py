"""How busy the engines of a GPU were in a timeline, and how much of the time two of them worked at once. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from grader.verdict import Operation

ENGINES: Mapping[str, str] = {
    "to_device": "copy in", "kernel": "compute", "to_host": "copy out", "peer": "between GPUs",
    "prefetch": "prefetch", "on_device": "copy on the GPU", "on_host": "copy on the host", "fill": "fill",
}  # fmt: skip
"""What an operation keeps busy, in the order of the legend."""

Spans = list[tuple[float, float]]


def _busy(operations: Iterable[Operation]) -> Spans:
    """The times at which at least one of ``operations`` runs, in order, without overlap."""
    spans: Spans = []
    for start, end in sorted((o.start_s, o.end_s) for o in operations):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _length(spans: Spans) -> float:
    return math.fsum(end - start for start, end in spans)


def _by_engine(operations: Iterable[Operation]) -> dict[str, dict[int, list[Operation]]]:
    found: dict[str, dict[int, list[Operation]]] = {}
    for operation in operations:
        found.setdefault(operation.kind, {}).setdefault(operation.device, []).append(operation)
    return found


def shares(operations: Sequence[Operation], total_s: float, devices: int) -> tuple[tuple[str, float], ...]:
    """Of each engine the part of the time in which it works; the mean over all GPUs."""
    engines = _by_engine(operations)
    return tuple(
        (words, math.fsum(_length(_busy(queue)) for queue in engines[kind].values()) / total_s / devices)
        for kind, words in ENGINES.items()
        if kind in engines
    )


def together(operations: Sequence[Operation], total_s: float, devices: int) -> float | None:
    """Over all GPUs, the mean part of the time in which two or more of a GPU's engines are at work."""
    engines = _by_engine(operations)
    if len(engines) < 2:
        return None
    several = 0.0
    for device in {operation.device for operation in operations}:
        spans = [span for queues in engines.values() for span in _busy(queues.get(device, ()))]
        events = sorted([(start, 1) for start, _ in spans] + [(end, -1) for _, end in spans])
        at_work = 0
        for (now, change), (then, _) in pairwise(events):
            at_work += change
            several += (then - now) * (at_work >= 2)
    return several / total_s / devices


def part(share: float) -> str:
    """``92 %``."""
    return f"{100 * min(1.0, share):.0f} %"
