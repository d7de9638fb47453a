"""Double precision: PTX manual, chapter "Floating Point Instructions".

Results are IEEE's in every rounding direction. NaN payloads are the host's, as the manual leaves them open. The gross
approximations of reciprocal and root, from which compiled divisions start their Newton steps, keep the manual's 20
bits of mantissa: the upper 32 bits of the operand make the upper 32 bits of the result.
"""

from __future__ import annotations

from grader.simt.engine.values import Value
from grader.simt.isa.emit import Emitter
from grader.simt.isa.formats import as_bits, as_float, canonical, flush
from grader.simt.isa.registry import Example, Match, form
from grader.simt.isa.rounding import ROUNDINGS, TESTS, arithmetic, classify, extremum

F64_ONLY = ("f64",)
INFINITY, NAN = float("inf"), 0xFFF8000000000000
TINY, LARGEST = 2.0**-1074, 0x7FEFFFFFFFFFFFFF
ONE_THIRD = 0x3FD5555555555555
UPPER_WORD = 0xFFFFFFFF00000000


@form(
    "add{.RND}.TYPE d, a, b",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[
        Example("add.f64", ([1.0], [2.0**-53]), [1.0]),
        Example("add.rp.f64", ([1.0], [TINY]), [1 + 2.0**-52]),
        Example("add.rm.f64", ([1.0], [-1.0]), [-0.0]),
    ],
)
def add(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return arithmetic(e.f, "fadd", m.RND, a, b)


@form(
    "sub{.RND}.TYPE d, a, b",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[Example("sub.rz.f64", ([1.0], [TINY]), [1 - 2.0**-53]), Example("sub.rn.f64", ([3.0], [5.0]), [-2.0])],
)
def sub(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return arithmetic(e.f, "fsub", m.RND, a, b)


@form(
    "mul{.RND}.TYPE d, a, b",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[
        Example("mul.f64", ([1e308], [10.0]), [INFINITY]),
        Example("mul.rz.f64", ([1e308], [10.0]), [LARGEST]),
        Example("mul.rp.f64", ([TINY], [TINY]), [TINY]),
    ],
)
def mul(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return arithmetic(e.f, "fmul", m.RND, a, b)


@form(
    "fma.RND.TYPE d, a, b, c",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[
        Example("fma.rn.f64", ([1 + 2.0**-27], [1 - 2.0**-27], [-1.0]), [-(2.0**-54)]),
        Example("fma.rm.f64", ([1.0], [1.0], [-1.0]), [-0.0]),
    ],
)
@form(
    "mad.RND.TYPE d, a, b, c",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[Example("mad.rn.f64", ([1 + 2.0**-27], [1 - 2.0**-27], [-1.0]), [-(2.0**-54)])],
)
def fma(e: Emitter, m: Match, a: Value, b: Value, c: Value) -> Value:
    """Multiply and add with one rounding."""
    return arithmetic(e.f, "fma", m.RND, a, b, c)


@form(
    "div.RND.TYPE d, a, b",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[
        Example("div.rn.f64", ([1.0], [3.0]), [ONE_THIRD]),
        Example("div.rp.f64", ([1.0], [3.0]), [ONE_THIRD + 1]),
    ],
)
def div(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return arithmetic(e.f, "fdiv", m.RND, a, b)


@form(
    "rcp.RND.TYPE d, a",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[
        Example("rcp.rn.f64", ([3.0, -0.0],), [ONE_THIRD, -INFINITY]),
        Example("rcp.rp.f64", ([3.0],), [ONE_THIRD + 1]),
    ],
)
def rcp(e: Emitter, m: Match, a: Value) -> Value:
    return arithmetic(e.f, "fdiv", m.RND, e.f.const(a.type, 1.0), a)


@form(
    "sqrt.RND.TYPE d, a",
    RND=ROUNDINGS,
    TYPE=F64_ONLY,
    examples=[
        Example("sqrt.rn.f64", ([2.0, -0.0],), [0x3FF6A09E667F3BCD, -0.0]),
        Example("sqrt.rz.f64", ([2.0],), [0x3FF6A09E667F3BCC]),
    ],
)
def sqrt(e: Emitter, m: Match, a: Value) -> Value:
    return arithmetic(e.f, "sqrt", m.RND, a)


def _gross(e: Emitter, a: Value, *, root: bool) -> Value:
    """Reciprocal of the (root of the) operand's upper word, with its own lower word zero; subnormals count as zero."""
    upper = as_float(as_bits(flush(a)) & UPPER_WORD)
    near = 1.0 / (arithmetic(e.f, "sqrt", "", upper) if root else upper)
    return as_float(as_bits(canonical(flush(near))) & UPPER_WORD)


@form(
    "rcp.approx.ftz.TYPE d, a",
    TYPE=F64_ONLY,
    examples=[
        Example("rcp.approx.ftz.f64", ([3.0, 4.0, -TINY, INFINITY],), [0x3FD5555500000000, 0.25, -INFINITY, 0.0])
    ],
)
def rcp_approx(e: Emitter, m: Match, a: Value) -> Value:
    return _gross(e, a, root=False)


@form(
    "rsqrt.approx.ftz.TYPE d, a",
    TYPE=F64_ONLY,
    examples=[Example("rsqrt.approx.ftz.f64", ([4.0, 3.0, TINY, -1.0],), [0.5, 0x3FE279A700000000, INFINITY, NAN])],
)
def rsqrt_approx_ftz(e: Emitter, m: Match, a: Value) -> Value:
    return _gross(e, a, root=True)


@form(
    "rsqrt.approx.TYPE d, a",
    TYPE=F64_ONLY,
    examples=[Example("rsqrt.approx.f64", ([4.0, -0.0, INFINITY, -1.0],), [0.5, -INFINITY, 0.0, NAN])],
)
def rsqrt_approx(e: Emitter, m: Match, a: Value) -> Value:
    """``1/√a`` in full precision, as the hardware's own sequence gives it."""
    return canonical(1.0 / arithmetic(e.f, "sqrt", "", a))


@form("neg.TYPE d, a", TYPE=F64_ONLY, examples=[Example("neg.f64", ([0.0, 1.0],), [-0.0, -1.0])])
def neg(e: Emitter, m: Match, a: Value) -> Value:
    return -a


@form("abs.TYPE d, a", TYPE=F64_ONLY, examples=[Example("abs.f64", ([-0.0, -1.0],), [0.0, 1.0])])
def absolute(e: Emitter, m: Match, a: Value) -> Value:
    return e.f.overloaded("llvm.fabs", a)


@form(
    "min.TYPE d, a, b",
    TYPE=F64_ONLY,
    examples=[Example("min.f64", ([0.0, NAN, 2.0], [-0.0, 3.0, 1.0]), [-0.0, 3.0, 1.0])],
)
def minimum(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return extremum(e.f, "min", a, b)


@form(
    "max.TYPE d, a, b",
    TYPE=F64_ONLY,
    examples=[Example("max.f64", ([-0.0, 3.0, NAN], [0.0, NAN, NAN]), [0.0, 3.0, NAN])],
)
def maximum(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    return extremum(e.f, "max", a, b)


@form(
    "copysign.TYPE d, a, b", TYPE=F64_ONLY, examples=[Example("copysign.f64", ([-1.0, 2.0], [5.0, -0.0]), [-5.0, 0.0])]
)
def copysign(e: Emitter, m: Match, a: Value, b: Value) -> Value:
    """The sign of the first operand on the value of the second."""
    return e.f.overloaded("llvm.copysign", b, a)


@form(
    "testp.TEST.TYPE d, a",
    TEST=TESTS,
    TYPE=F64_ONLY,
    operands={"d": "pred"},
    examples=[
        Example("testp.normal.f64", ([0.0, TINY, 1.0, INFINITY],), [1, 0, 1, 0]),
        Example("testp.notanumber.f64", ([INFINITY, NAN],), [0, 1]),
    ],
)
def testp(e: Emitter, m: Match, a: Value) -> Value:
    return classify(a, m.TEST)
