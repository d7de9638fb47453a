"""What an observer is: code that it compiles into the event sites, and (elsewhere) a pure judge of what it counted.

The engine offers these events; an observer overrides the ones it needs, and one that is off costs nothing:

    block(e, i)         a warp enters basic block i            before(access)   a request, before its data moves
    predicated(e, i)    lanes are switched off by a predicate  after(access)    the same, afterwards
    diverged(e, i)      a branch goes both ways                barrier(e, i)    lanes arrive at a barrier
    warp_sync(e, mask)  named lanes have synchronised      executed(e, op, p)  instruction p of its block has run
    fenced(e)           a fence of the device              acquired(e)         a load acquires
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import Value

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter
    from grader.simt.engine.blocks import Op
    from grader.simt.engine.operands import OperandEmitter


@dataclass(frozen=True)
class Access:
    """One warp request to one allocation, as the code that is being built sees it."""

    f: Builder
    warp: Value
    worker: Value
    site: Value  # i32
    line: Value  # i32: index of the source line in the line table
    space: str  # global | shared | local
    kind: str  # load | store | atomic | copy (asynchronous: of its source in global, its target in shared memory)
    bits: int  # of one element
    count: int  # elements of each lane
    strong: bool  # volatile, relaxed or atomic: ordered against its like
    mask: Value  # i32: the lanes of this request that lie in the allocation
    address: Value  # <32 x i64> in the space
    offset: Value  # <32 x i64> in the allocation
    allocation: Value  # ptr
    base: Value | None  # i64 offset of lane 0 when the lanes follow each other, else None
    counters: Value  # ptr to the site's counters
    out: Value  # ptr to the loaded values (after), or those to be stored
    report: ir.Function
    host: Value  # i64: host address of the allocation
    granule: int  # bytes that one shadow cell stands for
    copies: bool = False  # whether asynchronous copies may be in flight
    partial: bool = False  # an asynchronous copy's source, of which a lane may read less than its width: the slot says
    bypass: bool = False  # an asynchronous copy that goes past L1
    used: int = -1  # a bit for each element whose value matters

    @property
    def width(self) -> int:
        """Bytes of each lane."""
        return self.bits * self.count // 8


@dataclass(frozen=True)
class Completion:
    """An asynchronous copy that has just moved the bytes of some lanes, as the code that is being built sees it."""

    f: Builder
    warp: Value
    worker: Value
    slot: Value  # ptr to the copy (`grader.simt.engine.layout.COPY`)
    size: Value  # i32: bytes of each lane
    lanes: Value  # i32: the lanes whose bytes have moved
    clock: Value  # i32: when, by the warp's clock
    granule: Mapping[str, int]  # bytes of a shadow cell, by space


class Observer:
    """Base of the observers: does nothing at any event."""

    def block(self, e: BlockEmitter, index: int) -> None:
        """A warp enters a basic block with ``e.block_mask``."""

    def predicated(self, e: BlockEmitter, index: int) -> None:
        """An instruction runs with ``e.mask``, fewer lanes than the block's."""

    def diverged(self, e: BlockEmitter, index: int) -> None:
        """A branch sends lanes both ways."""

    def barrier(self, e: BlockEmitter, index: int) -> None:
        """Lanes have arrived at a barrier."""

    def warp_sync(self, e: BlockEmitter, members: Value) -> None:
        """The lanes of ``members`` have synchronised."""

    def executed(self, e: BlockEmitter, op: Op, position: int) -> None:
        """An instruction that does not end its block has run with ``e.mask``; ``position`` is its place there."""

    def before(self, access: Access) -> None:
        """A request is about to move its data."""

    def after(self, access: Access) -> None:
        """A request has moved its data."""

    def copied(self, copy: Completion) -> None:
        """An asynchronous copy has moved its data."""

    def fenced(self, e: OperandEmitter) -> None:
        """A fence for the whole device."""

    def acquired(self, e: OperandEmitter) -> None:
        """What was just loaded acquires."""


class ObserverSet(Observer):
    """Several observers as one."""

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self.observers = observers

    def block(self, e: BlockEmitter, index: int) -> None:
        for observer in self.observers:
            observer.block(e, index)

    def predicated(self, e: BlockEmitter, index: int) -> None:
        for observer in self.observers:
            observer.predicated(e, index)

    def diverged(self, e: BlockEmitter, index: int) -> None:
        for observer in self.observers:
            observer.diverged(e, index)

    def barrier(self, e: BlockEmitter, index: int) -> None:
        for observer in self.observers:
            observer.barrier(e, index)

    def warp_sync(self, e: BlockEmitter, members: Value) -> None:
        for observer in self.observers:
            observer.warp_sync(e, members)

    def executed(self, e: BlockEmitter, op: Op, position: int) -> None:
        for observer in self.observers:
            observer.executed(e, op, position)

    def before(self, access: Access) -> None:
        for observer in self.observers:
            observer.before(access)

    def after(self, access: Access) -> None:
        for observer in self.observers:
            observer.after(access)

    def copied(self, copy: Completion) -> None:
        for observer in self.observers:
            observer.copied(copy)

    def fenced(self, e: OperandEmitter) -> None:
        for observer in self.observers:
            observer.fenced(e)

    def acquired(self, e: OperandEmitter) -> None:
        for observer in self.observers:
            observer.acquired(e)
