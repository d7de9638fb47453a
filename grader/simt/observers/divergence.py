"""Divergence: the active lanes of each instruction. Lanes that a predicate disables are counted separately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import BLOCK_COUNTERS, WORKER
from grader.simt.engine.values import I32, I64, PTR, VOID
from grader.simt.observers.base import Observer

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter


@generated("count_lanes", VOID, PTR, I64, I32)
def _count_lanes(_: ir.IRModule, f: Builder) -> None:
    """count_lanes(worker, place, lanes): add 1 to the counter at ``place``, and the number of lanes to the next one."""
    worker, place, lanes = f.args
    counters = f.at(WORKER.load(f, worker, "counters"), place)
    f.add_to(counters, 0, 1)
    f.add_to(counters, 8, f.popcount(lanes).zext(I64))


def _place(index: int, counter: str) -> int:
    """The place of a counter of basic block ``index``, in bytes."""
    return 8 * (index * len(BLOCK_COUNTERS) + BLOCK_COUNTERS.index(counter))


class Divergence(Observer):
    """Counts executions, active lanes and divergent branches of each basic block."""

    def block(self, e: BlockEmitter, index: int) -> None:
        f = e.f
        f.call(_count_lanes(f.module), e.worker, f.const(I64, _place(index, "executions")), e.block_mask)

    def predicated(self, e: BlockEmitter, index: int) -> None:
        f, off = e.f, e.block_mask & ~e.mask
        f.call(_count_lanes(f.module), e.worker, f.const(I64, _place(index, "predicated")), off)

    def diverged(self, e: BlockEmitter, index: int) -> None:
        e.f.add_to(WORKER.load(e.f, e.worker, "counters"), _place(index, "divergent"), 1)
