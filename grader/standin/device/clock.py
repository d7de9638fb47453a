"""The modelled clock: when each operation begins and ends, and how long the host was busy or waiting.

Each device has one compute queue, one copy engine for each way over the link, and one for its peers. An engine does
one operation at a time, and takes next what was ready first. The host pays for each call, and stands still where it
waits. How long an operation takes is known once it was executed, so times are computed afterwards from a log.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.standin.device.model import Model
from grader.standin.device.operations import HOST, Operation, Prefetch
from grader.standin.device.overlap import overlap
from grader.verdict import Operation as Bar
from grader.verdict import Timeline

ENGINES: Mapping[str, str] = {
    "kernel": "compute", "fill": "compute", "on_device": "compute", "to_device": "in", "to_host": "out", "peer": "peer",
    "on_host": "host",
}  # fmt: skip
Engine = tuple[int, str]


@dataclass(frozen=True, eq=False)
class Entry:
    """One call of the host: it cost time, queued some operations, or waited for some."""

    cost_s: float
    issued: tuple[Operation, ...] = ()
    awaited: tuple[Operation, ...] = ()


@dataclass(eq=False)
class Clock:
    """A log of calls, and the times that follow from it. ``host_s`` is where the log begins."""

    model: Model
    host_s: float = 0.0
    log: list[Entry] = field(default_factory=list)

    def call(self, *issued: Operation) -> None:
        """A call that queued these."""
        self.log.append(Entry(self.model.call_s, issued=issued))

    def wait(self, awaited: Iterable[Operation]) -> None:
        """A call that waited for these."""
        self.log.append(Entry(self.model.wait_s, awaited=tuple(awaited)))

    def compute(self) -> float:
        """Give every operation of the log its times; when the host was through with the log."""
        return _Replay(self.log, self.host_s).run()

    def restart(self) -> None:
        """A new log, which begins where this one ended."""
        self.host_s = self.compute()
        self.log = []

    def timeline(self) -> Timeline:
        """The log's operations, those included that came too late to count."""
        ended = self.compute()
        bars = sorted((_bar(op, self.host_s) for op in self._issued()), key=lambda bar: (bar.start_s, bar.end_s))
        return Timeline(tuple(bars), ended - self.host_s, True, self._label(), self.model.scale)

    def overlap(self, late: frozenset[Operation]) -> float:
        """How well the engines worked side by side, of 1; what came too late does not count."""
        elapsed_s = self.compute() - self.host_s
        return overlap((op for op in self._issued() if op not in late), elapsed_s, self.model)

    def host_part(self) -> float:
        """Of the elapsed time, what the host's own calls took, waits left out."""
        elapsed_s = self.compute() - self.host_s
        return sum(entry.cost_s for entry in self.log if not entry.awaited) / elapsed_s if elapsed_s else 0.0

    def _issued(self) -> Iterator[Operation]:
        """The log's tasks."""
        return (op for entry in self.log for op in entry.issued if op.task is not None)

    def _label(self) -> str:
        scale = self.model.scale
        if scale == 1:
            return self.model.name
        return f"{self.model.name}, with {_times(scale)} times the simulated work in as many calls"


def _times(scale: float) -> str:
    return f"{scale:.0f}" if scale >= 10 else f"{scale:.1f}"


def engine(op: Operation) -> Engine | None:
    """Who does it; None for a mark."""
    if op.task is None:
        return None
    work = op.task.work
    if isinstance(work, Prefetch):
        return (op.task.device, "out") if work.device == HOST else (work.device, "in")
    return op.task.device, ENGINES[op.task.kind]


def _bar(op: Operation, origin_s: float) -> Bar:
    task = op.job
    start, end = (op.start_s or 0.0) - origin_s, (op.end_s or 0.0) - origin_s
    return Bar(
        task.kind, task.name, op.stream, start, end, op.size, task.where or None, task.device,
        op.turn,
    )  # fmt: skip


class _Replay:
    """One pass over a log. An operation whose end is not known yet counts as over."""

    def __init__(self, log: Sequence[Entry], host_s: float) -> None:
        self.log, self.now = log, host_s
        self.free: dict[Engine, float] = defaultdict(lambda: host_s)
        self.queues: dict[int, deque[Operation]] = defaultdict(deque)  # by chain, what has not begun
        self.issued_s: dict[Operation, float] = {}
        self.waiting: set[Operation] = set()  # issued, not begun
        for op in (op for entry in log for op in entry.issued):
            op.start_s = op.end_s = None

    def run(self) -> float:
        for entry in self.log:
            self.now += entry.cost_s
            for op in entry.issued:
                self.issued_s[op] = self.now
                self.waiting.add(op)
                self.queues[op.chain].append(op)
            if entry.awaited:
                self._until(entry.awaited)
        through = self.now
        self._until([op for queue in self.queues.values() for op in queue])
        return through

    def _until(self, awaited: Sequence[Operation]) -> None:
        """Let the engines work until these have ended; the host has waited for them."""
        left = self.waiting.intersection(awaited)
        while left:
            op, start = self._next()
            self._begin(op, start)
            left.discard(op)
        self.now = max([self.now, *(op.end_s for op in awaited if op.end_s is not None)])

    def _next(self) -> tuple[Operation, float]:
        """The operation that begins next: of those at the heads of their chains, the one that can first."""
        able = [q[0] for q in self.queues.values() if q and not any(b in self.waiting for b in q[0].before)]
        found = min(able, key=self._start)
        return found, self._start(found)[0]

    def _start(self, op: Operation) -> tuple[float, float, int]:
        """When it can begin, when it was ready, and its number, where both are the same of two."""
        ready = max([self.issued_s[op], *(b.end_s for b in op.before if b.end_s is not None)])
        place = engine(op)
        return max(ready, self.free[place]) if place else ready, ready, op.number

    def _begin(self, op: Operation, start: float) -> None:
        self.queues[op.chain].popleft()
        self.waiting.discard(op)
        op.start_s, op.end_s = start, start + (op.duration_s or 0.0)
        place = engine(op)
        if place is not None:
            self.free[place] = op.end_s
