"""What the float chapters share: flushing, saturation, canonical NaNs, and rounding that LLVM has no operation for."""

from __future__ import annotations

from llvmlite import ir

from grader.simt.engine.values import F32, I16, I32, Value, bits_of
from grader.simt.isa.emit import ELEMENT

MANTISSA = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}
"""Stored mantissa bits of each format."""

WIDTH = {"bf16": 16, "f16": 16, "f32": 32, "f64": 64}


def scalar_name(kind: str) -> str:
    """The format of one element: ``f16`` of ``f16x2``."""
    return kind.removesuffix("x2")


def as_bits(value: Value) -> Value:
    """A float's bits as integers of its width."""
    return value.bitcast(ELEMENT[f"b{value.bits}"]) if value.is_float else value


def _like(value: Value, bits: Value) -> Value:
    return bits.bitcast(value.type.element) if value.is_float else bits


def _exponent_mask(kind: str) -> int:
    return (1 << (WIDTH[kind] - 1)) - (1 << MANTISSA[kind])


def _sign_mask(kind: str) -> int:
    return 1 << (WIDTH[kind] - 1)


def is_nan(value: Value, kind: str) -> Value:
    """Whether a value of the format ``kind`` (bf16 as integers) is not a number."""
    if value.is_float:
        return value.fcmp("uno", value)
    return (value & (_sign_mask(kind) - 1)).ugt(_exponent_mask(kind))


def flush(value: Value, kind: str) -> Value:
    """Subnormal numbers become zero of the same sign (``.ftz``)."""
    bits = as_bits(value)
    small = (bits & _exponent_mask(kind)).eq(0)
    return _like(value, small.select(bits & _sign_mask(kind), bits))


def canonical(value: Value, kind: str) -> Value:
    """Every NaN becomes the one that GPUs give: all bits below the sign set."""
    bits = as_bits(value)
    return _like(value, is_nan(value, kind).select(_sign_mask(kind) - 1, bits))


def saturate(value: Value) -> Value:
    """Clamp to [0, 1]; NaN becomes +0 (``.sat``)."""
    positive = value.fcmp(">", 0.0).select(value, 0.0)
    return positive.fcmp("<", 1.0).select(positive, 1.0)


def relu(value: Value, kind: str) -> Value:
    """Negative numbers become +0; NaN stays, canonical (``.relu``)."""
    bits = as_bits(value)
    clamped = (bits & _sign_mask(kind)).ne(0).select(0, bits)
    return _like(value, is_nan(value, kind).select(_sign_mask(kind) - 1, clamped))


# -- narrowing ----------------------------------------------------------------------------------------------------------
def widen(value: Value, kind: str, element: ir.Type) -> Value:
    """A value of the format ``kind`` as f32 or f64 (``element``), which is exact; bf16 comes as integers."""
    if kind == "bf16":
        value = (value.zext(I32) << 16).bitcast(F32)
    return value.fpext(element)


def narrow(value: Value, kind: str, rounding: str) -> Value:
    """An f32 or f64 rounded once to the format ``kind``: ``rn rz rm rp``, or ``odd``.

    Rounding to odd keeps in the last bit that something was cut off, so that a second rounding to a format of at least
    two bits less gives what one rounding would have given (Boldo and Melquiond, "Emulation of FMA and correctly
    rounded sums: proved algorithms using rounding to odd", 2008).
    """
    if kind == "bf16":
        return _narrow_bf16(narrow(value, "f32", "odd"), rounding)
    if value.bits == 64 and kind == "f16":
        value = narrow(value, "f32", "odd")
    element = ELEMENT[kind]
    if value.bits == bits_of(element):
        return value
    nearest = value.fptrunc(element)
    return nearest if rounding == "rn" else _directed(value, nearest, rounding)


def _directed(exact: Value, nearest: Value, rounding: str) -> Value:
    """Move the nearest value by one step where it lies on the wrong side of ``exact``.

    A step in the bits is a step in magnitude, from the largest number to infinity too.
    """
    back = nearest.fpext(exact.type.element)
    bits = as_bits(nearest)
    negative = bits.slt(0)
    above, below = back.fcmp(">", exact), back.fcmp("<", exact)
    outward = negative.select(below, above)  # the magnitude grew
    if rounding in ("rz", "odd"):
        step = outward.sext(bits.type.element)
    elif rounding == "rm":
        step = above.select(negative.select(bits.f.const(bits.type, 1), -1), 0)
    else:
        step = below.select(negative.select(bits.f.const(bits.type, -1), 1), 0)
    moved = bits + step
    if rounding == "odd":
        moved = moved | (above | below).zext(bits.type.element)
    return moved.bitcast(nearest.type.element)


def _narrow_bf16(value: Value, rounding: str) -> Value:
    """f32 to the integers that hold a bf16, whose bits are the upper half."""
    bits = value.bitcast(I32)
    if rounding == "rn":
        carry = (bits >> 16 & 1) + 0x7FFF
    elif rounding in ("rm", "rp"):
        away = bits.slt(0) if rounding == "rm" else bits.sge(0)
        carry = away.select(bits.f.const(bits.type, 0xFFFF), 0)
    else:
        carry = bits.f.const(bits.type, 0)
    return is_nan(value, "f32").select(0x7FFF, (bits + carry) >> 16 & 0xFFFF).trunc(I16)


def two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """``a + b`` rounded to nearest, and exactly what the rounding lost (Knuth's TwoSum), barring overflow."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def odd_sum(a: Value, b: Value) -> Value:
    """``a + b`` rounded to odd; see `narrow`."""
    total, lost = two_sum(a, b)
    return sticky(total, lost)


def sticky(total: Value, lost: Value) -> Value:
    """The exact ``total + lost`` rounded to odd, where ``lost`` is below half a unit of ``total``'s last place."""
    bits = as_bits(total)
    inexact = lost.fcmp("!=", 0.0)
    inward = inexact & (as_bits(lost) ^ bits).slt(0)  # what was lost has the other sign: the magnitude is too large
    even = (bits & 1).eq(0)
    # From an odd value nothing needs to move: it already stands for everything up to its two neighbours.
    step = (even & inexact).select(inward.select(bits.f.const(bits.type, -1), 1), 0)
    return (bits + step).bitcast(total.type.element)
