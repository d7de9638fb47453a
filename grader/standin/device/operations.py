"""One operation of a stream: its work, its predecessors, when it is executed, and its number on its line.

**Happens-before.** Operations form chains: a stream is a chain, and so is each stream of a graph. An operation's vector
clock (``clock``) has, for every chain, the index of the last operation there that must have ended before this one
begins: an operation comes after another exactly if its clock reaches the other's index in its chain. Operations that
the host has waited for are part of every later operation's clock.

**Order of execution.** As late as is legal, and of several ready operations the latest issued first (`latest_first`). A
GPU may start an operation as soon as its predecessors have ended, and may delay it until something waits for it. Most
often it starts at once, so that a missing wait goes unnoticed for months. Here an operation is executed only when
something waits for it; then only its dependencies are executed with it; and of two unordered operations the one issued
last is executed first. A program that relies on more than streams and events guarantee gets wrong data every time.

**Conflicts.** Two operations that nothing orders and that access the same bytes, at least one of them writing. A run of
a thousand operations has half a million pairs; happens-before leaves few of them to check. `mistaken_wait` finds the
wait that looks meant to order a pair, but orders something else.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from grader.frozen import dataclass
from grader.standin.device.persisting import Policy
from grader.standin.device.spans import Footprint, clash

Clock = dict[int, int]
Dim3 = tuple[int, int, int]
HOST = -1
"""The device number that means the host (cudaCpuDeviceId)."""


@dataclass(frozen=True, eq=False)
class Copy:
    """``source`` is an address, or bytes of pageable memory. ``target`` is an address, or the buffer of a fetch."""

    target: int | bytearray
    source: int | bytes
    size: int
    pageable: bool


@dataclass(frozen=True, eq=False)
class Memset:
    address: int
    value: int
    size: int


@dataclass(frozen=True, eq=False)
class Prefetch:
    address: int
    size: int
    device: int  # or `HOST`


@dataclass(frozen=True, eq=False)
class KernelLaunch:
    name: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    arguments: tuple[bytes, ...]
    cooperative: bool
    policy: Policy | None = None  # the stream's access-policy window, and the L2 bytes set aside


Work = Copy | Memset | Prefetch | KernelLaunch


@dataclass(frozen=True, eq=False)
class StreamTask:
    """Work with its line and name, as a stream takes it and a graph keeps it. ``kind`` as in `verdict.Operation`."""

    kind: str
    work: Work
    device: int
    line: int  # line of the host file
    name: str = ""  # the kernel's, or the array's


@dataclass(frozen=True)
class AwaitedEvent:
    """The event that a stream waits for: its place in a chain, and lines of the host file, without the operation."""

    line: int  # of the wait
    recorded: int  # the line that recorded the event
    number: int
    chain: int
    index: int
    stream: int  # numbered in the host file's order of creation
    device: int


@dataclass(eq=False)
class StreamOperation:
    """A task at its place in a stream. ``task`` is None for a mark: an event, a wait, a graph's start or end."""

    number: int  # in the order of issue
    task: StreamTask | None
    chain: int
    index: int  # in its chain, from 1
    clock: Clock
    before: tuple[StreamOperation, ...]
    stream: int  # numbered in the host file's order of creation
    in_graph: bool = False
    waits: AwaitedEvent | None = None  # of a mark that waits for an event
    beside: int = 0  # the stream that was being captured while this was queued on another one
    done: bool = False
    footprint: Footprint | None = None
    duration_s: float | None = None  # by the modelled clock, once it is known
    start_s: float | None = None
    end_s: float | None = None
    size: int = 0  # bytes of a copy, a fill or a prefetch
    peer: int | None = None  # the other GPU, if it moved bytes between two without the host's memory
    occurrence: int = 0  # its number among the operations of its line and run, from 1

    @property
    def job(self) -> StreamTask:
        """The task of an operation that is not a mark."""
        assert self.task is not None
        return self.task


def joined(clocks: Iterable[Mapping[int, int]]) -> Clock:
    """The maximum of the clocks on every chain."""
    out: Clock = {}
    for clock in clocks:
        for chain, index in clock.items():
            if out.get(chain, 0) < index:
                out[chain] = index
    return out


class Chains:
    """Places operations on chains, in the order of issue, and tracks which ones the host has waited for."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self._last: list[int] = []
        self.issued = 0

    def chain(self) -> int:
        """A new chain."""
        self._last.append(0)
        return len(self._last) - 1

    def place(
        self,
        task: StreamTask | None,
        chain: int,
        before: Iterable[StreamOperation],
        stream: int,
        *,
        in_graph: bool = False,
    ) -> StreamOperation:
        """A new operation at the chain's end, after ``before`` (which includes the chain's last operation)."""
        predecessors = tuple(before)
        self.issued += 1
        self._last[chain] += 1
        clock = joined((self.host, *(op.clock for op in predecessors)))
        clock[chain] = self._last[chain]
        return StreamOperation(self.issued, task, chain, self._last[chain], clock, predecessors, stream, in_graph)

    def waited(self, op: StreamOperation) -> None:
        """The host knows that ``op`` and all its predecessors have ended."""
        self.host = joined((self.host, op.clock))

    def is_known(self, op: StreamOperation) -> bool:
        """Whether the host knows that ``op`` has ended."""
        return self.host.get(op.chain, 0) >= op.index


def missing(wanted: Iterable[StreamOperation]) -> list[StreamOperation]:
    """The pending operations among ``wanted`` and their predecessors."""
    stack = [op for op in wanted if not op.done]
    pending = {id(op): op for op in stack}
    while stack:
        for op in stack.pop().before:
            if not op.done and id(op) not in pending:
                pending[id(op)] = op
                stack.append(op)
    return list(pending.values())


def latest_first(wanted: Iterable[StreamOperation]) -> Iterator[StreamOperation]:
    """Yield, in order, the operations to execute so that ``wanted`` are done; each is marked done after its yield."""
    waiting = {op: sum(not b.done for b in set(op.before)) for op in missing(wanted)}
    successors: dict[StreamOperation, list[StreamOperation]] = {op: [] for op in waiting}
    for op in waiting:
        for earlier in set(op.before):
            if earlier in successors:
                successors[earlier].append(op)
    ready = [(-op.number, op) for op, count in waiting.items() if not count]
    heapq.heapify(ready)
    while ready:
        op = heapq.heappop(ready)[1]
        yield op
        op.done = True
        for later in successors[op]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, (-later.number, later))


class Occurrences:
    """Numbers the operations of each line of the host file within one run, from 1."""

    def __init__(self) -> None:
        self._first = 1  # number of the first operation of this run
        self._counts: Counter[int] = Counter()

    def restart(self, first: int) -> None:
        """A run begins, with operation number ``first``."""
        self._first = first
        self._counts.clear()

    def count(self, op: StreamOperation) -> None:
        """An operation was queued."""
        self._counts[op.job.line] += 1
        op.occurrence = self._counts[op.job.line]

    def of(self, op: StreamOperation) -> int | None:
        """Its number; None if the line has queued only one so far, or it belongs to an earlier run."""
        several = self._counts[op.job.line] > 1 and op.number >= self._first and op.job.line
        return op.occurrence if several else None


MOST_FOUND = 500
"""At most so many conflicts of one run: a file without waits has one for every pair, and a few are enough."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """``first`` was issued first; ``did`` is its access (writes, reads), ``does`` is that of ``second``."""

    first: StreamOperation
    did: str
    second: StreamOperation
    does: str
    address: int


def conflicts(operations: Sequence[StreamOperation], since: int) -> Iterator[Conflict]:
    """Conflicts whose second operation has number ``since`` or a later one; sorted by the second, then by the first."""
    chains: dict[int, list[StreamOperation]] = defaultdict(list)
    left = MOST_FOUND
    for op in sorted(operations, key=lambda o: o.number):
        if op.footprint is None:
            continue
        for earlier in _unordered(op, chains) if op.number >= since else ():
            overlap = clash(earlier.footprint, op.footprint) if earlier.footprint is not None else None
            if overlap is not None:
                did, does, address = overlap
                yield Conflict(earlier, did, op, does, address)
                left -= 1
            if not left:
                return
        chains[op.chain].append(op)


def _unordered(op: StreamOperation, chains: dict[int, list[StreamOperation]]) -> list[StreamOperation]:
    """Operations issued before ``op`` that need not have ended when it begins."""
    unordered = []
    for chain, operations in chains.items():
        ended = op.clock.get(chain, 0)  # up to this index
        if chain != op.chain and operations[-1].index > ended:
            unordered += operations[bisect_right(operations, ended, key=lambda o: o.index) :]
    return sorted(unordered, key=lambda o: o.number)


def mistaken_wait(conflict: Conflict, history: Sequence[StreamOperation], since: int) -> AwaitedEvent | None:
    """The wait between the two operations that was most likely meant to order them; None if there is none.

    A wait for the right stream takes precedence. A wait for another stream counts only right before the second
    operation, and if it has no other purpose: its event was recorded in this run, from operation ``since`` on, and the
    last operation before the event shares no memory with the second operation.
    """
    first, second = conflict.first, conflict.second
    waits = list(_between(first, second))
    older = next((wait for wait, _ in waits if wait.chain == first.chain), None)
    others = (wait for wait, is_adjacent in waits if is_adjacent and wait.number >= since)
    return older or next((wait for wait in others if not _has_purpose(wait, second, history)), None)


def _between(first: StreamOperation, second: StreamOperation) -> Iterator[tuple[AwaitedEvent, bool]]:
    """Yield the waits in the second operation's stream since the first was queued, latest first.

    With each, whether no other operation is between it and the second one.
    """
    op, is_adjacent = _ahead(second), True
    while op is not None and op.number > first.number:
        if op.waits is not None:
            yield op.waits, is_adjacent
        is_adjacent = is_adjacent and op.task is None
        op = _ahead(op)


def _ahead(op: StreamOperation) -> StreamOperation | None:
    return next((before for before in op.before if before.chain == op.chain), None)


def _has_purpose(wait: AwaitedEvent, second: StreamOperation, history: Sequence[StreamOperation]) -> bool:
    earlier = (op for op in reversed(history) if op.chain == wait.chain and op.index < wait.index)
    last = next(earlier, None)
    if last is None or last.footprint is None or second.footprint is None:
        return False
    return clash(last.footprint, second.footprint) is not None
