"""Divergence: how many lanes execute each instruction. Lanes that a predicate switches off are counted apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.observers.base import Observer
from grader.simt.observers.counting import add_block

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter


class Divergence(Observer):
    def block(self, e: BlockEmitter, index: int) -> None:
        add_block(e, index, "executions", 1)
        add_block(e, index, "active_lanes", e.f.popcount(e.block_mask))

    def predicated(self, e: BlockEmitter, index: int) -> None:
        add_block(e, index, "predicated", 1)
        add_block(e, index, "predicated_off", e.f.popcount(e.block_mask & ~e.mask))

    def diverged(self, e: BlockEmitter, index: int) -> None:
        add_block(e, index, "divergent", 1)
