"""Half precision and bf16, single and in pairs: PTX manual, chapter "Half Precision Floating-Point Instructions".

A pair is a value of 64 lanes, so that each function is for both. Arithmetic is in f32, whose 24 bits are at least twice
the 11 bits of f16 plus two: then rounding a sum or a difference twice is harmless (Figueroa, "When is double rounding
innocuous?", 1995); products are exact, or so small that they are 0 or below half the smallest number. `fma` rounds to
odd first. NaN results are the canonical NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul, sub

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated_once
from grader.simt.engine.values import F32, F64, Value, mangle
from grader.simt.isa.formats import (
    as_bits,
    canonical,
    flush,
    is_nan,
    narrow,
    odd_sum,
    relu,
    saturate,
    scalar_name,
    sign_mask,
    widen,
)
from grader.simt.isa.registry import Emitter, Example, Match, form
from grader.simt.isa.special import special

F16 = ("f16", "f16x2")
BF16 = ("bf16", "bf16x2")
NAN, INF, TINY = 0x7FFF, float("inf"), 2.0**-24


def _sources(m: Match, *values: Value) -> list[Value]:
    kind = scalar_name(m.TYPE)
    return [flush(x, kind) if m.ftz else x for x in values]


def _wide(m: Match, *values: Value, bf16_as: ir.Type = F32) -> list[Value]:
    """The sources in a format in which the operation is exact or its rounding is harmless."""
    kind = scalar_name(m.TYPE)
    return [widen(x, kind, bf16_as if kind == "bf16" else F32) for x in _sources(m, *values)]


def _result(m: Match, wide: Value) -> Value:
    """Round to the type, with the modifiers ``.sat``, ``.ftz`` and ``.relu``."""
    kind = scalar_name(m.TYPE)
    value = narrow(saturate(wide) if m.sat else wide, kind)
    if m.ftz:
        value = flush(value, kind)
    return relu(value, kind) if m.relu else canonical(value, kind)


# -- arithmetic --------------------------------------------------------------------------------------------------------
ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {"add": add, "sub": sub, "mul": mul}


@form(
    "OPCODE{.rn}{.ftz}{.sat}.TYPE d, a, b",
    Example("add.f16", ([1.0, 2048.0, 65504.0], [2.0**-11, 1.0, 16.0]), [1.0, 2048.0, INF]),
    Example("add.sat.f16", ([0.75, -1.0, NAN], [0.75, 0.5, 0.0]), [1.0, 0.0, 0.0]),
    Example("add.ftz.f16", ([TINY, 1.0], [TINY, 1.0]), [0.0, 2.0]),
    Example("add.f16x2", ([1.0, 2.0], [3.0, TINY]), [4.0, 2.0]),
    Example("add.rn.f16", ([INF], [-INF]), [NAN]),
    Example("sub.f16", ([1.0, -65504.0], [2.0, 16.0]), [-1.0, -INF]),
    Example("sub.ftz.f16x2", ([2.0**-14, 1.0], [2.0**-15, 0.5]), [2.0**-14, 0.5]),
    Example("mul.f16", ([3.0, 256.0, 2.0**-13], [0.5, 256.0, 2.0**-12]), [1.5, INF, 0.0]),
    Example("mul.ftz.f16x2", ([2.0**-14], [0.5, 1.0]), [0.0, 2.0**-14]),
    Example("mul.sat.f16", ([3.0], [2.0]), [1.0]),
    OPCODE=ARITHMETIC,
    TYPE=F16,
)
@form(
    "OPCODE{.rn}.TYPE d, a, b",
    Example("add.bf16", ([0x3F80, 0x4380], [0x3F80, 0x3F80]), [0x4000, 0x4380]),
    Example("add.rn.bf16x2", ([0x3F80, 0x7F80], [0x3F80, 0xFF80]), [0x4000, NAN]),
    Example("sub.bf16", ([0x3F80], [0x4000]), [0xBF80]),
    Example("mul.bf16", ([0x4040], [0xBF00]), [0xBFC0]),
    Example("mul.bf16x2", ([0x0081], [0x3E01]), [0x0010]),
    OPCODE=ARITHMETIC,
    TYPE=BF16,
)
def add_sub_mul(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _result(m, ARITHMETIC[m.OPCODE](*_wide(m, a, b)))


@form(
    "fma.rn{.ftz}{.sat}.TYPE d, a, b, c",
    Example("fma.rn.f16", ([1.0 + 2.0**-10], [1.0 - 2.0**-10], [-1.0]), [-(2.0**-20)]),
    # Just above and just below a tie: an f32 sum would round to the tie first.
    Example("fma.rn.f16", ([1.0 + 2.0**-5], [1.0 + 2.0**-6], [TINY]), [1.0 + 2.0**-5 + 2.0**-6 + 2.0**-10]),
    Example("fma.rn.f16", ([(1.0 + 2.0**-10) / 32], [(1.0 - 2.0**-10) / 64], [1.0 + 2.0**-10]), [1.0 + 2.0**-10]),
    Example("fma.rn.sat.f16x2", ([2.0, -1.0], [2.0], [1.0]), [1.0, 0.0]),
    Example("fma.rn.ftz.f16", ([1.0], [TINY], [TINY]), [0.0]),
    TYPE=F16,
)
@form(
    "fma.rn{.ftz}{.relu}.TYPE d, a, b, c",
    Example("fma.rn.relu.f16", ([-1.0, 1.0, NAN], [2.0], [1.0]), [0.0, 3.0, NAN]),
    TYPE=F16,
)
@form(
    "fma.rn{.relu}.TYPE d, a, b, c",
    Example("fma.rn.bf16", ([0x3F80, 0x3F81], [0x3F80], [0x3F80]), [0x4000, 0x4000]),
    Example("fma.rn.bf16", ([0x3F88], [0x3F88], [0x2B80, 0x0000, 0xAB80]), [0x3F91, 0x3F90, 0x3F90]),
    Example("fma.rn.bf16", ([0x7F00], [0x4000], [0xFF00]), [0x7F00]),  # the product would overflow in f32
    Example("fma.rn.relu.bf16x2", ([0xBF80, 0x3F80], [0x4000], [0x3F80]), [0, 0x4040]),
    TYPE=BF16,
)
def fma(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """The product is exact in the wider format; the sum is rounded to odd, and then to the type.

    Outlined, because it is some forty instructions, and a kernel with halves may have a hundred of them.
    """

    def build(g: Builder) -> None:
        x, y, z = _wide(m, *(bits.bitcast(a.type.element) for bits in g.args), bf16_as=F64)
        g.ret(as_bits(_result(m, odd_sum(x * y, z))))

    raw = [as_bits(value) for value in (a, b, c)]
    kind = raw[0].type
    name = "_".join(("fma", *m.values.values(), mangle(kind))).replace(".", "_")
    result = e.f.call(generated_once(e.f.module, name, kind, [kind] * 3, build), *raw)
    return result.bitcast(a.type.element)


# -- sign and order ----------------------------------------------------------------------------------------------------
@form(
    "OPCODE{.ftz}.TYPE d, a",
    Example("neg.f16", ([1.5, -0.0],), [-1.5, 0.0]),
    Example("neg.ftz.f16x2", ([TINY, 1.0],), [-0.0, -1.0]),
    Example("abs.f16", ([-1.5, -0.0],), [1.5, 0.0]),
    Example("abs.ftz.f16x2", ([-TINY, -1.0],), [0.0, 1.0]),
    OPCODE=("neg", "abs"),
    TYPE=F16,
)
@form(
    "OPCODE.TYPE d, a",
    Example("neg.bf16", ([0x3F80],), [0xBF80]),
    Example("abs.bf16x2", ([0xBF80, 0x3F80],), [0x3F80]),
    OPCODE=("neg", "abs"),
    TYPE=BF16,
)
def neg_abs(e: Emitter, m: Match, a: Value) -> Value:
    (source,) = _sources(m, a)
    bits = as_bits(source)
    return (bits ^ 0x8000 if m.OPCODE == "neg" else bits & 0x7FFF).bitcast(a.type.element)


def _rank(bits: Value) -> Value:
    """Integers in the order of the floats with these bits, with -0 below +0."""
    return bits ^ (bits.ashr(15) & 0x7FFF)


@form(
    "OPCODE{.ftz}{.NaN}{.xorsign}{.abs}.TYPE d, a, b",
    Example("min.f16", ([1.0, -0.0, NAN, 0.0], [2.0, 0.0, 3.0, -0.0]), [1.0, -0.0, 3.0, -0.0]),
    Example("min.NaN.f16x2", ([1.0, NAN], [2.0, 3.0]), [1.0, NAN]),
    Example("min.xorsign.abs.f16", ([-1.0, -3.0], [2.0, -2.0]), [-1.0, 2.0]),
    Example("max.f16", ([1.0, -0.0, NAN, -2.0], [2.0, 0.0, 3.0, -1.0]), [2.0, 0.0, 3.0, -1.0]),
    Example("max.ftz.f16", ([TINY], [-1.0]), [0.0]),
    Example("max.f16x2", ([NAN, INF], [NAN, 1.0]), [NAN, INF]),
    OPCODE=("min", "max"),
    TYPE=F16,
)
@form(
    "OPCODE{.NaN}{.xorsign}{.abs}.TYPE d, a, b",
    Example("min.bf16", ([0x3F80, 0x7FC0], [0xBF80, 0x3F80]), [0xBF80, 0x3F80]),
    Example("max.NaN.bf16x2", ([0x3F80, 0x7FC0], [0xBF80, 0x3F80]), [0x3F80, NAN]),
    OPCODE=("min", "max"),
    TYPE=BF16,
)
def min_max(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    kind = scalar_name(m.TYPE)
    left, right = (as_bits(x) for x in _sources(m, a, b))
    sign = (left ^ right) & sign_mask(kind)
    if m.abs:
        left, right = left & 0x7FFF, right & 0x7FFF
    first = _rank(left).sgt(_rank(right)) if m.OPCODE == "max" else _rank(left).slt(_rank(right))
    bad_left, bad_right = is_nan(left, kind), is_nan(right, kind)
    result = bad_left.select(right, bad_right.select(left, first.select(left, right)))
    if m.xorsign:
        result = result & 0x7FFF | sign
    bad = bad_left | bad_right if m.NaN else bad_left & bad_right
    return bad.select(NAN, result).bitcast(a.type.element)


# -- special functions -------------------------------------------------------------------------------------------------
@form(
    "tanh.approx.TYPE d, a",
    Example("tanh.approx.f16", ([-INF, -0.0, 0.5, INF, NAN],), [-1.0, -0.0, 0.46211715726, 1.0, NAN], ulp=2),
    Example("tanh.approx.bf16x2", ([0x3F80, 0x8000],), [0x3F43, 0x8000]),
    TYPE=(*F16, *BF16),
)
@form(
    "ex2.approx.TYPE d, a",
    Example("ex2.approx.f16", ([-INF, -0.0, 0.5, INF, NAN, -24.0],), [0.0, 1.0, 1.41421356, INF, NAN, TINY], ulp=2),
    TYPE=F16,
)
@form(
    "ex2.approx{.ftz}.TYPE d, a",
    Example("ex2.approx.ftz.bf16", ([0x0001, 0x3F80, 0xC300],), [0x3F80, 0x4000, 0]),
    TYPE=BF16,
)
def approximation(e: Emitter, m: Match, a: Value) -> Value:
    (x,) = _wide(m, a)
    return _result(m, special(e.f, m.OPCODE, x))
