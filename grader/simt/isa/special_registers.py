"""Special registers: PTX manual, chapter "Special Registers". A table of the code that reads each register."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.simt.engine.layout import WARP, WORKER
from grader.simt.engine.values import I32, I64, Value, vec
from grader.simt.occupancy import SM_COUNT

if TYPE_CHECKING:
    from grader.simt.engine.operands import OperandEmitter

AXES = ("x", "y", "z")
WORKSPACE = ("%envreg1", "%envreg2")
"""The upper and the lower half of the address of a cooperative launch's workspace; 0 in other launches."""


def _axis(field: str, axis: int) -> Callable[[OperandEmitter], Value]:
    return lambda e: e.f.splat(WORKER.load(e.f, e.worker, field, e.f.const(I32, axis)))


def _tid(axis: int) -> Callable[[OperandEmitter], Value]:
    def read(e: OperandEmitter) -> Value:
        index = WARP.load(e.f, e.warp, "index").zext(I64)
        table = WORKER.load(e.f, e.worker, "tids")
        return e.f.load(vec(I32), e.f.at(table, index * 384 + 128 * axis), align=64)

    return read


def _lane_bits(pick: Callable[[Value], Value]) -> Callable[[OperandEmitter], Value]:
    return lambda e: pick(e.f.const(vec(I32), 1) << e.f.iota(I32))


def _of_worker(name: str) -> Callable[[OperandEmitter], Value]:
    return lambda e: e.f.splat(WORKER.load(e.f, e.worker, name))


def _clock(e: OperandEmitter) -> Value:
    """The number of the block's instructions so far, because the simulator has no clock."""
    f = e.f
    return f.splat(WORKER.load(f, e.worker, "block_started_with") - WORKER.load(f, e.worker, "block_budget"))


def _half(read: Callable[[OperandEmitter], Value], *, upper: bool) -> Callable[[OperandEmitter], Value]:
    return lambda e: (read(e) >> 32 if upper else read(e)).trunc(I32)


def _constant(value: int) -> Callable[[OperandEmitter], Value]:
    return lambda e: e.f.const(vec(I32), value)


READERS: dict[str, Callable[[OperandEmitter], Value]] = {
    **{f"%tid.{a}": _tid(i) for i, a in enumerate(AXES)},
    **{f"%ntid.{a}": _axis("block", i) for i, a in enumerate(AXES)},
    **{f"%ctaid.{a}": _axis("ctaid", i) for i, a in enumerate(AXES)},
    **{f"%nctaid.{a}": _axis("grid", i) for i, a in enumerate(AXES)},
    "%laneid": lambda e: e.f.iota(I32),
    "%warpid": lambda e: e.f.splat(WARP.load(e.f, e.warp, "index")),
    "%nwarpid": _of_worker("warp_count"),
    "%smid": _constant(0),
    "%nsmid": _constant(SM_COUNT),
    "%gridid": _constant(1),
    "%lanemask_eq": _lane_bits(lambda bit: bit),
    "%lanemask_lt": _lane_bits(lambda bit: bit - 1),
    "%lanemask_le": _lane_bits(lambda bit: bit | (bit - 1)),
    "%lanemask_gt": _lane_bits(lambda bit: ~(bit | (bit - 1))),
    "%lanemask_ge": _lane_bits(lambda bit: ~(bit - 1)),
    "%clock": _half(_clock, upper=False),
    "%clock_hi": _half(_clock, upper=True),
    "%clock64": _clock,
    "%globaltimer": _clock,
    "%globaltimer_lo": _half(_clock, upper=False),
    "%globaltimer_hi": _half(_clock, upper=True),
    "%dynamic_smem_size": _of_worker("dynamic_shared"),
    "%total_smem_size": lambda e: e.f.splat(WORKER.load(e.f, e.worker, "shared_bytes").trunc(I32)),
    "%envreg1": _half(_of_worker("workspace"), upper=True),
    "%envreg2": _half(_of_worker("workspace"), upper=False),
}


def read(e: OperandEmitter, name: str) -> Value:
    """A special register's 32 lanes. Raises UnsupportedPtx for an unknown name."""
    reader = READERS.get(name)
    if reader is None:
        raise e.unsupported(f"the register {name}")
    return reader(e)
