"""Float formats and their bits: f64, f32, f16, and bf16, which LLVM does not know (it is integers here).

What GPUs add to IEEE's floats is here for all of them: flushing, saturation, the one NaN; and conversions that round
once. A function that takes a ``kind`` needs it for bf16 and for floats that come as integers; else the value tells it.
"""

from __future__ import annotations

from grader.simt.engine import ir
from grader.simt.engine.values import F32, F64, I16, I32, Value
from grader.simt.isa.emit import ELEMENT

MANTISSA = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}
"""Stored mantissa bits."""

WIDTH = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


def scalar_name(kind: str) -> str:
    """The format of one element: ``f16`` of ``f16x2``."""
    return kind.removesuffix("x2")


def sign_mask(kind: str) -> int:
    return 1 << (WIDTH[kind] - 1)


def infinity_bits(kind: str) -> int:
    return sign_mask(kind) - (1 << MANTISSA[kind])


def smallest_normal(kind: str) -> int:
    return 1 << MANTISSA[kind]


def canonical_nan(kind: str) -> int:
    """The NaN that NVIDIA GPUs give: from the PTX manual; f64's as ptxas writes it in its own sequences."""
    return 0xFFF8000000000000 if kind == "f64" else sign_mask(kind) - 1


def kind_of(value: Value) -> str:
    """The format of a value that LLVM knows as a float."""
    assert value.is_float
    return f"f{value.bits}"


# -- bits --------------------------------------------------------------------------------------------------------------
def as_bits(value: Value) -> Value:
    """A float's bits as integers of its width."""
    return value.bitcast(ELEMENT[f"b{value.bits}"]) if value.is_float else value


def as_float(value: Value) -> Value:
    """A bit pattern's float value."""
    return value.bitcast(ELEMENT[f"f{value.bits}"])


def _like(value: Value, bits: Value) -> Value:
    return bits.bitcast(value.type.element) if value.is_float else bits


def magnitude(value: Value, kind: str = "") -> Value:
    """The bit pattern without its sign: orders like the absolute value, NaN above infinity."""
    return as_bits(value) & (sign_mask(kind or kind_of(value)) - 1)


def is_nan(value: Value, kind: str = "") -> Value:
    """Whether a value of the format is not a number, told from its bits."""
    kind = kind or kind_of(value)
    return magnitude(value, kind).ugt(infinity_bits(kind))


def flush(value: Value, kind: str = "") -> Value:
    """Subnormal numbers become zeros of the same sign (``.ftz``)."""
    kind = kind or kind_of(value)
    bits = as_bits(value)
    tiny = magnitude(value, kind).ult(smallest_normal(kind))
    return _like(value, tiny.select(bits & sign_mask(kind), bits))


def canonical(value: Value, kind: str = "") -> Value:
    """NaN replaced by the hardware's own. In integers, because LLVM thinks that one NaN is as good as another."""
    kind = kind or kind_of(value)
    return _like(value, is_nan(value, kind).select(canonical_nan(kind), as_bits(value)))


def saturate(value: Value) -> Value:
    """Clamped to 0 … 1; NaN becomes +0 (``.sat``)."""
    return value.fcmp(">", 0.0).select(value.fcmp("<", 1.0).select(value, 1.0), 0.0)


def relu(value: Value, kind: str) -> Value:
    """Negative numbers become +0; NaN becomes the canonical one (``.relu``)."""
    bits = as_bits(value)
    clamped = bits.slt(0).select(0, bits)
    return _like(value, is_nan(value, kind).select(canonical_nan(kind), clamped))


def finite(value: Value, kind: str) -> Value:
    """Infinities become the largest numbers (``.satfinite``)."""
    bits = as_bits(value)
    infinite = magnitude(value, kind).eq(infinity_bits(kind))
    return _like(value, infinite.select(bits - 1, bits))


def widen(value: Value, kind: str, element: ir.Type) -> Value:
    """A value of the format as f32 or f64 (``element``), which is exact; bf16 comes as integers."""
    if kind == "bf16":
        value = (value.zext(I32) << 16).bitcast(F32)
    return value.fpext(element)


# -- rounding ----------------------------------------------------------------------------------------------------------
def narrow(value: Value, kind: str, rounding: str = "rn") -> Value:
    """An f32 or f64 rounded once to a format of no more bits: ``rn rz rm rp``, or ``odd``.

    Rounding to odd keeps in the last bit that something was cut off, so that a second rounding, to a format of at least
    two bits less, gives what one rounding would have given (Boldo and Melquiond, "Emulation of FMA and correctly
    rounded sums: proved algorithms using rounding to odd", 2008).
    """
    if value.bits == 64 and WIDTH[kind] == 16:
        value = narrow(value, "f32", "odd")
    if kind == "bf16":
        return _narrow_bf16(value, rounding)
    if value.bits == WIDTH[kind]:
        return value
    nearest = value.fptrunc(ELEMENT[kind])
    if rounding == "rn":
        return nearest
    back = nearest.fpext(value.type.element)
    return step(nearest, back.fcmp(">", value), back.fcmp("<", value), rounding)


def step(nearest: Value, above: Value, below: Value, rounding: str) -> Value:
    """Another rounding of an exact value, from the nearest float and whether that lies above or below it.

    One step in the bits is one step in magnitude, from the largest number to infinity and from zero too.
    """
    bits = as_bits(nearest)
    element, negative = bits.type.element, bits.slt(0)
    one, back = bits.f.const(bits.type, 1), bits.f.const(bits.type, -1)
    if rounding == "rm":
        moved = bits + above.select(negative.select(one, back), 0)
    elif rounding == "rp":
        moved = bits + below.select(negative.select(back, one), 0)
    else:
        moved = bits + negative.select(below, above).sext(element)  # towards zero where the magnitude grew
    if rounding == "odd":
        moved = moved | (above | below).zext(element)
    return moved.bitcast(nearest.type.element)


def _narrow_bf16(value: Value, rounding: str) -> Value:
    """f32 to the integers that hold a bf16, whose bits are the upper half. NaN becomes the canonical one."""
    bits = value.bitcast(I32)
    if rounding == "rn":
        bits = bits + ((bits >> 16 & 1) + 0x7FFF)
    elif rounding in ("rm", "rp"):
        outward = bits.slt(0) if rounding == "rm" else bits.sge(0)
        bits = bits + outward.select(bits.f.const(bits.type, 0xFFFF), 0)
    return is_nan(value).select(canonical_nan("bf16"), bits >> 16).trunc(I16)


def odd_sum(a: Value, b: Value) -> Value:
    """``a + b`` rounded to odd, by Knuth's TwoSum; the sum must not overflow to infinity unless an operand is."""
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    return step(total, lost.fcmp("<", 0.0), lost.fcmp(">", 0.0), "odd")


def from_integer(value: Value, kind: str, rounding: str, *, signed: bool) -> Value:
    """An integer of 8 to 64 bits rounded once to a float format."""
    element = ELEMENT[kind]
    if kind == "f16":  # all that f16 can hold is exact in f32, and what is above is out of range of both
        return narrow(_nearest_float(value, F32, signed), kind, rounding)
    if rounding == "rn" and kind != "bf16":
        return _nearest_float(value, element, signed)
    if value.bits < 64:
        exact = _nearest_float(value, F64, signed)
        return exact if kind == "f64" else narrow(exact, kind, rounding)
    total, lost = _as_two_doubles(value, signed=signed)
    above, below = lost.fcmp("<", 0.0), lost.fcmp(">", 0.0)
    if kind == "f64":
        return step(total, above, below, rounding)
    return narrow(step(total, above, below, "odd"), kind, rounding)


def _nearest_float(value: Value, element: ir.Type, signed: bool) -> Value:
    return value.sitofp(element) if signed else value.uitofp(element)


def _as_two_doubles(value: Value, *, signed: bool) -> tuple[Value, Value]:
    """A 64-bit integer as its nearest double and what that lost, exactly (Dekker's FastTwoSum of the two halves)."""
    high = value.ashr(32) if signed else value >> 32
    high = _nearest_float(high, F64, signed) * 2.0**32
    low = (value & 0xFFFFFFFF).uitofp(F64)
    total = high + low
    return total, low - (total - high)
