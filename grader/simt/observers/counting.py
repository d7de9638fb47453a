"""Counters in the worker's array: adding to one from generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine.layout import WORKER
from grader.simt.engine.sites import BLOCK_COUNTERS, SITE_COUNTERS
from grader.simt.engine.values import I64, Value
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


def raise_site(access: Access, name: str, value: Value, address_name: str, address: Value) -> None:
    """Keep the largest value seen at the site, with its address."""
    f = access.f
    place = f.at(access.counters, 8 * SITE_COUNTERS.index(name))
    wide = value.zext(I64)
    with f.if_(f.load(I64, place).ult(wide)):
        f.store(wide, place)
        f.store(address, access.counters, 8 * SITE_COUNTERS.index(address_name))
