"""IEEE arithmetic of f32 and f64 in any rounding direction, minimum and maximum, and `testp`'s classes.

Round-to-nearest operations are LLVM's own. The directed ones set the host's rounding mode around LLVM's constrained
intrinsics, in one outlined function for each operation, direction and type, so that they are exact wherever the host's
arithmetic is IEEE's: overflow, subnormals and the sign of zero included.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import I32, VOID, Value, mangle
from grader.simt.isa.formats import canonical, infinity_bits, is_nan, kind_of, magnitude, smallest_normal

DIRECTED = {"rz": 0, "rp": 2, "rm": 3}
"""PTX's directed modifiers as `llvm.set.rounding` numbers them."""

NEAREST = 1
ROUNDINGS = ("rn", "rz", "rm", "rp")

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
    f.fn.attributes.add("strictfp")
    _set_mode(f, DIRECTED[rounding])
    intrinsic = f"llvm.experimental.constrained.{operation}.{mangle(kind)}"
    result = f.intrinsic(intrinsic, kind, *f.args, f.metadata("round.dynamic"), f.metadata("fpexcept.ignore"))
    _set_mode(f, NEAREST)
    f.ret(result)
    return f.finish()


def _set_mode(f: Builder, mode: int) -> None:
    f.intrinsic("llvm.set.rounding", VOID, f.const(I32, mode))


def extremum(f: Builder, operation: str, a: Value, b: Value, *, propagate_nan: bool = False) -> Value:
    """``min`` or ``max``: a number beats NaN unless ``propagate_nan``; -0 is below +0; NaN results are canonical."""
    # Not llvm.maximumnum, which is this in one instruction: LLVM 20 selects the wrong operand there on x86.
    larger = f.overloaded(f"llvm.{operation}imum", a, b)
    if not propagate_nan:
        larger = is_nan(a).select(b, is_nan(b).select(a, larger))
    return canonical(larger)


TESTS = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")


def classify(value: Value, test: str) -> Value:
    """``testp``'s predicates. The manual counts zeros as normal."""
    kind, size = kind_of(value), magnitude(value)
    infinity, normal = infinity_bits(kind), smallest_normal(kind)
    return {
        "finite": lambda: size.ult(infinity),
        "infinite": lambda: size.eq(infinity),
        "number": lambda: size.ule(infinity),
        "notanumber": lambda: size.ugt(infinity),
        "normal": lambda: size.eq(0) | (size - normal).ult(infinity - normal),
        "subnormal": lambda: (size - 1).ult(normal - 1),
    }[test]()
