"""Loops that wait, as code: whether a round of a loop was like the one before (see `grader.simt.engine.waiting`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.layout import WARP, WORKER
from grader.simt.engine.values import I1, I32, Value, vec
from grader.simt.engine.waiting import Wait
from grader.simt.ptx.reader import type_size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grader.simt.engine.block_emitter import BlockEmitter
    from grader.simt.engine.builder import Builder


def waits_on_jump(e: BlockEmitter, lanes: Value | None) -> Value:
    """On the backward jump of ``lanes``: whether they will do the same again until somebody else changes memory.

    That is so if the warp's last backward jump was this one, of the same lanes with the same registers, and no memory
    has changed since.
    """
    f, wait = e.f, e.g.waits.get(e.block.index)
    if wait is None or not wait.exact or lanes is None:
        WARP.store(f, e.warp, "edge", 0)
        return f.const(I1, 0)
    edge, changes = e.block.index + 1, WORKER.load(f, e.worker, "changes")
    again = WARP.load(f, e.warp, "edge").eq(edge) & WARP.load(f, e.warp, "edge_lanes").eq(lanes)
    again = again & WARP.load(f, e.warp, "edge_changes").eq(changes)
    same = f.var(again.zext(I32))
    if wait.carried:
        with f.if_(again):
            differs = f.var(f.const(I32, 0))
            for now, kept in _registers(e, wait):
                differs.set(differs.get() | _differing(f, now, kept))
            same.set((differs.get() & lanes).eq(0).zext(I32))
    with f.if_(same.get().eq(0)):
        for name, value in (("edge", f.const(I32, edge)), ("edge_lanes", lanes), ("edge_changes", changes)):
            WARP.store(f, e.warp, name, value)
        WARP.store(f, e.warp, "read_address", 0)  # what a round reads, the next one will tell
        for now, kept in _registers(e, wait):
            f.store(now, kept, align=4)
    return same.get().ne(0)


def gives_way(e: BlockEmitter, waits: Value, lanes: Value | None) -> None:
    """A warp yields on a backward jump: note whether it waits, or may be waiting, or has something to do."""
    f, wait = e.f, e.g.waits.get(e.block.index)
    if wait is None or not wait.polls:
        with f.if_(waits ^ 1):
            WORKER.store(f, e.worker, "restless", 1)
    if wait is None or not wait.exact or lanes is None:
        return
    changes = WORKER.load(f, e.worker, "changes")
    with f.if_(waits):
        kept = WARP.load(f, e.warp, "spun_changes").eq(changes).select(WARP.load(f, e.warp, "spun"), 0)
        WARP.store(f, e.warp, "spun", kept | lanes)
        WARP.store(f, e.warp, "spun_changes", changes)


def kept_bytes(waits: dict[int, Wait], registers: dict[str, str]) -> int:
    """Room that a warp needs for the registers of its last jump."""
    sizes = [sum(_size(registers[name]) for name in wait.carried) for wait in waits.values()]
    return max(sizes, default=0)


def _size(kind: str) -> int:
    return 4 if kind == "pred" else 32 * max(2, type_size(kind))


def _registers(e: BlockEmitter, wait: Wait) -> Iterator[tuple[Value, Value]]:
    """Each carried register's value as integers (a predicate: its mask), and where that of the last jump is kept."""
    at = e.g.kept_at
    for name in wait.carried:
        kind = e.g.graph.registers[name]
        whole = I32 if kind == "pred" else vec(ir.IntType(8 * max(2, type_size(kind))))
        yield e.f.load(whole, e.f.at(e.warp, e.g.slots[name]), align=4), e.f.at(e.warp, at)
        at += _size(kind)


def _differing(f: Builder, now: Value, kept: Value) -> Value:
    """The lanes whose register has changed."""
    before = f.load(now.type, kept, align=4)
    return now ^ before if now.type == I32 else now.ne(before).as_mask()
