"""The base of observers, which compile code into a kernel's event sites.

The methods of `Observer` are the events of the engine; an observer overrides those that it needs. An observer that is
off costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import SITE_COUNTERS, WARP, WORKER, WORST
from grader.simt.engine.values import I32, I64, PTR, VOID, Value, vec

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter
    from grader.simt.engine.blocks import Op
    from grader.simt.engine.operands import OperandEmitter


@dataclass(frozen=True)
class ObservedAccess:
    """One warp request to one allocation, in terms of the code that is being generated."""

    f: Builder
    warp: Value
    worker: Value
    site: Value  # i32
    line: Value  # i32: index of the source line in the line table
    space: str  # global | shared | local
    kind: str  # load | store | atomic | copy (asynchronous: of its source in global, its target in shared memory)
    bits: int  # of one element
    count: int  # elements of each lane
    strong: bool  # volatile, relaxed or atomic: two strong accesses are not a race
    mask: Value  # i32: the lanes of this request whose address is in the allocation
    address: Value  # <32 x i64> in the space
    offset: Value  # <32 x i64> in the allocation
    allocation: Value  # ptr
    base: Value | None  # i64 offset of lane 0 if the lanes' addresses are consecutive, else None
    counters: Value  # ptr to the site's counters
    out: Value  # ptr to the loaded values (after), or to the values to store
    report: ir.IRFunction
    host: Value  # i64: host address of the allocation
    granule: int  # bytes per shadow cell
    copies: bool = False  # whether asynchronous copies may be in flight
    partial: bool = False  # an asynchronous copy's source, of which the slot says how many bytes each lane reads
    bypass: bool = False  # an asynchronous copy that bypasses L1
    constant: bool = False  # a load from constant memory; its space is global
    used: int = -1  # a bit for each element whose value is used
    of_block: bool = False  # a strong access whose scope is the block

    @property
    def width(self) -> int:
        """Bytes per lane."""
        return self.bits * self.count // 8

    def add(self, counter: str, amount: Value | int) -> None:
        """Add to a counter of the site."""
        given = amount.zext(I64) if isinstance(amount, Value) else amount
        self.f.add_to(self.counters, 8 * SITE_COUNTERS.index(counter), given)

    def count_request(self) -> Value:
        """Count the request, its lanes and its bytes; returns the bytes."""
        lanes = self.f.popcount(self.mask)
        self.add("requests", 1)
        self.add("lanes", lanes)
        asked = lanes * self.width
        self.add("bytes", asked)
        return asked

    def note_worst(self, taken: Value, least: Value) -> None:
        """Record the request as the site's worst if it took more than all before, as on any number of threads."""
        f = self.f
        worst = f.load(I64, self.counters, 8 * SITE_COUNTERS.index("worst"))
        with f.if_(worst.ult(taken.zext(I64)), likely=False):
            shared = f.const(I32, self.space == "shared")
            f.call(_keep_worst(f.module), self.worker, self.warp, self.counters, self.site, self.address, self.mask,
                   taken, least, shared)  # fmt: skip


@generated("keep_worst", VOID, PTR, PTR, PTR, I32, vec(I64), I32, I32, I32, I32, attributes="noinline cold")
def _keep_worst(module: ir.IRModule, f: Builder) -> None:
    """keep_worst(worker, warp, counters, site, addresses, lanes, taken, least, shared): write the site's record."""
    worker, warp, counters, site, addresses, lanes, taken, least, shared = f.args
    f.store(taken.zext(I64), counters, 8 * SITE_COUNTERS.index("worst"))
    record = f.at(WORKER.load(f, worker, "worst"), site.zext(I64) * WORST.size)
    f.store(addresses, WORST.at(f, record, "address"), align=64)
    block = WORKER.load(f, worker, "serial") - WORKER.load(f, worker, "serial_base")
    given = (("block", block), ("taken", taken), ("least", least), ("lanes", lanes),
             ("warp", WARP.load(f, warp, "index")), ("shared", shared))  # fmt: skip
    for name, value in given:
        WORST.store(f, record, name, value)


@dataclass(frozen=True)
class Completion:
    """An asynchronous copy that has just moved the bytes of some lanes, in terms of the generated code."""

    f: Builder
    warp: Value
    worker: Value
    slot: Value  # ptr to the copy (`grader.simt.engine.layout.COPY`)
    size: Value  # i32: bytes per lane
    lanes: Value  # i32: the lanes whose bytes have moved
    clock: Value  # i32: the time, by the warp's clock
    granule: Mapping[str, int]  # bytes per shadow cell, by space


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
        """An instruction that does not end its block has run with ``e.mask``; ``position`` is its index in it."""

    def before(self, access: ObservedAccess) -> None:
        """A request is about to move its data."""

    def after(self, access: ObservedAccess) -> None:
        """A request has moved its data."""

    def copied(self, copy: Completion) -> None:
        """An asynchronous copy has moved its data."""

    def fenced(self, e: OperandEmitter) -> None:
        """A fence for the whole device."""

    def acquired(self, e: OperandEmitter) -> None:
        """The load before is an acquire."""


P = ParamSpec("P")


def _all(event: Callable[Concatenate[Observer, P], None]) -> Callable[Concatenate[ObserverSet, P], None]:
    def tell(self: ObserverSet, /, *args: P.args, **kwargs: P.kwargs) -> None:
        for observer in self.observers:
            getattr(observer, event.__name__)(*args, **kwargs)

    return tell


class ObserverSet(Observer):
    """Several observers as one."""

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self.observers = observers

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for sets that generate the same code."""
        return tuple((type(one).__name__, *sorted(vars(one).items())) for one in self.observers)

    block = _all(Observer.block)
    predicated = _all(Observer.predicated)
    diverged = _all(Observer.diverged)
    barrier = _all(Observer.barrier)
    warp_sync = _all(Observer.warp_sync)
    executed = _all(Observer.executed)
    before = _all(Observer.before)
    after = _all(Observer.after)
    copied = _all(Observer.copied)
    fenced = _all(Observer.fenced)
    acquired = _all(Observer.acquired)
