"""Comparing into values, and choosing: `set`, `selp` and `slct` of the PTX manual's comparison chapters."""

from __future__ import annotations

from grader.simt.engine.values import I16, Value
from grader.simt.isa.compare import (
    BITS,
    BOOLS,
    EQUALITY,
    FLOAT_ORDER,
    FLOATS,
    NAN,
    ORDER,
    SIGNED,
    UNSIGNED,
    UNSIGNED_METHODS,
    combined,
    compare,
)
from grader.simt.isa.emit import ELEMENT, PACKED, Emitter, vector_type
from grader.simt.isa.formats import flush, scalar_name
from grader.simt.isa.registry import Example, Match, form

# -- set ---------------------------------------------------------------------------------------------------------------
ONE_BITS = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def _truth(answer: Value, kind: str) -> Value:
    """True as 1.0 for float destinations and as all ones for integers, of PTX type ``kind``."""
    scalar = scalar_name(kind)
    bits = ELEMENT["b32" if scalar.endswith("32") else "b16"]
    if scalar not in ONE_BITS:
        return answer.sext(bits)
    return (answer.zext(bits) * ONE_BITS[scalar]).bitcast(ELEMENT[scalar])


def _set(e: Emitter, m: Match, a: Value, b: Value, c: Value | None) -> Value:
    answer = compare(m.CMP, m.STYPE, a, b, ftz=m.ftz)
    if m.STYPE not in PACKED:
        return _truth(combined(m, answer, c), m.DTYPE)
    if c is not None:
        answer = combined(m, answer, c.shuffle([i // 2 for i in range(64)]))
    if m.DTYPE in PACKED:
        return _truth(answer, m.DTYPE)
    return answer.sext(I16).reinterpret(vector_type("b32"))


SCALARS = ("u32", "s32", "f32", "u16", "s16", "f16", "bf16")
SET = {"d": "DTYPE", "a": "STYPE", "b": "STYPE", "c": "pred"}


@form(
    "set.CMP.DTYPE.STYPE d, a, b",
    CMP=EQUALITY,
    DTYPE=SCALARS,
    STYPE=BITS,
    operands=SET,
    examples=[Example("set.eq.u32.b32", ([1, 2], [1]), [0xFFFFFFFF, 0])],
)
@form(
    "set.CMP.DTYPE.STYPE d, a, b",
    CMP=tuple(UNSIGNED_METHODS),
    DTYPE=SCALARS,
    STYPE=UNSIGNED,
    operands=SET,
    examples=[Example("set.lt.f32.u32", ([1, -1], [2]), [1.0, 0.0])],
)
@form(
    "set.CMP.DTYPE.STYPE d, a, b",
    CMP=ORDER,
    DTYPE=SCALARS,
    STYPE=SIGNED,
    operands=SET,
    examples=[Example("set.lt.s32.s64", ([1, -1], [0]), [0, -1]), Example("set.lt.f16.s32", ([-1], [2]), [1.0])],
)
@form(
    "set.CMP{.ftz}.DTYPE.STYPE d, a, b",
    CMP=FLOAT_ORDER,
    DTYPE=SCALARS,
    STYPE=FLOATS,
    operands=SET,
    examples=[
        Example("set.ltu.u32.f32", ([NAN, 1.0], [0.0]), [0xFFFFFFFF, 0]),
        Example("set.gt.ftz.f32.f32", ([1e-40, 1.0], [0.0]), [0.0, 1.0]),
        Example("set.le.u16.f16", ([1.0, 2.0], [1.0]), [0xFFFF, 0]),
        Example("set.le.bf16.bf16", ([0x3F80, 0x4000], [0x3F80]), [0x3F80, 0]),
    ],
)
@form(
    "set.CMP{.ftz}.DTYPE.STYPE d, a, b",
    CMP=FLOAT_ORDER,
    DTYPE=("u32", "s32", "f16x2"),
    STYPE=("f16x2",),
    operands=SET,
    examples=[
        Example("set.eq.f16x2.f16x2", ([1.0, 2.0], [1.0, 1.0]), [1.0, 0.0]),
        Example("set.eq.u32.f16x2", ([1.0, 2.0, 2.0, 1.0], [1.0]), [0x0000FFFF, 0xFFFF0000]),
    ],
)
@form(
    "set.CMP.DTYPE.STYPE d, a, b",
    CMP=FLOAT_ORDER,
    DTYPE=("u32", "s32", "bf16x2"),
    STYPE=("bf16x2",),
    operands=SET,
    examples=[Example("set.eq.bf16x2.bf16x2", ([0x3F80, 0x4000], [0x3F80]), [0x3F80, 0])],
)
def set_(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _set(e, m, a, b, None)


@form(
    "set.CMP.BOOL.DTYPE.STYPE d, a, b, c",
    CMP=EQUALITY,
    BOOL=BOOLS,
    DTYPE=SCALARS,
    STYPE=BITS,
    operands=SET,
    examples=[Example("set.eq.or.u32.b32", ([1, 2, 2], [1], [0, 0, 1]), [0xFFFFFFFF, 0, 0xFFFFFFFF])],
)
@form(
    "set.CMP.BOOL.DTYPE.STYPE d, a, b, c",
    CMP=tuple(UNSIGNED_METHODS),
    BOOL=BOOLS,
    DTYPE=SCALARS,
    STYPE=UNSIGNED,
    operands=SET,
    examples=[Example("set.lo.and.u32.u32", ([1], [-1], [1, 0]), [0xFFFFFFFF, 0])],
)
@form(
    "set.CMP.BOOL.DTYPE.STYPE d, a, b, c",
    CMP=ORDER,
    BOOL=BOOLS,
    DTYPE=SCALARS,
    STYPE=SIGNED,
    operands=SET,
    examples=[Example("set.lt.xor.s32.s32", ([-1], [1], [1, 0]), [0, -1])],
)
@form(
    "set.CMP.BOOL{.ftz}.DTYPE.STYPE d, a, b, c",
    CMP=FLOAT_ORDER,
    BOOL=BOOLS,
    DTYPE=SCALARS,
    STYPE=FLOATS,
    operands=SET,
    examples=[Example("set.lt.and.f32.f32", ([1.0], [2.0], [1, 0]), [1.0, 0.0])],
)
@form(
    "set.CMP.BOOL{.ftz}.DTYPE.STYPE d, a, b, c",
    CMP=FLOAT_ORDER,
    BOOL=BOOLS,
    DTYPE=("u32", "s32", "f16x2"),
    STYPE=("f16x2",),
    operands=SET,
    examples=[Example("set.eq.and.u32.f16x2", ([1.0], [1.0], [1, 0]), [0xFFFFFFFF, 0])],
)
@form(
    "set.CMP.BOOL.DTYPE.STYPE d, a, b, c",
    CMP=FLOAT_ORDER,
    BOOL=BOOLS,
    DTYPE=("u32", "s32", "bf16x2"),
    STYPE=("bf16x2",),
    operands=SET,
    examples=[Example("set.ne.or.s32.bf16x2", ([0x3F80], [0x3F80], [1, 0]), [-1, 0])],
)
def set_bool(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return _set(e, m, a, b, c)


# -- choosing ----------------------------------------------------------------------------------------------------------
ANY = (*BITS, *UNSIGNED, *SIGNED, "f32", "f64")


@form(
    "selp.TYPE d, a, b, c",
    TYPE=ANY,
    operands={"c": "pred"},
    examples=[
        Example("selp.b32", ([1], [2], [1, 0]), [1, 2]),
        Example("selp.f64", ([1.5], [-0.0], [0, 1]), [-0.0, 1.5]),
    ],
)
def selp(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return c.select(a, b)


@form(
    "slct.TYPE.s32 d, a, b, c",
    TYPE=ANY,
    operands={"c": "s32"},
    examples=[Example("slct.u64.s32", ([1], [2], [0, -1, 5]), [1, 2, 1])],
)
def slct(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """``a`` where ``c`` is not negative."""
    return c.sge(0).select(a, b)


@form(
    "slct{.ftz}.TYPE.f32 d, a, b, c",
    TYPE=ANY,
    operands={"c": "f32"},
    examples=[
        Example("slct.f32.f32", ([1.0], [2.0], [-0.0, -1e-40, NAN, 3.0]), [1.0, 2.0, 2.0, 1.0]),
        Example("slct.ftz.b16.f32", ([1], [2], [-1e-40]), [1]),
    ],
)
def slct_float(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """``a`` where ``c`` is at least zero; -0 is, NaN is not."""
    return (flush(c, "f32") if m.ftz else c).fcmp(">=", 0.0).select(a, b)
