"""A kernel as one LLVM module: each basic block becomes code over 32-lane vectors.

    warp ─▶ dispatch ─▶ block 0 … block n-1 ─▶ dispatch │ return to the block scheduler
                 ▲___________________________│

Registers live in the warp's state; a basic block loads what it reads, computes on values, and stores, under its lane
mask, what is alive at its end. A block whose lanes all go the same way jumps there directly when no other lanes wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from grader.simt.engine import ir
from grader.simt.engine.accesses import narrowest, seeds_of_swaps
from grader.simt.engine.barrier_objects import BarrierObjectCode
from grader.simt.engine.block_emitter import BlockEmitter
from grader.simt.engine.blocks import Block, Graph, Op, build, registers_in
from grader.simt.engine.copies import CopyCode
from grader.simt.engine.fetches import Fetches, fetches
from grader.simt.engine.findings import report_function
from grader.simt.engine.flatten import Flat, UnsupportedPtx, flatten
from grader.simt.engine.layout import header_bytes
from grader.simt.engine.memory import MemoryCode
from grader.simt.engine.regions import Region, warp_function
from grader.simt.engine.schedule import Schedule
from grader.simt.engine.sites import Site, SiteTable
from grader.simt.engine.spinning import kept_bytes
from grader.simt.engine.waiting import waits
from grader.simt.isa.special_registers import WORKSPACE
from grader.simt.observers.base import ObserverSet
from grader.simt.ptx import Address, Instruction, Module, Operand, Symbol, Vector
from grader.simt.ptx.reader import type_size

LOCAL_GUARD = 64
MAX_PARAMETER_BYTES = 32 << 10
"""CUDA's limit is 4 kB, and 32764 bytes since CUDA 12.1."""
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
    copies: bool = False  # asynchronous ones: warps have queues of them
    objects: bool = False  # barrier objects in shared memory: each may need its rows of clocks
    waits: bool = False  # blocks may wait for each other: several are resident at once
    grid_sync: bool = False  # it asks for the workspace of a cooperative launch


def generate(module: Module, entry_name: str, observers: ObserverSet) -> tuple[ir.Module, Kernel]:
    """IR and description of one entry. Raises UnsupportedPtx, with the source line."""
    flat = flatten(module, module.functions[entry_name])
    return Generator(module, flat, build(flat), observers).run()


def cell_bytes(module: Module) -> int:
    """How many bytes of global memory a shadow cell stands for; all kernels of a module share the cells."""
    return narrowest(_instructions(module))


def _instructions(module: Module) -> Iterator[Instruction]:
    return (i for f in module.functions.values() for i in f.body or () if isinstance(i, Instruction))


class Generator:
    def __init__(self, module: Module, flat: Flat, graph: Graph, observers: ObserverSet) -> None:
        self.ptx = module
        self.flat = flat
        self.graph = graph
        self.observers = observers
        self.ir = ir.Module()
        self.waits = dict(waits(graph))
        self.slots = self._register_slots()
        self.shared, self.shared_bytes = self._place_shared()
        self.local, self.local_bytes = self._place_local()
        granule = {
            "global": cell_bytes(module),
            "shared": narrowest(o.instruction for b in graph.blocks for o in b.ops),
        }
        self.sites = SiteTable(graph, granule, seeds_of_swaps(graph))
        self.report = report_function(self.ir)
        exits = [
            b.index
            for b in graph.blocks
            if len(b.ops) == 1 and b.ops[0].form.tags == {"exit"} and not b.ops[0].instruction.guard
        ]
        tags = {tag for b in graph.blocks for o in b.ops for tag in o.form.tags}
        self.copies, self.has_objects = "copy_queue" in tags, "object" in tags
        self.schedule = Schedule(
            self.ir, exits,
            copies=self.copies, objects=self.has_objects, waits=bool(self.waits),
        )  # fmt: skip
        self.memory = MemoryCode(
            self.ir, self.report, observers, self.sites,
            copies=self.copies, waits=bool(self.waits),
        )  # fmt: skip
        self.copy = CopyCode(self.ir, self.memory, observers)
        self.objects = BarrierObjectCode(self.ir, self.schedule, self.copy, tracks="tracks" in tags)
        self.symbols: list[str] = []
        self.parameters, self.parameter_bytes = self._place_parameters()

    @cached_property
    def fetches(self) -> Fetches:
        return fetches(self.graph)

    def _register_slots(self) -> dict[str, int]:
        """Byte offset of each register in the warp's state, behind its header."""
        at = header_bytes(len(self.graph.blocks))
        slots = {}
        self.graph.registers["%cc"] = "pred"
        for name, kind in self.graph.registers.items():
            size = 64 if kind == "pred" else 32 * max(2, type_size(kind))
            slots[name] = at
            at += size
        self.kept_at = at
        self.warp_bytes = (at + kept_bytes(self.waits, self.graph.registers) + 63) // 64 * 64
        return slots

    def _place_shared(self) -> tuple[dict[str, int], int]:
        """Offsets of shared arrays: as the compiler packs them, but each moved on by whole rows of banks.

        The gaps catch an index that runs over an array's end; a multiple of 128 bytes leaves elements in their banks.
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

    def _place_parameters(self) -> tuple[dict[str, int], int]:
        """Offsets as in a C struct."""
        places: dict[str, int] = {}
        at = 0
        for parameter in self.flat.parameters:
            at = (at + parameter.align - 1) // parameter.align * parameter.align
            places[parameter.name] = at
            at += max(parameter.size, 0)
        if at > MAX_PARAMETER_BYTES:
            raise UnsupportedPtx(f"{at} bytes of kernel parameters")
        return places, at

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

    def run(self) -> tuple[ir.Module, Kernel]:
        def emit(region: Region, block: Block) -> None:
            BlockEmitter(self, region, block).run()

        self.schedule.build_run(warp_function(self.ir, self.schedule, self.graph.blocks, emit))
        return self.ir, self._kernel()

    def symbol_index(self, name: str) -> int:
        if name not in self.symbols:
            self.symbols.append(name)
        return self.symbols.index(name)

    def _kernel(self) -> Kernel:
        parameters = tuple((p.name, p.size, p.align) for p in self.flat.parameters)
        lines = tuple(
            tuple(op.instruction.line.line if op.instruction.line else 0 for op in b.ops) for b in self.graph.blocks
        )
        tags = {t for b in self.graph.blocks for op in b.ops for t in op.form.tags}
        shared = tuple((n, o, self.shared_variables[n].size) for n, o in self.shared.items())
        ordered = bool(self.waits) or "fence" in tags or any(s.orders_blocks for s in self.sites.sites)
        return Kernel(
            self.flat.name, parameters, self.parameter_bytes, shared, self.shared_bytes, self.local_bytes,
            self.warp_bytes,
            tuple(self.sites.sites), lines, self._opcodes(), tuple(self.sites.lines), tuple(self.symbols), ordered,
            self.sites.granule, self.copies, self.has_objects, bool(self.waits), self._reads_workspace(),
        )  # fmt: skip

    def _reads_workspace(self) -> bool:
        operands = (o for b in self.graph.blocks for op in b.ops for o in op.instruction.operands)
        return any(name in WORKSPACE for operand in operands for name in registers_in(operand))

    def _opcodes(self) -> tuple[tuple[str, ...], ...]:
        def name(op: Op) -> str:
            first = op.instruction.modifiers[:1]
            return (
                ".".join((op.instruction.opcode, *first))
                if op.instruction.opcode in ("wmma", "mma", "bar")
                else op.instruction.opcode
            )

        return tuple(tuple(name(op) for op in b.ops) for b in self.graph.blocks)
