"""Counters in the worker's array: adding to one from generated code; and the worst request of each site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.layout import WARP, WORKER, WORST
from grader.simt.engine.sites import BLOCK_COUNTERS, SITE_COUNTERS
from grader.simt.engine.values import I32, I64, PTR, VOID, Value, vec
from grader.simt.observers.base import Access

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter


def add_block(e: BlockEmitter, index: int, name: str, amount: Value | int) -> None:
    """Add to a counter of basic block ``index``."""
    f = e.f
    place = 8 * (index * len(BLOCK_COUNTERS) + BLOCK_COUNTERS.index(name))
    given = amount.zext(I64) if isinstance(amount, Value) else amount
    f.add_to(WORKER.load(f, e.worker, "counters"), place, given)


def add_site(access: Access, name: str, amount: Value | int) -> None:
    """Add to a counter of the access's site."""
    given = amount.zext(I64) if isinstance(amount, Value) else amount
    access.f.add_to(access.counters, 8 * SITE_COUNTERS.index(name), given)


def note_worst(access: Access, taken: Value, least: Value) -> None:
    """Keep the site's request that took the most, the first of equals: the same one on any number of threads."""
    f = access.f
    with f.if_(f.load(I64, access.counters, 8 * SITE_COUNTERS.index("worst")).ult(taken.zext(I64)), likely=False):
        shared = f.const(I32, access.space == "shared")
        f.call(
            _keep_worst(f.module), access.worker, access.warp, access.counters, access.site, access.address,
            access.mask, taken, least, shared,
        )  # fmt: skip


def _keep_worst(module: ir.Module) -> ir.Function:
    """keep_worst(worker, warp, counters, site, addresses, lanes, taken, least, shared): write the site's record."""
    existing = module.globals.get("keep_worst")
    if existing is not None:
        return existing
    f = Builder(module, "keep_worst", VOID, [PTR, PTR, PTR, I32, vec(I64), I32, I32, I32, I32])
    worker, warp, counters, site, addresses, lanes, taken, least, shared = f.args
    f.store(taken.zext(I64), counters, 8 * SITE_COUNTERS.index("worst"))
    record = f.at(WORKER.load(f, worker, "worst"), site.zext(I64) * WORST.size)
    f.store(addresses, WORST.at(f, record, "address"), align=64)
    block = WORKER.load(f, worker, "serial") - WORKER.load(f, worker, "serial_base")
    given = (("block", block), ("taken", taken), ("least", least), ("lanes", lanes),
             ("warp", WARP.load(f, warp, "index")), ("shared", shared))  # fmt: skip
    for name, value in given:
        WORST.store(f, record, name, value)
    f.ret()
    f.fn.attributes.add("noinline")
    f.fn.attributes.add("cold")
    return f.finish()
