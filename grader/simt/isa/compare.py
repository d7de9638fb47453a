"""Comparing into predicates: `setp` of the PTX manual's comparison chapters, half precision included."""

from __future__ import annotations

from collections.abc import Callable

from grader.simt.engine.values import F32, Value
from grader.simt.isa.emit import Emitter, is_signed
from grader.simt.isa.formats import flush, scalar_name, widen
from grader.simt.isa.registry import Example, Match, form

BITS = ("b16", "b32", "b64")
UNSIGNED = ("u16", "u32", "u64")
SIGNED = ("s16", "s32", "s64")
FLOATS = ("f32", "f64", "f16", "bf16")
PAIRS = ("f16x2", "bf16x2")
EQUALITY = ("eq", "ne")
ORDER = (*EQUALITY, "lt", "le", "gt", "ge")
BOOLS = ("and", "or", "xor")
NAN = 0x7FFFFFFF
INF = float("inf")

UNSIGNED_METHODS = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge",
                    "lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}  # fmt: skip
SIGNED_METHODS = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
SYMBOLS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "num": "ord", "nan": "uno"}
FLOAT_ORDER = (*SYMBOLS, "equ", "neu", "ltu", "leu", "gtu", "geu")
"""Comparison operators of floats; those that end in ``u`` are true when an operand is NaN, ``num`` asks for no NaN."""


def compare(how: str, kind: str, a: Value, b: Value, *, ftz: bool) -> Value:
    """``a how b`` for values of PTX type ``kind`` (64 answers for packed pairs)."""
    if kind not in FLOATS + PAIRS:
        methods = SIGNED_METHODS if is_signed(kind) else UNSIGNED_METHODS
        return getattr(a, methods[how])(b)  # type: ignore[no-any-return]  # the methods of the tables give values
    sides = [flush(x, scalar_name(kind)) if ftz else x for x in (a, b)]
    left, right = (x if x.bits == 64 else widen(x, scalar_name(kind), F32) for x in sides)
    if how in SYMBOLS:
        return left.fcmp(SYMBOLS[how], right)
    return left.fcmpu(SYMBOLS[how.removesuffix("u")], right)


COMBINE: dict[str, Callable[[Value, Value], Value]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


def combined(m: Match, answer: Value, c: Value | None) -> Value:
    return answer if c is None else COMBINE[m.BOOL](answer, c)


def _negated(answer: Value) -> Value:
    return answer ^ answer.f.const(answer.type, 1)


# -- setp --------------------------------------------------------------------------------------------------------------
PREDICATE = {"d": "pred", "dq": "pred", "c": "pred"}


@form(
    "setp.CMP.TYPE d, a, b",
    CMP=EQUALITY,
    TYPE=BITS,
    operands=PREDICATE,
    examples=[Example("setp.ne.b64", ([1 << 40, 0], [0]), [1, 0])],
)
@form(
    "setp.CMP.TYPE d, a, b",
    CMP=tuple(UNSIGNED_METHODS),
    TYPE=UNSIGNED,
    operands=PREDICATE,
    examples=[
        Example("setp.lt.u32", ([1, -1, 1], [-1, 1, 1]), [1, 0, 0]),
        Example("setp.hs.u16", ([1, 65535, 1], [65535, 1, 1]), [0, 1, 1]),
    ],
)
@form(
    "setp.CMP.TYPE d, a, b",
    CMP=ORDER,
    TYPE=SIGNED,
    operands=PREDICATE,
    examples=[Example("setp.lt.s32", ([1, -1, 1], [-1, 1, 1]), [0, 1, 0])],
)
@form(
    "setp.CMP{.ftz}.TYPE d, a, b",
    CMP=FLOAT_ORDER,
    TYPE=FLOATS,
    operands=PREDICATE,
    examples=[
        Example("setp.ne.f32", ([1.0, NAN, 2.0], [1.0, 1.0, 1.0]), [0, 0, 1]),
        Example("setp.neu.f32", ([1.0, NAN, 2.0], [1.0, 1.0, 1.0]), [0, 1, 1]),
        Example("setp.gt.ftz.f32", ([1e-40], [0.0]), [0]),
        Example("setp.gt.f32", ([1e-40], [0.0]), [1]),
        Example("setp.geu.f64", ([-INF, NAN << 32], [0.0]), [0, 1]),
        Example("setp.eq.f16", ([-0.0, 6e-8], [0.0]), [1, 0]),
        Example("setp.eq.ftz.f16", ([6e-8], [0.0]), [1]),
        Example("setp.lt.bf16", ([0xBF80, 0x7FC0], [0x3F80]), [1, 0]),
        Example("setp.num.f32", ([NAN, 1.0], [1.0]), [0, 1]),
    ],
)
def setp(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return compare(m.CMP, m.TYPE, a, b, ftz=m.ftz)


@form(
    "setp.CMP.BOOL.TYPE d, a, b, c",
    CMP=EQUALITY,
    BOOL=BOOLS,
    TYPE=BITS,
    operands=PREDICATE,
    examples=[Example("setp.eq.and.b32", ([1], [1], [1, 0]), [1, 0])],
)
@form(
    "setp.CMP.BOOL.TYPE d, a, b, c",
    CMP=tuple(UNSIGNED_METHODS),
    BOOL=BOOLS,
    TYPE=UNSIGNED,
    operands=PREDICATE,
    examples=[Example("setp.hi.xor.u32", ([-1, -1, 0], [1, 1, 0], [0, 1, 1]), [1, 0, 1])],
)
@form(
    "setp.CMP.BOOL.TYPE d, a, b, c",
    CMP=ORDER,
    BOOL=BOOLS,
    TYPE=SIGNED,
    operands=PREDICATE,
    examples=[Example("setp.ge.or.s32", ([-1, -1, 1], [1, 1, 1], [0, 1, 0]), [0, 1, 1])],
)
@form(
    "setp.CMP.BOOL{.ftz}.TYPE d, a, b, c",
    CMP=FLOAT_ORDER,
    BOOL=BOOLS,
    TYPE=FLOATS,
    operands=PREDICATE,
    examples=[Example("setp.lt.and.f32", ([1.0], [2.0], [1, 0]), [1, 0])],
)
def setp_bool(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    return combined(m, compare(m.CMP, m.TYPE, a, b, ftz=m.ftz), c)


def _with_opposite(m: Match, a: Value, b: Value, c: Value | None) -> tuple[Value, Value]:
    answer = compare(m.CMP, m.TYPE, a, b, ftz=m.ftz)
    return combined(m, answer, c), combined(m, _negated(answer), c)


@form(
    "setp.CMP.TYPE d|dq, a, b",
    CMP=EQUALITY,
    TYPE=BITS,
    operands=PREDICATE,
    examples=[Example("setp.eq.b32", ([1], [1, 2]), ([1, 0], [0, 1]))],
)
@form(
    "setp.CMP.TYPE d|dq, a, b",
    CMP=tuple(UNSIGNED_METHODS),
    TYPE=UNSIGNED,
    operands=PREDICATE,
    examples=[Example("setp.lt.u64", ([1], [-1, 1]), ([1, 0], [0, 1]))],
)
@form(
    "setp.CMP.TYPE d|dq, a, b",
    CMP=ORDER,
    TYPE=SIGNED,
    operands=PREDICATE,
    examples=[Example("setp.lt.s64", ([1], [-1, 2]), ([0, 1], [1, 0]))],
)
@form(
    "setp.CMP{.ftz}.TYPE d|dq, a, b",
    CMP=FLOAT_ORDER,
    TYPE=FLOATS,
    operands=PREDICATE,
    examples=[Example("setp.lt.f32", ([1.0, NAN], [2.0]), ([1, 0], [0, 1]))],
)
def setp_both(e: Emitter, m: Match, a: Value, b: Value) -> tuple[Value, Value]:
    """The second destination gets the opposite answer."""
    return _with_opposite(m, a, b, None)


@form(
    "setp.CMP.BOOL.TYPE d|dq, a, b, c",
    CMP=EQUALITY,
    BOOL=BOOLS,
    TYPE=BITS,
    operands=PREDICATE,
    examples=[Example("setp.eq.and.b32", ([1], [1, 2], [1, 1, 0]), ([1, 0, 0], [0, 1, 0]))],
)
@form(
    "setp.CMP.BOOL.TYPE d|dq, a, b, c",
    CMP=tuple(UNSIGNED_METHODS),
    BOOL=BOOLS,
    TYPE=UNSIGNED,
    operands=PREDICATE,
    examples=[Example("setp.lt.or.u32", ([1], [2, 1, 2], [0, 0, 1]), ([1, 0, 1], [0, 1, 1]))],
)
@form(
    "setp.CMP.BOOL.TYPE d|dq, a, b, c",
    CMP=ORDER,
    BOOL=BOOLS,
    TYPE=SIGNED,
    operands=PREDICATE,
    examples=[Example("setp.lt.xor.s32", ([1], [2, 1, 2], [0, 0, 1]), ([1, 0, 0], [0, 1, 1]))],
)
@form(
    "setp.CMP.BOOL{.ftz}.TYPE d|dq, a, b, c",
    CMP=FLOAT_ORDER,
    BOOL=BOOLS,
    TYPE=FLOATS,
    operands=PREDICATE,
    examples=[Example("setp.lt.and.f64", ([1.0], [2.0, 0.5, 2.0], [1, 1, 0]), ([1, 0, 0], [0, 1, 0]))],
)
def setp_bool_both(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    return _with_opposite(m, a, b, c)


def _halves(answers: Value) -> tuple[Value, Value]:
    """The answers for the lower and for the upper elements of packed pairs."""
    return answers.shuffle(range(0, 64, 2)), answers.shuffle(range(1, 64, 2))


@form(
    "setp.CMP{.ftz}.TYPE d|dq, a, b",
    CMP=FLOAT_ORDER,
    TYPE=PAIRS,
    operands=PREDICATE,
    examples=[
        Example("setp.lt.f16x2", ([1.0, 2.0], [2.0, 1.0]), ([1], [0])),
        Example("setp.gtu.bf16x2", ([0x3F80, 0x7FC0], [0x4000]), ([0], [1])),
    ],
)
def setp_pair(e: Emitter, m: Match, a: Value, b: Value) -> tuple[Value, Value]:
    """The first destination answers for the lower half, the second for the upper one."""
    return _halves(compare(m.CMP, m.TYPE, a, b, ftz=m.ftz))


@form(
    "setp.CMP.BOOL{.ftz}.TYPE d|dq, a, b, c",
    CMP=FLOAT_ORDER,
    BOOL=BOOLS,
    TYPE=PAIRS,
    operands=PREDICATE,
    examples=[Example("setp.lt.and.f16x2", ([1.0, 1.0], [2.0, 2.0], [1, 0]), ([1, 0], [1, 0]))],
)
def setp_bool_pair(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> tuple[Value, Value]:
    low, high = _halves(compare(m.CMP, m.TYPE, a, b, ftz=m.ftz))
    return combined(m, low, c), combined(m, high, c)
