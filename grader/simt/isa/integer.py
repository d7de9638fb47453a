"""Integer arithmetic: PTX manual, chapter "Integer Arithmetic Instructions"."""

from __future__ import annotations

from grader.simt.engine.values import F32, F64, I32, Value
from grader.simt.isa.emit import ELEMENT, Emitter, is_signed
from grader.simt.isa.registry import WIDE, Example, Match, form

INTS = ("u16", "s16", "u32", "s32", "u64", "s64")
SIGNED = ("s16", "s32", "s64")
NARROW = ("u16", "s16", "u32", "s32")
WORDS = ("u32", "s32")
PAIRS = ("u16x2", "s16x2")
MAX_S32, MIN_S32, ONES = 2147483647, -2147483648, 0xFFFFFFFF


# -- sums and products -------------------------------------------------------------------------------------------------
@form(
    "add.sat.TYPE d, a, b",
    TYPE=("s32",),
    examples=[Example("add.sat.s32", ([MAX_S32, MIN_S32, 5], [1, -1, -7]), [MAX_S32, MIN_S32, -2])],
)
def add_sat(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return e.f.overloaded("llvm.sadd.sat", a, b)


@form(
    "add.TYPE d, a, b",
    TYPE=INTS + PAIRS,
    examples=[
        Example("add.s32", ([MAX_S32], [1]), [MIN_S32]),
        Example("add.u16", ([65535], [2]), [1]),
        Example("add.u64", ([0xFFFFFFFF], [1]), [1 << 32]),
        Example("add.u16x2", ([65535, 7], [1, 2]), [0, 9]),
    ],
)
def add(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a + b


@form(
    "sub.sat.TYPE d, a, b",
    TYPE=("s32",),
    examples=[Example("sub.sat.s32", ([MIN_S32, MAX_S32], [1, -1]), [MIN_S32, MAX_S32])],
)
def sub_sat(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return e.f.overloaded("llvm.ssub.sat", a, b)


@form(
    "sub.TYPE d, a, b",
    TYPE=INTS,
    examples=[Example("sub.u16", ([0], [1]), [65535]), Example("sub.s64", ([1], [1 << 40]), [1 - (1 << 40)])],
)
def sub(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a - b


@form("mul.lo.TYPE d, a, b", TYPE=INTS, examples=[Example("mul.lo.u32", ([0x10001], [0x10001]), [0x20001])])
def mul_lo(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a * b


def _wide(value: Value, kind: str) -> Value:
    return value.resize(ELEMENT[WIDE[kind]], signed=is_signed(kind))


def high_product(a: Value, b: Value, kind: str) -> Value:
    """The upper half of the product of two integers of PTX type ``kind``."""
    if a.bits < 64:
        return (_wide(a, kind) * _wide(b, kind) >> a.bits).trunc(ELEMENT[kind])
    # From 32-bit halves, which stays in vector registers; a 128-bit product would be taken apart lane by lane.
    low = 0xFFFFFFFF
    a0, a1, b0, b1 = a & low, a >> 32, b & low, b >> 32
    cross, other = a1 * b0, a0 * b1
    middle = (a0 * b0 >> 32) + (cross & low) + (other & low)
    high = a1 * b1 + (cross >> 32) + (other >> 32) + (middle >> 32)
    if not is_signed(kind):
        return high
    return high - (a.ashr(63) & b) - (b.ashr(63) & a)


@form(
    "mul.hi.TYPE d, a, b",
    TYPE=INTS,
    examples=[
        Example("mul.hi.u32", ([ONES], [ONES]), [0xFFFFFFFE]),
        Example("mul.hi.s32", ([-1], [2]), [-1]),
        Example("mul.hi.s16", ([-32768], [-32768]), [16384]),
        Example("mul.hi.u64", ([2**64 - 1], [2**64 - 1]), [2**64 - 2]),
        Example("mul.hi.s64", ([-(2**63), -1], [2, 1]), [-1, -1]),
    ],
)
def mul_hi(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return high_product(a, b, m.TYPE)


@form(
    "mul.wide.TYPE d, a, b",
    TYPE=NARROW,
    operands={"d": "wide:TYPE"},
    examples=[Example("mul.wide.s32", ([-2], [3]), [-6]), Example("mul.wide.u16", ([65535], [65535]), [0xFFFE0001])],
)
def mul_wide(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _wide(a, m.TYPE) * _wide(b, m.TYPE)


@form("mad.lo.TYPE d, a, b, c", TYPE=INTS, examples=[Example("mad.lo.s32", ([7], [-3], [1]), [-20])])
def mad_lo(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return a * b + c


@form("mad.hi.TYPE d, a, b, c", TYPE=INTS, examples=[Example("mad.hi.u32", ([ONES], [ONES], [3]), [1])])
def mad_hi(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return high_product(a, b, m.TYPE) + c


@form(
    "mad.hi.sat.TYPE d, a, b, c",
    TYPE=("s32",),
    examples=[Example("mad.hi.sat.s32", ([MIN_S32, 1], [MIN_S32, 1], [MAX_S32, 4]), [MAX_S32, 4])],
)
def mad_hi_sat(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return e.f.overloaded("llvm.sadd.sat", high_product(a, b, m.TYPE), c)


@form(
    "mad.wide.TYPE d, a, b, c",
    TYPE=NARROW,
    operands={"d": "wide:TYPE", "c": "wide:TYPE"},
    examples=[Example("mad.wide.u32", ([ONES], [2], [1]), [0x1FFFFFFFF])],
)
def mad_wide(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return _wide(a, m.TYPE) * _wide(b, m.TYPE) + c


def _product24(m: Match, a: Value, b: Value) -> Value:
    """``.lo``: bits 0 to 31 of the product of the operands' lower 24 bits; ``.hi``: bits 16 to 47."""
    sides = [(x << 8).ashr(8) if is_signed(m.TYPE) else x & 0xFFFFFF for x in (a, b)]
    if m.HALF == "lo":
        return sides[0] * sides[1]
    return (_wide(sides[0], m.TYPE) * _wide(sides[1], m.TYPE) >> 16).trunc(I32)


@form(
    "mul24.HALF.TYPE d, a, b",
    HALF=("lo", "hi"),
    TYPE=WORDS,
    examples=[
        Example("mul24.lo.s32", ([0xFFFFFF, 0x1000003], [5]), [-5, 15]),
        Example("mul24.hi.u32", ([0xFFFFFF], [0xFFFFFF]), [0xFFFFFE00]),
        Example("mul24.hi.s32", ([0x800000], [2]), [-256]),
    ],
)
def mul24(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _product24(m, a, b)


@form(
    "mad24.HALF.TYPE d, a, b, c",
    HALF=("lo", "hi"),
    TYPE=WORDS,
    examples=[Example("mad24.lo.u32", ([0x1000002], [3], [4]), [10])],
)
def mad24(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return _product24(m, a, b) + c


@form(
    "mad24.HALF.sat.TYPE d, a, b, c",
    HALF=("hi",),
    TYPE=("s32",),
    examples=[Example("mad24.hi.sat.s32", ([0x7FFFFF], [0x7FFFFF], [MAX_S32]), [MAX_S32])],
)
def mad24_sat(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return e.f.overloaded("llvm.sadd.sat", _product24(m, a, b), c)


@form(
    "sad.TYPE d, a, b, c",
    TYPE=INTS,
    examples=[Example("sad.s32", ([-5], [7], [1]), [13]), Example("sad.u32", ([1], [ONES], [0]), [0xFFFFFFFE])],
)
def sad(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    less = a.slt(b) if is_signed(m.TYPE) else a.ult(b)
    return c + less.select(b - a, a - b)


# -- division ----------------------------------------------------------------------------------------------------------
def _safe_divisor(a: Value, b: Value, kind: str) -> Value:
    """``b``, or 1 where the division would trap: for zero, and for the most negative number by -1.

    Dividing by 1 is right for the second: the quotient wraps to the dividend, and the remainder is 0.
    """
    traps = b.eq(0)
    if is_signed(kind):
        traps = traps | (b.eq(-1) & a.eq(1 << (a.bits - 1)))
    return traps.select(1, b)


def _quotient(a: Value, b: Value, kind: str) -> Value:
    """``a / b`` towards zero, for a divisor that `_safe_divisor` gave.

    Narrow integers divide as floats of more than twice their width: a quotient that is not whole is then at least
    2^-width below the next whole number (relative 2^-2·width), so that rounding never reaches it.
    """
    if a.bits == 64:
        return a.sdiv(b) if is_signed(kind) else a.udiv(b)
    wide = F64 if a.bits == 32 else F32
    if is_signed(kind):
        return (a.sitofp(wide) / b.sitofp(wide)).fptosi(ELEMENT[kind])
    return (a.uitofp(wide) / b.uitofp(wide)).fptoui(ELEMENT[kind])


@form(
    "div.TYPE d, a, b",
    TYPE=INTS,
    examples=[
        Example("div.s32", ([-7, MIN_S32, 5], [2, -1, 0]), [-3, MIN_S32, -1]),
        Example("div.u32", ([ONES, 7], [ONES, 0]), [1, ONES]),
        Example("div.s64", ([-(2**63)], [-1]), [-(2**63)]),
        Example("div.u16", ([65535, 9], [256, 0]), [255, 65535]),
    ],
)
def div(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """Division by zero gives all ones, as GPUs do; the manual leaves it to the machine."""
    return b.eq(0).select(-1, _quotient(a, _safe_divisor(a, b, m.TYPE), m.TYPE))


@form(
    "rem.TYPE d, a, b",
    TYPE=INTS,
    examples=[
        Example("rem.s32", ([-7, MIN_S32, 5], [2, -1, 0]), [-1, 0, -1]),
        Example("rem.u64", ([2**64 - 1, 9], [10, 0]), [5, 2**64 - 1]),
    ],
)
def rem(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The remainder has the dividend's sign; by zero all bits are ones, as an H200 gives."""
    safe = _safe_divisor(a, b, m.TYPE)
    return b.eq(0).select(-1, a - _quotient(a, safe, m.TYPE) * safe)


# -- sign and order ----------------------------------------------------------------------------------------------------
@form("abs.TYPE d, a", TYPE=SIGNED, examples=[Example("abs.s32", ([-5, MIN_S32, 3],), [5, MIN_S32, 3])])
def abs_(e: Emitter, m: Match, a: Value) -> Value:
    return a.slt(0).select(-a, a)


@form("neg.TYPE d, a", TYPE=SIGNED, examples=[Example("neg.s16", ([-5, -32768],), [5, -32768])])
def neg(e: Emitter, m: Match, a: Value) -> Value:
    return -a


@form(
    "min{.relu}.TYPE d, a, b",
    TYPE=("s32", "s16x2"),
    examples=[
        Example("min.s32", ([-1], [1]), [-1]),
        Example("min.relu.s32", ([-1, 4], [1, 3]), [0, 3]),
        Example("min.relu.s16x2", ([-1, 4], [1, 3]), [0, 3]),
    ],
)
@form(
    "min.TYPE.relu d, a, b",  # the order that NVIDIA's headers write
    TYPE=("s32", "s16x2"),
    examples=[Example("min.s32.relu", ([-1, 4], [1, 3]), [0, 3])],
)
@form(
    "min.TYPE d, a, b",
    TYPE=("u16", "s16", "u32", "u64", "s64", "u16x2"),
    examples=[
        Example("min.u32", ([-1], [1]), [1]),
        Example("min.s64", ([-(2**40)], [5]), [-(2**40)]),
        Example("min.u16x2", ([65535, 3], [1, 4]), [1, 3]),
    ],
)
def min_(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    least = (a.slt(b) if is_signed(m.TYPE) else a.ult(b)).select(a, b)
    return least.sgt(0).select(least, 0) if m.relu else least


@form(
    "max{.relu}.TYPE d, a, b",
    TYPE=("s32", "s16x2"),
    examples=[
        Example("max.s32", ([-1], [1]), [1]),
        Example("max.relu.s32", ([-5, 4], [-3, 3]), [0, 4]),
        Example("max.s16x2", ([-1, 4], [1, 3]), [1, 4]),
    ],
)
@form(
    "max.TYPE.relu d, a, b",  # the order that NVIDIA's headers write
    TYPE=("s32", "s16x2"),
    examples=[Example("max.s16x2.relu", ([-5, 4], [-3, 3]), [0, 4])],
)
@form(
    "max.TYPE d, a, b",
    TYPE=("u16", "s16", "u32", "u64", "s64", "u16x2"),
    examples=[
        Example("max.u32", ([-1], [1]), [ONES]),
        Example("max.u64", ([2**63], [5]), [2**63]),
        Example("max.s16", ([-1], [1]), [1]),
    ],
)
def max_(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    most = (a.sgt(b) if is_signed(m.TYPE) else a.ugt(b)).select(a, b)
    return most.sgt(0).select(most, 0) if m.relu else most


# -- dot products of small integers ------------------------------------------------------------------------------------
def field(value: Value, at: int, bits: int, kind: str) -> Value:
    """Bits ``at`` to ``at + bits - 1`` of each 32-bit lane, extended as the PTX type ``kind`` says."""
    top = value << (32 - at - bits)
    return top.ashr(32 - bits) if is_signed(kind) else top >> (32 - bits)


@form(
    "dp4a.ATYPE.BTYPE d, a, b, c",
    ATYPE=WORDS,
    BTYPE=WORDS,
    operands={"d": "b32", "a": "b32", "b": "b32", "c": "b32"},
    examples=[
        Example("dp4a.u32.u32", ([0x04030201], [0xFF010101], [10]), [10 + 6 + 4 * 255]),
        Example("dp4a.s32.s32", ([0x04030201], [0xFF010101], [-10]), [-10 + 6 - 4]),
        Example("dp4a.u32.s32", ([0xFF000000], [0xFF000000], [0]), [-255]),
    ],
)
def dp4a(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    for at in (0, 8, 16, 24):
        c = c + field(a, at, 8, m.ATYPE) * field(b, at, 8, m.BTYPE)
    return c


@form(
    "dp2a.HALF.ATYPE.BTYPE d, a, b, c",
    HALF=("lo", "hi"),
    ATYPE=WORDS,
    BTYPE=WORDS,
    operands={"d": "b32", "a": "b32", "b": "b32", "c": "b32"},
    examples=[
        Example("dp2a.lo.s32.s32", ([0xFFFE0003], [0x080702FF], [1]), [1 - 3 - 4]),
        Example("dp2a.hi.u32.u32", ([0xFFFE0003], [0x080702FF], [1]), [1 + 21 + 8 * 65534]),
    ],
)
def dp2a(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    first = 0 if m.HALF == "lo" else 16
    for i in range(2):
        c = c + field(a, 16 * i, 16, m.ATYPE) * field(b, first + 8 * i, 8, m.BTYPE)
    return c
