"""Integers: PTX manual, "Integer Arithmetic" and "Extended-Precision Integer Arithmetic Instructions".

Counting, finding and moving bits are in `grader.simt.isa.logic`.
"""

from __future__ import annotations

from grader.simt.engine.values import F32, F64, I32, Value
from grader.simt.isa.registry import ELEMENT, WIDE, Emitter, Example, Match, form, is_signed

INTS = ("u16", "s16", "u32", "s32", "u64", "s64")
SIGNED = ("s16", "s32", "s64")
NARROW = ("u16", "s16", "u32", "s32")
WORDS = ("u32", "s32")
PAIRS = ("u16x2", "s16x2")
HALVES = ("lo", "hi")
MAX_S32, MIN_S32, ONES = 2147483647, -2147483648, 0xFFFFFFFF
ALL_B32 = dict.fromkeys("abcd", "b32")


# -- sums and products -------------------------------------------------------------------------------------------------
@form(
    "OPCODE.sat.s32 d, a, b",
    Example("add.sat.s32", ([MAX_S32, MIN_S32, 5], [1, -1, -7]), [MAX_S32, MIN_S32, -2]),
    Example("sub.sat.s32", ([MIN_S32, MAX_S32], [1, -1]), [MIN_S32, MAX_S32]),
    OPCODE=("add", "sub"),
)
def saturated(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return e.f.overloaded(f"llvm.s{m.OPCODE}.sat", a, b)


@form(
    "add.TYPE d, a, b",
    Example("add.s32", ([MAX_S32], [1]), [MIN_S32]),
    Example("add.u16", ([65535], [2]), [1]),
    Example("add.u64", ([0xFFFFFFFF], [1]), [1 << 32]),
    Example("add.u16x2", ([65535, 7], [1, 2]), [0, 9]),
    TYPE=INTS + PAIRS,
)
def add(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a + b


@form(
    "sub.TYPE d, a, b",
    Example("sub.u16", ([0], [1]), [65535]),
    Example("sub.s64", ([1], [1 << 40]), [1 - (1 << 40)]),
    TYPE=INTS,
)
def sub(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a - b


def _wide(value: Value, kind: str) -> Value:
    return value.resize(ELEMENT[WIDE[kind]], signed=is_signed(kind))


def _high_product(a: Value, b: Value, kind: str) -> Value:
    """The upper half of the product of two integers of PTX type ``kind``."""
    if a.bits < 64:
        return (_wide(a, kind) * _wide(b, kind) >> a.bits).trunc(ELEMENT[kind])
    # From 32-bit halves, in vector registers: LLVM computes 128-bit products lane by lane.
    low = 0xFFFFFFFF
    a0, a1, b0, b1 = a & low, a >> 32, b & low, b >> 32
    cross, other = a1 * b0, a0 * b1
    middle = (a0 * b0 >> 32) + (cross & low) + (other & low)
    high = a1 * b1 + (cross >> 32) + (other >> 32) + (middle >> 32)
    if not is_signed(kind):
        return high
    return high - (a.ashr(63) & b) - (b.ashr(63) & a)


def _product(m: Match, a: Value, b: Value) -> Value:
    """The lower or the upper half of the product, or all of it, as the form says.

    ``mul24`` uses the lower 24 bits of its operands; its ``.hi`` is bits 16 to 47.
    """
    if m.OPCODE.endswith("24"):
        a, b = ((x << 8).ashr(8) if is_signed(m.TYPE) else x & 0xFFFFFF for x in (a, b))
    if m.HALF == "lo":
        return a * b
    if m.OPCODE.endswith("24"):
        return (_wide(a, m.TYPE) * _wide(b, m.TYPE) >> 16).trunc(I32)
    return _wide(a, m.TYPE) * _wide(b, m.TYPE) if m.wide else _high_product(a, b, m.TYPE)


@form(
    "mul.HALF.TYPE d, a, b",
    Example("mul.lo.u32", ([0x10001], [0x10001]), [0x20001]),
    Example("mul.hi.u32", ([ONES], [ONES]), [0xFFFFFFFE]),
    Example("mul.hi.s32", ([-1], [2]), [-1]),
    Example("mul.hi.s16", ([-32768], [-32768]), [16384]),
    Example("mul.hi.u64", ([2**64 - 1], [2**64 - 1]), [2**64 - 2]),
    Example("mul.hi.s64", ([-(2**63), -1], [2, 1]), [-1, -1]),
    HALF=HALVES,
    TYPE=INTS,
)
@form(
    "mad.HALF.TYPE d, a, b, c",
    Example("mad.lo.s32", ([7], [-3], [1]), [-20]),
    Example("mad.hi.u32", ([ONES], [ONES], [3]), [1]),
    HALF=HALVES,
    TYPE=INTS,
)
@form(
    "mul.wide.TYPE d, a, b",
    Example("mul.wide.s32", ([-2], [3]), [-6]),
    Example("mul.wide.u16", ([65535], [65535]), [0xFFFE0001]),
    TYPE=NARROW,
    operands={"d": "wide:TYPE"},
)
@form(
    "mad.wide.TYPE d, a, b, c",
    Example("mad.wide.u32", ([ONES], [2], [1]), [0x1FFFFFFFF]),
    TYPE=NARROW,
    operands={"d": "wide:TYPE", "c": "wide:TYPE"},
)
@form(
    "mul24.HALF.TYPE d, a, b",
    Example("mul24.lo.s32", ([0xFFFFFF, 0x1000003], [5]), [-5, 15]),
    Example("mul24.hi.u32", ([0xFFFFFF], [0xFFFFFF]), [0xFFFFFE00]),
    Example("mul24.hi.s32", ([0x800000], [2]), [-256]),
    HALF=HALVES,
    TYPE=WORDS,
)
@form(
    "mad24.HALF.TYPE d, a, b, c",
    Example("mad24.lo.u32", ([0x1000002], [3], [4]), [10]),
    HALF=HALVES,
    TYPE=WORDS,
)
def mul_mad(e: Emitter, m: Match, a: Value, b: Value, c: Value | None = None) -> Value:
    product = _product(m, a, b)
    return product if c is None else product + c


@form(
    "OPCODE.HALF.sat.TYPE d, a, b, c",
    Example("mad.hi.sat.s32", ([MIN_S32, 1], [MIN_S32, 1], [MAX_S32, 4]), [MAX_S32, 4]),
    Example("mad24.hi.sat.s32", ([0x7FFFFF], [0x7FFFFF], [MAX_S32]), [MAX_S32]),
    OPCODE=("mad", "mad24"),
    HALF=("hi",),
    TYPE=("s32",),
)
def mad_sat(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return e.f.overloaded("llvm.sadd.sat", _product(m, a, b), c)


@form(
    "sad.TYPE d, a, b, c",
    Example("sad.s32", ([-5], [7], [1]), [13]),
    Example("sad.u32", ([1], [ONES], [0]), [0xFFFFFFFE]),
    TYPE=INTS,
)
def sad(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    less = a.slt(b) if is_signed(m.TYPE) else a.ult(b)
    return c + less.select(b - a, a - b)


# -- with the carry flag, which each thread has, and only these instructions read and write ----------------------------
def _carried(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The sum or the difference; with ``.cc`` the flag becomes its carry out.

    A difference is ``a + ~b + 1``, and ``subc`` adds the flag instead of the 1, as GPUs do: after ``sub.cc`` the flag
    is 1 if there was no borrow, for every instruction that reads it.
    """
    subtracts = m.OPCODE.startswith("sub")
    reads = m.OPCODE.endswith("c")
    flag = e.read_carry().zext(ELEMENT[f"b{a.bits}"]) if reads else e.f.const(a.type, int(subtracts))
    partial = a + (~b if subtracts else b)
    total = partial + flag
    if m.cc:
        e.write_carry(partial.ult(a) | total.ult(partial))
    return total


@form(
    "OPCODE.cc.TYPE d, a, b",
    Example("add.cc.u32", ([ONES], [2]), [1]),
    Example("sub.cc.u64", ([1], [2]), [2**64 - 1]),
    OPCODE=("add", "sub"),
    TYPE=("u32", "s32", "u64", "s64", "b32", "b64"),
    tags=("carry",),
)
@form(
    "OPCODE{.cc}.TYPE d, a, b",
    Example("addc.u32", ([ONES], [2]), [1]),
    Example("subc.cc.s32", ([1], [2]), [-2]),
    OPCODE=("addc", "subc"),
    TYPE=("u32", "s32", "u64", "s64", "b32", "b64"),
    tags=("carry",),
)
def add_carry(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _carried(e, m, a, b)


@form(
    "mad.HALF.cc.TYPE d, a, b, c",
    Example("mad.lo.cc.u32", ([0x10000], [0x10000], [5]), [5]),
    Example("mad.hi.cc.s32", ([-1], [1], [1]), [0]),
    HALF=HALVES,
    TYPE=("u32", "s32", "u64", "s64"),
    tags=("carry",),
)
@form(
    "madc.HALF{.cc}.TYPE d, a, b, c",
    Example("madc.hi.u64", ([2**63], [6], [1]), [4]),
    HALF=HALVES,
    TYPE=("u32", "s32", "u64", "s64"),
    tags=("carry",),
)
def mad_carry(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return _carried(e, m, _product(m, a, b), c)


# -- division ----------------------------------------------------------------------------------------------------------
def _safe_divisor(a: Value, b: Value, kind: str) -> Value:
    """``b``, or 1 if the division would trap: by zero, and the most negative number by -1.

    For the latter, dividing by 1 is right: the quotient wraps to the dividend, and the remainder is 0.
    """
    traps = b.eq(0)
    if is_signed(kind):
        traps = traps | (b.eq(-1) & a.eq(1 << (a.bits - 1)))
    return traps.select(1, b)


def _quotient(a: Value, b: Value, kind: str) -> Value:
    """``a / b`` towards zero, for a divisor from `_safe_divisor`.

    Narrow integers are divided as floats with more than twice their width: a fractional quotient is at least 2^-width
    below the next integer (relative 2^-2·width), so that rounding never reaches it.
    """
    if a.bits == 64:
        return a.sdiv(b) if is_signed(kind) else a.udiv(b)
    wide = F64 if a.bits == 32 else F32
    if is_signed(kind):
        return (a.sitofp(wide) / b.sitofp(wide)).fptosi(ELEMENT[kind])
    return (a.uitofp(wide) / b.uitofp(wide)).fptoui(ELEMENT[kind])


@form(
    "OPCODE.TYPE d, a, b",
    Example("div.s32", ([-7, MIN_S32, 5], [2, -1, 0]), [-3, MIN_S32, -1]),
    Example("div.u32", ([ONES, 7], [ONES, 0]), [1, ONES]),
    Example("div.s64", ([-(2**63)], [-1]), [-(2**63)]),
    Example("div.u16", ([65535, 9], [256, 0]), [255, 65535]),
    Example("rem.s32", ([-7, MIN_S32, 5], [2, -1, 0]), [-1, 0, -1]),
    Example("rem.u64", ([2**64 - 1, 9], [10, 0]), [5, 2**64 - 1]),
    OPCODE=("div", "rem"),
    TYPE=INTS,
)
def div_rem(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The remainder has the dividend's sign. For a division by zero, which the manual does not define, all bits are
    ones, as on an H200.
    """
    zero, safe = b.eq(0), _safe_divisor(a, b, m.TYPE)
    quotient = _quotient(a, safe, m.TYPE)
    return zero.select(-1, quotient if m.OPCODE == "div" else a - quotient * safe)


# -- sign and order ----------------------------------------------------------------------------------------------------
@form("abs.TYPE d, a", Example("abs.s32", ([-5, MIN_S32, 3],), [5, MIN_S32, 3]), TYPE=SIGNED)
def abs_(e: Emitter, m: Match, a: Value) -> Value:
    return a.slt(0).select(-a, a)


@form("neg.TYPE d, a", Example("neg.s16", ([-5, -32768],), [5, -32768]), TYPE=SIGNED)
def neg(e: Emitter, m: Match, a: Value) -> Value:
    return -a


@form(
    "OPCODE{.relu}.TYPE d, a, b",
    Example("min.s32", ([-1], [1]), [-1]),
    Example("min.relu.s32", ([-1, 4], [1, 3]), [0, 3]),
    Example("min.relu.s16x2", ([-1, 4], [1, 3]), [0, 3]),
    Example("max.s32", ([-1], [1]), [1]),
    Example("max.relu.s32", ([-5, 4], [-3, 3]), [0, 4]),
    Example("max.s16x2", ([-1, 4], [1, 3]), [1, 4]),
    OPCODE=("min", "max"),
    TYPE=("s32", "s16x2"),
)
@form(
    "OPCODE.TYPE d, a, b",
    Example("min.u32", ([-1], [1]), [1]),
    Example("min.s64", ([-(2**40)], [5]), [-(2**40)]),
    Example("min.u16x2", ([65535, 3], [1, 4]), [1, 3]),
    Example("max.u32", ([-1], [1]), [ONES]),
    Example("max.u64", ([2**63], [5]), [2**63]),
    Example("max.s16", ([-1], [1]), [1]),
    OPCODE=("min", "max"),
    TYPE=("u16", "s16", "u32", "u64", "s64", "u16x2"),
)
def min_max(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    if m.OPCODE == "min":
        first = a.slt(b) if is_signed(m.TYPE) else a.ult(b)
    else:
        first = a.sgt(b) if is_signed(m.TYPE) else a.ugt(b)
    result = first.select(a, b)
    return result.sgt(0).select(result, 0) if m.relu else result


# -- dot products of small integers ------------------------------------------------------------------------------------
def field(value: Value, at: int, bits: int, kind: str) -> Value:
    """Bits ``at`` to ``at + bits - 1`` of each 32-bit lane, extended as the PTX type ``kind`` says."""
    top = value << (32 - at - bits)
    return top.ashr(32 - bits) if is_signed(kind) else top >> (32 - bits)


@form(
    "dp4a.ATYPE.BTYPE d, a, b, c",
    Example("dp4a.u32.u32", ([0x04030201], [0xFF010101], [10]), [10 + 6 + 4 * 255]),
    Example("dp4a.s32.s32", ([0x04030201], [0xFF010101], [-10]), [-10 + 6 - 4]),
    Example("dp4a.u32.s32", ([0xFF000000], [0xFF000000], [0]), [-255]),
    ATYPE=WORDS,
    BTYPE=WORDS,
    operands=ALL_B32,
)
def dp4a(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    for at in (0, 8, 16, 24):
        c = c + field(a, at, 8, m.ATYPE) * field(b, at, 8, m.BTYPE)
    return c


@form(
    "dp2a.HALF.ATYPE.BTYPE d, a, b, c",
    Example("dp2a.lo.s32.s32", ([0xFFFE0003], [0x080702FF], [1]), [1 - 3 - 4]),
    Example("dp2a.hi.u32.u32", ([0xFFFE0003], [0x080702FF], [1]), [1 + 21 + 8 * 65534]),
    HALF=HALVES,
    ATYPE=WORDS,
    BTYPE=WORDS,
    operands=ALL_B32,
)
def dp2a(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    first = 0 if m.HALF == "lo" else 16
    for i in range(2):
        c = c + field(a, 16 * i, 16, m.ATYPE) * field(b, first + 8 * i, 8, m.BTYPE)
    return c
