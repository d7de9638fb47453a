"""Building LLVM functions in a structured way: control flow, local variables, memory, calls.

    with f.loop(n) as i:                 # for i in 0 … n-1
        total.set(total.get() + f.load(I64, base, i * 8))

`Builder` builds one function of `Value`s (see `grader.simt.engine.values`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial, wraps
from typing import Protocol, TypeVar

from grader.simt.engine import ir
from grader.simt.engine.values import (
    I1,
    I8,
    I32,
    I64,
    LANES,
    PTR,
    VOID,
    Value,
    lane_literal,
    literal,
    mangle,
    vec,
)


class Cell:
    """A mutable local variable (an alloca; the optimiser makes it a register)."""

    def __init__(self, f: Builder, initial: Value) -> None:
        self.f = f
        self.type = initial.type
        self.p = f.alloca(initial.type.text)
        self.set(initial)

    def get(self) -> Value:
        return self.f.load(self.type, self.p)

    def set(self, value: Value) -> None:
        self.f.store(value, self.p)


class Phi(Value):
    """An LLVM ``phi``: a value for each predecessor block."""

    __slots__ = ("_incoming",)

    def __init__(self, f: Builder, kind: ir.Type, ref: str) -> None:
        super().__init__(f, kind, ref)
        self._incoming: list[str] = []

    def add_incoming(self, value: Value, block: ir.IRBlock) -> None:
        self._incoming.append(f"[{value.ref}, %{block.label}]")

    def __str__(self) -> str:
        return f" {self.ref} = phi {self.type.text} {', '.join(self._incoming)}"


class Builder:
    """Builds one LLVM function. Instructions are appended to the basic block ``here``."""

    def __init__(
        self, module: ir.IRModule, name: str, result: ir.Type, arguments: Sequence[ir.Type], *, public: bool = False
    ) -> None:
        self.module = module
        self.fn = ir.IRFunction(module, result, arguments, name)
        self.fn.public = public
        self.head = self.fn.append_basic_block("entry")
        self.body = self.here = self.fn.append_basic_block("body")
        self.args = [Value(self, kind, f"%a{i}") for i, kind in enumerate(arguments)]

    def finish(self) -> ir.IRFunction:
        """Close the entry block, which has the allocas; returns the function."""
        self.head.lines.append(f" br label %{self.body.label}")
        return self.fn

    def emit(self, kind: ir.Type, text: str) -> Value:
        """Append an instruction; returns its result."""
        function = self.fn
        function.values += 1
        ref = f"%v{function.values}"
        self.here.lines.append(f" {ref} = {text}")
        return Value(self, kind, ref)

    # -- constants and variables ------------------------------------------------------------------------------------
    def const(self, kind: ir.Type, value: int | float) -> Value:
        return Value(self, kind, literal(kind, value))

    def lanes(self, element: ir.Type, values: Sequence[int | float]) -> Value:
        return Value(self, vec(element, len(values)), lane_literal(element, values))

    def iota(self, element: ir.Type, step: int = 1) -> Value:
        """0, step, 2·step … by lane."""
        return self.lanes(element, [i * step for i in range(LANES)])

    def var(self, initial: Value) -> Cell:
        return Cell(self, initial)

    def splat(self, value: Value, lanes: int = LANES) -> Value:
        kind = vec(value.type, lanes)
        first = self.emit(kind, f"insertelement {kind} undef, {value.typed}, i32 0")
        return self.emit(kind, f"shufflevector {first.typed}, {kind} undef, {vec(I32, lanes)} zeroinitializer")

    def alloca(self, what: str) -> Value:
        """An alloca in the entry block; returns its address."""
        self.fn.values += 1
        ref = f"%v{self.fn.values}"
        self.head.lines.append(f" {ref} = alloca {what}")
        return Value(self, PTR, ref)

    def array(self, kind: ir.Type, count: int) -> Value:
        """A stack array; returns its address."""
        return self.alloca(f"[{count} x {kind}], align 64")

    # -- memory -----------------------------------------------------------------------------------------------------
    def at(self, pointer: Value, offset: Value | int) -> Value:
        """``pointer + offset`` bytes."""
        distance = offset.typed if isinstance(offset, Value) else f"i64 {literal(I64, offset)}"
        return self.emit(PTR, f"getelementptr i8, ptr {pointer.ref}, {distance}")

    def load(self, kind: ir.Type, pointer: Value, offset: Value | int = 0, align: int | None = None) -> Value:
        p = self.at(pointer, offset) if isinstance(offset, Value) or offset else pointer
        return self.emit(kind, f"load {kind.text}, ptr {p.ref}" + (f", align {align}" if align else ""))

    def store(self, value: Value, pointer: Value, offset: Value | int = 0, align: int | None = None) -> None:
        p = self.at(pointer, offset) if isinstance(offset, Value) or offset else pointer
        self.here.lines.append(f" store {value.typed}, ptr {p.ref}" + (f", align {align}" if align else ""))

    def add_to(self, pointer: Value, offset: Value | int, amount: Value | int) -> None:
        """``*(pointer + offset) += amount``, as i64."""
        p = self.at(pointer, offset)
        self.store(self.load(I64, p) + amount, p)

    def pointer(self, address: Value) -> Value:
        """An i64 (or vector of them) as a pointer."""
        kind = vec(PTR, address.type.count) if isinstance(address.type, ir.VectorType) else PTR
        return self.emit(kind, f"inttoptr {address.typed} to {kind}")

    def address(self, pointer: Value) -> Value:
        return self.emit(I64, f"ptrtoint {pointer.typed} to i64")

    # -- calls ------------------------------------------------------------------------------------------------------
    def call(self, fn: ir.IRFunction, *args: Value) -> Value:
        self.fn.called[fn.name] = fn
        text = f'call {fn.result.text} @"{fn.name}"({", ".join([a.typed for a in args])})'
        if fn.result is not VOID:
            return self.emit(fn.result, text)
        self.here.lines.append(" " + text)
        return Value(self, VOID, "")

    def intrinsic(self, name: str, result: ir.Type, *args: Value) -> Value:
        """Call an LLVM intrinsic or an external function, declared at its first use."""
        fn = self.module.globals.get(name) or ir.IRFunction(self.module, result, [a.type for a in args], name)
        return self.call(fn, *args)

    def overloaded(self, name: str, *args: Value, result: ir.Type | None = None) -> Value:
        """Call an intrinsic whose name ends in its type: ``llvm.fma`` on ``<32 x float>`` is ``llvm.fma.v32f32``."""
        return self.intrinsic(f"{name}.{mangle(args[0].type)}", result or args[0].type, *args)

    def metadata(self, text: str) -> Value:
        """A string as metadata, as some intrinsics require."""
        return Value(self, ir.METADATA, f'!"{text}"')

    def popcount(self, mask: Value) -> Value:
        return self.overloaded("llvm.ctpop", mask)

    def first_lane(self, mask: Value) -> Value:
        """Index of the lowest set bit, of i32 or i64 (32 or 64 for none)."""
        return self.overloaded("llvm.cttz", mask, self.const(I1, 0))

    def memset(self, pointer: Value, byte: Value | int, size: Value | int) -> None:
        count = size if isinstance(size, Value) else self.const(I64, size)
        value = byte if isinstance(byte, Value) else self.const(I8, byte)
        self.intrinsic("llvm.memset.p0.i64", VOID, pointer, value, count, self.const(I1, 0))

    # The alignment is an i32 argument after the pointer; newer LLVM versions convert it to an attribute.
    def masked_load(self, kind: ir.VectorType, pointer: Value, mask: Value, otherwise: Value, align: int) -> Value:
        name = f"llvm.masked.load.{mangle(kind)}.p0"
        return self.intrinsic(name, kind, pointer, self.const(I32, align), mask, otherwise)

    def masked_store(self, value: Value, pointer: Value, mask: Value, align: int) -> None:
        name = f"llvm.masked.store.{mangle(value.type)}.p0"
        self.intrinsic(name, VOID, value, pointer, self.const(I32, align), mask)

    def gather(self, kind: ir.VectorType, pointers: Value, mask: Value, otherwise: Value, align: int) -> Value:
        name = f"llvm.masked.gather.{mangle(kind)}.{mangle(pointers.type)}"
        return self.intrinsic(name, kind, pointers, self.const(I32, align), mask, otherwise)

    def scatter(self, value: Value, pointers: Value, mask: Value, align: int) -> None:
        name = f"llvm.masked.scatter.{mangle(value.type)}.{mangle(pointers.type)}"
        self.intrinsic(name, VOID, value, pointers, self.const(I32, align), mask)

    # -- control flow -----------------------------------------------------------------------------------------------
    def block(self, name: str = "") -> ir.IRBlock:
        return self.fn.append_basic_block(name)

    def enter(self, block: ir.IRBlock) -> None:
        self.here = block

    def _end(self, text: str) -> None:
        self.here.lines.append(text)
        self.here.is_terminated = True

    def goto(self, block: ir.IRBlock) -> None:
        if not self.here.is_terminated:
            self._end(f" br label %{block.label}")

    def branch(self, condition: Value, yes: ir.IRBlock, no: ir.IRBlock, weights: tuple[int, int] | None = None) -> None:
        """A conditional branch; ``weights`` are the frequencies of both ways."""
        text = f" br {condition.typed}, label %{yes.label}, label %{no.label}"
        if weights is not None:
            self.fn.weights.add(weights)
            text += f", !prof !{ir.weights_number(weights)}"
        self._end(text)

    def switch(self, value: Value, default: ir.IRBlock, cases: Sequence[tuple[int, ir.IRBlock]]) -> None:
        kind = value.type.text
        targets = " ".join([f"{kind} {number}, label %{block.label}" for number, block in cases])
        self._end(f" switch {value.typed}, label %{default.label} [{targets}]")

    def phi(self, kind: ir.Type, block: ir.IRBlock | None = None) -> Phi:
        """A phi in this block, or in ``here``; its incoming values are added later."""
        self.fn.values += 1
        phi = Phi(self, kind, f"%v{self.fn.values}")
        (block or self.here).lines.append(phi)
        return phi

    def ret(self, value: Value | None = None) -> None:
        self._end(" ret void" if value is None else f" ret {value.typed}")

    @contextmanager
    def if_(self, condition: Value, *, likely: bool = True) -> Iterator[None]:
        yes, after = self.block("then"), self.block("after")
        self.branch(condition, yes, after, None if likely else (1, 99))
        self.enter(yes)
        yield
        self.goto(after)
        self.enter(after)

    @contextmanager
    def if_else(self, condition: Value) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        """``with f.if_else(c) as (yes, no): with yes: … with no: …``."""
        yes, no, after = self.block("yes"), self.block("no"), self.block("after")
        self.branch(condition, yes, no)
        yield self._arm(yes, after), self._arm(no, after)
        self.enter(after)

    @contextmanager
    def _arm(self, block: ir.IRBlock, after: ir.IRBlock) -> Iterator[None]:
        self.enter(block)
        yield
        self.goto(after)

    @contextmanager
    def while_(self, condition: Callable[[], Value]) -> Iterator[None]:
        """Loop while ``condition()`` (a function that builds the condition) is true."""
        head, body, after = self.block("while"), self.block("do"), self.block("done")
        self.goto(head)
        self.enter(head)
        self.branch(condition(), body, after)
        self.enter(body)
        yield
        self.goto(head)
        self.enter(after)

    @contextmanager
    def loop(self, count: Value) -> Iterator[Value]:
        """``for i in 0 … count-1``; ``i`` has ``count``'s type."""
        i = self.var(self.const(count.type, 0))
        with self.while_(lambda: i.get().ult(count)):
            yield i.get()
            i.set(i.get() + 1)

    @contextmanager
    def each_lane(self, mask: Value) -> Iterator[Value]:
        """For each set bit of a mask (i32 or i64), lowest first."""
        rest = self.var(mask)
        with self.while_(lambda: rest.get().ne(0)):
            lane = self.first_lane(rest.get())
            rest.set(rest.get() & (rest.get() - 1))
            yield lane

    @contextmanager
    def each_group(self, members: Value, mask: Value) -> Iterator[Value]:
        """For each group of a warp operation, its lanes: those of ``mask`` in the mask of the group's first lane.

        Lanes with different masks may execute an operation together; each group is then handled separately.
        """
        rest = self.var(mask)
        with self.while_(lambda: rest.get().ne(0)):
            lane = self.first_lane(rest.get())
            group = members.lane(lane) & mask
            rest.set(rest.get() & (rest.get() - 1) & ~group)
            yield group


class _HasModule(Protocol):
    @property
    def module(self) -> ir.IRModule: ...


Owner = TypeVar("Owner", bound=ir.IRModule | _HasModule)


def generated_once(
    module: ir.IRModule,
    name: str,
    result: ir.Type,
    arguments: Sequence[ir.Type],
    build: Callable[[Builder], None],
    attributes: str = "noinline",
) -> ir.IRFunction:
    """The function of this name in the module; ``build`` builds it at the first call.

    If it has no result, a return is added at its end.
    """
    existing = module.globals.get(name) or module.adopted(name)
    if existing is not None:
        return existing
    f = Builder(module, name, result, arguments)
    f.fn.attributes.update(attributes.split())
    build(f)
    if result is VOID:
        f.ret()
    if "noinline" in f.fn.attributes:
        module.shared[name] = f.fn
    return f.finish()


def generated(
    name: str, result: ir.Type, *arguments: ir.Type, attributes: str = "noinline"
) -> Callable[[Callable[[Owner, Builder], None]], Callable[[Owner], ir.IRFunction]]:
    """Decorates ``build(owner, f)``: a call with the owner (a module, or an object with one) returns the function, as
    by `generated_once`.
    """

    def decorate(build: Callable[[Owner, Builder], None]) -> Callable[[Owner], ir.IRFunction]:
        @wraps(build)
        def get(owner: Owner) -> ir.IRFunction:
            module = owner if isinstance(owner, ir.IRModule) else owner.module
            return generated_once(module, name, result, arguments, partial(build, owner), attributes)

        return get

    return decorate
