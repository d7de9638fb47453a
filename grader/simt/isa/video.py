"""Two halves or four bytes of a word at once: PTX manual, chapter "SIMD Video Instructions".

NVRTC writes these for intrinsics such as ``__vsadu4``. Selectors and masks on operands (``%r1.b3210``) are not covered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import or_

from grader.simt.engine.values import Value
from grader.simt.isa.emit import Emitter, is_signed
from grader.simt.isa.integer import field
from grader.simt.isa.registry import Example, Match, form

WORDS = ("u32", "s32")
PARTS = {"2": 16, "4": 8}
ORDER = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}

Part = Callable[[Value, Value], Value]

# The parts are extended to 32 bits, so that every result is exact and signed comparisons serve both signs.
OPERATIONS: dict[str, Part] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: (a + b + (a + b).sge(0).zext(a.type.element)).ashr(1),
    "vabsdiff": lambda a, b: a.slt(b).select(b - a, a - b),
    "vmin": lambda a, b: a.slt(b).select(a, b),
    "vmax": lambda a, b: a.sgt(b).select(a, b),
}

A, B = 0x02FF807F, 0x0101FF01
EXAMPLES = {  # A with B as s32: halves saturated, halves summed onto 5, bytes saturated, bytes summed onto 5
    "vadd": (0x04008000, 0xFFFF8385, 0x0300807F, 0x00000007),
    "vsub": (0x01FE817E, 0xFFFF8381, 0x01FE817E, 0x00000003),
    "vavrg": (0x0200BFC0, 0xFFFFC1C5, 0x0200BF40, 0x00000006),
    "vabsdiff": (0x01FE7E82, 0x00008085, 0x01027F7E, 0x00000105),
    "vmin": (0x0101807F, 0xFFFF8185, 0x01FF8001, 0xFFFFFF86),
    "vmax": (0x02FFFF01, 0x00000205, 0x0201FF7F, 0x00000086),
}


def _parts(m: Match, bits: int, operation: Part, a: Value, b: Value) -> list[Value]:
    """The results for each part, lowest first."""
    sides = ((field(a, at, bits, m.ATYPE), field(b, at, bits, m.BTYPE)) for at in range(0, 32, bits))
    return [operation(x, y) for x, y in sides]


def _clamped(value: Value, bits: int, kind: str) -> Value:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(kind) else (0, (1 << bits) - 1)
    value = value.slt(low).select(low, value)
    return value.sgt(high).select(high, value)


def _packed(parts: list[Value], bits: int) -> Value:
    return reduce(or_, [(part & ((1 << bits) - 1)) << (bits * i) for i, part in enumerate(parts)])


def _register(name: str, operation: Part, count: str, bits: int) -> None:
    """The two forms of one instruction: parts side by side, and their sum onto the third source."""
    packed, total = EXAMPLES[name][2 * (count == "4") :][:2]
    operands = {"d": "b32", "a": "b32", "b": "b32", "c": "b32"}
    saturated = Example(f"{name}{count}.s32.s32.s32.sat", ([A], [B], [5]), [packed])
    summed = Example(f"{name}{count}.s32.s32.s32.add", ([A], [B], [5]), [total])

    @form(
        f"{name}{count}.DTYPE.ATYPE.BTYPE{{.sat}} d, a, b, c",
        operands=operands,
        examples=[saturated],
        DTYPE=WORDS,
        ATYPE=WORDS,
        BTYPE=WORDS,
    )
    def side_by_side(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
        parts = _parts(m, bits, operation, a, b)
        return _packed([_clamped(part, bits, m.DTYPE) for part in parts] if m.sat else parts, bits)

    @form(
        f"{name}{count}.DTYPE.ATYPE.BTYPE.add d, a, b, c",
        operands=operands,
        examples=[summed],
        DTYPE=WORDS,
        ATYPE=WORDS,
        BTYPE=WORDS,
    )
    def sum_up(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
        return reduce(Value.__add__, _parts(m, bits, operation, a, b), c)


def _register_comparison(count: str, bits: int) -> None:
    """`vset2` and `vset4`: 1 where the comparison holds, side by side or counted onto the third source."""
    compares = tuple(ORDER)
    operands = {"d": "b32", "a": "b32", "b": "b32", "c": "b32"}
    packed, total = {"2": (0x00010000, 6), "4": (0x01010000, 7)}[count]
    packed_example = Example(f"vset{count}.u32.u32.ge", ([0x05FF8001], [0x0501FF02], [5]), [packed])
    total_example = Example(f"vset{count}.u32.u32.ge.add", ([0x05FF8001], [0x0501FF02], [5]), [total])

    def answers(m: Match, a: Value, b: Value) -> list[Value]:
        compare = ORDER[m.CMP]
        return _parts(m, bits, lambda x, y: getattr(x, compare)(y).zext(x.type.element), a, b)

    @form(
        f"vset{count}.ATYPE.BTYPE.CMP d, a, b, c",
        operands=operands,
        examples=[packed_example],
        ATYPE=WORDS,
        BTYPE=WORDS,
        CMP=compares,
    )
    def side_by_side(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
        return _packed(answers(m, a, b), bits)

    @form(
        f"vset{count}.ATYPE.BTYPE.CMP.add d, a, b, c",
        operands=operands,
        examples=[total_example],
        ATYPE=WORDS,
        BTYPE=WORDS,
        CMP=compares,
    )
    def sum_up(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
        return reduce(Value.__add__, answers(m, a, b), c)


for _count, _bits in PARTS.items():
    _register_comparison(_count, _bits)
    for _name, _operation in OPERATIONS.items():
        _register(_name, _operation, _count, _bits)
