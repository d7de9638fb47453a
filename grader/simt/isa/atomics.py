"""Atomic read-modify-writes: PTX manual, `atom` and `red`.

Lanes of one request take effect in lane order. The combination works on one lane's scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import F16, F32, F64, Value
from grader.simt.isa.registry import WIDTH, Match, form, is_signed
from grader.simt.ptx import Instruction, Operand, Vector

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

FLOATS: dict[str, ir.Type] = {"f32": F32, "f64": F64, "f16": F16, "f16x2": ir.VectorType(F16, 2)}

Combination = Callable[[Builder, Value, Value], Value]

COMBINATIONS: dict[str, Combination] = {
    "add": lambda f, old, b: old + b,
    "and": lambda f, old, b: old & b,
    "or": lambda f, old, b: old | b,
    "xor": lambda f, old, b: old ^ b,
    "exch": lambda f, old, b: b,
    "inc": lambda f, old, b: old.uge(b).select(f.const(old.type, 0), old + 1),
    "dec": lambda f, old, b: (old.eq(0) | old.ugt(b)).select(b, old - 1),
    "umin": lambda f, old, b: old.ule(b).select(old, b),
    "umax": lambda f, old, b: old.uge(b).select(old, b),
    "smin": lambda f, old, b: old.sle(b).select(old, b),
    "smax": lambda f, old, b: old.sge(b).select(old, b),
}


def combination(op: str, kind: str) -> Combination:
    """How ``op`` combines the old value with the operand, for a PTX type."""
    if op == "add" and kind in FLOATS:
        number = FLOATS[kind]
        return lambda f, old, b: (old.reinterpret(number) + b.reinterpret(number)).reinterpret(old.type)
    if op in ("min", "max"):
        op = ("s" if is_signed(kind) else "u") + op
    return COMBINATIONS[op]


def _swap(f: Builder, old: Value, given: Sequence[Value]) -> Value:
    compare, new = given
    return old.eq(compare).select(new, old)


def _perform(e: BlockEmitter, m: Match, target: Operand, sources: Sequence[Operand]) -> Value:
    address, values = e.address_of(target), [e.read(source, f"b{WIDTH[m.TYPE]}") for source in sources]
    if m.ORDER in ("release", "acq_rel"):
        e.fence(m.SCOPE or "gpu")
    if m.OP == "cas":
        return e.atomic_memory(m.space, address, WIDTH[m.TYPE], _swap, "cas", values, scope=m.SCOPE)
    combine = combination(m.OP, m.TYPE)
    return e.atomic_memory(
        m.space,
        address,
        WIDTH[m.TYPE],
        lambda f, old, given: combine(f, old, given[0]),
        f"{m.OP}_{m.TYPE}",
        values,
        scope=m.SCOPE,
    )


MODIFIERS = {
    "ORDER": ("relaxed", "acquire", "release", "acq_rel"),
    "SCOPE": ("cta", "gpu", "sys", "cluster"),
    "SPACE": ("global", "shared", "shared::cta"),
    "OP": ("add", "and", "or", "xor", "exch", "min", "max", "inc", "dec"),
    "TYPE": ("b16", "b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64", "f16", "f16x2"),
}


@form("atom{.ORDER}{.SCOPE}{.SPACE}.OP{.noftz}.TYPE d, a, b", raw=True, tags=("memory",), also=MODIFIERS)
@form("atom{.ORDER}{.SCOPE}{.SPACE}.OP.TYPE d, a, b, c", raw=True, tags=("memory", "swap"), also=MODIFIERS, OP=("cas",))
def atom(e: BlockEmitter, m: Match, i: Instruction) -> None:
    result, target, *sources = i.operands
    e.write(result, _perform(e, m, target, sources), f"b{WIDTH[m.TYPE]}")


@form("red{.ORDER}{.SCOPE}{.SPACE}.OP{.noftz}.TYPE a, b", raw=True, tags=("memory",), also=MODIFIERS)
def red(e: BlockEmitter, m: Match, i: Instruction) -> None:
    target, *sources = i.operands
    if isinstance(sources[0], Vector):
        raise e.unsupported("red with a vector operand")
    _perform(e, m, target, sources)
