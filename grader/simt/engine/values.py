"""Values with operators: LLVM IR types, constants and expressions. `Builder` builds functions of them.

A `Value` has a type and a name in IR; Python numbers become constants (splats with vectors). Integer
``+ - * & | ^ << >>`` are IR's (``>>`` is logical), float ``+ - * /`` are IR's float operations without fast-math flags,
so that results are exact to the bit. Comparisons are methods, because signedness is part of their name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from grader.simt.engine import ir

if TYPE_CHECKING:
    from grader.simt.engine.builder import Builder

LANES = 32

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
F16, F32, F64, PTR, VOID = ir.HALF, ir.FLOAT, ir.DOUBLE, ir.POINTER, ir.VOID
_FLOATS = frozenset((F16, F32, F64))
_WIDTHS = {F16: 16, F32: 32, F64: 64, PTR: 64}


@cache
def vec(element: ir.Type, lanes: int = LANES) -> ir.VectorType:
    """``<32 x element>``: one value for each lane of a warp."""
    return ir.VectorType(element, lanes)


def bits_of(kind: ir.Type) -> int:
    """Width in bits of a scalar type, or of one element of a vector type."""
    element = kind.element
    return element.width if isinstance(element, ir.IntType) else _WIDTHS[element]


def literal(kind: ir.Type, value: int | float) -> str:
    """A constant of a scalar or (as a splat) a vector type, as text."""
    if isinstance(kind, ir.VectorType):
        return f"splat ({kind.element} {literal(kind.element, value)})"
    if isinstance(kind, ir.IntType):
        if kind.width == 1:
            return "true" if value else "false"
        return str(int(value) & ((1 << kind.width) - 1))
    if kind is F16:
        return "0xH" + struct.pack(">e", value).hex().upper()
    single = struct.unpack("f", struct.pack("f", value))[0] if kind is F32 else value
    return "0x" + struct.pack(">d", single).hex().upper()


def lane_literal(element: ir.Type, values: Sequence[int | float]) -> str:
    """A vector constant with a value for each lane, as text."""
    return f"<{', '.join(f'{element} {literal(element, v)}' for v in values)}>"


def mangle(kind: ir.Type) -> str:
    """A type as in names of intrinsics: ``v32f32``, ``i64``, ``p0``."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{mangle(kind.element)}"
    return "p0" if kind is PTR else f"{'f' if kind in _FLOATS else 'i'}{bits_of(kind)}"


def _operation(integer: str, floating: str = "") -> Callable[[Value, Value | int | float], Value]:
    """An operator; ``floating`` is its name for floats, "" if there is none."""

    def operate(self: Value, other: Value | int | float) -> Value:
        left, right = self.beside(other)
        name = floating if floating and left.is_float else integer
        return left.f.emit(left.type, f"{name} {left.typed}, {right}")

    return operate


def _comparison(how: str) -> Callable[[Value, Value | int | float], Value]:
    return lambda self, other: self.compare(how, other)


def _conversion(how: str) -> Callable[[Value, ir.Type], Value]:
    """A conversion to another element type, lane by lane; the value itself if it has this type."""

    def convert(self: Value, element: ir.Type) -> Value:
        kind = vec(element, self.type.count) if isinstance(self.type, ir.VectorType) else element
        return self if self.type is kind else self.f.emit(kind, f"{how} {self.typed} to {kind.text}")

    return convert


_ORDERED = {"==": "oeq", "!=": "one", "<": "olt", "<=": "ole", ">": "ogt", ">=": "oge"}


class Value:
    """An IR value with operators; see the module's docstring. ``ref`` is its name, ``typed`` its type and name."""

    __slots__ = ("f", "ref", "type", "typed")

    def __init__(self, f: Builder, kind: ir.Type, ref: str) -> None:
        self.f = f
        self.type = kind
        self.ref = ref
        self.typed = f"{kind.text} {ref}"

    @property
    def is_float(self) -> bool:
        return self.type.element in _FLOATS

    @property
    def bits(self) -> int:
        return bits_of(self.type)

    def beside(self, other: Value | int | float) -> tuple[Value, str]:
        """This value and the other one's name, as operands of one instruction; beside a vector, a scalar is splat."""
        if not isinstance(other, Value):
            return self, literal(self.type, other)
        if isinstance(self.type, ir.VectorType) == isinstance(other.type, ir.VectorType):
            return self, other.ref
        if isinstance(self.type, ir.VectorType):
            return self, self.f.splat(other).ref
        return self.f.splat(self), other.ref

    __add__ = __radd__ = _operation("add", "fadd")
    __sub__ = _operation("sub", "fsub")
    __mul__ = __rmul__ = _operation("mul", "fmul")
    __truediv__ = _operation("fdiv")
    __and__ = _operation("and")
    __or__ = _operation("or")
    __xor__ = _operation("xor")
    __lshift__ = _operation("shl")
    __rshift__ = _operation("lshr")
    ashr = _operation("ashr")
    sdiv = _operation("sdiv")
    udiv = _operation("udiv")
    urem = _operation("urem")

    def __rsub__(self, other: int | float) -> Value:
        return self.f.const(self.type, other) - self

    def __rtruediv__(self, other: int | float) -> Value:
        return self.f.const(self.type, other) / self

    def __invert__(self) -> Value:
        return self ^ -1

    def __neg__(self) -> Value:
        return self.f.emit(self.type, f"fneg {self.typed}") if self.is_float else 0 - self

    def compare(self, how: str, other: Value | int | float) -> Value:
        """``icmp eq``, ``fcmp olt`` …"""
        left, right = self.beside(other)
        kind = vec(I1, left.type.count) if isinstance(left.type, ir.VectorType) else I1
        return left.f.emit(kind, f"{how} {left.typed}, {right}")

    eq = _comparison("icmp eq")
    ne = _comparison("icmp ne")
    ult = _comparison("icmp ult")
    ule = _comparison("icmp ule")
    ugt = _comparison("icmp ugt")
    uge = _comparison("icmp uge")
    slt = _comparison("icmp slt")
    sle = _comparison("icmp sle")
    sgt = _comparison("icmp sgt")
    sge = _comparison("icmp sge")

    def fcmp(self, how: str, other: Value | float) -> Value:
        """Ordered float comparison: ``==  !=  <  <=  >  >=``, or ``ord`` / ``uno``."""
        return self.compare(f"fcmp {_ORDERED.get(how, how)}", other)

    def fcmpu(self, how: str, other: Value | float) -> Value:
        """Unordered float comparison: true when an operand is NaN."""
        return self.compare(f"fcmp u{_ORDERED[how][1:]}", other)

    zext = _conversion("zext")
    sext = _conversion("sext")
    trunc = _conversion("trunc")
    fpext = _conversion("fpext")
    fptrunc = _conversion("fptrunc")
    sitofp = _conversion("sitofp")
    uitofp = _conversion("uitofp")
    fptosi = _conversion("fptosi")
    fptoui = _conversion("fptoui")
    bitcast = _conversion("bitcast")  # of the same width

    def resize(self, element: ir.Type, *, signed: bool = False) -> Value:
        """To an integer of any width: truncated, or extended by zero or sign."""
        if self.bits > bits_of(element):
            return self.trunc(element)
        return self.sext(element) if signed else self.zext(element)

    def reinterpret(self, kind: ir.Type) -> Value:
        """The same bits as another type, which may have another number of lanes."""
        return self if self.type is kind else self.f.emit(kind, f"bitcast {self.typed} to {kind.text}")

    def as_mask(self) -> Value:
        """``<32 x i1>`` to the i32 with a bit for each lane."""
        return self.reinterpret(I32)

    def as_lanes(self) -> Value:
        """i32 with a bit for each lane to ``<32 x i1>``."""
        return self.reinterpret(vec(I1))

    def select(self, yes: Value | int | float, no: Value | int | float) -> Value:
        """``self ? yes : no`` lane by lane; one of the two must be a `Value`."""
        like = yes if isinstance(yes, Value) else no
        assert isinstance(like, Value)
        picks = [p if isinstance(p, Value) else self.f.const(like.type, p) for p in (yes, no)]
        return self.f.emit(picks[0].type, f"select {self.typed}, {picks[0].typed}, {picks[1].typed}")

    def lane(self, index: Value | int) -> Value:
        at = index.typed if isinstance(index, Value) else f"i32 {index}"
        return self.f.emit(self.type.element, f"extractelement {self.typed}, {at}")

    def shuffle(self, lanes: Sequence[int], other: Value | None = None) -> Value:
        """The lanes with these constant indices (those of ``other`` begin at 32)."""
        second = f"{self.type} undef" if other is None else other.typed
        text = f"shufflevector {self.typed}, {second}, {vec(I32, len(lanes))} {lane_literal(I32, lanes)}"
        return self.f.emit(vec(self.type.element, len(lanes)), text)
