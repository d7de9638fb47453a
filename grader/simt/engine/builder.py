"""A small notation for building LLVM functions: structured control flow, local variables, memory, calls.

    with f.loop(n) as i:                 # for i in 0 … n-1
        total.set(total.get() + f.load(I64, base, i * 8))

`Builder` builds one function of `Value`s (see `grader.simt.engine.values`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from grader.simt.engine import ir
from grader.simt.engine.values import I1, I8, I32, I64, LANES, PTR, VOID, Value, constant, lane_constant, mangle, vec


class Cell:
    """A mutable local variable (an alloca; the optimiser makes it a register)."""

    def __init__(self, f: Builder, initial: Value) -> None:
        self.f = f
        with f.at_entry():
            self.p = f.b.alloca(initial.type)
        self.type = initial.type
        self.set(initial)

    def get(self) -> Value:
        return Value(self.f, self.f.b.load(self.type, self.p))

    def set(self, value: Value) -> None:
        self.f.b.store(value.v, self.p)


class Builder:
    """Builds one LLVM function. ``b`` is llvmlite's builder, for what the notation does not cover."""

    def __init__(
        self, module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type], *, public: bool = False
    ) -> None:
        self.module = module
        self.fn = ir.Function(module, result, arguments, name)
        self.fn.public = public
        self.head = self.fn.append_basic_block("entry")
        self.body = self.fn.append_basic_block("body")
        self.b = ir.IRBuilder(self.fn, self.body)
        self.args = [Value(self, a) for a in self.fn.args]

    def finish(self) -> ir.Function:
        """Close the entry block, which holds the allocas."""
        ir.IRBuilder(self.fn, self.head).branch(self.body)
        return self.fn

    @contextmanager
    def at_entry(self) -> Iterator[None]:
        """Build in the entry block, where allocas belong."""
        here = self.b
        self.b = ir.IRBuilder(self.fn, self.head)
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
        return Value(self, ir.Value(kind, "undef"))

    def splat(self, value: Value, lanes: int = LANES) -> Value:
        kind = vec(value.type, lanes)
        first = self.b.insert_element(ir.Value(kind, "undef"), value.v, constant(I32, 0))
        zero = ir.Value(vec(I32, lanes), "zeroinitializer")
        return Value(self, self.b.shuffle_vector(first, ir.Value(kind, "undef"), zero))

    def array(self, kind: ir.Type, count: int) -> Value:
        """A stack array; gives its address."""
        with self.at_entry():
            return Value(self, self.b.alloca(kind, count=count, align=64))

    # -- memory -----------------------------------------------------------------------------------------------------
    def at(self, pointer: Value, offset: Value | int) -> Value:
        """``pointer + offset`` bytes."""
        where = offset.v if isinstance(offset, Value) else constant(I64, offset)
        return Value(self, self.b.gep(pointer.v, where))

    def load(self, kind: ir.Type, pointer: Value, offset: Value | int = 0, align: int | None = None) -> Value:
        p = self.at(pointer, offset) if not (isinstance(offset, int) and offset == 0) else pointer
        return Value(self, self.b.load(kind, p.v, align))

    def store(self, value: Value, pointer: Value, offset: Value | int = 0, align: int | None = None) -> None:
        p = self.at(pointer, offset) if not (isinstance(offset, int) and offset == 0) else pointer
        self.b.store(value.v, p.v, align)

    def add_to(self, pointer: Value, offset: Value | int, amount: Value | int, kind: ir.Type = I64) -> None:
        """``*(pointer + offset) += amount``."""
        p = self.at(pointer, offset)
        self.store(self.load(kind, p) + amount, p)

    def pointer(self, address: Value) -> Value:
        """An i64 (or vector of them) as a pointer."""
        kind = vec(PTR, address.type.count) if isinstance(address.type, ir.VectorType) else PTR
        return Value(self, self.b.convert("inttoptr", address.v, kind))

    def address(self, pointer: Value) -> Value:
        return Value(self, self.b.convert("ptrtoint", pointer.v, I64))

    # -- calls ------------------------------------------------------------------------------------------------------
    def call(self, fn: ir.Function, *args: Value) -> Value:
        return Value(self, self.b.call(fn, [a.v for a in args]))

    def intrinsic(self, name: str, result: ir.Type, *args: Value) -> Value:
        """Call an LLVM intrinsic or an external function, declared at its first use."""
        fn = self.module.globals.get(name)
        if fn is None:
            fn = ir.Function(self.module, result, [a.type for a in args], name)
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
        self.b.ret(None if value is None else value.v)

    @contextmanager
    def if_(self, condition: Value, *, likely: bool | None = None) -> Iterator[None]:
        yes, after = self.block("then"), self.block("after")
        branch = self.b.cbranch(condition.v, yes, after)
        if likely is not None:
            branch.set_weights(*((99, 1) if likely else (1, 99)))
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
    def while_(self, condition: Callable[[], Value]) -> Iterator[None]:
        """Loop while ``condition()`` (a function that builds it) gives true."""
        head, body, after = self.block("while"), self.block("do"), self.block("done")
        self.goto(head)
        self.enter(head)
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

    @contextmanager
    def each_group(self, members: Value, mask: Value) -> Iterator[Value]:
        """For each group of a warp operation, its lanes: those of ``mask`` that the group's first lane names.

        Lanes that name different masks may execute an operation together; each group then acts for itself.
        """
        rest = self.var(mask)
        with self.while_(lambda: rest.get().ne(0)):
            lane = self.first_lane(rest.get())
            group = members.lane(lane) & mask
            rest.set(rest.get() & (rest.get() - 1) & ~group)
            yield group


class Arm:
    """One side of `Builder.if_else`."""

    def __init__(self, f: Builder, block: ir.Block, after: ir.Block) -> None:
        self.f, self.block, self.after = f, block, after

    def __enter__(self) -> None:
        self.f.enter(self.block)

    def __exit__(self, *_: object) -> None:
        self.f.goto(self.after)
