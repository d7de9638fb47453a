"""Event sites: a kernel's numbered memory and synchronisation instructions, and static facts about its accesses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.simt.engine.blocks import Graph, Op
from grader.simt.engine.flatten import registers_in
from grader.simt.engine.layout import FETCHES, Stamp
from grader.simt.isa.registry import FORMS
from grader.simt.ptx import Address, Instruction, Operand, Register, Symbol
from grader.simt.ptx.reader import SIZES

WIDEST = 4
"""Maximum of bytes per shadow cell."""


@dataclass(frozen=True)
class Site:
    """One memory or synchronisation instruction. ``kind`` is load, store, atomic, or "" for others."""

    index: int
    op: int
    block: int
    line: int
    name: str
    space: str = ""
    kind: str = ""
    bytes: int = 0  # for each lane
    orders_blocks: bool = False  # a global atomic or volatile access: blocks run in the fixed interleaving
    called_at: int = 0  # the line of the innermost call of its function; 0: none, or unknown


class SiteTable:
    """Numbers the instructions that may report or count; memory requests are added when they are generated."""

    def __init__(self, graph: Graph, granule: dict[str, int]) -> None:
        self.sites: list[Site] = []
        self.lines: list[tuple[int, int]] = []  # each with the line of its function's call
        self._by_op: dict[int, int] = {}
        self._block_of = {op.index: b.index for b in graph.blocks for op in b.ops}
        self.granule = granule  # bytes per shadow cell, by space
        self.seeds = seeds_of_swaps(graph)  # plain loads that count as relaxed, by the index of their instruction
        self.has_fences = "fence" in graph.tags

    def of_op(self, op: Op) -> int:
        """The site of an instruction that may have findings but makes no memory request."""
        return self._by_op[op.index] if op.index in self._by_op else self.request(op, "", "", 0)

    def request(self, op: Op, space: str, kind: str, bytes_: int, *, orders_blocks: bool = False) -> int:
        """A new site for one memory request of an instruction."""
        index, block = len(self.sites), self._block_of[op.index]
        name = op.instruction.name
        self.sites.append(Site(index, op.index, block, op.line, name, space, kind, bytes_, orders_blocks, op.called_at))
        self._by_op.setdefault(op.index, index)
        return index

    def line_index(self, site: int) -> int:
        """The index of the site's line in the stamps' line table; the last entry is for all lines that do not fit."""
        line = self.sites[site].line, self.sites[site].called_at
        if line not in self.lines and len(self.lines) < Stamp.MAX_LINE:
            self.lines.append(line)
        return self.lines.index(line) if line in self.lines else Stamp.MAX_LINE


def narrowest(instructions: Iterable[Instruction]) -> int:
    """Bytes per shadow cell: of the narrowest access, at most 4, so that each access covers whole cells.

    Cells of global memory stay between launches, so that all kernels of a module must have the same granule there.
    """
    kinds = {(i.opcode, i.modifiers) for i in instructions}
    widths = (
        SIZES.get(modifier, WIDEST)
        for opcode, modifiers in kinds
        if opcode in FORMS and any("memory" in f.tags for f in FORMS[opcode])
        for modifier in modifiers
    )
    return min(WIDEST, *widths, WIDEST)


# ----------------------------------------------------------------------------------------------- compare-and-swap loops
def seeds_of_swaps(graph: Graph) -> frozenset[int]:
    """Indices of the plain loads whose value is the comparand of an `atom.cas` on the same address.

    The compare-and-swap loops of the programming guide begin with such a load; an old value only costs an iteration:

        old = *address; do { assumed = old; old = atomicCAS(address, assumed, f(assumed)); } while (assumed != old);

    So such a load counts as a relaxed one, which is not a race with atomics.
    """
    if "swap" not in graph.tags:
        return frozenset()
    definitions: dict[str, list[Op]] = defaultdict(list)
    for op in graph.ops:
        for name in op.writes:
            definitions[name].append(op)
    found: set[int] = set()
    for swap in (op for op in graph.ops if "swap" in op.form.tags):
        _, address, compared, _ = swap.instruction.operands
        place = _place(address, definitions)
        loads = _sources(compared, definitions)
        found |= {op.index for op in loads if _place(op.instruction.operands[1], definitions) == place}
    return frozenset(found)


def _sources(operand: Operand, definitions: dict[str, list[Op]]) -> list[Op]:
    """The loads that an operand's value may come from, through copies."""
    work = [operand.name] if isinstance(operand, Register) else []
    seen = set(work)
    loads = []
    while work:
        for op in definitions[work.pop()]:
            source = op.instruction.operands[-1]
            if "load" in op.form.tags:
                loads.append(op)
            elif "copy" in op.form.tags and isinstance(source, Register) and source.name not in seen:
                seen.add(source.name)
                work.append(source.name)
    return loads


def _place(operand: Operand, definitions: dict[str, list[Op]]) -> tuple[str, int] | None:
    """Base register, followed back through copies, and offset of an address."""
    if not isinstance(operand, Address) or not isinstance(operand.base, Register | Symbol):
        return None
    name = operand.base.name
    for _ in range(8):
        of_name = definitions.get(name, [])
        if len(of_name) != 1 or "copy" not in of_name[0].form.tags:
            break
        source = of_name[0].instruction.operands[-1]
        if not isinstance(source, Register):
            break
        name = source.name
    return name, operand.offset


# -------------------------------------------------------------------------------------------------------------- fetches
LOCAL = "%local memory"
"""A name for all local arrays, which are treated like a register."""
_ASYNC = {
    "cp.async.ca.": "issue", "cp.async.cg.": "issue", "cp.async.commit_group": "commit",
    "cp.async.mbarrier.arrive": "arrive", "cp.async.wait_group": "wait", "cp.async.wait_all": "wait_all",
    "mbarrier.test_wait": "test", "mbarrier.try_wait": "test",
}  # fmt: skip
"""The effects of instructions on asynchronous copies, by the beginning of their names."""


@dataclass(frozen=True)
class Fetches:
    """Fetches of tiles to shared memory: global loads whose values are stored there, and asynchronous copies.

    For `grader.simt.observers.overlap`; empty if a kernel has no fetches.
    """

    loads: Mapping[int, int] = field(default_factory=dict)  # index of the instruction -> slot
    stores: Mapping[int, frozenset[int]] = field(default_factory=dict)  # -> the slots of the loads of its value
    copies: Mapping[int, str] = field(default_factory=dict)  # -> a value of `_ASYNC`

    def __bool__(self) -> bool:
        return bool(self.loads or self.copies)


def fetches(graph: Graph) -> Fetches:
    """The fetches of a kernel. Loads get slots in program order; without a slot they are not counted."""
    kinds = (
        (op, next((k for begin, k in _ASYNC.items() if op.instruction.name.startswith(begin)), "")) for op in graph.ops
    )
    copies = {op.index: kind for op, kind in kinds if kind}
    stores = [op for op in graph.ops if op.instruction.opcode == "st" and _space(op) in ("shared", "generic")]
    loads = [op for op in graph.ops if _is_load(op) and _space(op) in ("global", "generic")]
    if not stores or not loads:
        return Fetches(copies=copies if "issue" in copies.values() else {})
    came_from = _origins(graph, loads)
    reached = {op.index: 0 for op in stores}
    for op in stores:
        for name in registers_in(op.instruction.operands[1:2]):
            reached[op.index] |= came_from.get(name, 0)
    wanted = [i for i in range(len(loads)) if any(mask >> i & 1 for mask in set(reached.values()))]
    slots = {i: rank * FETCHES // max(FETCHES, len(wanted)) for rank, i in enumerate(wanted)}
    taken = {
        index: frozenset(slot for i, slot in slots.items() if mask >> i & 1) for index, mask in reached.items() if mask
    }
    return Fetches({loads[i].index: slot for i, slot in slots.items()}, taken, copies)


def _origins(graph: Graph, loads: Sequence[Op]) -> dict[str, int]:
    """For each register the loads (a bit each) on which its value may depend, by copies, conversions, arithmetic."""
    origins: dict[str, int] = defaultdict(int)
    leads_to: dict[str, set[str]] = defaultdict(set)
    for op in graph.ops:
        for source, target in _flows(graph, op):
            leads_to[source].add(target)
    for bit, op in enumerate(loads):
        for name in registers_in(op.instruction.operands[:1]):
            origins[name] |= 1 << bit
    work = list(origins)
    while work:
        name = work.pop()
        for target in leads_to[name]:
            if origins[name] & ~origins[target]:
                origins[target] |= origins[name]
                work.append(target)
    return origins


def _flows(graph: Graph, op: Op) -> Iterator[tuple[str, str]]:
    """Pairs of registers (source, destination) of a value's flow; not through predicates or addresses."""
    if "memory" in op.form.tags:
        if _space(op) == "local" and op.instruction.opcode in ("ld", "st"):
            to, source = op.instruction.operands[:2]
            for name in registers_in((to if _is_load(op) else source,)):
                yield (LOCAL, name) if _is_load(op) else (name, LOCAL)
        return
    carried = {name for name in op.reads | op.writes if graph.registers.get(name) != "pred"}
    for before in op.reads & carried:
        yield from ((before, after) for after in op.writes & carried)


def _is_load(op: Op) -> bool:
    return op.instruction.opcode in ("ld", "ldu")


def _space(op: Op) -> str:
    named = (word.partition("::")[0] for word in op.instruction.modifiers)
    return next((word for word in named if word in ("global", "shared", "local", "param", "const")), "generic")
