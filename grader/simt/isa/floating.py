"""Single and double precision: PTX manual, chapter "Floating Point Instructions".

Results follow IEEE 754 in every rounding direction. The ``.approx`` and ``.full`` forms of division, reciprocal and
roots are correctly rounded, which is within the manual's bounds (1 or 2 ulp); except for the gross approximations of
f64, with which compiled divisions start their Newton iterations: these have the manual's 20 bits of mantissa.

NaN results are the hardware's 0x7fffffff, except that round-to-nearest addition, multiplication and ``fma`` of f32 have
the CPU's NaN: canonicalising would double their cost, and matters only for a program that uses a NaN's bits. NaN
payloads of f64 are the CPU's, because the manual does not define them.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.simt.engine.values import F64, Value
from grader.simt.isa.formats import (
    CLASSES,
    ROUNDINGS,
    arithmetic,
    as_bits,
    as_float,
    canonical,
    classify,
    extremum,
    flush,
    magnitude,
    saturate,
)
from grader.simt.isa.registry import Emitter, Example, Match, form

BOTH = ("f32", "f64")
INFINITY, NAN, NAN64 = float("inf"), 0x7FFFFFFF, 0xFFF8000000000000
TINY, HALF_ULP = 2.0**-149, 2.0**-24
TINY64, LARGEST64 = 2.0**-1074, 0x7FEFFFFFFFFFFFFF
ONE_THIRD64 = 0x3FD5555555555555
UPPER_WORD = 0xFFFFFFFF00000000


def _modified(m: Match, compute: Callable[..., Value], *operands: Value) -> Value:
    """The operation, with ``.ftz`` of its operands and ``.ftz`` and ``.sat`` of its result."""
    result = compute(*[flush(a) for a in operands] if m.ftz else operands)
    result = flush(result) if m.ftz else result
    return saturate(result) if m.sat else result


def _rounded(e: Emitter, m: Match, operation: str, *operands: Value) -> Value:
    return _modified(m, lambda *values: arithmetic(e.f, operation, m.RND, *values), *operands)


def _settled(value: Value) -> Value:
    """``value`` with the hardware's NaN, in single precision."""
    return canonical(value) if value.bits == 32 else value


# -- arithmetic --------------------------------------------------------------------------------------------------------
@form(
    "OPCODE{.RND}{.ftz}{.sat}.f32 d, a, b",
    Example("add.f32", ([1.0], [HALF_ULP]), [1.0]),
    Example("add.rp.f32", ([1.0], [TINY]), [1.0000001192092896]),
    Example("add.rm.f32", ([1.0], [-1.0]), [-0.0]),
    Example("add.ftz.f32", ([-TINY], [-TINY]), [-0.0]),
    Example("add.sat.f32", ([0.75], [0.5]), [1.0]),
    Example("sub.rz.f32", ([1.0], [TINY]), [0.9999999403953552]),
    Example("sub.sat.f32", ([0.25], [0.5]), [0.0]),
    Example("mul.rn.f32", ([3.0e38], [2.0]), [INFINITY]),
    Example("mul.rz.f32", ([3.0e38], [2.0]), [0x7F7FFFFF]),
    Example("mul.ftz.f32", ([2.0**-100], [2.0**-40]), [0.0]),
    Example("mul.f32", ([2.0**-100], [2.0**-40]), [2.0**-140]),
    OPCODE=("add", "sub", "mul"),
    RND=ROUNDINGS,
)
@form(
    "OPCODE{.RND}.f64 d, a, b",
    Example("add.f64", ([1.0], [2.0**-53]), [1.0]),
    Example("add.rp.f64", ([1.0], [TINY64]), [1 + 2.0**-52]),
    Example("add.rm.f64", ([1.0], [-1.0]), [-0.0]),
    Example("sub.rz.f64", ([1.0], [TINY64]), [1 - 2.0**-53]),
    Example("sub.rn.f64", ([3.0], [5.0]), [-2.0]),
    Example("mul.f64", ([1e308], [10.0]), [INFINITY]),
    Example("mul.rz.f64", ([1e308], [10.0]), [LARGEST64]),
    Example("mul.rp.f64", ([TINY64], [TINY64]), [TINY64]),
    OPCODE=("add", "sub", "mul"),
    RND=ROUNDINGS,
)
def add_sub_mul(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _rounded(e, m, f"f{m.OPCODE}", a, b)


@form(
    "fma.RND{.ftz}{.sat}.f32 d, a, b, c",
    Example("fma.rn.f32", ([1 + 2.0**-12], [1 - 2.0**-12], [-1.0]), [-(2.0**-24)]),
    Example("fma.rm.f32", ([1.0], [1.0], [-1.0]), [-0.0]),
    Example("fma.rn.sat.f32", ([2.0], [3.0], [-7.0]), [0.0]),
    RND=ROUNDINGS,
)
@form(
    "mad{.RND}{.ftz}{.sat}.f32 d, a, b, c",
    Example("mad.rn.f32", ([1 + 2.0**-12], [1 - 2.0**-12], [-1.0]), [-(2.0**-24)]),
    RND=ROUNDINGS,
)
@form(
    "OPCODE.RND.f64 d, a, b, c",
    Example("fma.rn.f64", ([1 + 2.0**-27], [1 - 2.0**-27], [-1.0]), [-(2.0**-54)]),
    Example("fma.rm.f64", ([1.0], [1.0], [-1.0]), [-0.0]),
    Example("mad.rn.f64", ([1 + 2.0**-27], [1 - 2.0**-27], [-1.0]), [-(2.0**-54)]),
    OPCODE=("fma", "mad"),
    RND=ROUNDINGS,
)
def fma(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """Multiply and add with one rounding."""
    return _rounded(e, m, "fma", a, b, c)


@form(
    "div.RND{.ftz}.f32 d, a, b",
    Example("div.rn.f32", ([1.0], [3.0]), [0x3EAAAAAB]),
    Example("div.rm.f32", ([1.0], [3.0]), [0x3EAAAAAA]),
    Example("div.full.ftz.f32", ([2.0**-100], [2.0**40]), [0.0]),
    Example("div.rn.f32", ([0.0], [0.0]), [NAN]),
    RND=(*ROUNDINGS, "full"),
)
@form(
    "div.RND.f64 d, a, b",
    Example("div.rn.f64", ([1.0], [3.0]), [ONE_THIRD64]),
    Example("div.rp.f64", ([1.0], [3.0]), [ONE_THIRD64 + 1]),
    RND=ROUNDINGS,
)
def div(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return _settled(_rounded(e, m, "fdiv", a, b))


@form(
    "div.approx{.ftz}.f32 d, a, b",
    Example("div.approx.f32", ([1.0, 1.0], [4.0, -(2.0**127)]), [0.25, -0.0]),
    Example("div.approx.f32", ([INFINITY], [2.0**127]), [NAN]),
)
def div_approx(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """``a · (1/b)``: the reciprocal of a divisor above 2^126 counts as zero, as in ``__fdividef``."""
    quotient = _rounded(e, m, "fdiv", a, b)
    is_lost = (magnitude(b) - 0x7E800001).ult(0x7F800000 - 0x7E800001)  # above 2^126 and finite
    return canonical(is_lost.select(a * as_float(as_bits(b) & 0x80000000), quotient))


# -- reciprocals and roots ---------------------------------------------------------------------------------------------
@form(
    "rcp.RND{.ftz}.f32 d, a",
    Example("rcp.rn.f32", ([3.0, -0.0, INFINITY],), [0x3EAAAAAB, -INFINITY, 0.0]),
    Example("rcp.rz.f32", ([3.0],), [0x3EAAAAAA]),
    Example("rcp.approx.ftz.f32", ([TINY, 2.0**127],), [INFINITY, 0.0]),
    RND=(*ROUNDINGS, "approx"),
)
@form(
    "rcp.RND.f64 d, a",
    Example("rcp.rn.f64", ([3.0, -0.0],), [ONE_THIRD64, -INFINITY]),
    Example("rcp.rp.f64", ([3.0],), [ONE_THIRD64 + 1]),
    RND=ROUNDINGS,
)
def rcp(e: Emitter, m: Match, a: Value) -> Value:
    one = e.f.const(a.type, 1.0)
    return _settled(_modified(m, lambda x: arithmetic(e.f, "fdiv", m.RND, one, x), a))


@form(
    "sqrt.RND{.ftz}.f32 d, a",
    Example("sqrt.rn.f32", ([2.0, -0.0, -1.0],), [0x3FB504F3, -0.0, NAN]),
    Example("sqrt.rp.f32", ([2.0],), [0x3FB504F4]),
    Example("sqrt.approx.ftz.f32", ([TINY],), [0.0]),
    RND=(*ROUNDINGS, "approx"),
)
@form(
    "sqrt.RND.f64 d, a",
    Example("sqrt.rn.f64", ([2.0, -0.0],), [0x3FF6A09E667F3BCD, -0.0]),
    Example("sqrt.rz.f64", ([2.0],), [0x3FF6A09E667F3BCC]),
    RND=ROUNDINGS,
)
def sqrt(e: Emitter, m: Match, a: Value) -> Value:
    return _settled(_rounded(e, m, "sqrt", a))


@form(
    "rsqrt.approx{.ftz}.f32 d, a",
    Example("rsqrt.approx.f32", ([4.0, -0.0, INFINITY, -1.0],), [0.5, -INFINITY, 0.0, NAN]),
    Example("rsqrt.approx.ftz.f32", ([TINY, 3.0],), [INFINITY, 0x3F13CD3A]),
)
@form(
    "rsqrt.approx.f64 d, a",
    Example("rsqrt.approx.f64", ([4.0, -0.0, INFINITY, -1.0],), [0.5, -INFINITY, 0.0, NAN64]),
)
def rsqrt(e: Emitter, m: Match, a: Value) -> Value:
    """``1/√a``, computed in double precision and rounded."""
    return canonical(
        _modified(m, lambda x: (1.0 / arithmetic(e.f, "sqrt", "", x.fpext(F64))).fptrunc(a.type.element), a)
    )


@form(
    "OPCODE.approx.ftz.f64 d, a",
    Example("rcp.approx.ftz.f64", ([3.0, 4.0, -TINY64, INFINITY],), [0x3FD5555500000000, 0.25, -INFINITY, 0.0]),
    Example("rsqrt.approx.ftz.f64", ([4.0, 3.0, TINY64, -1.0],), [0.5, 0x3FE279A700000000, INFINITY, NAN64]),
    OPCODE=("rcp", "rsqrt"),
)
def gross_approximation(e: Emitter, m: Match, a: Value) -> Value:
    """The upper 32 bits of the result from the operand's upper 32 bits; subnormals count as zero."""
    upper = as_float(as_bits(flush(a)) & UPPER_WORD)
    near = 1.0 / (arithmetic(e.f, "sqrt", "", upper) if m.OPCODE == "rsqrt" else upper)
    return as_float(as_bits(canonical(flush(near))) & UPPER_WORD)


# -- sign and order ----------------------------------------------------------------------------------------------------
@form("neg{.ftz}.f32 d, a", Example("neg.f32", ([0.0, 1.0],), [-0.0, -1.0]), Example("neg.ftz.f32", ([TINY],), [-0.0]))
@form("neg.f64 d, a", Example("neg.f64", ([0.0, 1.0],), [-0.0, -1.0]))
def neg(e: Emitter, m: Match, a: Value) -> Value:
    return _modified(m, lambda x: -x, a)


@form("abs{.ftz}.f32 d, a", Example("abs.f32", ([-0.0, -1.0],), [0.0, 1.0]), Example("abs.ftz.f32", ([-TINY],), [0.0]))
@form("abs.f64 d, a", Example("abs.f64", ([-0.0, -1.0],), [0.0, 1.0]))
def absolute(e: Emitter, m: Match, a: Value) -> Value:
    return _modified(m, lambda x: e.f.overloaded("llvm.fabs", x), a)


@form(
    "OPCODE{.ftz}{.NaN}{.xorsign}{.abs}.f32 d, a, b",
    Example("min.f32", ([0.0, NAN, 2.0], [-0.0, 3.0, 1.0]), [-0.0, 3.0, 1.0]),
    Example("min.NaN.f32", ([NAN], [3.0]), [NAN]),
    Example("min.ftz.f32", ([-TINY], [1.0]), [-0.0]),
    Example("min.xorsign.abs.f32", ([-2.0], [3.0]), [-2.0]),
    Example("max.f32", ([-0.0, 3.0, NAN], [0.0, NAN, NAN]), [0.0, 3.0, NAN]),
    Example("max.NaN.f32", ([3.0], [NAN]), [NAN]),
    Example("max.xorsign.abs.f32", ([2.0], [-3.0]), [-3.0]),
    OPCODE=("min", "max"),
)
@form(
    "OPCODE.f64 d, a, b",
    Example("min.f64", ([0.0, NAN64, 2.0], [-0.0, 3.0, 1.0]), [-0.0, 3.0, 1.0]),
    Example("max.f64", ([-0.0, 3.0, NAN64], [0.0, NAN64, NAN64]), [0.0, 3.0, NAN64]),
    OPCODE=("min", "max"),
)
def min_max(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    a, b = (flush(a), flush(b)) if m.ftz else (a, b)
    if not m.xorsign:
        return extremum(e.f, m.OPCODE, a, b, propagate_nan=m.NaN)
    result = extremum(e.f, m.OPCODE, as_float(magnitude(a)), as_float(magnitude(b)), propagate_nan=m.NaN)
    return as_float(magnitude(result) | ((as_bits(a) ^ as_bits(b)) & 0x80000000))


@form(
    "copysign.TYPE d, a, b",
    Example("copysign.f32", ([-1.0, 2.0], [5.0, -0.0]), [-5.0, 0.0]),
    Example("copysign.f64", ([-1.0, 2.0], [5.0, -0.0]), [-5.0, 0.0]),
    TYPE=BOTH,
)
def copysign(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The sign of the first operand on the value of the second. The NaN of a computation is positive in f32."""
    return e.f.overloaded("llvm.copysign", b, _settled(a))


@form(
    "testp.TEST.TYPE d, a",
    Example("testp.normal.f32", ([0.0, TINY, 1.0, INFINITY, NAN],), [1, 0, 1, 0, 0]),
    Example("testp.subnormal.f32", ([0.0, -TINY, 1.0],), [0, 1, 0]),
    Example("testp.number.f32", ([INFINITY, NAN],), [1, 0]),
    Example("testp.normal.f64", ([0.0, TINY64, 1.0, INFINITY],), [1, 0, 1, 0]),
    Example("testp.notanumber.f64", ([INFINITY, NAN64],), [0, 1]),
    TEST=CLASSES,
    TYPE=BOTH,
    operands={"d": "pred"},
)
def testp(e: Emitter, m: Match, a: Value) -> Value:
    return classify(a, m.TEST)
