"""A kernel as one LLVM module: each basic block becomes code over 32-lane vectors.

    warp(warp, worker) ─▶ region 0 … region n-1 ─▶ 0: no lane can run │ 1: the warp yields │ 2+i: block i is next
    region ─▶ dispatch ─▶ block 0 … block m-1 ─▶ dispatch │ return
                  ▲____________________________│

Registers are in the warp's state; a basic block loads the registers that it reads, computes on values, and stores,
under its lane mask, those that are live at its end. A block whose lanes all go to the same block jumps there directly
if no other lanes wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from grader.simt.engine import ir
from grader.simt.engine.barrier_objects import BarrierObjectCode
from grader.simt.engine.block_emitter import BlockEmitter
from grader.simt.engine.blocks import Block, Graph, Op, build, chains, is_strong
from grader.simt.engine.builder import Builder
from grader.simt.engine.copies import CopyCode
from grader.simt.engine.flatten import Flat, UnsupportedPtx, flatten, registers_in, storage_bytes, symbols_in
from grader.simt.engine.layout import header_bytes, rounded
from grader.simt.engine.memory import MemoryCode
from grader.simt.engine.schedule import Schedule
from grader.simt.engine.sites import Fetches, Site, SiteTable, fetches, narrowest
from grader.simt.engine.values import I32, PTR
from grader.simt.engine.waiting import carried_bytes, waits
from grader.simt.isa.special_registers import WORKSPACE
from grader.simt.observers.base import ObserverSet
from grader.simt.occupancy import SIMULATED, resident_without_registers
from grader.simt.ptx import Instruction, Module

LOCAL_GUARD = 64
MAX_PARAMETER_BYTES = 32 << 10
"""CUDA's limit is 4 kB, and 32764 bytes since CUDA 12.1."""
BANK_ROW = 128
"""Bytes of one row of the 32 banks."""
REGION = 96
"""Maximum of basic blocks per region; most kernels have only one region."""
LEAVE, YIELD, BLOCK = 0, 1, 2
"""Results of a region: no lane can run, the warp yields, or (added to its index) the next block."""


@dataclass(frozen=True)
class Kernel:
    """What a launch needs besides the machine code: sizes, sites, symbols. Plain data, so that it can be cached."""

    name: str
    parameters: tuple[tuple[str, int, int], ...]  # name, bytes, align
    parameter_bytes: int
    shared: tuple[tuple[str, int, int], ...]  # name, offset, bytes (-1: the dynamic array)
    shared_bytes: int  # static
    local_bytes: int
    warp_bytes: int
    sites: tuple[Site, ...]
    block_lines: tuple[tuple[int, ...], ...]  # for each basic block, the source line of each instruction
    block_ops: tuple[tuple[str, ...], ...]  # and its mnemonic
    block_chains: tuple[int, ...]  # its longest chain of dependent instructions
    lines: tuple[tuple[int, int], ...]  # line table of the stamps, each with the line of its function's call
    symbols: tuple[str, ...] = field(default=())  # module variables whose addresses the code loads
    global_order: bool = False  # blocks must run in the fixed interleaving (atomics, fences, volatile)
    granule: dict[str, int] = field(default_factory=dict)
    copies: bool = False  # has asynchronous copies: warps need queues for them
    objects: bool = False  # has barrier objects in shared memory, which need rows of clocks
    waits: bool = False  # blocks may wait for each other: several are resident at once
    adversarial: bool = False  # for adversarial runs, see `grader.simt.engine.schedule`
    unordered: tuple[tuple[str, int], ...] = ()  # fences, and volatile or atomic accesses: kind and line
    grid_sync: bool = False  # uses `grid.sync()`, and so the workspace of a cooperative launch

    @property
    def declared_shared_bytes(self) -> int:
        """Bytes of shared arrays without the simulator's gaps between them, as by the compiler."""
        return self.shared_bytes - BANK_ROW * max(0, len(self.shared) - 1)

    def blocks_per_sm(self, threads: int, dynamic_shared: int) -> int:
        """Resident blocks of ``threads`` threads per multiprocessor of the simulated device.

        A block that waits for a block that is not resident waits for ever.
        """
        return resident_without_registers(SIMULATED, threads, self.declared_shared_bytes + dynamic_shared)


def generate(
    module: Module, entry_name: str, observers: ObserverSet, *, adversarial: bool = False
) -> tuple[ir.IRModule, Kernel]:
    """IR and description of one entry. Raises UnsupportedPtx, with the source line."""
    flat = flatten(module, module.functions[entry_name])
    return Generator(module, flat, build(flat, adversarial=adversarial), observers, adversarial=adversarial).run()


def cell_bytes(module: Module) -> int:
    """Bytes of global memory per shadow cell; all kernels of a module share the cells."""
    global _cells
    if _cells is None or _cells[0] is not module:  # every run of a program asks
        all_of_them = (i for f in module.functions.values() for i in f.body or () if isinstance(i, Instruction))
        _cells = module, narrowest(all_of_them)
    return _cells[1]


_cells: tuple[Module, int] | None = None
"""The last module, and the bytes of its cells."""


_OUTLINED: dict[tuple[object, ...], dict[str, ir.IRFunction]] = {}
"""Outlined functions of this process's kernels, by the kernels' traits and by name: most of a kernel's code."""


class Generator:
    """Generates one kernel (`run`), and has the data of the whole kernel for `BlockEmitter` and the forms."""

    def __init__(
        self, module: Module, flat: Flat, graph: Graph, observers: ObserverSet, *, adversarial: bool = False
    ) -> None:
        self.ptx = module
        self.flat = flat
        self.graph = graph
        self.observers = observers
        self.adversarial = adversarial
        self.waits = waits(graph)
        self.slots = self._register_slots()
        self._place_variables()
        shared_cell = narrowest(op.instruction for op in graph.ops)
        self.sites = SiteTable(graph, {"global": cell_bytes(module), "shared": shared_cell})
        self.copies, self.has_objects = "copy_queue" in graph.tags, "object" in graph.tags
        # All that outlined functions depend on beside their names.
        traits = (
            observers.key, tuple(self.sites.granule.items()), self.copies, self.has_objects, "tracks" in graph.tags,
            bool(self.waits), adversarial, bool(self.grid_syncs),
        )  # fmt: skip
        self.ir = ir.IRModule(_OUTLINED.setdefault(traits, {}))
        exits = [
            b.index
            for b in graph.blocks
            if len(b.ops) == 1 and b.ops[0].form.tags == {"exit"} and not b.ops[0].instruction.guard
        ]
        self.suspends = adversarial or bool(self.waits)
        self.schedule = Schedule(
            self.ir, exits, copies=self.copies, objects=self.has_objects, waits=self.suspends, adversarial=adversarial,
            grid_sync=bool(self.grid_syncs),
        )  # fmt: skip
        self.memory = MemoryCode(
            self.ir, observers, self.sites, copies=self.copies, waits=self.suspends, buffers=adversarial
        )
        self.copy = CopyCode(self.ir, self.memory, observers)
        self.objects = BarrierObjectCode(self.ir, self.schedule, self.copy, tracks="tracks" in graph.tags)
        self.symbols: list[str] = []
        self.plain: dict[str, ir.IRFunction | None] = {}  # functions of plain forms, by name and operands' types

    @cached_property
    def grid_syncs(self) -> frozenset[int]:
        """The lines of `grid.sync()`, where blocks arrive at the workspace of a cooperative launch."""
        ops = self.graph.ops if self.asks_for_the_grid else ()
        return frozenset(op.line for op in ops if _arrives_at_the_grid(op))

    @cached_property
    def asks_for_the_grid(self) -> bool:
        names = (name for op in self.graph.ops for name in registers_in(op.instruction.operands))
        return any(name in WORKSPACE for name in names)

    @cached_property
    def fetches(self) -> Fetches:
        return fetches(self.graph)

    def symbol_index(self, name: str) -> int:
        """The index of a module variable's address in the table that the launch fills."""
        if name not in self.symbols:
            self.symbols.append(name)
        return self.symbols.index(name)

    # -- places -----------------------------------------------------------------------------------------------------
    def _register_slots(self) -> dict[str, int]:
        """Byte offset of each register in the warp's state, after its header."""
        at = header_bytes(len(self.graph.blocks))
        slots = {}
        self.graph.registers["%cc"] = "pred"
        for name, kind in self.graph.registers.items():
            slots[name] = at
            at += 64 if kind == "pred" else 32 * storage_bytes(kind)
        self.carried_at = at
        self.warp_bytes = rounded(at + carried_bytes(self.waits, self.graph.registers), 64)
        return slots

    def _place_variables(self) -> None:
        """Offsets of shared arrays, in the compiler's order, with gaps of whole rows of banks; of local arrays, with a
        gap after each; and of parameters, as in a C struct.

        An index past an array's end hits a gap; a multiple of 128 bytes leaves elements in their banks.
        """
        used = [v for v in (*self.ptx.variables.values(), *self.flat.variables.values()) if v.space == "shared"]
        named = {name for op in self.graph.ops for name in symbols_in(op.instruction.operands)}
        self.shared_variables = {v.name: v for v in used}
        self.shared: dict[str, int] = {}
        at = 0
        for variable in sorted((v for v in used if v.name in named), key=lambda v: v.size < 0):
            at = rounded(at, variable.align) + BANK_ROW * bool(self.shared)
            self.shared[variable.name] = at
            at += max(variable.size, 0)
        self.shared_bytes = at
        self.local: dict[str, int] = {}
        at = 0
        for variable in self.flat.variables.values():
            if variable.space == "local":
                self.local[variable.name] = at = rounded(at, variable.align)
                at += variable.size + LOCAL_GUARD
        self.local_bytes = rounded(at, 64)
        self.parameters: dict[str, int] = {}
        at = 0
        for parameter in self.flat.parameters:
            self.parameters[parameter.name] = at = rounded(at, parameter.align)
            at += max(parameter.size, 0)
        if at > MAX_PARAMETER_BYTES:
            raise UnsupportedPtx(f"{at} bytes of kernel parameters")
        self.parameter_bytes = at

    # -- functions --------------------------------------------------------------------------------------------------
    def run(self) -> tuple[ir.IRModule, Kernel]:
        blocks = self.graph.blocks
        regions = [self._region(blocks[i : i + REGION]) for i in range(0, len(blocks), REGION)]
        self.schedule.build_run(self._warp_function(regions))
        return self.ir, self._kernel()

    def _region(self, blocks: Sequence[Block]) -> ir.IRFunction:
        region = Region(self.ir, self.schedule, blocks)
        for block in blocks:
            BlockEmitter(self, region, block).run()
        return region.finish()

    def _warp_function(self, regions: Sequence[ir.IRFunction]) -> ir.IRFunction:
        """warp(warp, worker): run the warp until it waits or ends (0), or yields (1)."""
        f = Builder(self.ir, "warp", I32, [PTR, PTR], public=True)
        warp, worker = f.args
        code = f.var(f.call(self.schedule.next_block(), warp) + BLOCK)
        done = f.block("done")
        with f.if_(code.get().eq(BLOCK - 1)):  # no lane can run
            f.ret(f.const(I32, LEAVE))
            f.enter(f.block("unreached"))
        with f.while_(lambda: code.get().uge(BLOCK)):
            index = code.get() - BLOCK
            nowhere, after = f.block("nowhere"), f.block("after")
            targets = [f.block(f"in{i}_") for i in range(len(regions))]
            f.switch(index.udiv(REGION), nowhere, list(enumerate(targets)))
            f.enter(nowhere)
            f.ret(f.const(I32, LEAVE))
            for target, region in zip(targets, regions, strict=True):
                f.enter(target)
                code.set(f.call(region, warp, worker, index))
                f.goto(after)
            f.enter(after)
        f.goto(done)
        f.enter(done)
        f.ret(code.get())
        return f.finish()

    def _kernel(self) -> Kernel:
        blocks, ops = self.graph.blocks, self.graph.ops
        return Kernel(
            name=self.flat.name,
            parameters=tuple((p.name, p.size, p.align) for p in self.flat.parameters),
            parameter_bytes=self.parameter_bytes,
            shared=tuple((n, o, self.shared_variables[n].size) for n, o in self.shared.items()),
            shared_bytes=self.shared_bytes,
            local_bytes=self.local_bytes,
            warp_bytes=self.warp_bytes,
            sites=tuple(self.sites.sites),
            block_lines=tuple(tuple(op.line for op in b.ops) for b in blocks),
            block_ops=tuple(tuple(op.instruction.name for op in b.ops) for b in blocks),
            block_chains=chains(self.graph),
            lines=tuple(self.sites.lines),
            symbols=tuple(self.symbols),
            global_order=self.suspends or "fence" in self.graph.tags or any(s.orders_blocks for s in self.sites.sites),
            granule=self.sites.granule,
            copies=self.copies,
            objects=self.has_objects,
            waits=self.suspends,
            adversarial=self.adversarial,
            unordered=tuple((_access(op), op.line) for op in ops if is_strong(op) or "fence" in op.form.tags),
            grid_sync=self.asks_for_the_grid,
        )


def _arrives_at_the_grid(op: Op) -> bool:
    """Whether this is the atomic of `cooperative_groups/details/sync.h`, which differs from CUDA's atomic functions."""
    return op.instruction.opcode == "atom" and {"add", "release", "gpu"} <= set(op.instruction.modifiers)


def _access(op: Op) -> str:
    opcode = op.instruction.opcode
    return {"ld": "read", "st": "write", "atom": "atomic", "red": "atomic"}.get(opcode, "fence")


class Region:
    """A function with some dozens of basic blocks, because LLVM's time grows with their square.

    Within its region a block can jump to another one directly; lanes for another region go to the queue.
    """

    def __init__(self, module: ir.IRModule, schedule: Schedule, blocks: Sequence[Block]) -> None:
        first = blocks[0].index
        self.f = f = Builder(module, f"region{first}", I32, [PTR, PTR, I32], public=True)
        self.warp, self.worker, start = f.args
        self.code = {b.index: f.block(f"b{b.index}_") for b in blocks}
        self.masks = {index: f.phi(I32, block) for index, block in self.code.items()}
        self.dispatch, self.give_up = f.block("dispatch"), f.block("yield")
        # Run the next block, or return the region's result.
        take, some, elsewhere = f.block("take"), f.block("some"), f.block("elsewhere")
        entered = f.here
        f.goto(take)
        f.enter(self.dispatch)
        following = f.call(schedule.next_block(), self.warp)
        f.goto(take)
        f.enter(take)
        index = f.phi(I32)
        index.add_incoming(start, entered)
        index.add_incoming(following, self.dispatch)
        f.branch((index - first).ult(len(blocks)), some, elsewhere)
        f.enter(some)
        mask = schedule.take(f, self.warp, index)
        f.switch(index, elsewhere, list(self.code.items()))
        for phi in self.masks.values():
            phi.add_incoming(mask, some)
        f.enter(elsewhere)
        f.ret(index.eq(-1).select(f.const(I32, LEAVE), index + BLOCK))

    def finish(self) -> ir.IRFunction:
        self.f.enter(self.give_up)
        self.f.ret(self.f.const(I32, YIELD))
        return self.f.finish()
