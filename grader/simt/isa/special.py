"""Special functions of single precision: PTX manual, ``sin cos ex2 lg2 tanh`` with ``.approx``.

Each is one outlined function over 32 lanes that computes in double precision with its own polynomials and rounds once:
without a library, so that the bits are the same on all machines. Results are within 1 ulp of the correctly rounded
ones; the manual allows the hardware 2 ulp and more (``tanh``: a relative error of 2^-11).

Sine and cosine reduce their argument as the hardware does: multiplied by 1/2π in single precision, rounded toward
zero. So the error for large arguments is that of the hardware.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from grader.simt.engine.builder import Builder, generated_once
from grader.simt.engine.values import F32, F64, I64, Value, mangle
from grader.simt.isa.formats import canonical, flush
from grader.simt.isa.registry import Emitter, Example, Match, form

INFINITY, NAN = float("inf"), 0x7FFFFFFF
TINY = 2.0**-149

ROUNDER, ROUNDER_BITS = 1.5 * 2.0**52, 0x4338000000000000
"""The sum with a double below 2^51 has its nearest integer in the low bits (two's complement)."""

TURN = 0.15915493667125702
"""1/2π as in ptxas' multiplication before `MUFU.SIN` (single precision, 0x3e22f983)."""

EX2_TERMS = [math.log(2.0) ** k / math.factorial(k) for k in range(11)]
"""2^x = Σ (x ln 2)^k / k!; for |x| ≤ 1/2 the first term left out is 2e-13."""

LOG2_TERMS = [2.0 / math.log(2.0) / (2 * k + 1) for k in range(8)]
"""log2((1+s)/(1-s)) = 2/ln 2 · Σ s^(2k+1) / (2k+1); for |s| ≤ 0.172 the first term left out is 3e-14 of the sum."""

SIN_TERMS = [(-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8)]
COS_TERMS = [(-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(8)]
"""Sine and cosine of turns; for an eighth of a turn the first term left out is 5e-17 and 1e-15."""

SQRT_HALF_BITS = 0x3FE6A09E00000000
"""Just below √½ as a double: mantissas are in [√½, √2), so that the logarithm is accurate near 1."""

Body = Callable[[Builder, Value], Value]


def _polynomial(f: Builder, terms: Sequence[float], x: Value) -> Value:
    """Σ terms[k] x^k by Horner's rule."""
    total = f.const(x.type, terms[-1])
    for term in reversed(terms[:-1]):
        total = f.overloaded("llvm.fma", total, x, f.const(x.type, term))
    return total


def _nearest(x: Value) -> tuple[Value, Value]:
    """The nearest integer of a double below 2^51, as a double and as an i64 whose low bits are right."""
    shifted = x + ROUNDER
    return shifted - ROUNDER, shifted.bitcast(I64)


def _clamp(x: Value, bound: float) -> Value:
    """``x`` clamped to ±``bound``; NaN stays."""
    below = x.fcmp("<", -bound).select(-bound, x)
    return below.fcmp(">", bound).select(bound, below)


def _power_of_two(f: Builder, x: Value) -> Value:
    """2^x in double precision, for |x| < 1000."""
    whole, raw = _nearest(x)
    fraction = _polynomial(f, EX2_TERMS, x - whole)
    return (fraction.bitcast(I64) + (raw << 52)).bitcast(F64)


def _lg2(f: Builder, x: Value) -> Value:
    raw = x.bitcast(I64)
    exponent = (raw - SQRT_HALF_BITS).ashr(52)
    mantissa = (raw - (exponent << 52)).bitcast(F64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    whole = (exponent + ROUNDER_BITS).bitcast(F64) - ROUNDER
    usual = whole + s * _polynomial(f, LOG2_TERMS, s * s)
    finite = x.fcmp("<", INFINITY).select(usual, x)  # infinity and NaN stay
    return x.fcmp(">", 0.0).select(finite, x.fcmp("==", 0.0).select(-INFINITY, x * math.nan))


def _wave(quarters: int) -> Body:
    """Sine of an angle in radians plus ``quarters`` quarter turns: 0 is sine, 1 cosine."""

    def body(f: Builder, x: Value) -> Value:
        # x/2π as single precision, rounded toward zero: a product of 48 bits cut to 24.
        turns = ((x * TURN).bitcast(I64) & -(1 << 29)).bitcast(F64)
        # From 2^24 on all turns are whole ones; infinity and NaN give NaN by subtraction.
        is_small = f.overloaded("llvm.fabs", turns).fcmp("<", 2.0**24)
        angle = turns - is_small.select(_nearest(turns)[0], turns)
        quarter, raw = _nearest(angle * 4.0)
        rest = angle - quarter * 0.25
        square = rest * rest
        sine = rest * _polynomial(f, SIN_TERMS, square)
        cosine = _polynomial(f, COS_TERMS, square)
        phase = raw + quarters
        value = (phase & 1).eq(0).select(sine, cosine)
        return (value.bitcast(I64) ^ ((phase & 2) << 62)).bitcast(F64)

    return body


def _tanh(f: Builder, x: Value) -> Value:
    """(1-t)/(1+t) with t = e^(-2|x|); below 2^-8, because of cancellation, the first terms of the series."""
    size = f.overloaded("llvm.fabs", x)
    t = _power_of_two(f, _clamp(size * (-2.0 / math.log(2.0)), 200.0))
    large = f.overloaded("llvm.copysign", (1.0 - t) / (1.0 + t), x)
    small = x * _polynomial(f, [1.0, -1.0 / 3.0, 2.0 / 15.0], x * x)
    return size.fcmp("<", 2.0**-8).select(small, large)


FUNCTIONS: dict[str, Body] = {
    "ex2": lambda f, x: _power_of_two(f, _clamp(x, 200.0)),  # 2^±200 rounds to infinity and zero
    "lg2": _lg2,
    "sin": _wave(0),
    "cos": _wave(1),
    "tanh": _tanh,
}


def special(f: Builder, function: str, x: Value) -> Value:
    """``ex2 lg2 sin cos tanh`` of a vector of f32, by an outlined function, which is built at its first use."""

    def build(g: Builder) -> None:
        g.ret(canonical(FUNCTIONS[function](g, g.args[0].fpext(F64)).fptrunc(F32)))

    return f.call(generated_once(f.module, f"{function}_{mangle(x.type)}", x.type, [x.type], build), x)


@form(
    "OPCODE.approx{.ftz}.f32 d, a",
    Example("ex2.approx.f32", ([0.5, -INFINITY, INFINITY],), [0x3FB504F3, 0.0, INFINITY], ulp=2),
    Example("ex2.approx.f32", ([-149.0, 128.0, NAN],), [TINY, INFINITY, NAN], ulp=2),
    Example("ex2.approx.ftz.f32", ([-127.0, -TINY],), [0.0, 1.0]),
    Example("lg2.approx.f32", ([8.0, TINY, -0.0],), [3.0, -149.0, -INFINITY], ulp=2),
    Example("lg2.approx.f32", ([INFINITY, -1.0, 3.0],), [INFINITY, NAN, 0x3FCAE00D], ulp=2),
    Example("lg2.approx.ftz.f32", ([TINY],), [-INFINITY]),
    Example("sin.approx.f32", ([1.0, -0.0, INFINITY],), [0x3F576AA4, -0.0, NAN], ulp=4),
    Example("sin.approx.ftz.f32", ([-TINY],), [-0.0]),
    Example("cos.approx.f32", ([1.0, 0.0, -INFINITY],), [0x3F0A5140, 1.0, NAN], ulp=4),
    Example("cos.approx.ftz.f32", ([TINY],), [1.0]),
    OPCODE=("ex2", "lg2", "sin", "cos"),
)
@form(
    "tanh.approx.f32 d, a",
    Example("tanh.approx.f32", ([0.5, -0.0, -INFINITY, 1e-6, NAN],), [0x3EEC9A9F, -0.0, -1.0, 1e-6, NAN], ulp=1),
)
def approximation(e: Emitter, m: Match, a: Value) -> Value:
    return flush(special(e.f, m.OPCODE, flush(a))) if m.ftz else special(e.f, m.OPCODE, a)
