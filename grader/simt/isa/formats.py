"""Float formats: f64, f32, f16, and bf16, which is represented by integers here.

The functions are GPU-specific operations on them: flushing, saturation, the canonical NaN; conversions that round once;
and the arithmetic of f32 and f64 in any rounding direction. A parameter ``kind`` is needed for bf16 and for floats that
are passed as integers; else it follows from the value.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated_once
from grader.simt.engine.values import F32, F64, I16, I32, VOID, Value, mangle
from grader.simt.isa.registry import ELEMENT, WIDTH

MANTISSA = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}
"""Stored mantissa bits."""


def scalar_name(kind: str) -> str:
    """The format of one element: ``f16`` for ``f16x2``."""
    return kind.removesuffix("x2")


def sign_mask(kind: str) -> int:
    return 1 << (WIDTH[kind] - 1)


def _infinity_bits(kind: str) -> int:
    return sign_mask(kind) - (1 << MANTISSA[kind])


def _smallest_normal(kind: str) -> int:
    return 1 << MANTISSA[kind]


def _canonical_nan(kind: str) -> int:
    """The NaN of NVIDIA GPUs: from the PTX manual; of f64 as in ptxas' own instruction sequences."""
    return 0xFFF8000000000000 if kind == "f64" else sign_mask(kind) - 1


def _kind_of(value: Value) -> str:
    """The format of a value whose IR type is a float."""
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
    """The bit pattern without its sign: it has the order of the absolute value, with NaN above infinity."""
    return as_bits(value) & (sign_mask(kind or _kind_of(value)) - 1)


def is_nan(value: Value, kind: str = "") -> Value:
    """Whether a value of the format is not a number, by its bits."""
    kind = kind or _kind_of(value)
    return magnitude(value, kind).ugt(_infinity_bits(kind))


def flush(value: Value, kind: str = "") -> Value:
    """Subnormal numbers become zeros of the same sign (``.ftz``)."""
    kind = kind or _kind_of(value)
    bits = as_bits(value)
    tiny = magnitude(value, kind).ult(_smallest_normal(kind))
    return _like(value, tiny.select(bits & sign_mask(kind), bits))


def canonical(value: Value, kind: str = "") -> Value:
    """``value`` with the hardware's NaN. With integers, because LLVM may replace a NaN by another NaN."""
    kind = kind or _kind_of(value)
    return _like(value, is_nan(value, kind).select(_canonical_nan(kind), as_bits(value)))


def saturate(value: Value) -> Value:
    """``value`` clamped to 0 … 1; NaN becomes +0 (``.sat``)."""
    return value.fcmp(">", 0.0).select(value.fcmp("<", 1.0).select(value, 1.0), 0.0)


def relu(value: Value, kind: str) -> Value:
    """Negative numbers become +0; NaN becomes the canonical NaN (``.relu``)."""
    bits = as_bits(value)
    clamped = bits.slt(0).select(0, bits)
    return _like(value, is_nan(value, kind).select(_canonical_nan(kind), clamped))


def finite(value: Value, kind: str) -> Value:
    """Infinities become the largest numbers (``.satfinite``)."""
    bits = as_bits(value)
    infinite = magnitude(value, kind).eq(_infinity_bits(kind))
    return _like(value, infinite.select(bits - 1, bits))


def classify(value: Value, test: str) -> Value:
    """``testp``'s predicates. The manual counts zeros as normal."""
    kind, size = _kind_of(value), magnitude(value)
    return CLASSES[test](size, _infinity_bits(kind), _smallest_normal(kind))


CLASSES: dict[str, Callable[[Value, int, int], Value]] = {
    "finite": lambda size, infinity, normal: size.ult(infinity),
    "infinite": lambda size, infinity, normal: size.eq(infinity),
    "number": lambda size, infinity, normal: size.ule(infinity),
    "notanumber": lambda size, infinity, normal: size.ugt(infinity),
    "normal": lambda size, infinity, normal: size.eq(0) | (size - normal).ult(infinity - normal),
    "subnormal": lambda size, infinity, normal: (size - 1).ult(normal - 1),
}
"""Each test, as a function of a value's magnitude, infinity's, and that of the smallest normal number."""


# -- conversions -------------------------------------------------------------------------------------------------------
def widen(value: Value, kind: str, element: ir.Type) -> Value:
    """A value of the format as f32 or f64 (``element``), which is exact; bf16 is passed as integers."""
    if kind == "bf16":
        value = (value.zext(I32) << 16).bitcast(F32)
    return value.fpext(element)


def narrow(value: Value, kind: str, rounding: str = "rn") -> Value:
    """An f32 or f64 rounded once to a format with at most as many bits: ``rn rz rm rp``, or ``odd``.

    Rounding to odd sets the last bit if the result is inexact, so that a second rounding, to a format with at least two
    bits less, has the result of a single rounding (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
    proved algorithms using rounding to odd", 2008).
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
    return _step(nearest, back.fcmp(">", value), back.fcmp("<", value), rounding)


def _step(nearest: Value, above: Value, below: Value, rounding: str) -> Value:
    """Another rounding of an exact value, from its nearest float and whether that is above or below the value.

    One step in the bits is one step in magnitude, also from the largest number to infinity, and from zero.
    """
    bits = as_bits(nearest)
    element, negative = bits.type.element, bits.slt(0)
    one, back = bits.f.const(bits.type, 1), bits.f.const(bits.type, -1)
    if rounding == "rm":
        moved = bits + above.select(negative.select(one, back), 0)
    elif rounding == "rp":
        moved = bits + below.select(negative.select(back, one), 0)
    else:
        moved = bits + negative.select(below, above).sext(element)  # towards zero if the magnitude grew
    if rounding == "odd":
        moved = moved | (above | below).zext(element)
    return moved.bitcast(nearest.type.element)


def _narrow_bf16(value: Value, rounding: str) -> Value:
    """f32 to bf16, as integers: the upper half of the bits, rounded. NaN becomes the canonical NaN."""
    bits = value.bitcast(I32)
    if rounding == "rn":
        bits = bits + ((bits >> 16 & 1) + 0x7FFF)
    elif rounding in ("rm", "rp"):
        outward = bits.slt(0) if rounding == "rm" else bits.sge(0)
        bits = bits + outward.select(bits.f.const(bits.type, 0xFFFF), 0)
    return is_nan(value).select(_canonical_nan("bf16"), bits >> 16).trunc(I16)


def odd_sum(a: Value, b: Value) -> Value:
    """``a + b`` rounded to odd, by Knuth's TwoSum; the sum must not overflow to infinity unless an operand is."""
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    return _step(total, lost.fcmp("<", 0.0), lost.fcmp(">", 0.0), "odd")


def from_integer(value: Value, kind: str, rounding: str, *, signed: bool) -> Value:
    """An integer of 8 to 64 bits rounded once to a float format."""
    element = ELEMENT[kind]
    if kind == "f16":
        # Integers in the range of f16 are exact in f32. Those beyond it are cut: LLVM 20 takes a power of two for exact
        # in f16 where it is infinite there, and drops the comparison with which `narrow` corrects the rounding.
        return narrow(_nearest_float(_within(value, BEYOND_F16, signed), F32, signed), kind, rounding)
    if rounding == "rn" and kind != "bf16":
        return _nearest_float(value, element, signed)
    if value.bits < 64:
        exact = _nearest_float(value, F64, signed)
        return exact if kind == "f64" else narrow(exact, kind, rounding)
    # The nearest double and its error, both exact: Dekker's FastTwoSum of the two halves.
    high = _nearest_float(value.ashr(32) if signed else value >> 32, F64, signed) * 2.0**32
    low = (value & 0xFFFFFFFF).uitofp(F64)
    total = high + low
    lost = low - (total - high)
    above, below = lost.fcmp("<", 0.0), lost.fcmp(">", 0.0)
    if kind == "f64":
        return _step(total, above, below, rounding)
    return narrow(_step(total, above, below, "odd"), kind, rounding)


BEYOND_F16 = 65521
"""An integer that f16 rounds to infinity or to its largest number, as it does all larger ones, and none of 11 bits."""


def _within(value: Value, bound: int, signed: bool) -> Value:
    """The integer, cut to ±``bound``."""
    if value.bits <= 16:
        return value
    if not signed:
        return value.ult(bound).select(value, bound)
    return value.slt(bound).select(value.sgt(-bound).select(value, -bound), bound)


def _nearest_float(value: Value, element: ir.Type, signed: bool) -> Value:
    return value.sitofp(element) if signed else value.uitofp(element)


# -- arithmetic of f32 and f64 -----------------------------------------------------------------------------------------
DIRECTED = {"rz": 0, "rp": 2, "rm": 3}
"""The numbers of PTX's directed modifiers in `llvm.set.rounding`."""

NEAREST = 1
ROUNDINGS = ("rn", "rz", "rm", "rp")

_NEAREST: dict[str, Callable[..., Value]] = {
    "fadd": lambda f, a, b: a + b,
    "fsub": lambda f, a, b: a - b,
    "fmul": lambda f, a, b: a * b,
    "fdiv": lambda f, a, b: a / b,
    "fma": lambda f, a, b, c: f.overloaded("llvm.fma", a, b, c),
    "sqrt": lambda f, a: f.overloaded("llvm.sqrt", a),
}


def arithmetic(f: Builder, operation: str, rounding: str, *operands: Value) -> Value:
    """``fadd fsub fmul fdiv fma sqrt`` of f32 or f64 vectors, rounded once; ``rounding`` is a PTX modifier or "".

    Round-to-nearest operations are LLVM's own. The others set the CPU's rounding mode around LLVM's constrained
    intrinsics, in one outlined function for each operation, direction and type, so that they follow IEEE 754 like the
    CPU's arithmetic, including overflow, subnormals and the sign of zero.
    """
    if rounding not in DIRECTED:
        return _NEAREST[operation](f, *operands)
    kind = operands[0].type

    def build(g: Builder) -> None:
        """Set the mode in the first instruction and reset it in the last; nothing is moved across a function's ends."""
        g.intrinsic("llvm.set.rounding", VOID, g.const(I32, DIRECTED[rounding]))
        constrained = f"llvm.experimental.constrained.{operation}.{mangle(kind)}"
        result = g.intrinsic(constrained, kind, *g.args, g.metadata("round.dynamic"), g.metadata("fpexcept.ignore"))
        g.intrinsic("llvm.set.rounding", VOID, g.const(I32, NEAREST))
        g.ret(result)

    name = f"{operation}_{rounding}_{mangle(kind)}"
    directed = generated_once(f.module, name, kind, [kind] * len(operands), build, "noinline strictfp")
    return f.call(directed, *operands)


def extremum(f: Builder, operation: str, a: Value, b: Value, *, propagate_nan: bool = False) -> Value:
    """``min`` or ``max``: of a number and NaN the number, unless ``propagate_nan``; -0 < +0; NaN is canonical."""
    # Not llvm.maximumnum, which does this in one instruction: LLVM 20 selects the wrong operand for it on x86.
    larger = f.overloaded(f"llvm.{operation}imum", a, b)
    if not propagate_nan:
        larger = is_nan(a).select(b, is_nan(b).select(a, larger))
    return canonical(larger)
