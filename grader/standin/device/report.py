"""The result of a run of a host file: launches, findings, counters, and a timeline by the modelled clock.

`why_no_overlap` finds why copies and kernels of a run did not overlap, as far as the order of its calls shows. The
causes are facts of this run, with their lines, and the hint is about the first of them only, so that it never advises
something that is done already. The judge adds them to an overlap that is too small.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from grader.counters import HOST_COUNTERS
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.simt.simulate import Outcome
from grader.standin.device.findings import Records
from grader.standin.device.modelled_time import COUNTED
from grader.standin.device.operations import Copy, StreamOperation
from grader.verdict import Timeline


@dataclass(frozen=True, eq=False)
class RunReport:
    """One run. ``outcome`` has its launches in the order of execution, and its kernels' events and printed text."""

    outcome: Outcome  # without memory
    findings: tuple[Finding, ...]  # of the host file; the first is the cause
    host_counters: Mapping[str, float]
    timeline: Timeline
    complete: bool  # False if a kernel ended early, so that later ones did not run


OVER_THE_LINK = ("to_device", "to_host")
"""Kinds of copies between host and device."""


class Tally:
    """The counters of one run. A wait counts when the host issues another operation after it."""

    def __init__(self) -> None:
        self.counted: dict[str, float] = dict.fromkeys(HOST_COUNTERS, 0)
        self._streams: set[tuple[int, int]] = set()
        self._crossed: Counter[tuple[int, int]] = Counter()  # bytes by the GPU they left and the GPU they went to
        self.wait_lines: Counter[int] = Counter()  # of the waits that count
        self._waits: list[int] = []

    def add(self, name: str, value: float) -> None:
        self.counted[name] += value

    def most(self, name: str, value: float) -> None:
        self.counted[name] = max(self.counted[name], value)

    def crossed(self, source: int, target: int, size: int) -> None:
        """Bytes went from one GPU to another."""
        self._crossed[source, target] += size
        self.add("peer_bytes", size)
        ways = (min(size, self._crossed[b, a]) for (a, b), size in self._crossed.items())
        self.counted["two_way_peer_bytes"] = sum(ways)

    def issued(self, op: StreamOperation) -> None:
        """The host queued an operation."""
        assert op.task is not None
        self._streams.add((op.task.device, op.stream))
        self.counted["streams"] = len(self._streams)
        self.wait_lines.update(self._waits)
        self._waits.clear()
        self.counted["host_waits"] = self.wait_lines.total()
        work = op.task.work
        if isinstance(work, Copy) and op.task.kind in OVER_THE_LINK:
            self.add("copies", 1)
            self.add("copied_bytes", work.size)
            self.add("pageable_bytes", work.size * work.pageable)

    def waited(self, line: int) -> None:
        """A call on this line of the host file waited for an operation."""
        self._waits.append(line)


FEW_KERNELS = 8  # with fewer pieces, the first copy in and the last copy out weigh too much
BUSY_HOST = 0.8  # part of the elapsed time; above it, the host is the bottleneck


@dataclass(frozen=True)
class IssuedRun:
    """One run: its operations in the order of issue, the lines of the host's waits, and chains of blocking streams."""

    operations: Sequence[StreamOperation]
    waits: Mapping[int, int]  # line -> number of waits
    blocking: Collection[int]
    host_part: float  # part of the elapsed time that the host's calls take

    def of(self, kind: str) -> list[StreamOperation]:
        return [op for op in self.operations if op.job.kind == kind]


@dataclass(frozen=True)
class OverlapCause:
    """One cause of a missing overlap; ``line`` is the line to look at."""

    name: str
    facts: Mapping[str, Any]
    line: int = 0


def why_no_overlap(run: IssuedRun, records: Records) -> Finding | None:
    """Return a finding with all causes, at the first one's line; None if there are none."""
    causes = [cause for check in _CHECKS if (cause := check(run)) is not None]
    if not causes:
        return None
    facts = [{"cause": cause.name, **cause.facts} for cause in causes]
    return records.at("no_overlap", causes[0].line, causes[0].name, causes=facts)


def _default_stream(run: IssuedRun) -> OverlapCause | None:
    """Operations on the default stream while blocking streams are in use."""
    operations = [op for op in run.operations if op.job.kind in COUNTED]
    on_default = [op for op in operations if op.stream == 0]
    if not on_default or not any(op.stream and op.chain in run.blocking for op in operations):
        return None
    counts = Counter(op.job.kind for op in on_default)
    return OverlapCause("default_stream", {"counts": counts, "lines": _lines(on_default)}, on_default[0].job.line)


def _waits(run: IssuedRun) -> OverlapCause | None:
    count = sum(run.waits.values())
    lines = [line for line, _ in Counter(run.waits).most_common() if line]
    return OverlapCause("host_waits", {"count": count, "lines": lines}, lines[0] if lines else 0) if count else None


def _one_stream(run: IssuedRun) -> OverlapCause | None:
    operations = [op for op in run.operations if op.job.kind in COUNTED]
    streams = {(op.job.device, op.stream) for op in operations}
    if len(operations) < 2 or len(streams) > 1 or any(op.in_graph for op in operations):
        return None
    return OverlapCause("one_stream", {})


def _order(run: IssuedRun) -> OverlapCause | None:
    """Streams with all copies in before the first kernel, or all kernels before the first copy out."""
    streams: dict[int, list[StreamOperation]] = defaultdict(list)
    for op in run.operations:
        streams[op.chain].append(op)
    for before, after in (("to_device", "kernel"), ("kernel", "to_host")):
        first = (_first_after_all(queue, before, after) for queue in streams.values())
        late = [op for op in first if op is not None]
        if late:
            facts = {"before": before, "count": len(late), "lines": _lines(late)}
            return OverlapCause("stage_by_stage", facts, late[0].job.line)
    return None


def _first_after_all(queue: Sequence[StreamOperation], before: str, after: str) -> StreamOperation | None:
    """The first operation of kind ``after`` in a stream, if all (at least two) of kind ``before`` come earlier."""
    kinds = [op.job.kind for op in queue]
    if min(kinds.count(before), kinds.count(after)) < 2:
        return None
    first = kinds.index(after)
    return queue[first] if before not in kinds[first:] else None


def _few_pieces(run: IssuedRun) -> OverlapCause | None:
    kernels = run.of("kernel")
    if not 0 < len(kernels) < FEW_KERNELS or not run.of("to_device") or not run.of("to_host"):
        return None
    return OverlapCause("few_pieces", {"kernels": len(kernels)}, kernels[0].job.line)


def _busy_host(run: IssuedRun) -> OverlapCause | None:
    if run.host_part < BUSY_HOST:
        return None
    return OverlapCause("busy_host", {"operations": len(run.operations), "part": min(1.0, run.host_part)})


_CHECKS: tuple[Callable[[IssuedRun], OverlapCause | None], ...] = (
    _one_stream, _default_stream, _waits, _order, _few_pieces, _busy_host,
)  # fmt: skip
"""The most important cause comes first."""


def _lines(operations: Iterable[StreamOperation]) -> list[int]:
    return [*dict.fromkeys(op.job.line for op in operations if op.job.line)]
