"""Bits by bits: PTX manual, chapter "Logic and Shift Instructions", and `prmt`."""

from __future__ import annotations

from grader.simt.engine.values import Value
from grader.simt.isa.emit import Emitter, is_signed
from grader.simt.isa.registry import Example, Match, form

BITS = ("b16", "b32", "b64")
ONES = 0xFFFFFFFF


@form(
    "and.TYPE d, a, b",
    TYPE=("pred", *BITS),
    examples=[Example("and.b32", ([12], [10]), [8]), Example("and.pred", ([1, 1, 0], [1, 0, 0]), [1, 0, 0])],
)
def and_(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a & b


@form(
    "or.TYPE d, a, b",
    TYPE=("pred", *BITS),
    examples=[Example("or.b16", ([12], [0x8002]), [0x800E]), Example("or.pred", ([1, 1, 0], [1, 0, 0]), [1, 1, 0])],
)
def or_(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a | b


@form(
    "xor.TYPE d, a, b",
    TYPE=("pred", *BITS),
    examples=[
        Example("xor.b64", ([1 << 63], [1]), [(1 << 63) | 1]),
        Example("xor.pred", ([1, 1, 0], [1, 0, 0]), [0, 1, 0]),
    ],
)
def xor(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return a ^ b


@form(
    "not.TYPE d, a",
    TYPE=("pred", *BITS),
    examples=[Example("not.b32", ([5],), [-6]), Example("not.pred", ([1, 0],), [0, 1])],
)
def not_(e: Emitter, m: Match, a: Value) -> Value:
    return a ^ e.f.const(a.type, -1)


@form("cnot.TYPE d, a", TYPE=BITS, examples=[Example("cnot.b32", ([5, 0],), [0, 1])])
def cnot(e: Emitter, m: Match, a: Value) -> Value:
    return a.eq(0).zext(a.type.element)


# -- any function of three bits ----------------------------------------------------------------------------------------
def _lookup(e: Emitter, a: Value, b: Value, c: Value, lut: Value) -> Value:
    """The bit of ``lut`` that the bits of ``a`` (4), ``b`` (2) and ``c`` (1) number, for each bit of the three.

    A tree of choices: the table is a literal in practice, and LLVM folds the tree to the operations that remain.
    """
    entries = [0 - (lut >> i & 1) for i in range(8)]
    for chooser in (c, b, a):
        entries = [no ^ (chooser & (no ^ yes)) for no, yes in zip(entries[::2], entries[1::2], strict=True)]
    return entries[0]


@form(
    "lop3.TYPE d, a, b, c, lut",
    TYPE=("b32",),
    examples=[
        Example("lop3.b32", ([0xF0], [0xCC], [0xAA], [0x80, 0xFE, 0x1A]), [0x80, 0xFE, 0x1A]),
        Example("lop3.b32", ([0xF0], [0xCC], [0xAA], [0x96, 0x01]), [0x96, 0xFFFFFF01]),
    ],
)
def lop3(e: Emitter, m: Match, a: Value, b: Value, c: Value, lut: Value) -> Value:
    return _lookup(e, a, b, c, lut)


@form(
    "lop3.BOOL.TYPE d|dp, a, b, c, lut, q",
    BOOL=("or", "and"),
    TYPE=("b32",),
    operands={"dp": "pred", "q": "pred"},
    examples=[
        Example("lop3.and.b32", ([12], [10], [0], [0xC0], [1, 0]), ([8], [1, 0])),
        Example("lop3.or.b32", ([12], [3], [0], [0xC0], [1, 0]), ([0], [1, 0])),
    ],
)
def lop3_bool(e: Emitter, m: Match, a: Value, b: Value, c: Value, lut: Value, q: Value) -> tuple[Value, Value]:
    result = _lookup(e, a, b, c, lut)
    some = result.ne(0)
    return result, (some | q if m.BOOL == "or" else some & q)


# -- shifts ------------------------------------------------------------------------------------------------------------
def _clamped(value: Value, amount: Value) -> tuple[Value, Value]:
    """Whether the 32-bit amount is below the width, and the amount in the value's width where it is (else 0)."""
    inside = amount.ult(value.bits)
    return inside, inside.select(amount, 0).resize(value.type.element)


@form(
    "shl.TYPE d, a, b",
    TYPE=BITS,
    operands={"b": "u32"},
    examples=[
        Example("shl.b32", ([3], [1, 31, 32, ONES]), [6, 0x80000000, 0, 0]),
        Example("shl.b16", ([3], [15, 16]), [32768, 0]),
        Example("shl.b64", ([3], [40, 64]), [3 << 40, 0]),
    ],
)
def shl(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """Amounts above the width count as the width."""
    inside, amount = _clamped(a, b)
    return inside.select(a << amount, 0)


@form(
    "shr.TYPE d, a, b",
    TYPE=(*BITS, "u16", "s16", "u32", "s32", "u64", "s64"),
    operands={"b": "u32"},
    examples=[
        Example("shr.u32", ([-8], [1, 31, 32, ONES]), [0x7FFFFFFC, 1, 0, 0]),
        Example("shr.b16", ([32768], [15, 16]), [1, 0]),
        Example("shr.s32", ([-8], [1, 31, 32, ONES]), [-4, -1, -1, -1]),
        Example("shr.s64", ([-8], [64]), [-1]),
    ],
)
def shr(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """Amounts above the width count as the width; signed types fill with the sign."""
    inside, amount = _clamped(a, b)
    if is_signed(m.TYPE):
        return a.ashr(inside.select(amount, a.bits - 1))
    return inside.select(a >> amount, 0)


@form(
    "shf.l.MODE.TYPE d, a, b, c",
    MODE=("clamp", "wrap"),
    TYPE=("b32",),
    operands={"c": "u32"},
    examples=[
        Example("shf.l.clamp.b32", ([0x80000001], [2], [0, 1, 32, 33]), [2, 5, 0x80000001, 0x80000001]),
        Example("shf.l.wrap.b32", ([0x80000001], [2], [0, 1, 32, 33]), [2, 5, 2, 5]),
    ],
)
def shf_l(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """The upper word of ``b:a`` shifted left."""
    wrapped = e.f.overloaded("llvm.fshl", b, a, c)
    return wrapped if m.MODE == "wrap" else c.ult(32).select(wrapped, a)


@form(
    "shf.r.MODE.TYPE d, a, b, c",
    MODE=("clamp", "wrap"),
    TYPE=("b32",),
    operands={"c": "u32"},
    examples=[
        Example("shf.r.clamp.b32", ([4], [3], [0, 1, 32, 33]), [4, 0x80000002, 3, 3]),
        Example("shf.r.wrap.b32", ([4], [3], [0, 1, 32, 33]), [4, 0x80000002, 4, 0x80000002]),
    ],
)
def shf_r(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """The lower word of ``b:a`` shifted right."""
    wrapped = e.f.overloaded("llvm.fshr", b, a, c)
    return wrapped if m.MODE == "wrap" else c.ult(32).select(wrapped, b)


# -- bytes -------------------------------------------------------------------------------------------------------------
SELECTORS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The generic selector that each mode of `prmt` stands for, by the lower two bits of its control."""


def _byte(a: Value, b: Value, choice: Value) -> Value:
    """One byte of ``b:a`` by a selection value: three bits of index, the fourth asks for copies of the sign."""
    word = (choice & 4).eq(0).select(a, b)
    byte = word >> ((choice & 3) << 3) & 0xFF
    sign = (0 - (byte >> 7)) & 0xFF
    return (choice & 8).eq(0).select(byte, sign)


def _permute(a: Value, b: Value, selector: Value) -> Value:
    parts = [_byte(a, b, selector >> (4 * i)) << (8 * i) for i in range(4)]
    return parts[0] | parts[1] | parts[2] | parts[3]


@form(
    "prmt.TYPE d, a, b, c",
    TYPE=("b32",),
    examples=[
        Example(
            "prmt.b32",
            ([0x33221100], [0x77665544], [0x3210, 0x7654, 0x5140, 0x0000]),
            [0x33221100, 0x77665544, 0x55114400, 0],
        ),
        Example("prmt.b32", ([0x80], [0x7F], [0x8888, 0xC8C0, 0x4444]), [ONES, 0x00FF0080, 0x7F7F7F7F]),
    ],
)
def prmt(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return _permute(a, b, c)


@form(
    "prmt.TYPE.MODE d, a, b, c",
    TYPE=("b32",),
    MODE=tuple(SELECTORS),
    examples=[
        Example(
            "prmt.b32.f4e", ([0x33221100], [0x77665544], [0, 1, 3, 5]), [0x33221100, 0x44332211, 0x66554433, 0x44332211]
        ),
        Example("prmt.b32.b4e", ([0x33221100], [0x77665544], [0, 3]), [0x55667700, 0x00112233]),
        Example("prmt.b32.rc16", ([0x33221100], [0], [0, 1]), [0x11001100, 0x33223322]),
        Example("prmt.b32.rc8", ([0x33221100], [0], [2]), [0x22222222]),
        Example("prmt.b32.ecl", ([0x33221100], [0], [1, 2]), [0x33221111, 0x33222222]),
        Example("prmt.b32.ecr", ([0x33221100], [0], [1, 2]), [0x11111100, 0x22221100]),
    ],
)
def prmt_mode(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    low, high = (c & 1).eq(0), (c & 2).eq(0)
    table = [e.f.const(c.type, selector) for selector in SELECTORS[m.MODE]]
    return _permute(a, b, high.select(low.select(table[0], table[1]), low.select(table[2], table[3])))
