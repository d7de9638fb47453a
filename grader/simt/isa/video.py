"""Operations on the two halves or four bytes of a word: PTX manual, chapter "SIMD Video Instructions".

NVRTC uses these for intrinsics such as ``__vsadu4``. Selectors and masks on operands (``%r1.b3210``) are not supported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add, or_

from grader.simt.engine.values import Value
from grader.simt.isa.convert import bounds
from grader.simt.isa.integer import ALL_B32, WORDS, field
from grader.simt.isa.registry import Emitter, Example, Match, form

# The parts are extended to 32 bits, so that every result is exact, and signed comparisons are right for unsigned parts.
OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    "vavrg": lambda a, b: (a + b + (a + b).sge(0).zext(a.type.element)).ashr(1),
    "vabsdiff": lambda a, b: a.slt(b).select(b - a, a - b),
    "vmin": lambda a, b: a.slt(b).select(a, b),
    "vmax": lambda a, b: a.sgt(b).select(a, b),
}
COMPARISONS: dict[str, Callable[[Value, Value], Value]] = {
    "eq": Value.eq, "ne": Value.ne, "lt": Value.slt, "le": Value.sle, "gt": Value.sgt, "ge": Value.sge,
}  # fmt: skip

A, B = 0x02FF807F, 0x0101FF01
RESULTS = {  # A with B as s32: halves saturated, halves summed onto 5, bytes saturated, bytes summed onto 5
    "vadd": (0x04008000, 0xFFFF8385, 0x0300807F, 0x00000007),
    "vsub": (0x01FE817E, 0xFFFF8381, 0x01FE817E, 0x00000003),
    "vavrg": (0x0200BFC0, 0xFFFFC1C5, 0x0200BF40, 0x00000006),
    "vabsdiff": (0x01FE7E82, 0x00008085, 0x01027F7E, 0x00000105),
    "vmin": (0x0101807F, 0xFFFF8185, 0x01FF8001, 0xFFFFFF86),
    "vmax": (0x02FFFF01, 0x00000205, 0x0201FF7F, 0x00000086),
}
ARITHMETIC = {f"{name}{count}": RESULTS[name][at : at + 2] for name in OPERATIONS for count, at in (("2", 0), ("4", 2))}
"""Instructions with the results of their examples: of each part, and summed."""
KINDS = {"DTYPE": WORDS, "ATYPE": WORDS, "BTYPE": WORDS, "CMP": COMPARISONS}


def _parts(m: Match, a: Value, b: Value) -> tuple[list[Value], int]:
    """The results of the parts, lowest first, and the bits per part. A true comparison is 1."""
    bits = 32 // int(m.OPCODE[-1])
    sides = [(field(a, at, bits, m.ATYPE), field(b, at, bits, m.BTYPE)) for at in range(0, 32, bits)]
    if m.CMP:
        return [COMPARISONS[m.CMP](x, y).zext(x.type.element) for x, y in sides], bits
    return [OPERATIONS[m.OPCODE[:-1]](x, y) for x, y in sides], bits


@form(
    "OPCODE.DTYPE.ATYPE.BTYPE{.sat} d, a, b, c",
    *[Example(f"{name}.s32.s32.s32.sat", ([A], [B], [5]), [packed]) for name, (packed, _) in ARITHMETIC.items()],
    OPCODE=ARITHMETIC,
    also=KINDS,
    operands=ALL_B32,
)
@form(
    "OPCODE.ATYPE.BTYPE.CMP d, a, b, c",
    Example("vset2.u32.u32.ge", ([0x05FF8001], [0x0501FF02], [5]), [0x00010000]),
    Example("vset4.u32.u32.ge", ([0x05FF8001], [0x0501FF02], [5]), [0x01010000]),
    OPCODE=("vset2", "vset4"),
    also=KINDS,
    operands=ALL_B32,
)
def side_by_side(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    parts, bits = _parts(m, a, b)
    if m.sat:
        low, high = bounds(f"{m.DTYPE[0]}{bits}")
        least = [part.slt(low).select(low, part) for part in parts]
        parts = [part.sgt(high).select(high, part) for part in least]
    return reduce(or_, [(part & ((1 << bits) - 1)) << (bits * i) for i, part in enumerate(parts)])


@form(
    "OPCODE.DTYPE.ATYPE.BTYPE.add d, a, b, c",
    *[Example(f"{name}.s32.s32.s32.add", ([A], [B], [5]), [total]) for name, (_, total) in ARITHMETIC.items()],
    OPCODE=ARITHMETIC,
    also=KINDS,
    operands=ALL_B32,
)
@form(
    "OPCODE.ATYPE.BTYPE.CMP.add d, a, b, c",
    Example("vset2.u32.u32.ge.add", ([0x05FF8001], [0x0501FF02], [5]), [6]),
    Example("vset4.u32.u32.ge.add", ([0x05FF8001], [0x0501FF02], [5]), [7]),
    OPCODE=("vset2", "vset4"),
    also=KINDS,
    operands=ALL_B32,
)
def summed(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """The sum of the results and of the third source."""
    return reduce(add, _parts(m, a, b)[0], c)
