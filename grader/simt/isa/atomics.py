"""Atomic read-modify-writes: PTX manual, `atom` and `red`.

Lanes of one request take effect in lane order. The combination works on one lane's scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import F16, F32, F64, Value
from grader.simt.isa.emit import ELEMENT
from grader.simt.isa.registry import WIDTH, Match, form
from grader.simt.ptx import Instruction, Vector

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

SPACES = ("global", "shared", "shared::cta")
ORDER = ("relaxed", "acquire", "release", "acq_rel")
SCOPE = ("cta", "gpu", "sys", "cluster")
TYPES = ("b16", "b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64", "f16", "f16x2")
FLOATS: dict[str, ir.Type] = {"f32": F32, "f64": F64, "f16": F16}
OPS = ("add", "and", "or", "xor", "exch", "min", "max", "inc", "dec")

Combination = Callable[[Builder, Value, Value], Value]


def _float_add(kind: ir.Type) -> Combination:
    return lambda f, old, b: (old.bitcast(kind) + b.bitcast(kind)).bitcast(ir.IntType(old.bits))


def _half2_add(f: Builder, old: Value, b: Value) -> Value:
    pair = ir.VectorType(F16, 2)
    return (old.reinterpret(pair) + b.reinterpret(pair)).reinterpret(ir.IntType(32))


def _pick(compare: str) -> Combination:
    return lambda f, old, b: getattr(old, compare)(b).select(old, b)


def _increment(f: Builder, old: Value, b: Value) -> Value:
    return old.uge(b).select(f.const(old.type, 0), old + 1)


def _decrement(f: Builder, old: Value, b: Value) -> Value:
    return (old.eq(0) | old.ugt(b)).select(b, old - 1)


_PLAIN: dict[str, Combination] = {
    "add": lambda f, old, b: old + b,
    "and": lambda f, old, b: old & b,
    "or": lambda f, old, b: old | b,
    "xor": lambda f, old, b: old ^ b,
    "exch": lambda f, old, b: b,
    "inc": _increment,
    "dec": _decrement,
}


def combination(op: str, kind: str) -> Combination:
    """How ``op`` combines the old value with the operand, for a PTX type."""
    if op == "add" and kind in FLOATS:
        return _float_add(FLOATS[kind])
    if op == "add" and kind == "f16x2":
        return _half2_add
    if op in ("min", "max"):
        sign = "s" if kind.startswith("s") else "u"
        return _pick(f"{sign}{'le' if op == 'min' else 'ge'}")
    return _PLAIN[op]


def _perform(e: BlockEmitter, m: Match, address: Value, operands: Sequence[Value]) -> Value:
    bits = WIDTH[m.TYPE]
    space = m.SPACE.partition("::")[0] or "generic"
    if m.ORDER in ("release", "acq_rel"):
        e.fence(m.SCOPE or "gpu")
    if m.OP == "cas":
        return e.atomic_memory(space, address, bits, _swap, "cas", operands)
    combine = combination(m.OP, m.TYPE)
    return e.atomic_memory(
        space, address, bits, lambda f, old, given: combine(f, old, given[0]), f"{m.OP}_{m.TYPE}", operands
    )


def _swap(f: Builder, old: Value, given: Sequence[Value]) -> Value:
    compare, new = given
    return old.eq(compare).select(new, old)


def _operand(e: BlockEmitter, operand: object, kind: str) -> Value:
    value = e.read(operand, f"b{WIDTH[kind]}")  # type: ignore[arg-type]  # any operand
    return value.bitcast(ELEMENT[f"b{WIDTH[kind]}"])


_MODIFIERS = {"ORDER": ORDER, "SCOPE": SCOPE, "SPACE": SPACES, "TYPE": TYPES}


@form(
    "atom{.ORDER}{.SCOPE}{.SPACE}.OP{.noftz}.TYPE d, a, b",
    raw=True,
    tags=("memory",),
    OP=OPS,
    also=_MODIFIERS,
    any_order=True,
)
def atom(e: BlockEmitter, m: Match, i: Instruction) -> None:
    old = _perform(e, m, e.address_of(i.operands[1]), [_operand(e, i.operands[2], m.TYPE)])
    e.write(i.operands[0], old, f"b{WIDTH[m.TYPE]}")


@form(
    "atom{.ORDER}{.SCOPE}{.SPACE}.OP.TYPE d, a, b, c",
    raw=True,
    tags=("memory", "swap"),
    OP=("cas",),
    also=_MODIFIERS,
    any_order=True,
)
def atom_cas(e: BlockEmitter, m: Match, i: Instruction) -> None:
    operands = [_operand(e, o, m.TYPE) for o in i.operands[2:4]]
    e.write(i.operands[0], _perform(e, m, e.address_of(i.operands[1]), operands), f"b{WIDTH[m.TYPE]}")


@form(
    "red{.ORDER}{.SCOPE}{.SPACE}.OP{.noftz}.TYPE a, b",
    raw=True,
    tags=("memory",),
    OP=OPS,
    also=_MODIFIERS,
    any_order=True,
)
def red(e: BlockEmitter, m: Match, i: Instruction) -> None:
    target, source = i.operands
    if isinstance(source, Vector):
        raise e.unsupported("red with a vector operand")
    _perform(e, m, e.address_of(target), [_operand(e, source, m.TYPE)])
