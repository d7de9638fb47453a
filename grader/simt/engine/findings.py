"""Findings in generated code: their kinds, and the function that records one.

A worker records the first few findings of each kind and site, and counts all.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import FINDING, MAX_FINDINGS, WARP, WORKER
from grader.simt.engine.values import I32, I64, PTR, VOID, Value

(
    OUT_OF_BOUNDS, BARRIER_DIVERGENCE, DEADLOCK, BUDGET, MISSING_LANES, MISALIGNED, RACE_WRITE_WRITE, RACE_READ_WRITE,
    RACE_WRITE_READ, SAME_VALUE_WRITE, UNINITIALISED, TRAP, ASSERTION, INACTIVE_LANE, BAD_MASK, PRINT_LIMIT, READ_ONLY,
    LEFT_BARRIER, LEFT_GRID, OBJECT_DEADLOCK, BLOCK_DEADLOCK,
) = range(21)  # fmt: skip

PER_SITE = 2
"""Recorded findings of each kind and site."""
COST = 512
"""The cost of a finding, recorded or not, in units of `blocks.cost`."""


@dataclass(frozen=True)
class Finding:
    """One finding as recorded by generated code. ``address`` and ``other`` depend on the kind."""

    kind: int
    site: int
    thread: int  # linear index in the block
    lanes: int  # mask
    block: int  # linear index in the grid
    address: int
    other: int
    count: int = 1


@generated("report", VOID, PTR, I32, I32, I32, I32, I64, I64, attributes="noinline cold")
def report_function(_: ir.IRModule, f: Builder) -> None:
    """report(worker, kind, site, thread, lanes, address, other): record a finding, at most PER_SITE equal ones."""
    worker, kind, site, thread, lanes, address, other = f.args
    count = WORKER.load(f, worker, "finding_count")
    table = WORKER.load(f, worker, "findings")
    f.add_to(WORKER.at(f, worker, "block_budget"), 0, -COST)
    alike = f.var(f.const(I32, 0))
    with f.loop(count) as i:
        row = f.at(table, i * FINDING.size)
        same = FINDING.load(f, row, "kind").eq(kind) & FINDING.load(f, row, "site").eq(site)
        alike.set(alike.get() + same.select(f.const(I32, 1), 0))
    with f.if_(alike.get().ult(PER_SITE) & count.ult(MAX_FINDINGS)):
        row = f.at(table, count * FINDING.size)
        block = WORKER.load(f, worker, "serial") - WORKER.load(f, worker, "serial_base")
        given = (("kind", kind), ("site", site), ("thread", thread), ("lanes", lanes), ("block", block),
                 ("address", address), ("other", other))  # fmt: skip
        for name, value in given:
            FINDING.store(f, row, name, value)
        WORKER.store(f, worker, "finding_count", count + 1)


def report(
    f: Builder,
    warp: Value,
    worker: Value,
    kind: int,
    site: Value | int,
    lanes: Value,
    address: Value | int = 0,
    other: Value | int = 0,
) -> None:
    """Report a finding for some lanes of a warp; its thread is that of the first lane."""
    thread = WARP.load(f, warp, "index") * 32 + f.first_lane(lanes)
    at = site if isinstance(site, Value) else f.const(I32, site)
    more = [v if isinstance(v, Value) else f.const(I64, v) for v in (address, other)]
    f.call(report_function(f.module), worker, f.const(I32, kind), at, thread, lanes, *more)
