"""Single precision: PTX manual, chapter "Floating Point Instructions".

Results are IEEE's in every rounding direction. The ``.approx`` and ``.full`` forms of division, reciprocal and roots
are rounded correctly, which is within the manual's bounds (1 or 2 ulp). NaN results are the hardware's 0x7fffffff,
except that round-to-nearest addition, multiplication and ``fma`` keep the host's NaN: canonicalising would double
their cost, and only a program that looks at a NaN's bits could tell.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.simt.engine.values import F32, F64, Value
from grader.simt.isa.emit import Emitter
from grader.simt.isa.formats import as_bits, as_float, canonical, flush, magnitude, saturate
from grader.simt.isa.registry import Example, Match, form
from grader.simt.isa.rounding import ROUNDINGS, TESTS, arithmetic, classify, extremum

F32_ONLY = ("f32",)
INFINITY, NAN = float("inf"), 0x7FFFFFFF
TINY, HALF_ULP = 2.0**-149, 2.0**-24


def _modified(m: Match, compute: Callable[..., Value], *operands: Value) -> Value:
    """The operation between ``.ftz`` of what goes in and ``.ftz``, ``.sat`` of what comes out."""
    result = compute(*[flush(a) for a in operands] if m.ftz else operands)
    result = flush(result) if m.ftz else result
    return saturate(result) if m.sat else result


def _rounded(e: Emitter, m: Match, operation: str, *operands: Value) -> Value:
    return _modified(m, lambda *values: arithmetic(e.f, operation, m.RND, *values), *operands)


@form(
    "add{.RND}{.ftz}{.sat}.TYPE d, a, b",
    RND=ROUNDINGS,
    TYPE=F32_ONLY,
    examples=[
        Example("add.f32", ([1.0], [HALF_ULP]), [1.0]),
        Example("add.rp.f32", ([1.0], [TINY]), [1.0000001192092896]),
        Example("add.rm.f32", ([1.0], [-1.0]), [-0.0]),
        Example("add.ftz.f32", ([-TINY], [-TINY]), [-0.0]),
        Example("add.sat.f32", ([0.75], [0.5]), [1.0]),
    ],
)
def add(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _rounded(e, m, "fadd", a, b)


@form(
    "sub{.RND}{.ftz}{.sat}.TYPE d, a, b",
    RND=ROUNDINGS,
    TYPE=F32_ONLY,
    examples=[
        Example("sub.rz.f32", ([1.0], [TINY]), [0.9999999403953552]),
        Example("sub.sat.f32", ([0.25], [0.5]), [0.0]),
    ],
)
def sub(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _rounded(e, m, "fsub", a, b)


@form(
    "mul{.RND}{.ftz}{.sat}.TYPE d, a, b",
    RND=ROUNDINGS,
    TYPE=F32_ONLY,
    examples=[
        Example("mul.rn.f32", ([3.0e38], [2.0]), [INFINITY]),
        Example("mul.rz.f32", ([3.0e38], [2.0]), [0x7F7FFFFF]),
        Example("mul.ftz.f32", ([2.0**-100], [2.0**-40]), [0.0]),
        Example("mul.f32", ([2.0**-100], [2.0**-40]), [2.0**-140]),
    ],
)
def mul(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _rounded(e, m, "fmul", a, b)


@form(
    "fma.RND{.ftz}{.sat}.TYPE d, a, b, c",
    RND=ROUNDINGS,
    TYPE=F32_ONLY,
    examples=[
        Example("fma.rn.f32", ([1 + 2.0**-12], [1 - 2.0**-12], [-1.0]), [-(2.0**-24)]),
        Example("fma.rm.f32", ([1.0], [1.0], [-1.0]), [-0.0]),
        Example("fma.rn.sat.f32", ([2.0], [3.0], [-7.0]), [0.0]),
    ],
)
@form(
    "mad{.RND}{.ftz}{.sat}.TYPE d, a, b, c",
    RND=ROUNDINGS,
    TYPE=F32_ONLY,
    examples=[Example("mad.rn.f32", ([1 + 2.0**-12], [1 - 2.0**-12], [-1.0]), [-(2.0**-24)])],
)
def fma(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """Multiply and add with one rounding."""
    return _rounded(e, m, "fma", a, b, c)


@form(
    "div.RND{.ftz}.TYPE d, a, b",
    RND=(*ROUNDINGS, "full"),
    TYPE=F32_ONLY,
    examples=[
        Example("div.rn.f32", ([1.0], [3.0]), [0x3EAAAAAB]),
        Example("div.rm.f32", ([1.0], [3.0]), [0x3EAAAAAA]),
        Example("div.full.ftz.f32", ([2.0**-100], [2.0**40]), [0.0]),
        Example("div.rn.f32", ([0.0], [0.0]), [NAN]),
    ],
)
def div(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return canonical(_rounded(e, m, "fdiv", a, b))


@form(
    "div.approx{.ftz}.TYPE d, a, b",
    TYPE=F32_ONLY,
    examples=[
        Example("div.approx.f32", ([1.0, 1.0], [4.0, -(2.0**127)]), [0.25, -0.0]),
        Example("div.approx.f32", ([INFINITY], [2.0**127]), [NAN]),
    ],
)
def div_approx(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """``a · (1/b)``: the reciprocal of a divisor above 2^126 counts as zero, as in ``__fdividef``."""
    quotient = _rounded(e, m, "fdiv", a, b)
    is_lost = (magnitude(b) - 0x7E800001).ult(0x7F800000 - 0x7E800001)  # above 2^126 and finite
    return canonical(is_lost.select(a * as_float(as_bits(b) & 0x80000000), quotient))


@form(
    "rcp.RND{.ftz}.TYPE d, a",
    RND=(*ROUNDINGS, "approx"),
    TYPE=F32_ONLY,
    examples=[
        Example("rcp.rn.f32", ([3.0, -0.0, INFINITY],), [0x3EAAAAAB, -INFINITY, 0.0]),
        Example("rcp.rz.f32", ([3.0],), [0x3EAAAAAA]),
        Example("rcp.approx.ftz.f32", ([TINY, 2.0**127],), [INFINITY, 0.0]),
    ],
)
def rcp(e: Emitter, m: Match, a: Value) -> Value:
    one = e.f.const(a.type, 1.0)
    return canonical(_modified(m, lambda x: arithmetic(e.f, "fdiv", m.RND, one, x), a))


@form(
    "sqrt.RND{.ftz}.TYPE d, a",
    RND=(*ROUNDINGS, "approx"),
    TYPE=F32_ONLY,
    examples=[
        Example("sqrt.rn.f32", ([2.0, -0.0, -1.0],), [0x3FB504F3, -0.0, NAN]),
        Example("sqrt.rp.f32", ([2.0],), [0x3FB504F4]),
        Example("sqrt.approx.ftz.f32", ([TINY],), [0.0]),
    ],
)
def sqrt(e: Emitter, m: Match, a: Value) -> Value:
    return canonical(_rounded(e, m, "sqrt", a))


@form(
    "rsqrt.approx{.ftz}.TYPE d, a",
    TYPE=F32_ONLY,
    examples=[
        Example("rsqrt.approx.f32", ([4.0, -0.0, INFINITY, -1.0],), [0.5, -INFINITY, 0.0, NAN]),
        Example("rsqrt.approx.ftz.f32", ([TINY, 3.0],), [INFINITY, 0x3F13CD3A]),
    ],
)
def rsqrt(e: Emitter, m: Match, a: Value) -> Value:
    """``1/√a``, computed in double precision and rounded."""
    return canonical(_modified(m, lambda x: (1.0 / arithmetic(e.f, "sqrt", "", x.fpext(F64))).fptrunc(F32), a))


@form(
    "neg{.ftz}.TYPE d, a",
    TYPE=F32_ONLY,
    examples=[Example("neg.f32", ([0.0, 1.0],), [-0.0, -1.0]), Example("neg.ftz.f32", ([TINY],), [-0.0])],
)
def neg(e: Emitter, m: Match, a: Value) -> Value:
    return _modified(m, lambda x: -x, a)


@form(
    "abs{.ftz}.TYPE d, a",
    TYPE=F32_ONLY,
    examples=[Example("abs.f32", ([-0.0, -1.0],), [0.0, 1.0]), Example("abs.ftz.f32", ([-TINY],), [0.0])],
)
def absolute(e: Emitter, m: Match, a: Value) -> Value:
    return _modified(m, lambda x: e.f.overloaded("llvm.fabs", x), a)


def _extremum(e: Emitter, m: Match, operation: str, a: Value, b: Value) -> Value:
    a, b = (flush(a), flush(b)) if m.ftz else (a, b)
    if not m.xorsign:
        return extremum(e.f, operation, a, b, propagate_nan=m.NaN)
    smaller = extremum(e.f, operation, as_float(magnitude(a)), as_float(magnitude(b)), propagate_nan=m.NaN)
    return as_float(magnitude(smaller) | ((as_bits(a) ^ as_bits(b)) & 0x80000000))


@form(
    "min{.ftz}{.NaN}{.xorsign}{.abs}.TYPE d, a, b",
    TYPE=F32_ONLY,
    examples=[
        Example("min.f32", ([0.0, NAN, 2.0], [-0.0, 3.0, 1.0]), [-0.0, 3.0, 1.0]),
        Example("min.NaN.f32", ([NAN], [3.0]), [NAN]),
        Example("min.ftz.f32", ([-TINY], [1.0]), [-0.0]),
        Example("min.xorsign.abs.f32", ([-2.0], [3.0]), [-2.0]),
    ],
)
def minimum(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _extremum(e, m, "min", a, b)


@form(
    "max{.ftz}{.NaN}{.xorsign}{.abs}.TYPE d, a, b",
    TYPE=F32_ONLY,
    examples=[
        Example("max.f32", ([-0.0, 3.0, NAN], [0.0, NAN, NAN]), [0.0, 3.0, NAN]),
        Example("max.NaN.f32", ([3.0], [NAN]), [NAN]),
        Example("max.xorsign.abs.f32", ([2.0], [-3.0]), [-3.0]),
    ],
)
def maximum(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _extremum(e, m, "max", a, b)


@form(
    "copysign.TYPE d, a, b", TYPE=F32_ONLY, examples=[Example("copysign.f32", ([-1.0, 2.0], [5.0, -0.0]), [-5.0, 0.0])]
)
def copysign(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The sign of the first operand on the value of the second."""
    return e.f.overloaded("llvm.copysign", b, a)


@form(
    "testp.TEST.TYPE d, a",
    TEST=TESTS,
    TYPE=F32_ONLY,
    operands={"d": "pred"},
    examples=[
        Example("testp.normal.f32", ([0.0, TINY, 1.0, INFINITY, NAN],), [1, 0, 1, 0, 0]),
        Example("testp.subnormal.f32", ([0.0, -TINY, 1.0],), [0, 1, 0]),
        Example("testp.number.f32", ([INFINITY, NAN],), [1, 0]),
    ],
)
def testp(e: Emitter, m: Match, a: Value) -> Value:
    return classify(a, m.TEST)
