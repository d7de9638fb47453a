"""One operation of a stream: what it does, what comes before it, when it is executed, and how it is counted.

**Happens-before.** Operations form chains: a stream is one, and so is each stream of a graph. An operation's ``clock``
says how far along every chain is what must have ended before it begins: it comes after another one exactly if its
clock reaches that one's place in its chain. What the host has waited for is part of every later operation's clock.

**Order of execution.** As late as is legal, and of several the latest issued first (`latest_first`). A GPU may begin an
operation as soon as everything before it has ended, and may leave it for as long as nobody waits for its end. Most
often it begins at once, so that a missing wait goes well for months. Here nothing happens until somebody waits for it;
then only what that one depends on happens; and where two operations might go either way, the one that was issued last
goes first. Whoever relies on more than streams and events promise gets wrong data every time.

**Conflicts.** Two operations that nothing orders and that touch the same bytes, one of them writing. A run of a
thousand operations has half a million pairs; happens-before leaves few of them to be looked at. `mistaken_wait` finds
the wait that was meant to order a pair, and is for something else.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.standin.device.persisting import Policy
from grader.standin.device.spans import Footprint, clash

Clock = dict[int, int]
Dim3 = tuple[int, int, int]
HOST = -1
"""The number of the host, where that of a device is asked for (cudaCpuDeviceId)."""


@dataclass(frozen=True, eq=False)
class Copy:
    """``source`` is an address, or bytes of pageable memory. ``bytes`` in ``target`` have no address (a fetch)."""

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
    policy: Policy | None = None  # the stream's access-policy window, and what is set aside


Work = Copy | Memset | Prefetch | KernelLaunch


@dataclass(frozen=True, eq=False)
class StreamTask:
    """Work with its words: what a stream is handed, and what a graph keeps. ``kind`` as in `verdict.Operation`."""

    kind: str
    work: Work
    device: int
    line: int  # line of the host file
    name: str = ""  # the kernel's, or the array's


@dataclass(frozen=True)
class AwaitedEvent:
    """The event that a stream waits for: its place in a chain, and lines of the host file. It holds no operation."""

    line: int  # of the wait
    recorded: int
    number: int
    chain: int
    index: int
    stream: int  # as the host file counts them
    device: int


@dataclass(eq=False)
class StreamOperation:
    """A task in its place. ``task`` is None for a mark in a stream: an event, a wait, a graph's begin or end."""

    number: int  # in the order of issue
    task: StreamTask | None
    chain: int
    index: int  # in its chain, from 1
    clock: Clock
    before: tuple[StreamOperation, ...]
    stream: int  # as the host file counts them
    in_graph: bool = False
    waits: AwaitedEvent | None = None  # of a mark that waits for an event
    beside: int = 0  # the stream that was being captured while this was put into another one
    done: bool = False
    footprint: Footprint | None = None
    duration_s: float | None = None  # by the modelled clock, once it is known
    start_s: float | None = None
    end_s: float | None = None
    size: int = 0  # bytes of a copy, a fill or a prefetch
    occurrence: int = 0  # which operation of its line in its run it is, from 1

    @property
    def job(self) -> StreamTask:
        """The task of an operation that is no mark."""
        assert self.task is not None
        return self.task


def joined(clocks: Iterable[Mapping[int, int]]) -> Clock:
    """What is reached on every chain by any of them."""
    out: Clock = {}
    for clock in clocks:
        for chain, index in clock.items():
            if out.get(chain, 0) < index:
                out[chain] = index
    return out


class Chains:
    """Places operations on chains, in the order of issue, and knows what the host has waited for."""

    def __init__(self) -> None:
        self.host: Clock = {}
        self._last: list[int] = []
        self.issued = 0

    def chain(self) -> int:
        """A new one."""
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
        """A new operation at the chain's end, behind ``before`` (which holds the chain's last one)."""
        held = tuple(before)
        self.issued += 1
        self._last[chain] += 1
        clock = joined((self.host, *(op.clock for op in held)))
        clock[chain] = self._last[chain]
        return StreamOperation(self.issued, task, chain, self._last[chain], clock, held, stream, in_graph)

    def waited(self, op: StreamOperation) -> None:
        """The host knows that ``op`` has ended, and all before it."""
        self.host = joined((self.host, op.clock))

    def is_known(self, op: StreamOperation) -> bool:
        """Whether the host knows that ``op`` has ended."""
        return self.host.get(op.chain, 0) >= op.index


def missing(wanted: Iterable[StreamOperation]) -> list[StreamOperation]:
    """The operations among ``wanted`` and those before them that are not done."""
    stack = [op for op in wanted if not op.done]
    found = {id(op): op for op in stack}
    while stack:
        for op in stack.pop().before:
            if not op.done and id(op) not in found:
                found[id(op)] = op
                stack.append(op)
    return list(found.values())


def latest_first(wanted: Iterable[StreamOperation]) -> Iterator[StreamOperation]:
    """What must be executed so that ``wanted`` are done, in order; each counts as done once the next is asked for."""
    waiting = {op: sum(not b.done for b in set(op.before)) for op in missing(wanted)}
    behind: dict[StreamOperation, list[StreamOperation]] = {op: [] for op in waiting}
    for op in waiting:
        for earlier in set(op.before):
            if earlier in behind:
                behind[earlier].append(op)
    ready = [(-op.number, op) for op, count in waiting.items() if not count]
    heapq.heapify(ready)
    while ready:
        op = heapq.heappop(ready)[1]
        yield op
        op.done = True
        for later in behind[op]:
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
        """Its number; None where the line queued only one so far, or where it was in an earlier run."""
        several = self._counts[op.job.line] > 1 and op.number >= self._first and op.job.line
        return op.occurrence if several else None


MOST_FOUND = 500
"""Conflicts of one run: a file without any wait has one for each two operations, and two or three tell it all."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """``first`` was issued first; it ``did`` something (writes, reads) and ``second`` ``does`` something."""

    first: StreamOperation
    did: str
    second: StreamOperation
    does: str
    address: int


def conflicts(operations: Sequence[StreamOperation], since: int) -> Iterator[Conflict]:
    """Those in which the second was issued as number ``since`` or later; by the second, then by the first."""
    chains: dict[int, list[StreamOperation]] = defaultdict(list)
    left = MOST_FOUND
    for op in sorted(operations, key=lambda o: o.number):
        if op.footprint is None:
            continue
        for earlier in _unordered(op, chains) if op.number >= since else ():
            found = clash(earlier.footprint, op.footprint) if earlier.footprint is not None else None
            if found is not None:
                yield Conflict(earlier, found[0], op, found[1], found[2])
                left -= 1
            if not left:
                return
        chains[op.chain].append(op)


def _unordered(op: StreamOperation, chains: dict[int, list[StreamOperation]]) -> list[StreamOperation]:
    """Operations issued before ``op`` that need not have ended when it begins."""
    found = []
    for chain, there in chains.items():
        known = op.clock.get(chain, 0)
        if chain != op.chain and there[-1].index > known:
            found += there[bisect_right(there, known, key=lambda o: o.index) :]
    return sorted(found, key=lambda o: o.number)


def mistaken_wait(conflict: Conflict, history: Sequence[StreamOperation], since: int) -> AwaitedEvent | None:
    """The wait between the two operations that was most likely to put them in order; None where there is none.

    One for the right stream comes before others. One for another stream counts only right before the second operation,
    and where it has no other purpose: its event was recorded in this run, from operation ``since`` on, and what comes
    last before the event has nothing to do with the second operation.
    """
    first, second = conflict.first, conflict.second
    waits = list(_between(first, second))
    older = next((wait for wait, _ in waits if wait.chain == first.chain), None)
    others = (wait for wait, is_right_before in waits if is_right_before and wait.number >= since)
    return older or next((wait for wait in others if not _has_purpose(wait, second, history)), None)


def _between(first: StreamOperation, second: StreamOperation) -> Iterator[tuple[AwaitedEvent, bool]]:
    """Yield what the second one's stream was told to wait for since the first was queued; the latest comes first.

    With each, whether no other operation lies between it and the second one.
    """
    op, is_right_before = _ahead(second), True
    while op is not None and op.number > first.number:
        if op.waits is not None:
            yield op.waits, is_right_before
        is_right_before = is_right_before and op.task is None
        op = _ahead(op)


def _ahead(op: StreamOperation) -> StreamOperation | None:
    return next((before for before in op.before if before.chain == op.chain), None)


def _has_purpose(wait: AwaitedEvent, second: StreamOperation, history: Sequence[StreamOperation]) -> bool:
    there = (op for op in reversed(history) if op.chain == wait.chain and op.index < wait.index)
    last = next(there, None)
    if last is None or last.footprint is None or second.footprint is None:
        return False
    return clash(last.footprint, second.footprint) is not None
