"""Divergence: the active lanes of each instruction. Lanes that a predicate disables are counted separately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine.layout import BLOCK_COUNTERS, WORKER
from grader.simt.engine.values import I64, Value
from grader.simt.observers.base import Observer

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter


def _add(e: BlockEmitter, index: int, counter: str, amount: Value | int) -> None:
    """Add to a counter of basic block ``index``."""
    place = 8 * (index * len(BLOCK_COUNTERS) + BLOCK_COUNTERS.index(counter))
    given = amount.zext(I64) if isinstance(amount, Value) else amount
    e.f.add_to(WORKER.load(e.f, e.worker, "counters"), place, given)


class Divergence(Observer):
    """Counts executions, active lanes and divergent branches of each basic block."""

    def block(self, e: BlockEmitter, index: int) -> None:
        _add(e, index, "executions", 1)
        _add(e, index, "active_lanes", e.f.popcount(e.block_mask))

    def predicated(self, e: BlockEmitter, index: int) -> None:
        _add(e, index, "predicated", 1)
        _add(e, index, "predicated_off", e.f.popcount(e.block_mask & ~e.mask))

    def diverged(self, e: BlockEmitter, index: int) -> None:
        _add(e, index, "divergent", 1)
