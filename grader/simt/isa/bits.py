"""Counting, finding and moving bits: PTX manual, chapter "Integer Arithmetic Instructions" (``popc`` to ``bmsk``)."""

from __future__ import annotations

from grader.simt.engine.values import I1, I32, Value
from grader.simt.isa.emit import Emitter, is_signed
from grader.simt.isa.registry import Example, Match, form

BITS = ("b32", "b64")
FIELDS = ("u32", "u64", "s32", "s64")
WORDS = ("u32", "s32")
NONE = 0xFFFFFFFF  # what a search gives that finds nothing


@form(
    "popc.TYPE d, a",
    TYPE=BITS,
    operands={"d": "u32"},
    examples=[Example("popc.b32", ([0xFFFFFFFF, 0, 5],), [32, 0, 2]), Example("popc.b64", ([(1 << 63) | 1],), [2])],
)
def popc(e: Emitter, m: Match, a: Value) -> Value:
    return e.f.overloaded("llvm.ctpop", a).resize(I32)


def _leading_zeros(e: Emitter, a: Value) -> Value:
    return e.f.overloaded("llvm.ctlz", a, e.f.const(I1, 0)).resize(I32)


@form(
    "clz.TYPE d, a",
    TYPE=BITS,
    operands={"d": "u32"},
    examples=[Example("clz.b32", ([0, 1, 0x80000000],), [32, 31, 0]), Example("clz.b64", ([0, 1],), [64, 63])],
)
def clz(e: Emitter, m: Match, a: Value) -> Value:
    return _leading_zeros(e, a)


@form(
    "bfind{.shiftamt}.TYPE d, a",
    TYPE=FIELDS,
    operands={"d": "u32"},
    examples=[
        Example("bfind.u32", ([0, 1, 0x80000000],), [NONE, 0, 31]),
        Example("bfind.s32", ([-1, -2, -3, 4],), [NONE, 0, 1, 2]),
        Example("bfind.shiftamt.u64", ([0, 1, 1 << 40],), [NONE, 63, 23]),
    ],
)
def bfind(e: Emitter, m: Match, a: Value) -> Value:
    """The highest bit that is not the sign's (the highest 1 of unsigned types)."""
    if is_signed(m.TYPE):
        a = a ^ a.ashr(a.bits - 1)
    zeros = _leading_zeros(e, a)
    return a.eq(0).select(NONE, zeros if m.shiftamt else (a.bits - 1) - zeros)


@form(
    "fns.TYPE d, a, base, offset",
    TYPE=("b32",),
    operands={"base": "b32", "offset": "s32"},
    examples=[Example("fns.b32", ([0b10110], [0, 0, 1, 4, 0, 1], [1, 3, 2, -2, 0, 0]), [1, 4, 2, 2, NONE, 1])],
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
    TYPE=BITS,
    examples=[Example("brev.b32", ([1, 6],), [0x80000000, 0x60000000]), Example("brev.b64", ([1],), [1 << 63])],
)
def brev(e: Emitter, m: Match, a: Value) -> Value:
    return e.f.overloaded("llvm.bitreverse", a)


def _at_most(value: Value, limit: int) -> Value:
    return value.ult(limit).select(value, limit)


def _ones(e: Emitter, length: Value, bits: int) -> Value:
    """A mask of ``length`` low bits, all of them from ``bits`` on."""
    short = length.ult(bits)
    return short.select((e.f.const(length.type, 1) << short.select(length, 0)) - 1, -1)


@form(
    "bfe.TYPE d, a, pos, len",
    TYPE=FIELDS,
    operands={"pos": "u32", "len": "u32"},
    examples=[
        Example("bfe.u32", ([0xABCD], [4, 40], [8]), [0xBC, 0]),
        Example("bfe.s32", ([0xABCD, 0xABCD, -8, 5], [4, 4, 31, 0], [8, 0, 9, 200]), [-68, 0, -1, 5]),
        Example("bfe.s64", ([1 << 40, -(2**63)], [40, 99], [1, 3]), [-1, -1]),
    ],
)
def bfe(e: Emitter, m: Match, a: Value, pos: Value, len: Value) -> Value:
    """Only the lower 8 bits of position and length count; a field past the top is filled with zeros, or the sign."""
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
    TYPE=BITS,
    operands={"pos": "u32", "len": "u32"},
    examples=[
        Example("bfi.b32", ([0xFF], [0], [4, 32, 0, 28], [4, 4, 0, 200]), [0xF0, 0, 0, 0xF0000000]),
        Example("bfi.b64", ([0], [2**64 - 1], [60], [255]), [2**60 - 1]),
    ],
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
    MODE=("clamp", "wrap"),
    TYPE=WORDS,
    operands={"b": "u32"},
    examples=[
        Example("szext.wrap.u32", ([0xFFFFFFFF], [0, 4, 33]), [0, 15, 1]),
        Example("szext.clamp.s32", ([0x88], [0, 4, 5, 8, 32]), [0, -8, 8, -120, 0x88]),
    ],
)
def szext(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The lower ``b`` bits of ``a``, extended by zero or sign; 32 and more bits are 32, or wrap."""
    length = b & 31
    unused = 32 - length.eq(0).select(1, length)
    top = a << unused
    short = length.eq(0).select(0, top.ashr(unused) if is_signed(m.TYPE) else top >> unused)
    return b.uge(32).select(a, short) if m.MODE == "clamp" else short


@form(
    "bmsk.MODE.TYPE d, a, b",
    MODE=("clamp", "wrap"),
    TYPE=("b32",),
    examples=[
        Example("bmsk.wrap.b32", ([1, 33, 4, 8], [2, 2, 32, 30]), [6, 6, 0, 0xFFFFFF00]),
        Example("bmsk.clamp.b32", ([1, 33, 4, 0], [2, 2, 40, 32]), [6, 0, 0xFFFFFFF0, 0xFFFFFFFF]),
    ],
)
def bmsk(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """``b`` ones from bit ``a`` upwards."""
    length = b & 31 if m.MODE == "wrap" else b
    mask = _ones(e, length, 32) << (a & 31)
    return a.uge(32).select(0, mask) if m.MODE == "clamp" else mask
