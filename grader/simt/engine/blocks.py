"""Basic blocks, and the registers that are live at their ends.

A block ends after a form tagged ``branch``, ``exit`` or ``barrier`` and starts at labels and at forms tagged
``sync`` (they may have to wait for lanes), except after one in the same block for which the whole warp came together.
Blocks are in program order: the scheduler runs the lowest one first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Set
from dataclasses import dataclass, field
from functools import cached_property

from grader.simt.engine.flatten import Flat, UnsupportedPtx, registers_in
from grader.simt.engine.layout import MAX_BLOCKS
from grader.simt.isa.registry import Form, Match, arranged, find
from grader.simt.ptx import Address, Immediate, Instruction, Operand, Register, Symbol
from grader.simt.ptx.model import Label

LONGEST = 512
"""Maximum of instructions per basic block: a block is charged for all of them when it begins."""
SM_90 = ("cp.async.bulk", "mbarrier.try_wait", "wgmma", "fence.proxy", "fence.mbarrier_init", "elect", "setmaxnreg",
         "stmatrix", "mapa", "barrier.cluster", "griddepcontrol", "multimem", "tensormap")  # fmt: skip
NEEDS_SM_90 = "it needs sm_90, and the simulator is an A100 (sm_80): run it with --backend gpu on a GPU that has it"
ENDS = frozenset({"branch", "exit", "barrier"})


@dataclass(frozen=True)
class Op:
    """One instruction with its form; ``index`` is its number in the kernel."""

    index: int
    instruction: Instruction
    form: Form
    match: Match

    @property
    def line(self) -> int:
        """The line of the source; 0 if unknown."""
        return self.instruction.line.line if self.instruction.line else 0

    @property
    def called_at(self) -> int:
        """The line of the innermost call of the function it is in; 0: none, or unknown."""
        return self.instruction.line.called_at if self.instruction.line else 0

    @cached_property
    def writes(self) -> frozenset[str]:
        """Registers that the instruction writes."""
        return self._registers(written=True)

    @cached_property
    def reads(self) -> frozenset[str]:
        """Registers that the instruction reads. A guarded write keeps old lanes, so it reads too."""
        guard = self.instruction.guard
        return self._registers(written=False) | (self.writes | {guard.name} if guard else set())

    def _registers(self, *, written: bool) -> frozenset[str]:
        names = self.form.operands
        chosen = {"%cc"} if "carry" in self.form.tags else set()
        for i, operand in enumerate(self.instruction.operands):
            is_write = i < len(names) and names[i].startswith("d") and not isinstance(operand, Address)
            if is_write == written:
                chosen.update(registers_in((operand,)))
        return frozenset(chosen)


@dataclass
class Block:
    index: int
    ops: list[Op] = field(default_factory=list)
    live_out: frozenset[str] = frozenset()
    ends_in: str = ""  # "load", "atomic" or "store" after which other warps may run, in an adversarial run
    is_of_whole_warp: bool = False  # it begins when all lanes of the warp have come

    @property
    def is_sync(self) -> bool:
        """Whether the first instruction may wait for other lanes of the warp."""
        return bool(self.ops) and "sync" in self.ops[0].form.tags


@dataclass
class Graph:
    blocks: list[Block]
    targets: dict[str, int]  # label -> block
    registers: dict[str, str]
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)  # label of a `.branchtargets` -> its labels

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        """All instructions, in program order."""
        return tuple(op for block in self.blocks for op in block.ops)

    @cached_property
    def tags(self) -> frozenset[str]:
        """Tags of all instructions."""
        return frozenset(tag for op in self.ops for tag in op.form.tags)

    @cached_property
    def read(self) -> frozenset[str]:
        """Registers that at least one instruction reads."""
        return frozenset(name for op in self.ops for name in op.reads)

    def labels(self, operand: Operand) -> tuple[str, ...]:
        """The labels of a branch's operand: its own name, or the labels of its table."""
        return self.tables.get(operand.name, (operand.name,)) if isinstance(operand, Symbol) else ()


def build(flat: Flat, *, adversarial: bool = False) -> Graph:
    """Split a flattened entry into blocks; with ``adversarial`` they also end where other warps may run.

    Raises UnsupportedPtx for an instruction without a form.
    """
    graph = Graph(*_cut(flat, adversarial), flat.registers, flat.tables)
    if adversarial and len(graph.blocks) > MAX_BLOCKS:  # too many blocks: without the ends where others may run
        graph = Graph(*_cut(flat, adversarial=False), flat.registers, flat.tables)
    if len(graph.blocks) > MAX_BLOCKS:
        raise UnsupportedPtx(f"a kernel with more than {MAX_BLOCKS} basic blocks")
    _liveness(graph)
    return graph


def _cut(flat: Flat, adversarial: bool) -> tuple[list[Block], dict[str, int]]:
    blocks = [Block(0)]
    targets: dict[str, int] = {}
    count = itertools.count()

    def fresh() -> None:
        if blocks[-1].ops:
            blocks.append(Block(len(blocks)))

    def op_of(instruction: Instruction) -> Op:
        found = find(instruction)
        if found is None:
            instruction = arranged(instruction)
            found = find(instruction)
        if found is None or not found[0].takes(len(instruction.operands)):
            name = instruction.name
            newer = name.startswith(SM_90) or "_tx." in name
            raise UnsupportedPtx(f"the instruction {name}", instruction.line, hint=NEEDS_SM_90 if newer else "")
        return Op(next(count), instruction, *found)

    full = _full_masks(flat)
    for item in flat.items:
        if isinstance(item, Label):
            fresh()
            targets[item.name] = blocks[-1].index
            continue
        op = op_of(item)
        if "sync" in op.form.tags and not blocks[-1].is_of_whole_warp:
            fresh()
            blocks[-1].is_of_whole_warp = _takes_whole_warp(op, full)
        blocks[-1].ops.append(op)
        if adversarial and is_strong(op):
            blocks[-1].ends_in = ENDS_IN.get(op.instruction.opcode, "store")
            fresh()
        if op.form.tags & ENDS or len(blocks[-1].ops) >= LONGEST:
            fresh()
        if "result" in op.form.tags:  # `bar.red`: its result is read after the barrier
            modifiers = tuple(m for m in item.modifiers if m not in ("cta", "red", "aligned"))
            rest = Instruction("barrier_result", modifiers, item.operands[:2], item.guard, item.line)
            blocks[-1].ops.append(op_of(rest))
    if not blocks[-1].ops or "exit" not in blocks[-1].ops[-1].form.tags or blocks[-1].ops[-1].instruction.guard:
        blocks[-1].ops.append(op_of(Instruction("ret", (), (), None, None)))
    return blocks, targets


def _full_masks(flat: Flat) -> frozenset[str]:
    """Registers whose only value is the mask of all lanes: compilers keep it in one."""
    given: dict[str, bool] = {}
    for item in flat.items:
        if isinstance(item, Instruction):
            constant = item.opcode == "mov" and item.guard is None and any(map(_is_full, item.operands[1:2]))
            for name in registers_in(item.operands[:1]):
                given[name] = constant and name not in given
    return frozenset(name for name, constant in given.items() if constant)


def _is_full(operand: Operand) -> bool:
    return isinstance(operand, Immediate) and operand.kind == "int" and operand.value & 0xFFFFFFFF == 0xFFFFFFFF


def _takes_whole_warp(op: Op, full: Set[str]) -> bool:
    """Whether a ``.sync`` operation is for all lanes of the warp together: it has no mask, or one of all lanes."""
    names = op.form.operands
    if "membermask" not in names:
        return True
    mask = op.instruction.operands[names.index("membermask")]
    return _is_full(mask) or (isinstance(mask, Register) and mask.name in full)


STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel"})

ENDS_IN = {"ld": "load", "atom": "atomic"}


def is_strong(op: Op) -> bool:
    """Whether this is an atomic, volatile or relaxed access."""
    return op.instruction.opcode in ("atom", "red") or (
        "memory" in op.form.tags and bool(STRONG & set(op.instruction.modifiers))
    )


COSTS = {"memory": 32, "barrier": 16, "sync": 16, "slow": 64, "object": 64, "special": 16, "matrix": 256}
"""The cost of an instruction with this tag, or of this chapter; of others 1. A unit takes 1 to 4 ns with all observers
on, so that a limit of instructions also limits the time."""

WORDS = {"v2": 2, "v4": 4, "b64": 2, "u64": 2, "s64": 2, "f64": 2, "async": 4}
"""Modifiers of memory accesses with several words per lane, which are observed one by one, and the number of words."""


def cost(op: Op) -> int:
    """The cost of an instruction for a warp that executes it, in plain instructions."""
    kinds = (op.form.chapter, *op.form.tags)
    words = math.prod(WORDS.get(modifier, 1) for modifier in op.instruction.modifiers) if "memory" in kinds else 1
    return words * max(COSTS.get(word, 1) for word in kinds)


def successors(graph: Graph, block: Block) -> set[int]:
    """Blocks that may follow."""
    last = block.ops[-1] if block.ops else None
    follow: set[int] = set()
    if last is not None and "branch" in last.form.tags:
        names = [name for operand in last.instruction.operands for name in graph.labels(operand)]
        follow = {graph.targets[name] for name in names if name in graph.targets}
    falls = last is None or not (last.form.tags & {"branch", "exit"}) or last.instruction.guard is not None
    if falls and block.index + 1 < len(graph.blocks):
        follow.add(block.index + 1)
    return follow


def chains(graph: Graph) -> tuple[int, ...]:
    """For each block the longest chain of instructions in which each one reads a result of the one before.

    Results are followed through registers, not through memory. What was cut only because it is long is one block to an
    assembler: its later parts have the number by which they make the chain longer. Chains end at ``.sync`` operations.
    """
    found: list[int] = []
    starts = set(graph.targets.values())
    depths: dict[str, int] = {}
    longest = 0
    for block, before in zip(graph.blocks, (None, *graph.blocks), strict=False):
        if before is None or block.index in starts or block.is_sync or not _is_cut(before):
            depths, longest = {}, 0
        known, ended = longest, 0
        for position, op in enumerate(block.ops):
            if position and "sync" in op.form.tags:
                ended += longest - known
                depths, longest, known = {}, 0, 0
            depth = 1 + max((depths.get(name, 0) for name in op.reads), default=0)
            depths |= dict.fromkeys(op.writes, depth)
            longest = max(longest, depth)
        found.append(ended + longest - known)
    return tuple(found)


def _is_cut(block: Block) -> bool:
    """Whether the block ends because it is long."""
    return len(block.ops) >= LONGEST and not (block.ops[-1].form.tags & ENDS or block.ends_in)


def _liveness(graph: Graph) -> None:
    """Fill in `Block.live_out`. Sets of registers are bit masks in integers during the search."""
    read_before, written_in = [], list[set[str]]()
    for block in graph.blocks:
        read, written = set[str](), set[str]()
        for op in block.ops:
            read |= op.reads - written
            written |= op.writes
        read_before.append(read)
        written_in.append(written)
    # Only registers that a block gets from another one matter; most are written and read in one block.
    index = {name: number for number, name in enumerate(dict.fromkeys(name for names in read_before for name in names))}

    def bits(names: set[str]) -> int:
        found = 0
        for name in names:
            found |= 1 << index[name]
        return found

    uses, defs = [*map(bits, read_before)], [bits(names & index.keys()) for names in written_in]
    for block, live in zip(graph.blocks, _live_out(graph, uses, defs), strict=True):
        block.live_out = frozenset(name for name, bit in index.items() if live >> bit & 1)


def _live_out(graph: Graph, uses: list[int], defs: list[int]) -> list[int]:
    count = len(graph.blocks)
    follow = [successors(graph, b) for b in graph.blocks]
    before: list[list[int]] = [[] for _ in range(count)]
    for i, targets in enumerate(follow):
        for target in targets:
            before[target].append(i)
    live_in, live_out = list(uses), [0] * count
    work = list(range(count))
    while work:
        i = work.pop()
        for s in follow[i]:
            live_out[i] |= live_in[s]
        new = uses[i] | (live_out[i] & ~defs[i])
        if new != live_in[i]:
            live_in[i] = new
            work += before[i]
    return live_out
