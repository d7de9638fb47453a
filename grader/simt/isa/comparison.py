"""Comparison and selection: PTX manual, "Comparison and Selection Instructions", including half precision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from grader.simt.engine.values import F32, I16, Value
from grader.simt.isa.formats import flush, scalar_name, widen
from grader.simt.isa.logic import BITWISE
from grader.simt.isa.registry import ELEMENT, PACKED, Emitter, Example, Match, form, is_signed, vector_type

BITS = ("b16", "b32", "b64")
UNSIGNED = ("u16", "u32", "u64")
SIGNED = ("s16", "s32", "s64")
FLOATS = ("f32", "f64", "f16", "bf16")
PAIRS = ("f16x2", "bf16x2")
NAN = 0x7FFFFFFF
INF = float("inf")

Test = Callable[[Value, Value], Value]
EQUALITY: dict[str, Test] = {"eq": Value.eq, "ne": Value.ne}
SIGNED_ORDER = EQUALITY | {"lt": Value.slt, "le": Value.sle, "gt": Value.sgt, "ge": Value.sge}
UNSIGNED_ORDER = EQUALITY | {"lt": Value.ult, "le": Value.ule, "gt": Value.ugt, "ge": Value.uge}
UNSIGNED_ORDER |= {"lo": Value.ult, "ls": Value.ule, "hi": Value.ugt, "hs": Value.uge}
SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "num": "ord", "nan": "uno"}
FLOAT_ORDER = (*SYMBOLS, "equ", "neu", "ltu", "leu", "gtu", "geu")
"""Comparison operators of floats; those that end in ``u`` are true if an operand is NaN, ``num`` if none is NaN."""


def _compare(m: Match, a: Value, b: Value) -> Value:
    """``a m.CMP b`` for values of PTX type ``m.TYPE`` (64 results for packed pairs)."""
    if m.TYPE not in FLOATS + PAIRS:
        return (SIGNED_ORDER if is_signed(m.TYPE) else UNSIGNED_ORDER)[m.CMP](a, b)
    kind = scalar_name(m.TYPE)
    sides = [flush(x, kind) if m.ftz else x for x in (a, b)]
    left, right = (x if x.bits == 64 else widen(x, kind, F32) for x in sides)
    if m.CMP in SYMBOLS:
        return left.fcmp(SYMBOLS[m.CMP], right)
    return left.fcmpu(SYMBOLS[m.CMP.removesuffix("u")], right)


def _combined(m: Match, answer: Value, c: Value | None) -> Value:
    return answer if c is None else BITWISE[m.BOOL](answer, c)


Kinds = Sequence[tuple[Sequence[str], Collection[str], str]]
SCALARS: Kinds = ((BITS, EQUALITY, ""), (UNSIGNED, UNSIGNED_ORDER, ""), (SIGNED, SIGNED_ORDER, ""),
                  (FLOATS, FLOAT_ORDER, "{.ftz}"))  # fmt: skip
"""Types, their comparisons, and the modifier that makes subnormal numbers count as zero."""


def comparison(
    opcode: str,
    operands: str,
    *examples: Example,
    kinds: Kinds = SCALARS,
    to: Sequence[str] = (),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Forms for each row of ``kinds``, with and without a predicate that is combined with the result.

    ``to``: types of the destination; without them it is a predicate.
    """

    of_kinds = {kind for types, _, _ in kinds for kind in types}
    if strangers := [x.text for x in examples if x.text.rpartition(".")[2] not in of_kinds]:
        raise ValueError(f"no comparison takes the examples {strangers}")

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        target = {"d": "DTYPE", "c": "pred"} if to else {"d": "pred", "dq": "pred", "c": "pred"}
        for types, order, ftz in kinds:
            own = [x for x in examples if x.text.rpartition(".")[2] in types]
            plain, combined = ([x for x in own if len(x.sources) == count] for count in (2, 3))
            tail = f"{ftz}{'.DTYPE' if to else ''}.TYPE {operands}"
            form(f"{opcode}.CMP{tail}", *plain, CMP=order, TYPE=types, DTYPE=to, operands=target)(build)
            form(f"{opcode}.CMP.BOOL{tail}, c", *combined, CMP=order, BOOL=BITWISE, TYPE=types, DTYPE=to,
                 operands=target)(build)  # fmt: skip
        return build

    return register


# -- setp --------------------------------------------------------------------------------------------------------------
@comparison(
    "setp",
    "d, a, b",
    Example("setp.ne.b64", ([1 << 40, 0], [0]), [1, 0]),
    Example("setp.lt.u32", ([1, -1, 1], [-1, 1, 1]), [1, 0, 0]),
    Example("setp.hs.u16", ([1, 65535, 1], [65535, 1, 1]), [0, 1, 1]),
    Example("setp.lt.s32", ([1, -1, 1], [-1, 1, 1]), [0, 1, 0]),
    Example("setp.ne.f32", ([1.0, NAN, 2.0], [1.0, 1.0, 1.0]), [0, 0, 1]),
    Example("setp.neu.f32", ([1.0, NAN, 2.0], [1.0, 1.0, 1.0]), [0, 1, 1]),
    Example("setp.gt.ftz.f32", ([1e-40], [0.0]), [0]),
    Example("setp.gt.f32", ([1e-40], [0.0]), [1]),
    Example("setp.geu.f64", ([-INF, NAN << 32], [0.0]), [0, 1]),
    Example("setp.eq.f16", ([-0.0, 6e-8], [0.0]), [1, 0]),
    Example("setp.eq.ftz.f16", ([6e-8], [0.0]), [1]),
    Example("setp.lt.bf16", ([0xBF80, 0x7FC0], [0x3F80]), [1, 0]),
    Example("setp.num.f32", ([NAN, 1.0], [1.0]), [0, 1]),
    Example("setp.eq.and.b32", ([1], [1], [1, 0]), [1, 0]),
    Example("setp.hi.xor.u32", ([-1, -1, 0], [1, 1, 0], [0, 1, 1]), [1, 0, 1]),
    Example("setp.ge.or.s32", ([-1, -1, 1], [1, 1, 1], [0, 1, 0]), [0, 1, 1]),
    Example("setp.lt.and.f32", ([1.0], [2.0], [1, 0]), [1, 0]),
)
def setp(e: Emitter, m: Match, a: Value, b: Value, c: Value | None = None) -> Value:
    return _combined(m, _compare(m, a, b), c)


@comparison(
    "setp",
    "d|dq, a, b",
    Example("setp.eq.b32", ([1], [1, 2]), ([1, 0], [0, 1])),
    Example("setp.lt.u64", ([1], [-1, 1]), ([1, 0], [0, 1])),
    Example("setp.lt.s64", ([1], [-1, 2]), ([0, 1], [1, 0])),
    Example("setp.lt.f32", ([1.0, NAN], [2.0]), ([1, 0], [0, 1])),
    Example("setp.eq.and.b32", ([1], [1, 2], [1, 1, 0]), ([1, 0, 0], [0, 1, 0])),
    Example("setp.lt.or.u32", ([1], [2, 1, 2], [0, 0, 1]), ([1, 0, 1], [0, 1, 1])),
    Example("setp.lt.xor.s32", ([1], [2, 1, 2], [0, 0, 1]), ([1, 0, 0], [0, 1, 1])),
    Example("setp.lt.and.f64", ([1.0], [2.0, 0.5, 2.0], [1, 1, 0]), ([1, 0, 0], [0, 1, 0])),
)
def setp_both(e: Emitter, m: Match, a: Value, b: Value, c: Value | None = None) -> tuple[Value, Value]:
    """The second destination gets the opposite result."""
    answer = _compare(m, a, b)
    return _combined(m, answer, c), _combined(m, answer ^ e.f.const(answer.type, 1), c)


@comparison(
    "setp",
    "d|dq, a, b",
    Example("setp.lt.f16x2", ([1.0, 2.0], [2.0, 1.0]), ([1], [0])),
    Example("setp.gtu.bf16x2", ([0x3F80, 0x7FC0], [0x4000]), ([0], [1])),
    Example("setp.lt.and.f16x2", ([1.0, 1.0], [2.0, 2.0], [1, 0]), ([1, 0], [1, 0])),
    kinds=((PAIRS, FLOAT_ORDER, "{.ftz}"),),
)
def setp_pair(e: Emitter, m: Match, a: Value, b: Value, c: Value | None = None) -> tuple[Value, Value]:
    """The first destination is for the lower half, the second for the upper one."""
    answers = _compare(m, a, b)
    low, high = answers.shuffle(range(0, 64, 2)), answers.shuffle(range(1, 64, 2))
    return _combined(m, low, c), _combined(m, high, c)


# -- set ---------------------------------------------------------------------------------------------------------------
ONE_BITS = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


def _truth(answer: Value, kind: str) -> Value:
    """True as 1.0 for float destinations and as all ones for integers, of PTX type ``kind``."""
    scalar = scalar_name(kind)
    bits = ELEMENT["b32" if scalar.endswith("32") else "b16"]
    if scalar not in ONE_BITS:
        return answer.sext(bits)
    return (answer.zext(bits) * ONE_BITS[scalar]).bitcast(ELEMENT[scalar])


@comparison(
    "set",
    "d, a, b",
    Example("set.eq.u32.b32", ([1, 2], [1]), [0xFFFFFFFF, 0]),
    Example("set.lt.f32.u32", ([1, -1], [2]), [1.0, 0.0]),
    Example("set.lt.s32.s64", ([1, -1], [0]), [0, -1]),
    Example("set.lt.f16.s32", ([-1], [2]), [1.0]),
    Example("set.ltu.u32.f32", ([NAN, 1.0], [0.0]), [0xFFFFFFFF, 0]),
    Example("set.gt.ftz.f32.f32", ([1e-40, 1.0], [0.0]), [0.0, 1.0]),
    Example("set.le.u16.f16", ([1.0, 2.0], [1.0]), [0xFFFF, 0]),
    Example("set.le.bf16.bf16", ([0x3F80, 0x4000], [0x3F80]), [0x3F80, 0]),
    Example("set.eq.or.u32.b32", ([1, 2, 2], [1], [0, 0, 1]), [0xFFFFFFFF, 0, 0xFFFFFFFF]),
    Example("set.lo.and.u32.u32", ([1], [-1], [1, 0]), [0xFFFFFFFF, 0]),
    Example("set.lt.xor.s32.s32", ([-1], [1], [1, 0]), [0, -1]),
    Example("set.lt.and.f32.f32", ([1.0], [2.0], [1, 0]), [1.0, 0.0]),
    to=("u32", "s32", "f32", "u16", "s16", "f16", "bf16"),
)
def set_(e: Emitter, m: Match, a: Value, b: Value, c: Value | None = None) -> Value:
    return _truth(_combined(m, _compare(m, a, b), c), m.DTYPE)


@comparison(
    "set",
    "d, a, b",
    Example("set.eq.f16x2.f16x2", ([1.0, 2.0], [1.0, 1.0]), [1.0, 0.0]),
    Example("set.eq.u32.f16x2", ([1.0, 2.0, 2.0, 1.0], [1.0]), [0x0000FFFF, 0xFFFF0000]),
    Example("set.eq.and.u32.f16x2", ([1.0], [1.0], [1, 0]), [0xFFFFFFFF, 0]),
    kinds=((("f16x2",), FLOAT_ORDER, "{.ftz}"),),
    to=("u32", "s32", "f16x2"),
)
@comparison(
    "set",
    "d, a, b",
    Example("set.eq.bf16x2.bf16x2", ([0x3F80, 0x4000], [0x3F80]), [0x3F80, 0]),
    Example("set.ne.or.s32.bf16x2", ([0x3F80], [0x3F80], [1, 0]), [-1, 0]),
    kinds=((("bf16x2",), FLOAT_ORDER, ""),),
    to=("u32", "s32", "bf16x2"),
)
def set_pair(e: Emitter, m: Match, a: Value, b: Value, c: Value | None = None) -> Value:
    answer = _compare(m, a, b)
    if c is not None:
        answer = _combined(m, answer, c.shuffle([i // 2 for i in range(64)]))
    if m.DTYPE in PACKED:
        return _truth(answer, m.DTYPE)
    return answer.sext(I16).reinterpret(vector_type("b32"))


# -- selection ---------------------------------------------------------------------------------------------------------
ANY = (*BITS, *UNSIGNED, *SIGNED, "f32", "f64")


@form(
    "selp.TYPE d, a, b, c",
    Example("selp.b32", ([1], [2], [1, 0]), [1, 2]),
    Example("selp.f64", ([1.5], [-0.0], [0, 1]), [-0.0, 1.5]),
    TYPE=ANY,
    operands={"c": "pred"},
)
def selp(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return c.select(a, b)


@form(
    "slct.TYPE.s32 d, a, b, c",
    Example("slct.u64.s32", ([1], [2], [0, -1, 5]), [1, 2, 1]),
    TYPE=ANY,
    operands={"c": "s32"},
)
def slct(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """``a`` if ``c`` is not negative, else ``b``."""
    return c.sge(0).select(a, b)


@form(
    "slct{.ftz}.TYPE.f32 d, a, b, c",
    Example("slct.f32.f32", ([1.0], [2.0], [-0.0, -1e-40, NAN, 3.0]), [1.0, 2.0, 2.0, 1.0]),
    Example("slct.ftz.b16.f32", ([1], [2], [-1e-40]), [1]),
    TYPE=ANY,
    operands={"c": "f32"},
)
def slct_float(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """``a`` if ``c`` is at least zero, else ``b``; -0 is at least zero, NaN is not."""
    return (flush(c, "f32") if m.ftz else c).fcmp(">=", 0.0).select(a, b)
