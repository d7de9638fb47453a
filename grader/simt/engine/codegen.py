"""A kernel as one LLVM module: each basic block becomes code over 32-lane vectors.

    entry ─▶ dispatch ─▶ block 0 … block n-1 ─▶ dispatch │ return to the block scheduler
                  ▲___________________________│

Registers live in the warp's state; a basic block loads what it reads, computes on values, and stores, under its lane
mask, what is alive at its end. A block whose lanes all go the same way jumps there directly when no other lanes wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from llvmlite import ir

from grader.simt.engine import findings
from grader.simt.engine.blocks import Block, Graph, Op, build
from grader.simt.engine.findings import report_function
from grader.simt.engine.flatten import Flat, UnsupportedPtx, flatten
from grader.simt.engine.layout import TIMED_OUT, TRAPPED, WARP, WORKER
from grader.simt.engine.memory import MemoryCode
from grader.simt.engine.schedule import QUANTUM, Schedule
from grader.simt.engine.sites import Site, SiteTable
from grader.simt.engine.values import I1, I32, I64, PTR, Builder, Value, vec
from grader.simt.isa import special_registers
from grader.simt.isa.emit import ELEMENT, PACKED, Emitter, is_signed
from grader.simt.observers.base import ObserverSet
from grader.simt.ptx import Address, Immediate, Line, Module, Operand, Register, Symbol, Vector
from grader.simt.ptx.parse import type_size

LOCAL_GUARD = 64
BANK_ROW = 128
"""Bytes that one row of the 32 banks holds."""


@dataclass(frozen=True)
class Kernel:
    """What the driver needs besides the machine code: sizes, sites, symbols. Plain data, so that it can be cached."""

    name: str
    parameters: tuple[tuple[str, int, int], ...]  # name, bytes, align
    parameter_bytes: int
    shared: tuple[tuple[str, int, int], ...]  # name, offset, bytes (-1: the dynamic array)
    shared_bytes: int  # static
    local_bytes: int
    warp_bytes: int
    sites: tuple[Site, ...]
    block_lines: tuple[tuple[int, ...], ...]  # for each basic block, the source line of each instruction
    block_ops: tuple[tuple[str, ...], ...]  # and its opcode, with the modifier that tells what it is (`wmma.mma`)
    lines: tuple[int, ...]  # line table of the stamps
    symbols: tuple[str, ...] = field(default=())  # module variables whose addresses the code loads
    global_order: bool = False  # blocks must run in the fixed interleaving (atomics, fences, volatile)
    granule: dict[str, int] = field(default_factory=dict)


def generate(module: Module, entry_name: str, observers: ObserverSet) -> tuple[str, Kernel]:
    """IR text and description of one entry. Raises UnsupportedPtx, with the source line."""
    flat = flatten(module, module.functions[entry_name])
    return _Generator(module, flat, build(flat), observers).run()


class _Generator:
    def __init__(self, module: Module, flat: Flat, graph: Graph, observers: ObserverSet) -> None:
        self.ptx = module
        self.flat = flat
        self.graph = graph
        self.observers = observers
        self.ir = ir.Module("kernel")
        self.slots = self._register_slots()
        self.shared, self.shared_bytes = self._place_shared()
        self.local, self.local_bytes = self._place_local()
        self.sites = SiteTable(graph)
        self.report = report_function(self.ir)
        exits = [
            b.index
            for b in graph.blocks
            if len(b.ops) == 1 and b.ops[0].form.tags == {"exit"} and not b.ops[0].instruction.guard
        ]
        self.schedule = Schedule(self.ir, len(graph.blocks), self.warp_bytes, self.report, exits)
        self.memory = MemoryCode(self.ir, self.report, observers, self.sites, len(graph.blocks))
        self.symbols: list[str] = []

    def _register_slots(self) -> dict[str, int]:
        """Byte offset of each register in the warp's state, behind its header."""
        at = Schedule.header_bytes(len(self.graph.blocks))
        slots = {}
        self.graph.registers["%cc"] = "pred"
        for name, kind in self.graph.registers.items():
            size = 64 if kind == "pred" else 32 * max(2, type_size(kind))
            slots[name] = at
            at += size
        self.warp_bytes = (at + 63) // 64 * 64
        return slots

    def _place_shared(self) -> tuple[dict[str, int], int]:
        """Offsets of shared arrays: as the compiler packs them, but each moved on by whole rows of banks.

        The gaps catch an index that runs over one array's end; a multiple of 128 bytes leaves every element in its bank.
        """
        used = [v for v in (*self.ptx.variables.values(), *self.flat.variables.values()) if v.space == "shared"]
        named = self._names_used()
        places: dict[str, int] = {}
        at = 0
        for variable in sorted((v for v in used if v.name in named), key=lambda v: v.size < 0):
            at = (at + variable.align - 1) // variable.align * variable.align + BANK_ROW * bool(places)
            places[variable.name] = at
            at += max(variable.size, 0)
        self.shared_variables = {v.name: v for v in used}
        return places, at

    def _place_local(self) -> tuple[dict[str, int], int]:
        places: dict[str, int] = {}
        at = 0
        for variable in self.flat.variables.values():
            if variable.space == "local":
                at = (at + variable.align - 1) // variable.align * variable.align
                places[variable.name] = at
                at += variable.size + LOCAL_GUARD
        return places, (at + 63) // 64 * 64

    def _names_used(self) -> set[str]:
        names: set[str] = set()
        for block in self.graph.blocks:
            for op in block.ops:
                stack: list[Operand] = list(op.instruction.operands)
                while stack:
                    operand = stack.pop()
                    if isinstance(operand, Symbol):
                        names.add(operand.name)
                    elif isinstance(operand, Vector):
                        stack.extend(operand.items)
                    elif isinstance(operand, Address) and operand.base is not None:
                        stack.append(operand.base)
        return names

    def run(self) -> tuple[str, Kernel]:
        f = Builder(self.ir, "warp", I32, [PTR, PTR])
        warp, worker = f.args
        self.f, self.warp, self.worker = f, warp, worker
        blocks = [f.block(f"b{b.index}_") for b in self.graph.blocks]
        self.masks = []
        for block in blocks:
            phi = ir.IRBuilder(block).phi(I32)
            self.masks.append(phi)
        self.code = blocks
        self.dispatch, self.leave, self.give_up = f.block("dispatch"), f.block("leave"), f.block("yield")
        f.goto(self.dispatch)
        self._dispatch(f)
        for block in self.graph.blocks:
            _BlockEmitter(self, block).run()
        f.enter(self.leave)
        f.ret(f.const(I32, 0))
        f.enter(self.give_up)
        f.ret(f.const(I32, 1))
        f.finish()
        self.schedule.build_run(f.fn)
        return str(self.ir), self._kernel()

    def _dispatch(self, f: Builder) -> None:
        f.enter(self.dispatch)
        index = f.call(self.schedule.next_block, self.warp)
        some = f.block("some")
        f.b.cbranch(index.eq(-1).v, self.leave, some)
        f.enter(some)
        mask = self.schedule.take(f, self.warp, index)
        switch = f.b.switch(index.v, self.leave)
        for i, block in enumerate(self.code):
            switch.add_case(ir.Constant(I32, i), block)
            self.masks[i].add_incoming(mask.v, f.b.block)

    def symbol_index(self, name: str) -> int:
        if name not in self.symbols:
            self.symbols.append(name)
        return self.symbols.index(name)

    def _kernel(self) -> Kernel:
        parameters, at = [], 0
        for p in self.flat.parameters:
            at = (at + p.align - 1) // p.align * p.align
            parameters.append((p.name, p.size, p.align))
            at += p.size
        lines = tuple(
            tuple(op.instruction.line.line if op.instruction.line else 0 for op in b.ops) for b in self.graph.blocks
        )
        tags = {t for b in self.graph.blocks for op in b.ops for t in op.form.tags}
        shared = tuple((n, o, self.shared_variables[n].size) for n, o in self.shared.items())
        ordered = "fence" in tags or any(s.orders_blocks for s in self.sites.sites)
        return Kernel(
            self.flat.name, tuple(parameters), at, shared, self.shared_bytes, self.local_bytes, self.warp_bytes,
            tuple(self.sites.sites), lines, self._opcodes(), tuple(self.sites.lines), tuple(self.symbols), ordered, self.sites.granule,
        )  # fmt: skip

    def _opcodes(self) -> tuple[tuple[str, ...], ...]:
        def name(op: Op) -> str:
            first = op.instruction.modifiers[:1]
            return (
                ".".join((op.instruction.opcode, *first))
                if op.instruction.opcode in ("wmma", "mma")
                else op.instruction.opcode
            )

        return tuple(tuple(name(op) for op in b.ops) for b in self.graph.blocks)

    def parameter_offset(self, name: str) -> int | None:
        at = 0
        for p in self.flat.parameters:
            at = (at + p.align - 1) // p.align * p.align
            if p.name == name:
                return at
            at += p.size
        return None


class _BlockEmitter(Emitter):
    """Emits one basic block, and is what its instructions' forms see as ``e``."""

    def __init__(self, g: _Generator, block: Block) -> None:
        self.g = g
        self.block = block
        self.f = g.f
        self.warp: Value = g.warp
        self.worker: Value = g.worker
        self.values: dict[str, Value] = {}
        self.dirty: set[str] = set()
        self.guard: Value | None = None
        self.op: Op | None = None
        self.ended = False

    # -- the block --------------------------------------------------------------------------------------------------
    def run(self) -> None:
        f = self.f
        f.enter(self.g.code[self.block.index])
        self.block_mask = self.mask = Value(f, self.g.masks[self.block.index])
        if self.block.is_sync:
            self._wait_for_lanes()
        self._count_block()
        for op in self.block.ops:
            self._instruction(op)
        if not self.ended:
            self.jump(self.block.index + 1, self.block_mask)

    def _count_block(self) -> None:
        """Charge the instruction budget, and let the observers count."""
        f = self.f
        count = len(self.block.ops)
        WORKER.store(f, self.worker, "block_budget", WORKER.load(f, self.worker, "block_budget") - count)
        self.g.observers.block(self, self.block.index)

    def _instruction(self, op: Op) -> None:
        self.op = op
        f = self.f
        guard = op.instruction.guard
        self.guard, self.mask = None, self.block_mask
        if guard is not None:
            self.guard = self._predicate(guard)
            self.mask = self.block_mask & self.guard.as_mask()
            if not op.form.tags & {"branch"}:
                self.g.observers.predicated(self, self.block.index)
        if op.form.raw:
            op.form.build(self, op.match, op.instruction)
        else:
            self._plain(op)
        self.guard, self.mask = None, self.block_mask
        assert f is self.f

    def _plain(self, op: Op) -> None:
        form, operands = op.form, op.instruction.operands
        names = form.operands
        if len(operands) != len(names):
            raise UnsupportedPtx(
                f"the instruction {op.instruction.name} with {len(operands)} operands", op.instruction.line
            )
        values = [
            self.read(operand, form.operand_type(name, op.match))
            for name, operand in zip(names, operands, strict=True)
            if not name.startswith("d")
        ]
        result = form.build(self, op.match, *values)
        targets = [
            (part, item)
            for name, operand in zip(names, operands, strict=True)
            if name.startswith("d")
            for part, item in zip(
                name.split("|"),
                operand.items if isinstance(operand, Vector) and "|" in name else (operand,),
                strict=True,
            )
        ]
        results = result if isinstance(result, tuple) else (result,)
        for (name, operand), value in zip(targets, results, strict=True):
            self.write(operand, value, form.operand_type(name, op.match))

    # -- registers --------------------------------------------------------------------------------------------------
    def _register(self, name: str) -> Value:
        """The register's value as it is stored: ``<32 x iN>``, floats, or ``<32 x i1>``."""
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
        return (
            ELEMENT["b16"] if type_size(kind) == 1 else ELEMENT[kind] if kind not in ("f16", "bf16") else ELEMENT["b16"]
        )

    def _predicate(self, register: Register) -> Value:
        value = self._register(register.name)
        return value ^ self.f.const(vec(I1), 1) if register.negated else value

    def read(self, operand: Operand, kind: str) -> Value:
        if isinstance(operand, Immediate):
            return self.immediate(operand, kind)
        if isinstance(operand, Symbol):
            return self.symbol(operand).resize(ELEMENT[kind])
        if not isinstance(operand, Register):
            raise UnsupportedPtx(f"an operand of {self.op.instruction.name}" if self.op else "an operand", self._line())
        if kind == "pred":
            return self._predicate(operand)
        value = self._register(operand.name)
        if value.type == vec(I1):
            value = value.zext(I32)
        if kind in PACKED:
            return Value(self.f, self.f.b.bitcast(value.bitcast(I32).v, vec(PACKED[kind], 64)))
        target = ELEMENT[kind]
        wanted = vec(target)
        if value.type == wanted:
            return value
        raw = value.bitcast(ir.IntType(value.bits)) if value.is_float else value
        width = {16: "b16", 32: "b32", 64: "b64", 8: "b8"}[Value(self.f, ir.Constant(wanted, None)).bits]
        return raw.resize(ELEMENT[width]).bitcast(target)

    def write(self, operand: Operand, value: Value, kind: str) -> None:
        if isinstance(operand, Symbol) and operand.name == "_":
            return
        if not isinstance(operand, Register):
            raise UnsupportedPtx(
                f"a destination of {self.op.instruction.name}" if self.op else "a destination", self._line()
            )
        stored = self.g.graph.registers.get(operand.name)
        if stored is None:
            raise UnsupportedPtx(f"a write to {operand.name}", self._line())
        value = self._as_stored(value, kind, stored)
        if self.guard is not None:
            value = self.guard.select(value, self._register(operand.name))
        self.values[operand.name] = value
        self.dirty.add(operand.name)

    def _as_stored(self, value: Value, kind: str, stored: str) -> Value:
        if stored == "pred":
            return value if value.type == vec(I1) else value.ne(0)
        if value.type == vec(I1):
            value = value.zext(I32)
        if kind in PACKED:
            value = Value(self.f, self.f.b.bitcast(value.v, vec(I32)))
        target = self._storage(stored)
        if value.type == vec(target):
            return value
        raw = value.bitcast(ir.IntType(value.bits)) if value.is_float else value
        bits = ir.IntType(8 * max(2, type_size(stored)))
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
        offset = self.g.parameter_offset(symbol.name)
        if offset is not None:
            return f.const(vec(I64), PARAMETER_BASE + offset + symbol.offset)
        if symbol.name == "WARP_SZ":
            return f.const(vec(I64), 32)
        if symbol.name not in self.g.ptx.variables:
            raise UnsupportedPtx(f"the symbol {symbol.name}", self._line())
        index = self.g.symbol_index(symbol.name)
        base = f.load(I64, WORKER.load(f, self.worker, "symbols"), 8 * index)
        return f.splat(base + symbol.offset)

    def _line(self) -> Line | None:
        return self.op.instruction.line if self.op else None

    def site(self) -> int:
        """The current instruction's event site."""
        assert self.op is not None
        return self.g.sites.of_op(self.op)

    def unsupported(self, what: str) -> UnsupportedPtx:
        return UnsupportedPtx(what, self.op.instruction.line if self.op else None)

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
        wide = base.zext(I64)
        return wide + operand.offset if operand.offset else wide

    def load_parameter(self, operand: Operand, bits: int) -> Value | None:
        """A kernel parameter at a constant offset, as a splat; None where the address is not constant."""
        if not (isinstance(operand, Address) and isinstance(operand.base, Symbol)):
            return None
        offset = self.g.parameter_offset(operand.base.name)
        if offset is None:
            return None
        base = WORKER.load(self.f, self.worker, "params")
        place = offset + operand.base.offset + operand.offset
        return self.f.splat(self.f.load(ir.IntType(bits), base, place, align=1))

    def load_memory(
        self, space: str, address: Value, bits: int, count: int = 1, *, mask: Value | None = None, ordered: str = ""
    ) -> list[Value]:
        """One warp request: each lane reads ``count`` elements of ``bits`` bits from ``address`` on."""
        assert self.op is not None
        lanes = self.mask if mask is None else mask
        return self.g.memory.load(self, self.op, space, address, bits, count, lanes, ordered)

    def store_memory(
        self,
        space: str,
        address: Value,
        values: Sequence[Value],
        bits: int,
        *,
        mask: Value | None = None,
        ordered: str = "",
    ) -> None:
        """One warp request: each lane writes its ``values`` (integers of ``bits`` bits) from ``address`` on."""
        assert self.op is not None
        lanes = self.mask if mask is None else mask
        self.g.memory.store(self, self.op, space, address, values, bits, lanes, ordered)

    def atomic_memory(
        self, space: str, address: Value, bits: int, combine: object, name: str, operands: Sequence[Value]
    ) -> Value:
        """One warp request of read-modify-writes, lane by lane; gives the old values. See `MemoryCode.atomic`."""
        assert self.op is not None
        return self.g.memory.atomic(self, self.op, space, address, bits, combine, name, operands, self.mask)

    def fence(self, scope: str) -> None:
        if scope != "cta":
            WORKER.store(self.f, self.worker, "dirty", 0)

    # -- findings ---------------------------------------------------------------------------------------------------
    def report(self, kind: int, mask: Value, address: Value | int = 0, other: Value | int = 0) -> None:
        """Record a finding of the current instruction for the lanes of ``mask`` (see `grader.simt.engine.findings`)."""
        f = self.f
        assert self.op is not None
        thread = WARP.load(f, self.warp, "index") * 32 + f.first_lane(mask)
        given = [v if isinstance(v, Value) else f.const(I64, v) for v in (address, other)]
        f.call(self.g.report, self.worker, f.const(I32, kind), f.const(I32, self.site()), thread, mask, *given)

    # -- control ----------------------------------------------------------------------------------------------------
    def _store_registers(self) -> None:
        lanes = self.block_mask.as_lanes()
        for name in sorted(self.dirty & self.block.live_out):
            value = self.values[name]
            place = self.f.at(self.warp, self.g.slots[name])
            if value.type == vec(I1):
                old = self.f.load(I32, place)
                self.f.store((value.as_mask() & self.block_mask) | (old & ~self.block_mask), place)
            else:
                self.f.masked_store(value, place, lanes, 64)

    def target(self, operand: Operand) -> int:
        if isinstance(operand, Symbol) and operand.name in self.g.graph.targets:
            return self.g.graph.targets[operand.name]
        raise self.unsupported("a branch to an unknown label")

    def branch(self, target: int) -> None:
        """The executing lanes go to block ``target``, the others on to the next block."""
        self._store_registers()
        f = self.f
        taken = self.mask
        if self.guard is None:
            self._go(target, taken)
        else:
            rest = self.block_mask & ~taken
            some, none, both = f.block("some"), f.block("none"), f.block("both")
            check = f.block("check")
            f.b.cbranch(taken.eq(0).v, none, check)
            f.enter(check)
            f.b.cbranch(rest.eq(0).v, some, both)
            f.enter(none)
            self._go(self.block.index + 1, self.block_mask)
            f.enter(some)
            self._go(target, self.block_mask)
            f.enter(both)
            self.g.observers.diverged(self, self.block.index)
            if target <= self.block.index:
                self._tick(target, taken, rest)
            f.call(self.g.schedule.enqueue, self.warp, f.const(I32, target), taken)
            f.call(self.g.schedule.enqueue, self.warp, f.const(I32, self.block.index + 1), rest)
            f.goto(self.g.dispatch)
        self.ended = True

    def jump(self, target: int, mask: Value) -> None:
        self._store_registers()
        self._go(target, mask)
        self.ended = True

    def _go(self, target: int, mask: Value) -> None:
        """All lanes of the block go to ``target``: directly if no other lanes of the warp are pending."""
        f = self.f
        if target <= self.block.index:
            self._tick(target, mask, None)
        queue = f.block("queue")
        alone = WARP.load(f, self.warp, "pending").eq(0)
        f.b.cbranch(alone.v, self.g.code[target], queue)
        self.g.masks[target].add_incoming(mask.v, f.b.block)
        f.enter(queue)
        f.call(self.g.schedule.enqueue, self.warp, f.const(I32, target), mask)
        f.goto(self.g.dispatch)

    def _tick(self, target: int, mask: Value, rest: Value | None) -> None:
        """On a backward jump: end a block that is out of budget, yield a warp that is out of its quantum."""
        f = self.f
        spent = WORKER.load(f, self.worker, "block_budget").slt(0)
        left = WARP.load(f, self.warp, "quantum") - 1
        WARP.store(f, self.warp, "quantum", left)
        stop, go_on = f.block("tick"), f.block("tock")
        branch = f.b.cbranch((spent | left.slt(0)).v, stop, go_on)
        branch.set_weights([1, 999])
        f.enter(stop)
        f.call(self.g.schedule.enqueue, self.warp, f.const(I32, target), mask)
        if rest is not None:
            f.call(self.g.schedule.enqueue, self.warp, f.const(I32, self.block.index + 1), rest)
        WARP.store(f, self.warp, "quantum", QUANTUM)
        WARP.store(f, self.warp, "rotate", self.block.index + 1)
        with f.if_(spent):
            self.report(findings.BUDGET, mask)
            WORKER.store(f, self.worker, "status", TIMED_OUT)
        f.goto(self.g.give_up)
        f.enter(go_on)

    def exit(self, *, trap: bool = False) -> None:
        """The executing lanes end."""
        self._store_registers()
        f = self.f
        WARP.store(f, self.warp, "alive", WARP.load(f, self.warp, "alive") & ~self.mask)
        alive = WORKER.load(f, self.worker, "alive") - f.popcount(self.mask)
        WORKER.store(f, self.worker, "alive", alive)
        if trap:
            with f.if_(self.mask.ne(0)):
                WORKER.store(f, self.worker, "status", TRAPPED)
        if self.guard is None:
            f.goto(self.g.dispatch)
        else:
            rest = self.block_mask & ~self.mask
            on, none = f.block("on"), f.block("none")
            f.b.cbranch(rest.eq(0).v, none, on)
            f.enter(none)
            f.goto(self.g.dispatch)
            f.enter(on)
            self._go(self.block.index + 1, rest)
        self.ended = True

    def barrier(self, barrier: Value, count: Value, *, waits: bool = True) -> None:
        """The executing lanes arrive at a barrier (``count`` 0: of all threads) and, if it ``waits``, go on with it."""
        self._store_registers()
        f = self.f
        assert self.op is not None
        after = self.block.index + 1
        with f.if_(self.mask.ne(0)):
            f.call(self.g.schedule.arrive, self.worker, self.warp, self.mask, barrier, count, f.const(I32, after),
                   f.const(I32, self.site()), f.const(I32, int(waits)))  # fmt: skip
        self.g.observers.barrier(self, self.block.index)
        rest = self.block_mask & ~self.mask if waits else self.block_mask
        if self.guard is None and waits:
            f.goto(self.g.dispatch)
        else:
            with f.if_(rest.ne(0)):
                f.call(self.g.schedule.enqueue, self.warp, f.const(I32, after), rest)
            f.goto(self.g.dispatch)
        self.ended = True

    # -- waiting lanes ----------------------------------------------------------------------------------------------
    def _wait_for_lanes(self) -> None:
        """Before a ``.sync`` operation: if named lanes are elsewhere, park this group until they come."""
        f = self.f
        self.op = op = self.block.ops[0]
        names = op.form.operands
        where = names.index("membermask") if "membermask" in names else None
        if where is None:
            need = f.const(I32, -1)
        else:
            members = self.read(op.instruction.operands[where], "b32")
            chosen = self.block_mask.as_lanes().select(members, 0)
            need = f.overloaded("llvm.vector.reduce.or", chosen, result=I32)
        missing = need & WARP.load(f, self.warp, "alive") & ~self.block_mask
        park, go_on, forced = f.block("park"), f.block("together"), f.block("forced")
        check = f.block("missing")
        force = WARP.load(f, self.warp, "forced").ne(0)
        f.b.cbranch((missing.eq(0) & (force ^ 1)).v, go_on, check).set_weights([999, 1])
        f.enter(check)
        f.b.cbranch(force.v, forced, park)
        f.enter(forced)
        WARP.store(f, self.warp, "forced", 0)
        came_not = f.load(I32, f.at(self.warp, self.g.schedule.need_at + 4 * self.block.index)) & ~self.block_mask
        self.report(findings.MISSING_LANES, self.block_mask, came_not.zext(I64), need.zext(I64))
        f.goto(go_on)
        f.enter(park)
        f.call(self.g.schedule.enqueue, self.warp, f.const(I32, self.block.index), self.block_mask)
        f.store(missing | self.block_mask, f.at(self.warp, self.g.schedule.need_at + 4 * self.block.index))
        WARP.store(f, self.warp, "parked", WARP.load(f, self.warp, "parked") | self.block_mask)
        f.goto(self.g.dispatch)
        f.enter(go_on)

    def synchronised(self, members: Value) -> None:
        """After a ``.sync`` operation: what the named lanes did happens before what they do next."""
        self.g.observers.warp_sync(self, members)


PARAMETER_BASE = 0x0000_6000_0000_0000
"""Where kernel parameters lie in the generic address space."""
