"""Overlap: the instructions that a warp executes while a tile is being fetched to shared memory.

A fetch begins at a global load and ends at the first shared store of its value; or it begins at the first `cp.async` of
a group and ends at the wait for this group (copies that arrive at an mbarrier: at its next successful test). The
instructions strictly between are counted, each once for any number of fetches in flight; and, for comparison, all
instructions of the warp up to the end of its last fetch. The instructions of each group of asynchronous copies are also
added up, group by group: over the instructions that could overlap, they are the mean number of groups in flight.

Which stores get their values from which loads is known at compile time (`grader.simt.engine.sites`). At run time a warp
has a clock of its instructions, and the clock at the start of each fetch; kernels without fetches pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import COPY_BARRIERS, COPY_GROUPS, SITE_COUNTERS, WARP, WORKER
from grader.simt.engine.values import I32, I64, PTR, VOID, Value
from grader.simt.observers.base import Observer
from grader.simt.ptx import Address, Immediate, Register

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter
    from grader.simt.engine.blocks import Op


class Overlap(Observer):
    """Records the start of each fetch, and counts at the instruction that ends it."""

    def block(self, e: BlockEmitter, index: int) -> None:
        if e.g.fetches:
            place = WARP.at(e.f, e.warp, "executed")
            e.f.store(e.f.load(I32, place) + len(e.block.ops), place)

    def executed(self, e: BlockEmitter, op: Op, position: int) -> None:
        found = e.g.fetches
        slots = found.stores.get(op.index)
        kind = found.copies.get(op.index, "")
        if op.index in found.loads:
            with _if_any(e):
                WARP.store(e.f, e.warp, "fetches", _now(e, position), e.f.const(I32, found.loads[op.index]))
        elif slots is not None:
            with _if_any(e):
                _store(e, slots, position)
        elif kind:
            with _if_any(e):
                _ASYNC[kind](e, op, position)


def _if_any(e: BlockEmitter) -> AbstractContextManager[None]:
    """A context whose code runs only if the instruction's predicate leaves active lanes."""
    return nullcontext() if e.guard is None else e.f.if_(e.mask.ne(0))


def _now(e: BlockEmitter, position: int) -> Value:
    """The number of the warp's instructions up to and including this one, which has index ``position`` in its block."""
    return WARP.load(e.f, e.warp, "executed") - (len(e.block.ops) - position - 1)


def _store(e: BlockEmitter, slots: frozenset[int], position: int) -> None:
    """A store of loaded values: the last of its loads counts, because others may be of an earlier iteration."""
    f = e.f
    latest = f.const(I32, 0)
    for slot in sorted(slots):
        began = WARP.load(f, e.warp, "fetches", f.const(I32, slot))
        latest = latest.ugt(began).select(latest, began)
        WARP.store(f, e.warp, "fetches", 0, f.const(I32, slot))
    _end(e, latest, position)


def _end(e: BlockEmitter, began: Value, position: int, *, groups: int = 0) -> None:
    """End a fetch of so many groups at this instruction; ``began`` is the clock at its begin, 0 if there was none."""
    f = e.f
    site = f.const(I64, 8 * e.site() * len(SITE_COUNTERS))
    f.call(_fetch_end(f.module), e.worker, e.warp, began, _now(e, position), site, f.const(I32, groups))


@generated("fetch_end", VOID, PTR, PTR, I32, I32, I64, I32)
def _fetch_end(module: ir.IRModule, f: Builder) -> None:
    """fetch_end(worker, warp, began, now, site's counters, groups): count the instructions since ``began``.

    Those of earlier fetches, too, are not counted again, except for the groups, each of which counts for itself.
    """
    worker, warp, began, now, site, groups = f.args
    with f.if_(began.ne(0)):
        counted = WARP.load(f, warp, "counted")
        since = began.ugt(counted).select(began, counted)
        counters = f.at(WORKER.load(f, worker, "site_counters"), site)
        f.add_to(counters, 8 * SITE_COUNTERS.index("overlapped"), (now - since - 1).zext(I64))
        f.add_to(counters, 8 * SITE_COUNTERS.index("fetching"), (now - WARP.load(f, warp, "spanned")).zext(I64))
        f.add_to(counters, 8 * SITE_COUNTERS.index("grouped"), ((now - began - 1) * groups).zext(I64))
        WARP.store(f, warp, "counted", now - 1)
        WARP.store(f, warp, "spanned", now)


# ------------------------------------------------------------------------------------------------- asynchronous copies
# A ring has the clock at the start of each group; `copy_open` is the start of the group that is not committed yet.


def _issue(e: BlockEmitter, op: Op, position: int) -> None:
    f = e.f
    began = WARP.load(f, e.warp, "copy_open")
    WARP.store(f, e.warp, "copy_open", began.eq(0).select(_now(e, position), began))


def _commit(e: BlockEmitter, op: Op, position: int) -> None:
    f = e.f
    count = WARP.load(f, e.warp, "copy_commits")
    WARP.store(f, e.warp, "copy_groups", WARP.load(f, e.warp, "copy_open"), count & (COPY_GROUPS - 1))
    WARP.store(f, e.warp, "copy_commits", count + 1)
    WARP.store(f, e.warp, "copy_open", 0)


def _wait(e: BlockEmitter, op: Op, position: int) -> None:
    """`cp.async.wait_group n`: all groups but the newest n have ended."""
    allowed = op.instruction.operands[0]
    _end_groups(e, allowed.value if isinstance(allowed, Immediate) else 0, position)


def _wait_all(e: BlockEmitter, op: Op, position: int) -> None:
    _commit(e, op, position)
    _end_groups(e, 0, position)


def _end_groups(e: BlockEmitter, allowed: int, position: int) -> None:
    f = e.f
    done = f.var(WARP.load(f, e.warp, "copy_waits"))
    commits = WARP.load(f, e.warp, "copy_commits")
    with f.while_(lambda: (done.get() + min(allowed, 1 << 30)).slt(commits)):
        _end(e, WARP.load(f, e.warp, "copy_groups", done.get() & (COPY_GROUPS - 1)), position, groups=1)
        done.set(done.get() + 1)
    WARP.store(f, e.warp, "copy_waits", done.get())


def _arrive(e: BlockEmitter, op: Op, position: int) -> None:
    """`cp.async.mbarrier.arrive`: the copies so far belong to the mbarrier's phase, in addition to earlier ones."""
    f, slot = e.f, _slot(e, op)
    began = WARP.load(f, e.warp, "copy_barriers", slot)
    opened = WARP.load(f, e.warp, "copy_open")
    WARP.store(f, e.warp, "copy_barriers", began.eq(0).select(opened, began), slot)
    WARP.store(f, e.warp, "copy_open", 0)


def _test(e: BlockEmitter, op: Op, position: int) -> None:
    """A test of an mbarrier: if it succeeds for a lane, its phase's copies have ended."""
    f = e.f
    result = op.instruction.operands[0]
    if not isinstance(result, Register):
        return
    with f.if_((e.read(result, "pred").as_mask() & e.mask).ne(0)):
        slot = _slot(e, op)
        _end(e, WARP.load(f, e.warp, "copy_barriers", slot), position, groups=1)
        WARP.store(f, e.warp, "copy_barriers", 0, slot)


def _slot(e: BlockEmitter, op: Op) -> Value:
    """The slot for the start of an mbarrier's copies; neighbouring mbarriers have different slots."""
    address = next(operand for operand in op.instruction.operands if isinstance(operand, Address))
    first = e.address_of(address).lane(e.f.first_lane(e.mask))
    return (first.trunc(I32) >> 3) & (COPY_BARRIERS - 1)


_ASYNC: Mapping[str, Callable[[BlockEmitter, Op, int], None]] = {
    "issue": _issue, "commit": _commit, "arrive": _arrive, "wait": _wait, "wait_all": _wait_all, "test": _test,
}  # fmt: skip
