"""Bits: PTX manual, "Logic and Shift Instructions", `prmt`, and the integer instructions from `popc` to `bmsk`."""

from __future__ import annotations

from collections.abc import Callable
from operator import and_, or_, xor

from grader.simt.engine.values import I1, I32, Value
from grader.simt.isa.registry import Emitter, Example, Match, form, is_signed

BITS = ("b16", "b32", "b64")
FIELDS = ("u32", "u64", "s32", "s64")
MODES = ("clamp", "wrap")
ONES = 0xFFFFFFFF
NONE = ONES  # the result of a search that finds nothing
BITWISE: dict[str, Callable[[Value, Value], Value]] = {"and": and_, "or": or_, "xor": xor}


@form(
    "OPCODE.TYPE d, a, b",
    Example("and.b32", ([12], [10]), [8]),
    Example("and.pred", ([1, 1, 0], [1, 0, 0]), [1, 0, 0]),
    Example("or.b16", ([12], [0x8002]), [0x800E]),
    Example("or.pred", ([1, 1, 0], [1, 0, 0]), [1, 1, 0]),
    Example("xor.b64", ([1 << 63], [1]), [(1 << 63) | 1]),
    Example("xor.pred", ([1, 1, 0], [1, 0, 0]), [0, 1, 0]),
    OPCODE=BITWISE,
    TYPE=("pred", *BITS),
)
def bitwise(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return BITWISE[m.OPCODE](a, b)


@form("not.TYPE d, a", Example("not.b32", ([5],), [-6]), Example("not.pred", ([1, 0],), [0, 1]), TYPE=("pred", *BITS))
def not_(e: Emitter, m: Match, a: Value) -> Value:
    return a ^ e.f.const(a.type, -1)


@form("cnot.TYPE d, a", Example("cnot.b32", ([5, 0],), [0, 1]), TYPE=BITS)
def cnot(e: Emitter, m: Match, a: Value) -> Value:
    return a.eq(0).zext(a.type.element)


@form(
    "lop3.b32 d, a, b, c, lut",
    Example("lop3.b32", ([0xF0], [0xCC], [0xAA], [0x80, 0xFE, 0x1A]), [0x80, 0xFE, 0x1A]),
    Example("lop3.b32", ([0xF0], [0xCC], [0xAA], [0x96, 0x01]), [0x96, 0xFFFFFF01]),
)
@form(
    "lop3.BOOL.b32 d|dp, a, b, c, lut, q",
    Example("lop3.and.b32", ([12], [10], [0], [0xC0], [1, 0]), ([8], [1, 0])),
    Example("lop3.or.b32", ([12], [3], [0], [0xC0], [1, 0]), ([0], [1, 0])),
    BOOL=("or", "and"),
    operands={"dp": "pred", "q": "pred"},
)
def lop3(
    e: Emitter, m: Match, a: Value, b: Value, c: Value, lut: Value, q: Value | None = None
) -> Value | tuple[Value, Value]:
    """For each bit position, bit ``4a + 2b + c`` of ``lut``, with the bits of ``a``, ``b`` and ``c``.

    It is a tree of selections: in practice the table is a literal, and LLVM folds the tree to a few operations.
    """
    entries = [0 - (lut >> i & 1) for i in range(8)]
    for chooser in (c, b, a):
        entries = [no ^ (chooser & (no ^ yes)) for no, yes in zip(entries[::2], entries[1::2], strict=True)]
    (result,) = entries
    return result if q is None else (result, BITWISE[m.BOOL](result.ne(0), q))


# -- shifts ------------------------------------------------------------------------------------------------------------
def _clamped(value: Value, amount: Value) -> tuple[Value, Value]:
    """Whether the 32-bit amount is below the width, and the amount in the value's width (0 if it is not below)."""
    inside = amount.ult(value.bits)
    return inside, inside.select(amount, 0).resize(value.type.element)


@form(
    "shl.TYPE d, a, b",
    Example("shl.b32", ([3], [1, 31, 32, ONES]), [6, 0x80000000, 0, 0]),
    Example("shl.b16", ([3], [15, 16]), [32768, 0]),
    Example("shl.b64", ([3], [40, 64]), [3 << 40, 0]),
    TYPE=BITS,
    operands={"b": "u32"},
)
def shl(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """Amounts above the width count as the width."""
    inside, amount = _clamped(a, b)
    return inside.select(a << amount, 0)


@form(
    "shr.TYPE d, a, b",
    Example("shr.u32", ([-8], [1, 31, 32, ONES]), [0x7FFFFFFC, 1, 0, 0]),
    Example("shr.b16", ([32768], [15, 16]), [1, 0]),
    Example("shr.s32", ([-8], [1, 31, 32, ONES]), [-4, -1, -1, -1]),
    Example("shr.s64", ([-8], [64]), [-1]),
    TYPE=(*BITS, "u16", "s16", "u32", "s32", "u64", "s64"),
    operands={"b": "u32"},
)
def shr(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """Amounts above the width count as the width; signed types fill with the sign."""
    inside, amount = _clamped(a, b)
    if is_signed(m.TYPE):
        return a.ashr(inside.select(amount, a.bits - 1))
    return inside.select(a >> amount, 0)


@form(
    "shf.SIDE.MODE.b32 d, a, b, c",
    Example("shf.l.clamp.b32", ([0x80000001], [2], [0, 1, 32, 33]), [2, 5, 0x80000001, 0x80000001]),
    Example("shf.l.wrap.b32", ([0x80000001], [2], [0, 1, 32, 33]), [2, 5, 2, 5]),
    Example("shf.r.clamp.b32", ([4], [3], [0, 1, 32, 33]), [4, 0x80000002, 3, 3]),
    Example("shf.r.wrap.b32", ([4], [3], [0, 1, 32, 33]), [4, 0x80000002, 4, 0x80000002]),
    SIDE=("l", "r"),
    MODE=MODES,
    operands={"c": "u32"},
)
def shf(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """The upper word of ``b:a`` shifted left, or the lower word of ``b:a`` shifted right."""
    wrapped = e.f.overloaded(f"llvm.fsh{m.SIDE}", b, a, c)
    return wrapped if m.MODE == "wrap" else c.ult(32).select(wrapped, a if m.SIDE == "l" else b)


# -- bytes -------------------------------------------------------------------------------------------------------------
SELECTORS = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""The generic selector of each mode of `prmt`, by the lower two bits of its control."""


def _byte(a: Value, b: Value, choice: Value) -> Value:
    """A byte of ``b:a`` by a selection value: three bits of index; with the fourth bit, copies of the byte's sign."""
    word = (choice & 4).eq(0).select(a, b)
    byte = word >> ((choice & 3) << 3) & 0xFF
    sign = (0 - (byte >> 7)) & 0xFF
    return (choice & 8).eq(0).select(byte, sign)


@form(
    "prmt.b32{.MODE} d, a, b, c",
    Example("prmt.b32", ([0x33221100], [0x77665544], [0x3210, 0x7654, 0x5140]), [0x33221100, 0x77665544, 0x55114400]),
    Example("prmt.b32", ([0x80], [0x7F], [0x8888, 0xC8C0, 0x4444]), [ONES, 0x00FF0080, 0x7F7F7F7F]),
    Example("prmt.b32", ([0x33221100], [0x77665544], [0x0000]), [0]),
    Example("prmt.b32.f4e", ([0x33221100], [0x77665544], [0, 1]), [0x33221100, 0x44332211]),
    Example("prmt.b32.f4e", ([0x33221100], [0x77665544], [3, 5]), [0x66554433, 0x44332211]),
    Example("prmt.b32.b4e", ([0x33221100], [0x77665544], [0, 3]), [0x55667700, 0x00112233]),
    Example("prmt.b32.rc16", ([0x33221100], [0], [0, 1]), [0x11001100, 0x33223322]),
    Example("prmt.b32.rc8", ([0x33221100], [0], [2]), [0x22222222]),
    Example("prmt.b32.ecl", ([0x33221100], [0], [1, 2]), [0x33221111, 0x33222222]),
    Example("prmt.b32.ecr", ([0x33221100], [0], [1, 2]), [0x11111100, 0x22221100]),
    MODE=SELECTORS,
)
def prmt(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    selector = c
    if m.MODE:
        low, high = (c & 1).eq(0), (c & 2).eq(0)
        table = [e.f.const(c.type, choice) for choice in SELECTORS[m.MODE]]
        selector = high.select(low.select(table[0], table[1]), low.select(table[2], table[3]))
    parts = [_byte(a, b, selector >> (4 * i)) << (8 * i) for i in range(4)]
    return parts[0] | parts[1] | parts[2] | parts[3]


# -- counting and finding ----------------------------------------------------------------------------------------------
@form(
    "popc.TYPE d, a",
    Example("popc.b32", ([0xFFFFFFFF, 0, 5],), [32, 0, 2]),
    Example("popc.b64", ([(1 << 63) | 1],), [2]),
    TYPE=("b32", "b64"),
    operands={"d": "u32"},
)
def popc(e: Emitter, m: Match, a: Value) -> Value:
    return e.f.overloaded("llvm.ctpop", a).resize(I32)


@form(
    "clz.TYPE d, a",
    Example("clz.b32", ([0, 1, 0x80000000],), [32, 31, 0]),
    Example("clz.b64", ([0, 1],), [64, 63]),
    TYPE=("b32", "b64"),
    operands={"d": "u32"},
)
def clz(e: Emitter, m: Match, a: Value) -> Value:
    return e.f.overloaded("llvm.ctlz", a, e.f.const(I1, 0)).resize(I32)


@form(
    "bfind{.shiftamt}.TYPE d, a",
    Example("bfind.u32", ([0, 1, 0x80000000],), [NONE, 0, 31]),
    Example("bfind.s32", ([-1, -2, -3, 4],), [NONE, 0, 1, 2]),
    Example("bfind.shiftamt.u64", ([0, 1, 1 << 40],), [NONE, 63, 23]),
    TYPE=FIELDS,
    operands={"d": "u32"},
)
def bfind(e: Emitter, m: Match, a: Value) -> Value:
    """The position of the highest bit that differs from the sign (of the highest 1 for unsigned types)."""
    if is_signed(m.TYPE):
        a = a ^ a.ashr(a.bits - 1)
    zeros = clz(e, m, a)
    return a.eq(0).select(NONE, zeros if m.shiftamt else (a.bits - 1) - zeros)


@form(
    "fns.b32 d, a, base, offset",
    Example("fns.b32", ([0b10110], [0, 0, 1, 4, 0, 1], [1, 3, 2, -2, 0, 0]), [1, 4, 2, 2, NONE, 1]),
    operands={"offset": "s32"},
)
def fns(e: Emitter, m: Match, a: Value, base: Value, offset: Value) -> Value:
    """The ``offset``-th set bit from ``base`` upwards, or downwards for negative offsets; with 0, ``base`` itself."""
    f = e.f
    step = offset.sgt(0).select(f.const(base.type, 1), offset.ashr(31))
    missing = f.var(offset.eq(0).select(0, offset.slt(0).select(-offset, offset) - 1))
    found, at = f.var(f.const(base.type, NONE)), f.var(base)
    inside = f.var(base.ult(32))
    with f.loop(f.const(I32, 32)):
        inside.set(inside.get() & at.get().ult(32))
        here = inside.get() & (a >> (at.get() & 31) & 1).ne(0)
        found.set((here & missing.get().eq(0)).select(at.get(), found.get()))
        missing.set(here.select(missing.get() - 1, missing.get()))
        at.set(at.get() + step)
    return found.get()


@form(
    "brev.TYPE d, a",
    Example("brev.b32", ([1, 6],), [0x80000000, 0x60000000]),
    Example("brev.b64", ([1],), [1 << 63]),
    TYPE=("b32", "b64"),
)
def brev(e: Emitter, m: Match, a: Value) -> Value:
    return e.f.overloaded("llvm.bitreverse", a)


# -- fields ------------------------------------------------------------------------------------------------------------
def _at_most(value: Value, limit: int) -> Value:
    return value.ult(limit).select(value, limit)


def _ones(e: Emitter, length: Value, bits: int) -> Value:
    """A mask of the ``length`` low bits; of all bits for ``length`` from ``bits`` on."""
    short = length.ult(bits)
    return short.select((e.f.const(length.type, 1) << short.select(length, 0)) - 1, -1)


@form(
    "bfe.TYPE d, a, pos, len",
    Example("bfe.u32", ([0xABCD], [4, 40], [8]), [0xBC, 0]),
    Example("bfe.s32", ([0xABCD, 0xABCD, -8, 5], [4, 4, 31, 0], [8, 0, 9, 200]), [-68, 0, -1, 5]),
    Example("bfe.s64", ([1 << 40, -(2**63)], [40, 99], [1, 3]), [-1, -1]),
    TYPE=FIELDS,
    operands={"pos": "u32", "len": "u32"},
)
def bfe(e: Emitter, m: Match, a: Value, pos: Value, len: Value) -> Value:
    """Only the lower 8 bits of position and length count; bits past the top are zero, or the sign."""
    element, bits = a.type.element, a.bits
    at, length = (pos & 0xFF).resize(element), (len & 0xFF).resize(element)
    if not is_signed(m.TYPE):
        inside = at.ult(bits)
        return inside.select(a >> inside.select(at, 0), 0) & _ones(e, length, bits)
    shifted = a.ashr(_at_most(at, bits - 1))
    empty = length.eq(0)
    unused = bits - _at_most(empty.select(1, length), bits)
    return empty.select(0, (shifted << unused).ashr(unused))


@form(
    "bfi.TYPE d, a, b, pos, len",
    Example("bfi.b32", ([0xFF], [0], [4, 32, 0, 28], [4, 4, 0, 200]), [0xF0, 0, 0, 0xF0000000]),
    Example("bfi.b64", ([0], [2**64 - 1], [60], [255]), [2**60 - 1]),
    TYPE=("b32", "b64"),
    operands={"pos": "u32", "len": "u32"},
)
def bfi(e: Emitter, m: Match, a: Value, b: Value, pos: Value, len: Value) -> Value:
    """``b`` with the lower ``len`` bits of ``a`` at ``pos``; only the lower 8 bits of the two count."""
    element, bits = a.type.element, a.bits
    at, length = (pos & 0xFF).resize(element), (len & 0xFF).resize(element)
    inside = at.ult(bits)
    shift = inside.select(at, 0)
    field = inside.select(_ones(e, length, bits) << shift, 0)
    return (b & ~field) | ((a << shift) & field)


@form(
    "szext.MODE.TYPE d, a, b",
    Example("szext.wrap.u32", ([0xFFFFFFFF], [0, 4, 33]), [0, 15, 1]),
    Example("szext.clamp.s32", ([0x88], [0, 4, 5, 8, 32]), [0, -8, 8, -120, 0x88]),
    MODE=MODES,
    TYPE=("u32", "s32"),
    operands={"b": "u32"},
)
def szext(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The lower ``b`` bits of ``a``, extended by zero or sign; from 32 on, ``b`` is clamped to 32 or wraps."""
    length = b & 31
    unused = 32 - length.eq(0).select(1, length)
    top = a << unused
    short = length.eq(0).select(0, top.ashr(unused) if is_signed(m.TYPE) else top >> unused)
    return b.uge(32).select(a, short) if m.MODE == "clamp" else short


@form(
    "bmsk.MODE.b32 d, a, b",
    Example("bmsk.wrap.b32", ([1, 33, 4, 8], [2, 2, 32, 30]), [6, 6, 0, 0xFFFFFF00]),
    Example("bmsk.clamp.b32", ([1, 33, 4, 0], [2, 2, 40, 32]), [6, 0, 0xFFFFFFF0, 0xFFFFFFFF]),
    MODE=MODES,
)
def bmsk(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """``b`` ones from bit ``a`` upwards."""
    length = b & 31 if m.MODE == "wrap" else b
    mask = _ones(e, length, 32) << (a & 31)
    return a.uge(32).select(0, mask) if m.MODE == "clamp" else mask
