"""Operands of one basic block's instructions: registers, symbols, memory requests, findings.

A register is loaded from the warp's state at its first read and then kept as a value; `BlockEmitter` stores the live
registers at the block's end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.simt.engine import changes, findings, ir, store_buffer
from grader.simt.engine.blocks import Block, Op
from grader.simt.engine.flatten import UnsupportedPtx, storage_bytes
from grader.simt.engine.layout import WORKER
from grader.simt.engine.memory import Combine, RequestShape
from grader.simt.engine.values import I1, I32, I64, Value, bits_of, vec
from grader.simt.isa import special_registers
from grader.simt.isa.registry import ELEMENT, PACKED, Emitter, is_signed
from grader.simt.ptx import Address, Immediate, Operand, Register, Symbol
from grader.simt.ptx.reader import type_size

if TYPE_CHECKING:
    from grader.simt.engine.codegen import Generator, Region

PARAMETER_BASE = 0x0000_7E00_0000_0000
"""The address of kernel parameters in the generic address space: above all arrays."""


class OperandEmitter(Emitter):
    """The parameter ``e`` of forms, without control flow."""

    def __init__(self, g: Generator, region: Region, block: Block) -> None:
        self.g = g
        self.region = region
        self.block = block
        self.f = region.f
        self.warp: Value = region.warp
        self.worker: Value = region.worker
        self.values: dict[str, Value] = {}
        self.dirty: set[str] = set()
        self.guard: Value | None = None
        self.op: Op = block.ops[0]

    # -- registers --------------------------------------------------------------------------------------------------
    def _register(self, name: str) -> Value:
        """The register's value in its storage type: ``<32 x iN>``, floats, or ``<32 x i1>``."""
        if name in self.values:
            return self.values[name]
        kind = self.g.graph.registers.get(name)
        if kind is None:
            return special_registers.read(self, name)
        place = self.f.at(self.warp, self.g.slots[name])
        if kind == "pred":
            value = self.f.load(I32, place).as_lanes()
        else:
            value = self.f.load(vec(self._storage(kind)), place, align=64)
        self.values[name] = value
        return value

    @staticmethod
    def _storage(kind: str) -> ir.Type:
        return ELEMENT["b16" if type_size(kind) == 1 or kind in ("f16", "bf16") else kind]

    def _predicate(self, register: Register) -> Value:
        value = self._register(register.name)
        if value.type != vec(I1):
            raise self.unsupported(f"{register.name} as a predicate")
        return value ^ self.f.const(vec(I1), 1) if register.negated else value

    def read(self, operand: Operand, kind: str) -> Value:
        if isinstance(operand, Immediate):
            return self.immediate(operand, kind)
        if isinstance(operand, Symbol) and isinstance(ELEMENT.get(kind), ir.IntType) and kind != "pred":
            return self.symbol(operand).resize(ELEMENT[kind])
        if not isinstance(operand, Register):
            raise self.unsupported(f"an operand of {self.op.instruction.name}")
        if kind == "pred":
            return self._predicate(operand)
        value = self._register(operand.name)
        if value.type == vec(I1):
            value = value.zext(I32)
        if kind in PACKED:
            return value.bitcast(I32).reinterpret(vec(PACKED[kind], 64))
        target = ELEMENT[kind]
        wanted = vec(target)
        if value.type == wanted:
            return value
        raw = value.bitcast(ir.IntType(value.bits)) if value.is_float else value
        width = {16: "b16", 32: "b32", 64: "b64", 8: "b8"}[bits_of(wanted)]
        return raw.resize(ELEMENT[width]).bitcast(target)

    def write(self, operand: Operand, value: Value, kind: str) -> None:
        if isinstance(operand, Symbol) and operand.name == "_":
            return
        if not isinstance(operand, Register):
            raise self.unsupported(f"a destination of {self.op.instruction.name}")
        stored = self.g.graph.registers.get(operand.name)
        if stored is None:
            raise self.unsupported(f"a write to {operand.name}")
        value = self._as_stored(value, kind, stored)
        if self.guard is not None:
            value = self.guard.select(value, self._register(operand.name))
        self.values[operand.name] = value
        self.dirty.add(operand.name)

    def _as_stored(self, value: Value, kind: str, stored: str) -> Value:
        if stored == "pred":
            if value.type != vec(I1):
                raise self.unsupported("a predicate as a destination for a number")
            return value
        if value.type == vec(I1):
            value = value.zext(I32)
        if kind in PACKED:
            value = value.reinterpret(vec(I32))
        target = self._storage(stored)
        if value.type == vec(target):
            return value
        raw = value.bitcast(ir.IntType(value.bits)) if value.is_float else value
        bits = ir.IntType(8 * storage_bytes(stored))
        return raw.resize(bits, signed=is_signed(kind)).bitcast(target)

    def read_carry(self) -> Value:
        return self._register("%cc")

    def write_carry(self, value: Value) -> None:
        self.write(Register("%cc"), value, "pred")

    def symbol(self, symbol: Symbol) -> Value:
        """A variable's address as ``<32 x i64>``: an offset in its space for shared and local, else a full address."""
        f = self.f
        for places in (self.g.shared, self.g.local):
            if symbol.name in places:
                return f.const(vec(I64), places[symbol.name] + symbol.offset)
        offset = self.g.parameters.get(symbol.name)
        if offset is not None:
            return f.const(vec(I64), PARAMETER_BASE + offset + symbol.offset)
        if symbol.name not in self.g.ptx.variables:
            raise self.unsupported(f"the symbol {symbol.name}")
        index = self.g.symbol_index(symbol.name)
        base = f.load(I64, WORKER.load(f, self.worker, "symbols"), 8 * index)
        return f.splat(base + symbol.offset)

    def site(self) -> int:
        """The current instruction's event site."""
        return self.g.sites.of_op(self.op)

    def unsupported(self, what: str) -> UnsupportedPtx:
        return UnsupportedPtx(what, self.op.instruction.line)

    # -- memory -----------------------------------------------------------------------------------------------------
    def address_of(self, operand: Operand) -> Value:
        """`[base+offset]` as ``<32 x i64>``."""
        if not isinstance(operand, Address):
            raise self.unsupported("an address of this shape")
        if operand.base is None:
            return self.f.const(vec(I64), operand.offset)
        if isinstance(operand.base, Symbol):
            return self.symbol(Symbol(operand.base.name, operand.base.offset + operand.offset))
        base = self._register(operand.base.name)
        return (base + operand.offset if operand.offset else base).zext(I64)  # the sum wraps as by ptxas

    def load_parameter(self, operand: Operand, bits: int) -> Value | None:
        """A kernel parameter at a constant offset, as a splat; None for any other address."""
        if not (isinstance(operand, Address) and isinstance(operand.base, Symbol)):
            return None
        offset = self.g.parameters.get(operand.base.name)
        if offset is None:
            return None
        place = offset + operand.base.offset + operand.offset
        if not 0 <= place <= self.g.parameter_bytes - bits // 8:
            return None
        base = WORKER.load(self.f, self.worker, "params")
        return self.f.splat(self.f.load(ir.IntType(bits), base, place, align=1))

    def used(self, items: Sequence[Operand]) -> int:
        """A bit for each of a load's destinations that is read later: compilers also load unused elements."""
        return sum(
            1 << k for k, item in enumerate(items) if isinstance(item, Register) and item.name in self.g.graph.read
        )

    def load_memory(
        self, space: str, address: Value, bits: int, count: int = 1, *, mask: Value | None = None, ordered: str = "",
        used: int = -1, scope: str = "",
    ) -> list[Value]:  # fmt: skip
        """One warp request: each lane reads ``count`` elements of ``bits`` bits from ``address`` on.

        ``used`` has a bit for each element that is used; races and uninitialised reads of the others are not reported.
        """
        kind = vec(ir.IntType(bits))
        out = self.f.array(kind, count)
        if self.op.index in self.g.sites.seeds:
            ordered = "relaxed"
        of_block = scope == "cta" and space != "shared"
        used &= (1 << count) - 1
        shape = RequestShape(space, "load", bits, count, bool(ordered), used=used, of_block=of_block)
        self._request(shape, address, self.mask if mask is None else mask, out)
        return [self.f.load(kind, out, i * 4 * bits, align=4 * bits) for i in range(count)]

    def store_memory(
        self, space: str, address: Value, values: Sequence[Value], bits: int, *, ordered: str = "", scope: str = ""
    ) -> None:
        """One warp request: each lane writes its ``values`` (integers of ``bits`` bits) from ``address`` on."""
        out = self.f.array(vec(ir.IntType(bits)), len(values))
        for i, value in enumerate(values):
            self.f.store(value.bitcast(ir.IntType(bits)), out, i * 4 * bits, align=4 * bits)
        # A volatile store alone orders nothing: in a kernel without fences, one to shared memory is an ordinary store.
        plain = ordered == "volatile" and space == "shared" and not self.g.sites.has_fences
        shape = RequestShape(
            space, "store", bits, len(values), bool(ordered) and not plain, used=(1 << len(values)) - 1,
            late=self.g.adversarial and bool(ordered), of_block=scope == "cta" and space != "shared",
        )  # fmt: skip
        self._request(shape, address, self.mask, out)

    def atomic_memory(
        self,
        space: str,
        address: Value,
        bits: int,
        combine: Combine,
        name: str,
        operands: Sequence[Value],
        *,
        scope: str = "",
    ) -> Value:
        """One warp request of read-modify-writes, lane by lane; returns the old values.

        ``combine`` works on integers of ``bits`` bits; ``name`` is the combination's unique name.
        """
        kind = vec(ir.IntType(bits))
        out = self.f.array(kind, 1 + len(operands))
        for i, value in enumerate(operands):
            self.f.store(value.bitcast(ir.IntType(bits)), out, (i + 1) * 4 * bits, align=4 * bits)
        of_block = scope == "cta" and space != "shared"
        shape = RequestShape(space, "atomic", bits, 1, True, (name, combine, len(operands)), used=1, of_block=of_block)
        self._request(shape, address, self.mask, out)
        return self.f.load(kind, out, align=4 * bits)

    def _request(self, shape: RequestShape, address: Value, mask: Value, out: Value) -> None:
        f, sites, space = self.f, self.g.sites, shape.space
        orders = shape.strong and space != "shared"
        site = sites.request(self.op, space, shape.kind, shape.bits * shape.count // 8, orders_blocks=orders)
        line = sites.line_index(site)
        if space in ("const", "param"):
            shape = replace(shape, space="global", constant=space == "const")
        fn = self.g.memory.request(shape)
        f.call(fn, self.warp, self.worker, address, mask, f.const(I32, site), f.const(I32, line), out)

    def drop_if_changed(self, place: Value, size: int) -> None:
        """Make these bytes, a factor of the current instruction's product, 0 in a run that changes its result."""
        f = self.f
        f.call(changes.drop(f.module), self.worker, f.const(I32, self.site()), place, f.const(I64, size))

    def drain_stores(self) -> None:
        """In an adversarial run, write the warp's buffered stores to memory."""
        if self.g.adversarial:
            self.f.call(store_buffer.drain(self.f.module), self.worker, self.warp, self.f.const(I32, 0))

    def fence(self, scope: str) -> None:
        if scope != "cta":
            if self.g.adversarial:
                self.f.call(store_buffer.drain_block(self.f.module), self.worker, self.warp)
            self.g.observers.fenced(self)
        elif self.g.adversarial:  # buffered stores stay there: other blocks may see them later
            WORKER.store(self.f, self.worker, "block_fenced", 1)

    def acquire(self, scope: str) -> None:
        """Make the executing lanes' last load an acquire."""
        if scope != "cta":
            self.g.observers.acquired(self)

    # -- findings ---------------------------------------------------------------------------------------------------
    def report(self, kind: int, mask: Value, address: Value | int = 0, other: Value | int = 0) -> None:
        """Record a finding of the current instruction for the lanes of ``mask`` (see `grader.simt.engine.findings`)."""
        findings.report(self.f, self.warp, self.worker, kind, self.site(), mask, address, other)
