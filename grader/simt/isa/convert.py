"""Conversions: `cvt` of the PTX manual's chapter "Data Movement and Conversion Instructions".

A destination that is narrower than its register is extended; a source is read from the register's low bits.
"""

from __future__ import annotations

from grader.simt.engine.values import F32, F64, I32, Value
from grader.simt.isa.formats import (
    ROUNDINGS,
    as_bits,
    canonical,
    finite,
    flush,
    from_integer,
    is_nan,
    narrow,
    relu,
    saturate,
    scalar_name,
    widen,
)
from grader.simt.isa.registry import ELEMENT, WIDTH, Emitter, Example, Match, form, is_signed

INTS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
TO_WHOLE = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}
BOTH = {"d": "DTYPE", "a": "ATYPE"}
NAN, INF = 0x7FFFFFFF, float("inf")


# -- integers ----------------------------------------------------------------------------------------------------------
def bounds(kind: str) -> tuple[int, int]:
    """The smallest and the largest integer of a PTX type such as ``s8`` (or ``u4``)."""
    bits = int(kind[1:])
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(kind) else (0, (1 << bits) - 1)


def _clamp(value: Value, source: str, kind: str) -> Value:
    """An integer of PTX type ``source``, clamped to the range of ``kind``, in its own width."""
    low, high = bounds(kind)
    least, most = bounds(source)
    if low > least:
        value = value.slt(low).select(low, value)
    if high < most:
        value = (value.sgt(high) if is_signed(source) else value.ugt(high)).select(high, value)
    return value


@form(
    "cvt{.sat}.DTYPE.ATYPE d, a",
    Example("cvt.s64.s32", ([-5],), [-5]),
    Example("cvt.u64.u32", ([-5],), [0xFFFFFFFB]),
    Example("cvt.u16.u32", ([0x12345],), [0x2345]),
    Example("cvt.s8.s32", ([0x1FF],), [-1]),
    Example("cvt.sat.u8.s32", ([-5, 300, 7],), [0, 255, 7]),
    Example("cvt.sat.s32.u32", ([0xFFFFFFFF],), [0x7FFFFFFF]),
    Example("cvt.sat.u64.s16", ([-5, 5],), [0, 5]),
    Example("cvt.sat.s16.s64", ([-(2**40), 2**40],), [-32768, 32767]),
    DTYPE=INTS,
    ATYPE=INTS,
    operands=BOTH,
)
def cvt_integers(e: Emitter, m: Match, a: Value) -> Value:
    if m.sat:
        a = _clamp(a, m.ATYPE, m.DTYPE)
    return a.resize(ELEMENT[m.DTYPE], signed=is_signed(m.ATYPE))


def _cut(value: Value, kind: str, nan: int) -> Value:
    """Floats to integers of PTX type ``kind``, rounded towards zero and clamped to its range; ``nan`` for NaN.

    LLVM's saturating conversion is scalar on many processors, and its plain conversion is undefined out of range.
    """
    low, high = bounds(kind)
    over = value.fcmp(">=", float(high + 1))  # both bounds are powers of two, so they are exact
    inside = value.fcmp(">=", float(low)) & value.fcmp("<", float(high + 1))
    inner, element = inside.select(value, 0.0), ELEMENT[kind] if kind.endswith("64") else I32
    whole = inner.fptosi(element) if is_signed(kind) or WIDTH[kind] < 32 else inner.fptoui(element)
    clamped = inside.select(whole, over.select(high, value.f.const(whole.type, low)))
    return value.fcmp("uno", value).select(nan, clamped).resize(ELEMENT[kind])


# -- between integers and floats ---------------------------------------------------------------------------------------
@form(
    "cvt{.RND}{.ftz}{.sat}.DTYPE.ATYPE d, a",
    Example("cvt.rn.f32.s32", ([0x1000001, -0x1000003],), [16777216.0, -16777220.0]),
    Example("cvt.rz.f32.u32", ([0xFFFFFFFF],), [4294967040.0]),
    Example("cvt.rp.f32.s64", ([2**60 + 1],), [2.0**60 + 2.0**37]),
    Example("cvt.rm.f64.u64", ([2**64 - 1],), [2.0**64 - 2048.0]),
    Example("cvt.rn.f64.u64", ([2**64 - 1],), [2.0**64]),
    Example("cvt.rn.f16.s32", ([65519, 65520, -70000],), [65504.0, INF, -INF]),
    Example("cvt.rz.f16.u16", ([65535],), [65504.0]),
    Example("cvt.rn.bf16.s32", ([257, 259],), [0x4380, 0x4382]),
    Example("cvt.rn.sat.f32.s32", ([-3, 0, 9],), [0.0, 0.0, 1.0]),
    RND=ROUNDINGS,
    DTYPE=FLOATS,
    ATYPE=INTS,
    operands=BOTH,
)
def cvt_to_float(e: Emitter, m: Match, a: Value) -> Value:
    value = from_integer(a, m.DTYPE, m.RND or "rn", signed=is_signed(m.ATYPE))
    return saturate(value) if m.sat else value


@form(
    "cvt.RND{.ftz}{.sat}.DTYPE.ATYPE d, a",
    Example("cvt.rzi.s32.f32", ([-2.7, 3e9, -3e9, NAN],), [-2, 2147483647, -2147483648, 0]),
    Example("cvt.rni.s32.f32", ([2.5, 3.5, -0.5],), [2, 4, 0]),
    Example("cvt.rmi.s32.f32", ([-2.1],), [-3]),
    Example("cvt.rpi.u32.f32", ([1e-40, -1e-40],), [1, 0]),
    Example("cvt.rpi.ftz.u32.f32", ([1e-40],), [0]),
    Example("cvt.rzi.u32.f64", ([NAN << 32, -1.0, 4e9],), [0x80000000, 0, 4000000000]),
    Example("cvt.rzi.s64.f32", ([NAN, INF],), [-(2**63), 2**63 - 1]),
    Example("cvt.rzi.u8.f32", ([300.0],), [255]),
    Example("cvt.rni.s16.f16", ([2.5, -INF],), [2, -32768]),
    Example("cvt.rzi.s32.bf16", ([0xC040],), [-3]),
    RND=TO_WHOLE,
    DTYPE=INTS,
    ATYPE=FLOATS,
    operands=BOTH,
)
def cvt_to_integer(e: Emitter, m: Match, a: Value) -> Value:
    """Out of range, the result is the nearest integer of the type; for NaN 0, or the top bit if a type has 64 bits."""
    if m.ftz and m.ATYPE == "f32":
        a = flush(a, "f32")
    wide = widen(a, m.ATYPE, F64 if m.ATYPE == "f64" else F32)
    if m.RND != "rzi":
        wide = e.f.overloaded(TO_WHOLE[m.RND], wide)
    wide_type = m.ATYPE == "f64" or m.DTYPE.endswith("64")
    return _cut(wide, m.DTYPE, 1 << (WIDTH[m.DTYPE] - 1) if wide_type else 0)


# -- between floats ----------------------------------------------------------------------------------------------------
@form(
    "cvt{.RND}{.ftz}{.sat}.DTYPE.ATYPE d, a",
    Example("cvt.f64.f32", ([1.5, -0.0],), [1.5, -0.0]),
    Example("cvt.rn.f32.f64", ([1.0 + 2.0**-24],), [1.0]),
    Example("cvt.rp.f32.f64", ([1.0 + 2.0**-40, -1e300, 1e300],), [1.0 + 2.0**-23, 0xFF7FFFFF, INF]),
    Example("cvt.rm.f32.f64", ([1e-300, -1e-300],), [0.0, 0x80000001]),
    Example("cvt.rz.f32.f64", ([1e300],), [0x7F7FFFFF]),
    Example("cvt.rn.ftz.f32.f64", ([1e-40],), [0.0]),
    Example("cvt.ftz.f64.f32", ([-1e-40],), [-0.0]),
    Example("cvt.rn.f16.f32", ([65519.9, 65520.0, 1.0 + 2.0**-11],), [65504.0, INF, 1.0]),
    Example("cvt.rz.f16.f32", ([1e9, -1.9999],), [65504.0, 0xBFFF]),
    Example("cvt.f32.f16", ([6e-8],), [2.0**-24]),
    # For the next two, a rounding to f32 first would round up twice.
    Example("cvt.rn.f16.f64", ([1.0 + 2.0**-11 - 2.0**-40],), [1.0]),
    Example("cvt.rn.bf16.f64", ([1.0 + 2.0**-8 - 2.0**-40],), [0x3F80]),
    Example("cvt.rn.bf16.f32", ([1.0, 3.4e38, NAN],), [0x3F80, 0x7F80, 0x7FFF]),
    Example("cvt.f32.bf16", ([0xC040],), [-3.0]),
    Example("cvt.rni.f32.f32", ([2.5, -0.5, 1e10],), [2.0, -0.0, 1e10]),
    Example("cvt.rpi.f64.f64", ([-0.2],), [-0.0]),
    Example("cvt.rmi.f16.f16", ([-0.5],), [-1.0]),
    Example("cvt.sat.f32.f32", ([-1.0, 0.5, 2.0, NAN],), [0.0, 0.5, 1.0, 0.0]),
    Example("cvt.ftz.f32.f32", ([1e-40, 1.0],), [0.0, 1.0]),
    RND=(*ROUNDINGS, *TO_WHOLE),
    DTYPE=FLOATS,
    ATYPE=FLOATS,
    operands=BOTH,
)
def cvt_floats(e: Emitter, m: Match, a: Value) -> Value:
    """``.ftz`` flushes only f32, source and result. NaN becomes the canonical NaN, except in f64."""
    if m.ftz and m.ATYPE == "f32":
        a = flush(a, "f32")
    value = widen(a, m.ATYPE, F64 if "f64" in (m.ATYPE, m.DTYPE) else F32)
    if m.RND in TO_WHOLE:
        value = e.f.overloaded(TO_WHOLE[m.RND], value)
    if m.sat:
        value = saturate(value)
    value = narrow(value, m.DTYPE, m.RND if m.RND in ROUNDINGS else "rn")
    if m.ftz and m.DTYPE == "f32":
        value = flush(value, "f32")
    return value if m.DTYPE == "f64" else canonical(value, m.DTYPE)


@form(
    "cvt.RND{.relu}{.satfinite}.DTYPE.f32 d, a",
    Example("cvt.rn.relu.f16.f32", ([-2.0, 2.0, -0.0, NAN],), [0.0, 2.0, 0.0, 0x7FFF]),
    Example("cvt.rn.satfinite.bf16.f32", ([-INF, 3.4e38],), [0xFF7F, 0x7F7F]),
    RND=("rn", "rz"),
    DTYPE=("f16", "bf16"),
    operands={"d": "DTYPE"},
)
@form(
    "cvt.RND{.relu}{.satfinite}.DTYPE.f32 d, a, b",
    Example("cvt.rn.f16x2.f32", ([1.0], [2.0]), [2.0, 1.0]),
    Example("cvt.rz.bf16x2.f32", ([1.999], [-2.0]), [0xC000, 0x3FFF]),
    Example("cvt.rn.relu.bf16x2.f32", ([-1.0], [2.0]), [0x4000, 0]),
    RND=("rn", "rz"),
    DTYPE=("f16x2", "bf16x2"),
    operands={"d": "DTYPE"},
)
def cvt_half(e: Emitter, m: Match, a: Value, b: Value | None = None) -> Value:
    """For a pair, ``a`` is the upper half, ``b`` the lower one."""
    kind = scalar_name(m.DTYPE)
    halves = []
    for source in (a,) if b is None else (b, a):
        value = narrow(source, kind, m.RND)
        if m.satfinite:
            value = finite(value, kind)
        halves.append(relu(value, kind) if m.relu else canonical(value, kind))
    if b is None:
        return halves[0]
    return halves[0].shuffle([i // 2 + 32 * (i % 2) for i in range(64)], halves[1])


TF32_CUT = 13
"""Mantissa bits of f32 beyond those of tf32."""


@form(
    "cvt.RND{.satfinite}{.relu}.tf32.f32 d, a",
    Example("cvt.rna.tf32.f32", ([1.0 + 2.0**-11, -1.0 - 2.0**-12, NAN],), [0x3F802000, 0xBF800000, 0x7FFFFFFF]),
    Example("cvt.rn.tf32.f32", ([1.0 + 2.0**-11],), [0x3F800000]),
    Example("cvt.rna.satfinite.tf32.f32", ([-INF, 1.0],), [0xFF7FE000, 0x3F800000]),
    Example("cvt.rz.relu.tf32.f32", ([1.999],), [0x3FFFC000]),
    RND=("rna", "rn", "rz"),
    operands={"d": "b32"},
)
def cvt_tf32(e: Emitter, m: Match, a: Value) -> Value:
    """The bits of an f32 whose lower 13 mantissa bits are zero; ``.rna`` rounds ties away from zero."""
    bits = a.bitcast(I32)
    half, cut = 1 << (TF32_CUT - 1), -(1 << TF32_CUT)
    to_even = (bits >> TF32_CUT & 1) + (half - 1)
    value = {"rna": bits + half, "rn": bits + to_even, "rz": bits}[m.RND]
    if m.satfinite:
        value = as_bits(finite((value & cut).bitcast(F32), "f32"))
    if m.relu:
        value = value.slt(0).select(0, value)
    return is_nan(bits, "f32").select(NAN, value & cut)


# -- packing -----------------------------------------------------------------------------------------------------------
@form(
    "cvt.pack.sat.KIND.s32 d, a, b",
    Example("cvt.pack.sat.s16.s32", ([-40000, 1], [40000, -1]), [0x80007FFF, 0x0001FFFF]),
    Example("cvt.pack.sat.u16.s32", ([-1], [70000]), [0x0000FFFF]),
    KIND=("u16", "s16"),
    operands={"d": "b32"},
)
@form(
    "cvt.pack.sat.KIND.s32.b32 d, a, b, c",
    Example("cvt.pack.sat.u8.s32.b32", ([300], [-1], [0x12345678]), [0x5678FF00]),
    Example("cvt.pack.sat.s4.s32.b32", ([-9], [7], [1]), [0x187]),
    Example("cvt.pack.sat.u2.s32.b32", ([9], [2], [1]), [0x1E]),
    KIND=("u8", "s8", "u4", "s4", "u2", "s2"),
    operands={"a": "s32", "b": "s32"},
)
def cvt_pack(e: Emitter, m: Match, a: Value, b: Value, c: Value | None = None) -> Value:
    """``b`` in the lowest bits, ``a`` above it, each clamped to the type's range; above them the bits of ``c``."""
    bits = int(m.KIND[1:])
    low, high = (_clamp(x, "s32", m.KIND) & ((1 << bits) - 1) for x in (b, a))
    pair = low | (high << bits)
    return pair if c is None else pair | (c << (2 * bits))
