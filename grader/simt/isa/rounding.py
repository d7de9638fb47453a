"""IEEE arithmetic in any rounding direction, and what NVIDIA's floating point adds to it: flushing, saturation, NaN.

Round-to-nearest operations are LLVM's own. The directed ones set the host's rounding mode around LLVM's constrained
intrinsics, in one outlined function for each operation, direction and type, so that they are exact wherever the host's
arithmetic is IEEE's: overflow, subnormals and the sign of zero included.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from grader.simt.engine.builder import Builder
from grader.simt.engine.values import F32, F64, I32, I64, VOID, Value, mangle

DIRECTED = {"rz": 0, "rp": 2, "rm": 3}
"""PTX's directed modifiers as `llvm.set.rounding` numbers them."""

NEAREST = 1
ROUNDINGS = ("rn", "rz", "rm", "rp")

CANONICAL_NAN = {32: 0x7FFFFFFF, 64: 0xFFF8000000000000}
"""The NaN that NVIDIA GPUs give, by width: f32's from the PTX manual, f64's as ptxas writes it in its own sequences."""

SIGN = {32: 1 << 31, 64: 1 << 63}
INFINITY = {32: 0x7F800000, 64: 0x7FF0000000000000}
SMALLEST_NORMAL = {32: 0x00800000, 64: 0x0010000000000000}

_INTEGER = {32: I32, 64: I64}
_FLOAT = {32: F32, 64: F64}

_NEAREST: dict[str, Callable[..., Value]] = {
    "fadd": lambda f, a, b: a + b,
    "fsub": lambda f, a, b: a - b,
    "fmul": lambda f, a, b: a * b,
    "fdiv": lambda f, a, b: a / b,
    "fma": lambda f, a, b, c: f.overloaded("llvm.fma", a, b, c),
    "sqrt": lambda f, a: f.overloaded("llvm.sqrt", a),
}


def arithmetic(f: Builder, operation: str, rounding: str, *operands: Value) -> Value:
    """``fadd fsub fmul fdiv fma sqrt`` of f32 or f64 vectors, rounded once; ``rounding`` is a PTX modifier or ""."""
    if rounding not in DIRECTED:
        return _NEAREST[operation](f, *operands)
    name = f"{operation}_{rounding}_{mangle(operands[0].type)}"
    return f.call(f.module.globals.get(name) or _directed(f.module, name, operation, rounding, operands), *operands)


def _directed(module: ir.Module, name: str, operation: str, rounding: str, like: tuple[Value, ...]) -> ir.Function:
    """The outlined function: the mode holds from its first instruction to its last, and nothing is moved across it."""
    kind = like[0].type
    f = Builder(module, name, kind, [kind] * len(like))
    f.fn.attributes.add("noinline")
    set.add(f.fn.attributes, "strictfp")  # llvmlite's own `add` does not know this attribute
    _set_mode(f, DIRECTED[rounding])
    intrinsic = f"llvm.experimental.constrained.{operation}.{mangle(kind)}"
    hint = ir.MetaDataType()
    fn = module.globals.get(intrinsic)
    if fn is None:
        fn = ir.Function(module, ir.FunctionType(kind, [kind] * len(like) + [hint, hint]), intrinsic)
    hints = [ir.MetaDataString(module, text) for text in ("round.dynamic", "fpexcept.ignore")]
    result = Value(f, f.b.call(fn, [a.v for a in f.args] + hints))
    _set_mode(f, NEAREST)
    f.ret(result)
    return f.finish()


def _set_mode(f: Builder, mode: int) -> None:
    f.intrinsic("llvm.set.rounding", VOID, f.const(I32, mode))


def bits(value: Value) -> Value:
    """A float value's bit pattern."""
    return value.bitcast(_INTEGER[value.bits])


def as_float(value: Value) -> Value:
    """A bit pattern's float value."""
    return value.bitcast(_FLOAT[value.bits])


def magnitude(value: Value) -> Value:
    """The bit pattern without its sign: orders like the absolute value, NaN above infinity."""
    return bits(value) & (SIGN[value.bits] - 1)


def canonical(value: Value) -> Value:
    """NaN replaced by the hardware's own. In integers, because LLVM thinks that one NaN is as good as another."""
    is_nan = magnitude(value).ugt(INFINITY[value.bits])
    return as_float(is_nan.select(CANONICAL_NAN[value.bits], bits(value)))


def flush(value: Value) -> Value:
    """Subnormal numbers become zeros of the same sign (``.ftz``)."""
    raw = bits(value)
    is_tiny = magnitude(value).ult(SMALLEST_NORMAL[value.bits])
    return as_float(is_tiny.select(raw & SIGN[value.bits], raw))


def saturate(value: Value) -> Value:
    """Clamped to 0 … 1; NaN becomes +0 (``.sat``)."""
    return value.fcmp(">", 0.0).select(value.fcmp("<", 1.0).select(value, 1.0), 0.0)


def extremum(f: Builder, operation: str, a: Value, b: Value, *, propagate_nan: bool = False) -> Value:
    """``min`` or ``max``: a number beats NaN unless ``propagate_nan``; -0 is below +0; NaN results are canonical."""
    standard = f"llvm.{operation}imum" if propagate_nan else f"llvm.{operation}imumnum"
    return canonical(f.overloaded(standard, a, b))


TESTS = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")


def classify(value: Value, test: str) -> Value:
    """``testp``'s predicates. The manual counts zeros as normal."""
    size = magnitude(value)
    infinity, normal = INFINITY[value.bits], SMALLEST_NORMAL[value.bits]
    return {
        "finite": lambda: size.ult(infinity),
        "infinite": lambda: size.eq(infinity),
        "number": lambda: size.ule(infinity),
        "notanumber": lambda: size.ugt(infinity),
        "normal": lambda: size.eq(0) | (size - normal).ult(infinity - normal),
        "subnormal": lambda: (size - 1).ult(normal - 1),
    }[test]()


__all__ = [
    "ROUNDINGS", "TESTS", "arithmetic", "as_float", "bits", "canonical", "classify", "extremum", "flush",
    "magnitude", "saturate",
]  # fmt: skip
