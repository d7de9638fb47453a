"""One operation of a stream: what it does, what comes before it, and when.

**Happens-before.** Operations form chains: a stream is one, and so is each stream of a graph. An operation's ``clock``
says how far along every chain is what must have ended before it begins: it comes after another one exactly if its
clock reaches that one's place in its chain. What the host has waited for is part of every later operation's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.standin.device.persisting import Policy
from grader.standin.device.spans import Footprint

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
class Fill:
    address: int
    value: int
    size: int


@dataclass(frozen=True, eq=False)
class Prefetch:
    address: int
    size: int
    device: int  # or `HOST`


@dataclass(frozen=True, eq=False)
class Kernel:
    name: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    arguments: tuple[bytes, ...]
    cooperative: bool
    policy: Policy | None = None  # the stream's access-policy window, and what is set aside


Work = Copy | Fill | Prefetch | Kernel


@dataclass(frozen=True, eq=False)
class Task:
    """Work with its words: what a stream is handed, and what a graph keeps. ``kind`` as in `verdict.Operation`."""

    kind: str
    work: Work
    device: int
    where: int  # line of the host file
    name: str = ""  # the kernel's, or the array's


@dataclass(frozen=True)
class Waited:
    """The event that a stream waits for: its place in a chain, and lines of the host file. It holds no operation."""

    where: int  # of the wait
    recorded: int
    number: int
    chain: int
    index: int
    stream: int  # as the host file counts them
    device: int


@dataclass(eq=False)
class Operation:
    """A task in its place. ``task`` is None for a mark in a stream: an event, a wait, a graph's begin or end."""

    number: int  # in the order of issue
    task: Task | None
    chain: int
    index: int  # in its chain, from 1
    clock: Clock
    before: tuple[Operation, ...]
    stream: int  # as the host file counts them
    in_graph: bool = False
    waits: Waited | None = None  # of a mark that waits for an event
    beside: int = 0  # the stream that was being captured while this was put into another one
    done: bool = False
    footprint: Footprint | None = None
    duration_s: float | None = None  # by the modelled clock, once it is known
    start_s: float | None = None
    end_s: float | None = None
    size: int = 0  # bytes of a copy, a fill or a prefetch
    turn: int = 0  # which operation of its line in its run it is, from 1

    @property
    def job(self) -> Task:
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
        self, task: Task | None, chain: int, before: Iterable[Operation], stream: int, *, in_graph: bool = False
    ) -> Operation:
        """A new operation at the chain's end, behind ``before`` (which holds the chain's last one)."""
        held = tuple(before)
        self.issued += 1
        self._last[chain] += 1
        clock = joined((self.host, *(op.clock for op in held)))
        clock[chain] = self._last[chain]
        return Operation(self.issued, task, chain, self._last[chain], clock, held, stream, in_graph)

    def waited(self, op: Operation) -> None:
        """The host knows that ``op`` has ended, and all before it."""
        self.host = joined((self.host, op.clock))

    def is_known(self, op: Operation) -> bool:
        """Whether the host knows that ``op`` has ended."""
        return self.host.get(op.chain, 0) >= op.index
