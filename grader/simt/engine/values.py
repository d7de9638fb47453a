"""Values with operators: LLVM IR types, constants and expressions. `Builder` builds functions of them.

`Value` wraps an IR value; Python numbers become constants (splats beside vectors). Integer ``+ - * & | ^ << >>`` are
IR's (``>>`` is logical), float ``+ - * /`` are IR's float operations without any fast-math flag, so that results keep
their bits. Comparisons are methods, because signedness is part of their name.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.simt.engine import ir

if TYPE_CHECKING:
    from grader.simt.engine.builder import Builder

LANES = 32

I1, I8, I16, I32, I64, I128 = (ir.IntType(n) for n in (1, 8, 16, 32, 64, 128))
F16, F32, F64, PTR, VOID = ir.HALF, ir.FLOAT, ir.DOUBLE, ir.POINTER, ir.VOID
_FLOATS = frozenset((F16, F32, F64))
_WIDTHS = {F16: 16, F32: 32, F64: 64, PTR: 64}


def vec(element: ir.Type, lanes: int = LANES) -> ir.VectorType:
    """``<32 x element>``: one value for each lane of a warp."""
    return ir.VectorType(element, lanes)


def element_of(kind: ir.Type) -> ir.Type:
    return kind.element


def bits_of(kind: ir.Type) -> int:
    """Width in bits of a scalar type, or of one element of a vector type."""
    kind = element_of(kind)
    if isinstance(kind, ir.IntType):
        return kind.width
    return _WIDTHS[kind]


def is_float(kind: ir.Type) -> bool:
    return element_of(kind) in _FLOATS


def _literal(kind: ir.Type, value: int | float) -> str:
    if isinstance(kind, ir.IntType):
        if kind.width == 1:
            return "true" if value else "false"
        return str(int(value) & ((1 << kind.width) - 1))
    if kind is F16:
        return "0xH" + struct.pack(">e", value).hex().upper()
    single = struct.unpack("f", struct.pack("f", value))[0] if kind is F32 else value
    return "0x" + struct.pack(">d", single).hex().upper()


def constant(kind: ir.Type, value: int | float) -> ir.Value:
    """A constant of a scalar or (as a splat) a vector type."""
    if isinstance(kind, ir.VectorType):
        return ir.Value(kind, f"splat ({kind.element} {_literal(kind.element, value)})")
    return ir.Value(kind, _literal(kind, value))


def lane_constant(element: ir.Type, values: Sequence[int | float]) -> ir.Value:
    """A vector constant with a value for each lane."""
    text = ", ".join(f"{element} {_literal(element, v)}" for v in values)
    return ir.Value(vec(element, len(values)), f"<{text}>")


_ORDERED = {"==": "oeq", "!=": "one", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}


class Value:
    """An IR value with operators; see the module's docstring."""

    __slots__ = ("f", "v")

    def __init__(self, f: Builder, v: ir.Value) -> None:
        self.f = f
        self.v = v

    @property
    def type(self) -> ir.Type:
        return self.v.type

    @property
    def is_float(self) -> bool:
        return is_float(self.v.type)

    @property
    def bits(self) -> int:
        return bits_of(self.v.type)

    def _other(self, other: Value | int | float) -> ir.Value:
        if isinstance(other, Value):
            if isinstance(self.v.type, ir.VectorType) and not isinstance(other.v.type, ir.VectorType):
                return self.f.splat(other).v
            return other.v
        return constant(self.v.type, other)

    def _binary(self, other: Value | int | float, integer: str, floating: str | None = None) -> Value:
        if isinstance(other, Value) and isinstance(other.type, ir.VectorType) > isinstance(self.type, ir.VectorType):
            return self.f.splat(self)._binary(other, integer, floating)
        name = floating if self.is_float and floating else integer
        return Value(self.f, self.f.b.binary(name, self.v, self._other(other)))

    def __add__(self, other: Value | int | float) -> Value:
        return self._binary(other, "add", "fadd")

    __radd__ = __add__

    def __sub__(self, other: Value | int | float) -> Value:
        return self._binary(other, "sub", "fsub")

    def __rsub__(self, other: int | float) -> Value:
        return Value(self.f, constant(self.type, other)) - self

    def __mul__(self, other: Value | int | float) -> Value:
        return self._binary(other, "mul", "fmul")

    __rmul__ = __mul__

    def __truediv__(self, other: Value | int | float) -> Value:
        return self._binary(other, "fdiv", "fdiv")

    def __rtruediv__(self, other: int | float) -> Value:
        return Value(self.f, constant(self.type, other)) / self

    def __and__(self, other: Value | int) -> Value:
        return self._binary(other, "and")

    def __or__(self, other: Value | int) -> Value:
        return self._binary(other, "or")

    def __xor__(self, other: Value | int) -> Value:
        return self._binary(other, "xor")

    def __lshift__(self, other: Value | int) -> Value:
        return self._binary(other, "shl")

    def __rshift__(self, other: Value | int) -> Value:
        return self._binary(other, "lshr")

    def __invert__(self) -> Value:
        return self ^ -1

    def __neg__(self) -> Value:
        if self.is_float:
            return Value(self.f, self.f.b.negate(self.v))
        return 0 - self

    def ashr(self, other: Value | int) -> Value:
        return self._binary(other, "ashr")

    def sdiv(self, other: Value | int) -> Value:
        return self._binary(other, "sdiv")

    def udiv(self, other: Value | int) -> Value:
        return self._binary(other, "udiv")

    def srem(self, other: Value | int) -> Value:
        return self._binary(other, "srem")

    def urem(self, other: Value | int) -> Value:
        return self._binary(other, "urem")

    def _compare(self, how: str, other: Value | int | float) -> Value:
        if isinstance(other, Value) and isinstance(other.type, ir.VectorType) > isinstance(self.type, ir.VectorType):
            return self.f.splat(self)._compare(how, other)
        return Value(self.f, self.f.b.compare(how, self.v, self._other(other)))

    def eq(self, other: Value | int) -> Value:
        return self._compare("icmp eq", other)

    def ne(self, other: Value | int) -> Value:
        return self._compare("icmp ne", other)

    def ult(self, other: Value | int) -> Value:
        return self._compare("icmp ult", other)

    def ule(self, other: Value | int) -> Value:
        return self._compare("icmp ule", other)

    def ugt(self, other: Value | int) -> Value:
        return self._compare("icmp ugt", other)

    def uge(self, other: Value | int) -> Value:
        return self._compare("icmp uge", other)

    def slt(self, other: Value | int) -> Value:
        return self._compare("icmp slt", other)

    def sle(self, other: Value | int) -> Value:
        return self._compare("icmp sle", other)

    def sgt(self, other: Value | int) -> Value:
        return self._compare("icmp sgt", other)

    def sge(self, other: Value | int) -> Value:
        return self._compare("icmp sge", other)

    def fcmp(self, how: str, other: Value | float) -> Value:
        """Ordered float comparison: ``==  !=  <  <=  >  >=``, or ``ord`` / ``uno``."""
        return self._compare(f"fcmp {_ORDERED.get(how, how)}", other)

    def fcmpu(self, how: str, other: Value | float) -> Value:
        """Unordered float comparison: true when an operand is NaN."""
        return self._compare(f"fcmp u{_ORDERED[how][1:]}", other)

    def _to(self, element: ir.Type) -> ir.Type:
        return vec(element, self.type.count) if isinstance(self.type, ir.VectorType) else element

    def _convert(self, how: str, element: ir.Type) -> Value:
        return Value(self.f, self.f.b.convert(how, self.v, self._to(element)))

    def zext(self, element: ir.Type) -> Value:
        return (
            self
            if self.bits == bits_of(element)
            else Value(self.f, self.f.b.convert("zext", self.v, self._to(element)))
        )

    def sext(self, element: ir.Type) -> Value:
        return (
            self
            if self.bits == bits_of(element)
            else Value(self.f, self.f.b.convert("sext", self.v, self._to(element)))
        )

    def trunc(self, element: ir.Type) -> Value:
        return (
            self
            if self.bits == bits_of(element)
            else Value(self.f, self.f.b.convert("trunc", self.v, self._to(element)))
        )

    def resize(self, element: ir.Type, *, signed: bool = False) -> Value:
        """Integer to integer of any width: truncates, or extends by zero or sign."""
        if self.bits > bits_of(element):
            return self.trunc(element)
        return self.sext(element) if signed else self.zext(element)

    def fpext(self, element: ir.Type) -> Value:
        return (
            self
            if self.bits == bits_of(element)
            else Value(self.f, self.f.b.convert("fpext", self.v, self._to(element)))
        )

    def fptrunc(self, element: ir.Type) -> Value:
        return (
            self
            if self.bits == bits_of(element)
            else Value(self.f, self.f.b.convert("fptrunc", self.v, self._to(element)))
        )

    def sitofp(self, element: ir.Type) -> Value:
        return self._convert("sitofp", element)

    def uitofp(self, element: ir.Type) -> Value:
        return self._convert("uitofp", element)

    def fptosi(self, element: ir.Type) -> Value:
        return self._convert("fptosi", element)

    def fptoui(self, element: ir.Type) -> Value:
        return self._convert("fptoui", element)

    def bitcast(self, element: ir.Type) -> Value:
        """The same bits as another element type of the same width, lane by lane."""
        target = self._to(element)
        return self if target == self.type else Value(self.f, self.f.b.convert("bitcast", self.v, target))

    def select(self, yes: Value | int | float, no: Value | int | float) -> Value:
        """``self ? yes : no`` lane by lane; one of the two must be a `Value`."""
        like = yes if isinstance(yes, Value) else no
        assert isinstance(like, Value)
        picks = [p.v if isinstance(p, Value) else constant(like.type, p) for p in (yes, no)]
        return Value(self.f, self.f.b.select(self.v, *picks))

    def lane(self, index: Value | int) -> Value:
        where = index.v if isinstance(index, Value) else constant(I32, index)
        return Value(self.f, self.f.b.extract_element(self.v, where))

    def with_lane(self, index: Value | int, value: Value) -> Value:
        where = index.v if isinstance(index, Value) else constant(I32, index)
        return Value(self.f, self.f.b.insert_element(self.v, value.v, where))

    def shuffle(self, lanes: Sequence[int], other: Value | None = None) -> Value:
        """Lanes picked by constant indices (``other``'s follow at 32)."""
        second = other.v if other is not None else ir.Value(self.type, "undef")
        return Value(self.f, self.f.b.shuffle_vector(self.v, second, lane_constant(I32, lanes)))

    def as_mask(self) -> Value:
        """``<32 x i1>`` to the i32 with a bit for each lane."""
        return Value(self.f, self.f.b.convert("bitcast", self.v, I32))

    def as_lanes(self) -> Value:
        """i32 with a bit for each lane to ``<32 x i1>``."""
        return Value(self.f, self.f.b.convert("bitcast", self.v, vec(I1)))


def mangle(kind: ir.Type) -> str:
    """A type as intrinsic names spell it: ``v32f32``, ``i64``, ``p0``."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{mangle(kind.element)}"
    if kind is PTR:
        return "p0"
    return f"{'f' if is_float(kind) else 'i'}{bits_of(kind)}"
