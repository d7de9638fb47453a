"""A kernel's basic blocks as LLVM functions: regions of some dozens each, because LLVM's time grows with the square.

    warp(warp, worker) ──▶ region 0 … region n-1 ──▶ 0: no lane can run │ 1: the warp gives way │ 2+i: block i is next

Within its region a block jumps to another directly when no other lanes wait; into another region it goes by the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import I32, PTR

if TYPE_CHECKING:
    from grader.simt.engine.blocks import Block
    from grader.simt.engine.schedule import Schedule

SIZE = 96
"""Basic blocks of one region; most kernels have fewer in all."""
LEAVE, GIVE_UP, BLOCK = 0, 1, 2


class Region:
    """One function under construction: what its basic blocks are built with."""

    def __init__(self, module: ir.Module, schedule: Schedule, blocks: Sequence[Block]) -> None:
        self.schedule = schedule
        self.blocks = blocks
        self.first = blocks[0].index
        self.f = f = Builder(module, f"region{self.first}", I32, [PTR, PTR, I32], public=True)
        self.warp, self.worker, self._start = f.args
        self.code = {b.index: f.block(f"b{b.index}_") for b in blocks}
        self.masks = {index: f.phi(I32, block) for index, block in self.code.items()}
        self.dispatch, self.give_up = f.block("dispatch"), f.block("yield")

    def build(self, emit: Callable[[Region, Block], None]) -> ir.Function:
        """Build all blocks with ``emit``."""
        self._dispatch()
        for block in self.blocks:
            emit(self, block)
        self.f.enter(self.give_up)
        self.f.ret(self.f.const(I32, GIVE_UP))
        return self.f.finish()

    def _dispatch(self) -> None:
        """Run the block that comes next, or return what must happen elsewhere."""
        f = self.f
        take, some, elsewhere = f.block("take"), f.block("some"), f.block("elsewhere")
        entered = f.here
        f.goto(take)
        f.enter(self.dispatch)
        following = f.call(self.schedule.next_block(), self.warp)
        f.goto(take)
        f.enter(take)
        index = f.phi(I32)
        index.add_incoming(self._start, entered)
        index.add_incoming(following, self.dispatch)
        f.branch((index - self.first).ult(len(self.blocks)), some, elsewhere)
        f.enter(some)
        mask = self.schedule.take(f, self.warp, index)
        f.switch(index, elsewhere, list(self.code.items()))
        for phi in self.masks.values():
            phi.add_incoming(mask, some)
        f.enter(elsewhere)
        f.ret(index.eq(-1).select(f.const(I32, LEAVE), index + BLOCK))


def warp_function(
    module: ir.Module, schedule: Schedule, blocks: Sequence[Block], emit: Callable[[Region, Block], None]
) -> ir.Function:
    """warp(warp, worker): run the warp until it waits, ends (0) or gives way to others (1)."""
    regions = [Region(module, schedule, blocks[i : i + SIZE]).build(emit) for i in range(0, len(blocks), SIZE)]
    f = Builder(module, "warp", I32, [PTR, PTR], public=True)
    warp, worker = f.args
    code = f.var(f.call(schedule.next_block(), warp) + BLOCK)
    done = f.block("done")
    with f.if_(code.get().eq(BLOCK - 1)):  # no lane can run
        f.ret(f.const(I32, LEAVE))
        f.enter(f.block("unreached"))
    with f.while_(lambda: code.get().uge(BLOCK)):
        index = code.get() - BLOCK
        nowhere, after = f.block("nowhere"), f.block("after")
        targets = [f.block(f"in{i}_") for i in range(len(regions))]
        f.switch(index.udiv(SIZE), nowhere, list(enumerate(targets)))
        f.enter(nowhere)
        f.ret(f.const(I32, LEAVE))
        for target, region in zip(targets, regions, strict=True):
            f.enter(target)
            code.set(f.call(region, warp, worker, index))
            f.goto(after)
        f.enter(after)
    f.goto(done)
    f.enter(done)
    f.ret(code.get())
    return f.finish()
