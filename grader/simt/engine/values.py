"""A small notation for building LLVM IR: values with operators, structured control flow, struct fields.

    with f.loop(n) as i:                 # for i in 0 … n-1
        total.set(total.get() + f.load(I64, base, i * 8))

`Value` wraps an IR value; Python numbers become constants (splats beside vectors). Integer ``+ - * & | ^ << >>`` are
IR's (``>>`` is logical), float ``+ - * /`` are IR's float operations without any fast-math flag, so that results keep
their bits. Comparisons are methods, because signedness is part of their name.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

LANES = 32

I1, I8, I16, I32, I64, I128 = (ir.IntType(n) for n in (1, 8, 16, 32, 64, 128))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()
PTR = ir.PointerType()
VOID = ir.VoidType()


def vec(element: ir.Type, lanes: int = LANES) -> ir.VectorType:
    """``<32 x element>``: one value for each lane of a warp."""
    return ir.VectorType(element, lanes)


def element_of(kind: ir.Type) -> ir.Type:
    return kind.element if isinstance(kind, ir.VectorType) else kind


def bits_of(kind: ir.Type) -> int:
    """Width in bits of a scalar type, or of one element of a vector type."""
    kind = element_of(kind)
    if isinstance(kind, ir.IntType):
        return int(kind.width)
    return {ir.HalfType: 16, ir.FloatType: 32, ir.DoubleType: 64}.get(type(kind), 64)


def is_float(kind: ir.Type) -> bool:
    return isinstance(element_of(kind), ir.HalfType | ir.FloatType | ir.DoubleType)


def _literal(kind: ir.Type, value: int | float) -> str:
    if isinstance(kind, ir.IntType):
        if kind.width == 1:
            return "true" if value else "false"
        return str(int(value) & ((1 << kind.width) - 1))
    if isinstance(kind, ir.HalfType):
        return "0xH" + struct.pack(">e", value).hex().upper()
    single = struct.unpack("f", struct.pack("f", value))[0] if isinstance(kind, ir.FloatType) else value
    return "0x" + struct.pack(">d", single).hex().upper()


class _Text(ir.values.Value):  # type: ignore[misc]  # llvmlite has no types
    """A constant in LLVM's own words; llvmlite would spell a splat out 32 times, which costs time to build and read."""

    def __init__(self, kind: ir.Type, text: str) -> None:
        self.type = kind
        self.text = text

    def get_reference(self) -> str:
        return self.text


def constant(kind: ir.Type, value: int | float) -> ir.Value:
    """A constant of a scalar or (as a splat) a vector type."""
    if isinstance(kind, ir.VectorType):
        return _Text(kind, f"splat ({kind.element} {_literal(kind.element, value)})")
    return _Text(kind, _literal(kind, value))


def lane_constant(element: ir.Type, values: Sequence[int | float]) -> ir.Value:
    """A vector constant with a value for each lane."""
    text = ", ".join(f"{element} {_literal(element, v)}" for v in values)
    return _Text(vec(element, len(values)), f"<{text}>")


def _opaque(pointer: ir.Value) -> ir.Value:
    """LLVM knows one pointer type; llvmlite's `alloca` still types what it gives."""
    pointer.type = PTR
    return pointer


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
        return Value(self.f, getattr(self.f.b, name)(self.v, self._other(other)))

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
        return self._binary(other, "and_")

    def __or__(self, other: Value | int) -> Value:
        return self._binary(other, "or_")

    def __xor__(self, other: Value | int) -> Value:
        return self._binary(other, "xor")

    def __lshift__(self, other: Value | int) -> Value:
        return self._binary(other, "shl")

    def __rshift__(self, other: Value | int) -> Value:
        return self._binary(other, "lshr")

    def __invert__(self) -> Value:
        return Value(self.f, self.f.b.not_(self.v)) if not isinstance(self.type, ir.VectorType) else self ^ -1

    def __neg__(self) -> Value:
        if self.is_float:
            return Value(self.f, self.f.b.fneg(self.v))
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

    def _compare(self, how: str, other: Value | int | float, kind: str) -> Value:
        if isinstance(other, Value) and isinstance(other.type, ir.VectorType) > isinstance(self.type, ir.VectorType):
            return self.f.splat(self)._compare(how, other, kind)
        return Value(self.f, getattr(self.f.b, kind)(how, self.v, self._other(other)))

    def eq(self, other: Value | int) -> Value:
        return self._compare("==", other, "icmp_unsigned")

    def ne(self, other: Value | int) -> Value:
        return self._compare("!=", other, "icmp_unsigned")

    def ult(self, other: Value | int) -> Value:
        return self._compare("<", other, "icmp_unsigned")

    def ule(self, other: Value | int) -> Value:
        return self._compare("<=", other, "icmp_unsigned")

    def ugt(self, other: Value | int) -> Value:
        return self._compare(">", other, "icmp_unsigned")

    def uge(self, other: Value | int) -> Value:
        return self._compare(">=", other, "icmp_unsigned")

    def slt(self, other: Value | int) -> Value:
        return self._compare("<", other, "icmp_signed")

    def sle(self, other: Value | int) -> Value:
        return self._compare("<=", other, "icmp_signed")

    def sgt(self, other: Value | int) -> Value:
        return self._compare(">", other, "icmp_signed")

    def sge(self, other: Value | int) -> Value:
        return self._compare(">=", other, "icmp_signed")

    def fcmp(self, how: str, other: Value | float) -> Value:
        """Ordered float comparison: ``==  !=  <  <=  >  >=``, or ``ord`` / ``uno``."""
        return self._compare(how, other, "fcmp_ordered")

    def fcmpu(self, how: str, other: Value | float) -> Value:
        """Unordered float comparison: true when an operand is NaN."""
        return self._compare(how, other, "fcmp_unordered")

    def _to(self, element: ir.Type) -> ir.Type:
        return vec(element, self.type.count) if isinstance(self.type, ir.VectorType) else element

    def zext(self, element: ir.Type) -> Value:
        return self if self.bits == bits_of(element) else Value(self.f, self.f.b.zext(self.v, self._to(element)))

    def sext(self, element: ir.Type) -> Value:
        return self if self.bits == bits_of(element) else Value(self.f, self.f.b.sext(self.v, self._to(element)))

    def trunc(self, element: ir.Type) -> Value:
        return self if self.bits == bits_of(element) else Value(self.f, self.f.b.trunc(self.v, self._to(element)))

    def resize(self, element: ir.Type, *, signed: bool = False) -> Value:
        """Integer to integer of any width: truncates, or extends by zero or sign."""
        if self.bits > bits_of(element):
            return self.trunc(element)
        return self.sext(element) if signed else self.zext(element)

    def fpext(self, element: ir.Type) -> Value:
        return self if self.bits == bits_of(element) else Value(self.f, self.f.b.fpext(self.v, self._to(element)))

    def fptrunc(self, element: ir.Type) -> Value:
        return self if self.bits == bits_of(element) else Value(self.f, self.f.b.fptrunc(self.v, self._to(element)))

    def sitofp(self, element: ir.Type) -> Value:
        return Value(self.f, self.f.b.sitofp(self.v, self._to(element)))

    def uitofp(self, element: ir.Type) -> Value:
        return Value(self.f, self.f.b.uitofp(self.v, self._to(element)))

    def fptosi(self, element: ir.Type) -> Value:
        return Value(self.f, self.f.b.fptosi(self.v, self._to(element)))

    def fptoui(self, element: ir.Type) -> Value:
        return Value(self.f, self.f.b.fptoui(self.v, self._to(element)))

    def bitcast(self, element: ir.Type) -> Value:
        """The same bits as another element type of the same width, lane by lane."""
        target = self._to(element)
        return self if target == self.type else Value(self.f, self.f.b.bitcast(self.v, target))

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
        second = other.v if other is not None else ir.Constant(self.type, ir.Undefined)
        return Value(self.f, self.f.b.shuffle_vector(self.v, second, ir.Constant(vec(I32, len(lanes)), list(lanes))))

    def as_mask(self) -> Value:
        """``<32 x i1>`` to the i32 with a bit for each lane."""
        return Value(self.f, self.f.b.bitcast(self.v, I32))

    def as_lanes(self) -> Value:
        """i32 with a bit for each lane to ``<32 x i1>``."""
        return Value(self.f, self.f.b.bitcast(self.v, vec(I1)))


class Cell:
    """A mutable local variable (an alloca; the optimiser makes it a register)."""

    def __init__(self, f: Builder, initial: Value) -> None:
        self.f = f
        with f.at_entry():
            self.p = _opaque(f.b.alloca(initial.type))
        self.type = initial.type
        self.set(initial)

    def get(self) -> Value:
        return Value(self.f, self.f.b.load(self.p, typ=self.type))

    def set(self, value: Value) -> None:
        self.f.b.store(value.v, self.p)


class Builder:
    """Builds one LLVM function. ``b`` is llvmlite's builder, for what the notation does not cover."""

    def __init__(
        self, module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type], *, public: bool = False
    ) -> None:
        self.module = module
        self.fn = ir.Function(module, ir.FunctionType(result, arguments), name)
        if not public:
            self.fn.linkage = "internal"
        self.head = self.fn.append_basic_block("entry")
        self.body = self.fn.append_basic_block("body")
        self.b = ir.IRBuilder(self.body)
        self.args = [Value(self, a) for a in self.fn.args]

    def finish(self) -> ir.Function:
        """Close the entry block, which holds the allocas."""
        ir.IRBuilder(self.head).branch(self.body)
        return self.fn

    @contextmanager
    def at_entry(self) -> Iterator[None]:
        """Build in the entry block, where allocas belong."""
        here = self.b
        self.b = ir.IRBuilder(self.head)
        try:
            yield
        finally:
            self.b = here

    # -- constants and variables ------------------------------------------------------------------------------------
    def const(self, kind: ir.Type, value: int | float) -> Value:
        return Value(self, constant(kind, value))

    def lanes(self, element: ir.Type, values: Sequence[int | float]) -> Value:
        return Value(self, lane_constant(element, values))

    def iota(self, element: ir.Type, step: int = 1) -> Value:
        """0, step, 2·step … by lane."""
        return self.lanes(element, [i * step for i in range(LANES)])

    def var(self, initial: Value) -> Cell:
        return Cell(self, initial)

    def undef(self, kind: ir.Type) -> Value:
        return Value(self, ir.Constant(kind, ir.Undefined))

    def splat(self, value: Value, lanes: int = LANES) -> Value:
        kind = vec(value.type, lanes)
        first = self.b.insert_element(ir.Constant(kind, ir.Undefined), value.v, constant(I32, 0))
        zero = ir.Constant(vec(I32, lanes), None)
        return Value(self, self.b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zero))

    def array(self, kind: ir.Type, count: int) -> Value:
        """A stack array; gives its address."""
        with self.at_entry():
            p = _opaque(self.b.alloca(ir.ArrayType(kind, count)))
            p.align = 64
        return Value(self, p)

    # -- memory -----------------------------------------------------------------------------------------------------
    def at(self, pointer: Value, offset: Value | int) -> Value:
        """``pointer + offset`` bytes."""
        where = offset.v if isinstance(offset, Value) else constant(I64, offset)
        return Value(self, self.b.gep(pointer.v, [where], source_etype=I8))

    def load(self, kind: ir.Type, pointer: Value, offset: Value | int = 0, align: int | None = None) -> Value:
        p = self.at(pointer, offset) if not (isinstance(offset, int) and offset == 0) else pointer
        return Value(self, self.b.load(p.v, align=align, typ=kind))

    def store(self, value: Value, pointer: Value, offset: Value | int = 0, align: int | None = None) -> None:
        p = self.at(pointer, offset) if not (isinstance(offset, int) and offset == 0) else pointer
        self.b.store(value.v, p.v, align=align)

    def add_to(self, pointer: Value, offset: Value | int, amount: Value | int, kind: ir.Type = I64) -> None:
        """``*(pointer + offset) += amount``."""
        p = self.at(pointer, offset)
        self.store(self.load(kind, p) + amount, p)

    def pointer(self, address: Value) -> Value:
        """An i64 (or vector of them) as a pointer."""
        kind = vec(PTR, address.type.count) if isinstance(address.type, ir.VectorType) else PTR
        return Value(self, self.b.inttoptr(address.v, kind))

    def address(self, pointer: Value) -> Value:
        return Value(self, self.b.ptrtoint(pointer.v, I64))

    # -- calls ------------------------------------------------------------------------------------------------------
    def call(self, fn: ir.Function, *args: Value) -> Value:
        return Value(self, self.b.call(fn, [a.v for a in args]))

    def intrinsic(self, name: str, result: ir.Type, *args: Value) -> Value:
        """Call an LLVM intrinsic or an external function, declared at its first use."""
        fn = self.module.globals.get(name)
        if fn is None:
            fn = ir.Function(self.module, ir.FunctionType(result, [a.type for a in args]), name)
        return Value(self, self.b.call(fn, [a.v for a in args]))

    def overloaded(self, name: str, *args: Value, result: ir.Type | None = None) -> Value:
        """Call an intrinsic whose name ends in its type: ``llvm.fma`` on ``<32 x float>`` is ``llvm.fma.v32f32``."""
        return self.intrinsic(f"{name}.{mangle(args[0].type)}", result or args[0].type, *args)

    def popcount(self, mask: Value) -> Value:
        return self.overloaded("llvm.ctpop", mask)

    def first_lane(self, mask: Value) -> Value:
        """Index of the lowest set bit (32 for none)."""
        return self.intrinsic("llvm.cttz.i32", I32, mask, self.const(I1, 0))

    def memset(self, pointer: Value, byte: int, size: Value) -> None:
        self.intrinsic("llvm.memset.p0.i64", VOID, pointer, self.const(I8, byte), size, self.const(I1, 0))

    def masked_load(self, kind: ir.VectorType, pointer: Value, mask: Value, otherwise: Value, align: int) -> Value:
        name = f"llvm.masked.load.{mangle(kind)}.p0"
        return self._masked(name, kind, [pointer, mask, otherwise], align, 0)

    def masked_store(self, value: Value, pointer: Value, mask: Value, align: int) -> None:
        self._masked(f"llvm.masked.store.{mangle(value.type)}.p0", VOID, [value, pointer, mask], align, 1)

    def gather(self, kind: ir.VectorType, pointers: Value, mask: Value, otherwise: Value, align: int) -> Value:
        name = f"llvm.masked.gather.{mangle(kind)}.{mangle(pointers.type)}"
        return self._masked(name, kind, [pointers, mask, otherwise], align, 0)

    def scatter(self, value: Value, pointers: Value, mask: Value, align: int) -> None:
        name = f"llvm.masked.scatter.{mangle(value.type)}.{mangle(pointers.type)}"
        self._masked(name, VOID, [value, pointers, mask], align, 1)

    def _masked(self, name: str, result: ir.Type, args: list[Value], align: int, pointer_at: int) -> Value:
        # The alignment is an i32 argument after the pointer; newer LLVM turns it into an attribute when it reads this.
        with_align = [*args[: pointer_at + 1], self.const(I32, align), *args[pointer_at + 1 :]]
        return self.intrinsic(name, result, *with_align)

    # -- control flow -----------------------------------------------------------------------------------------------
    def block(self, name: str = "") -> ir.Block:
        return self.fn.append_basic_block(name)

    def goto(self, block: ir.Block) -> None:
        if not self.b.block.is_terminated:
            self.b.branch(block)

    def enter(self, block: ir.Block) -> None:
        self.b.position_at_end(block)

    def ret(self, value: Value | None = None) -> None:
        if value is None:
            self.b.ret_void()
        else:
            self.b.ret(value.v)

    @contextmanager
    def if_(self, condition: Value, *, likely: bool | None = None) -> Iterator[None]:
        yes, after = self.block("then"), self.block("after")
        branch = self.b.cbranch(condition.v, yes, after)
        if likely is not None:
            branch.set_weights([99, 1] if likely else [1, 99])
        self.enter(yes)
        yield
        self.goto(after)
        self.enter(after)

    @contextmanager
    def if_else(self, condition: Value) -> Iterator[tuple[Arm, Arm]]:
        """``with f.if_else(c) as (yes, no): with yes: … with no: …``."""
        yes, no, after = self.block("yes"), self.block("no"), self.block("after")
        self.b.cbranch(condition.v, yes, no)
        yield Arm(self, yes, after), Arm(self, no, after)
        self.enter(after)

    @contextmanager
    def while_(self, condition: object) -> Iterator[None]:
        """Loop while ``condition()`` (a function that builds it) gives true."""
        head, body, after = self.block("while"), self.block("do"), self.block("done")
        self.goto(head)
        self.enter(head)
        assert callable(condition)
        self.b.cbranch(condition().v, body, after)
        self.enter(body)
        yield
        self.goto(head)
        self.enter(after)

    @contextmanager
    def loop(self, count: Value, start: int = 0) -> Iterator[Value]:
        """``for i in start … count-1``; ``i`` has ``count``'s type."""
        i = self.var(self.const(count.type, start))
        with self.while_(lambda: i.get().ult(count)):
            yield i.get()
            i.set(i.get() + 1)

    @contextmanager
    def each_lane(self, mask: Value) -> Iterator[Value]:
        """For each set bit of an i32 mask, lowest first."""
        rest = self.var(mask)
        with self.while_(lambda: rest.get().ne(0)):
            lane = self.first_lane(rest.get())
            rest.set(rest.get() & (rest.get() - 1))
            yield lane


class Arm:
    """One side of `Builder.if_else`."""

    def __init__(self, f: Builder, block: ir.Block, after: ir.Block) -> None:
        self.f, self.block, self.after = f, block, after

    def __enter__(self) -> None:
        self.f.enter(self.block)

    def __exit__(self, *_: object) -> None:
        self.f.goto(self.after)


def mangle(kind: ir.Type) -> str:
    """A type as intrinsic names spell it: ``v32f32``, ``i64``, ``p0``."""
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{mangle(kind.element)}"
    if isinstance(kind, ir.PointerType):
        return "p0"
    return f"{'f' if is_float(kind) else 'i'}{bits_of(kind)}"
