"""Asynchronous copies: PTX manual, section "Data Movement and Conversion Instructions: Asynchronous copy".

The engine's side of them is `grader.simt.engine.copies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.simt.engine.copies import SIZES
from grader.simt.engine.values import I32, I64, Value, vec
from grader.simt.isa.registry import Match, form
from grader.simt.ptx import Immediate, Instruction, Operand, Register

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

SHARED = ("shared", "shared::cta")
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
BYPASS_BYTES = 16
"""The one size of `.cg`, which goes past L1."""


@form(
    "cp.async.CACHE.SPACE.global{.L2::cache_hint}{.PREFETCH} a, b, size{, given}{, policy}",
    raw=True,
    tags=("memory", "copy_queue"),
    CACHE=("ca", "cg"),
    SPACE=SHARED,
    PREFETCH=PREFETCH,
)
def cp_async(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Copy 4, 8 or 16 bytes of each lane. Of these ``given`` come from the source, the rest become zero.

    A predicate in that place takes all (false) or nothing (true) from the source.
    """
    target, source, size_operand, *rest = i.operands
    size = _size(e, m, size_operand)
    hinted = "L2::cache_hint" in i.modifiers
    given = _given(e, rest[:-1] if hinted else rest, size)
    e.g.copy.issue(e, e.address_of(target), e.address_of(source), size, given, bypass=m.CACHE == "cg")


def _size(e: BlockEmitter, m: Match, operand: Operand) -> int:
    size = int(operand.value) if isinstance(operand, Immediate) else 0
    if size not in SIZES or (m.CACHE == "cg" and size != BYPASS_BYTES):
        raise e.unsupported(
            f"cp.async.{m.CACHE} of another size than {'16' if m.CACHE == 'cg' else '4, 8 or 16'} bytes"
        )
    return size


def _given(e: BlockEmitter, operands: Sequence[Operand], size: int) -> Value | None:
    """Bytes that each lane takes from its source; None where all lanes take all of them."""
    if not operands:
        return None
    (operand,) = operands
    if isinstance(operand, Register) and e.g.graph.registers.get(operand.name) == "pred":
        return e.read(operand, "pred").select(e.f.const(vec(I32), 0), size)
    if isinstance(operand, Immediate) and int(operand.value) == size:
        return None
    asked = e.read(operand, "u32")
    return asked.ult(size).select(asked, size)


@form("cp.async.commit_group", raw=True, tags=("copy_queue",))
def commit_group(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.g.copy.commit(e)


@form("cp.async.wait_group newest", raw=True, tags=("copy_queue", "slow"))
def wait_group(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Wait until at most the newest so many groups of the executing lane are under way."""
    (newest,) = i.operands
    if not isinstance(newest, Immediate):
        raise e.unsupported("cp.async.wait_group with a number that is not constant")
    e.g.copy.wait(e, min(max(int(newest.value), 0), 1 << 20))


@form("cp.async.wait_all", raw=True, tags=("copy_queue", "slow"))
def wait_all(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.g.copy.commit(e)
    e.g.copy.wait(e, 0)


@form("createpolicy.fractional.PRIORITY{.SECOND}.b64 d{, fraction}", raw=True,
      PRIORITY=("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"),
      SECOND=("L2::evict_first", "L2::evict_unchanged"))  # fmt: skip
def createpolicy(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """What a cache should keep: no result depends on it."""
    e.write(i.operands[0], e.f.const(vec(I64), 0), "b64")
