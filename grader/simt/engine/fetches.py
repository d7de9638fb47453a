"""What fetches tiles for shared memory: global loads whose values are stored there, and asynchronous copies.

`grader.simt.observers.overlap` counts with it; a kernel without any has an empty `Fetches`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from grader.simt.engine.blocks import Graph, Op, reads_and_writes, registers_in
from grader.simt.engine.layout import FETCHES

LOCAL = "%local memory"
"""Stands for all local arrays, through which a value may go as through a register."""


@dataclass(frozen=True)
class Fetches:
    """Slots of the loads that feed shared stores, the slots that each store takes from, and asynchronous copies."""

    loads: Mapping[int, int] = field(default_factory=dict)  # index of the instruction -> slot
    stores: Mapping[int, frozenset[int]] = field(default_factory=dict)
    copies: Mapping[int, str] = field(default_factory=dict)  # index -> what it is: a value of `_NAMES`, or "issue"

    def __bool__(self) -> bool:
        return bool(self.loads or self.copies)


def fetches(graph: Graph) -> Fetches:
    """What of a kernel fetches."""
    ops = [op for block in graph.blocks for op in block.ops]
    copies = {op.index: kind for op in ops if (kind := _async_kind(op))}
    stores = [op for op in ops if op.instruction.opcode == "st" and _space(op) in ("shared", "generic")]
    loads = [op for op in ops if _is_load(op) and _space(op) in ("global", "generic")]
    if stores and loads:
        return Fetches(*_fed(graph, ops, loads, stores), copies)
    return Fetches(copies=copies if "issue" in copies.values() else {})


def _fed(
    graph: Graph, ops: Sequence[Op], loads: Sequence[Op], stores: Sequence[Op]
) -> tuple[dict[int, int], dict[int, frozenset[int]]]:
    """The loads that reach a store, in program order in the slots that there are; and each store's slots."""
    came_from = _origins(graph, ops, loads)
    reached = {op.index: 0 for op in stores}
    for op in stores:
        for name in registers_in(op.instruction.operands[1]):
            reached[op.index] |= came_from.get(name, 0)
    wanted = [i for i in range(len(loads)) if any(mask >> i & 1 for mask in set(reached.values()))]
    slots = {i: rank * FETCHES // max(FETCHES, len(wanted)) for rank, i in enumerate(wanted)}
    return {loads[i].index: slot for i, slot in slots.items()}, {
        index: frozenset(slot for i, slot in slots.items() if mask >> i & 1) for index, mask in reached.items() if mask
    }


def _origins(graph: Graph, ops: Sequence[Op], loads: Sequence[Op]) -> dict[str, int]:
    """For each register the loads (bits) whose value may be in it: through copies, conversions and arithmetic."""
    origins: dict[str, int] = defaultdict(int)
    leads_to: dict[str, set[str]] = defaultdict(set)
    for op in ops:
        for source, target in _flows(graph, op):
            leads_to[source].add(target)
    for bit, op in enumerate(loads):
        for name in registers_in(op.instruction.operands[0]):
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
    """Pairs of registers: a value goes from the one to the other. Predicates carry none, nor does an address."""
    if "memory" in op.form.tags:
        if _space(op) == "local" and op.instruction.opcode in ("ld", "st"):
            to, source = op.instruction.operands[:2]
            for name in registers_in(to if _is_load(op) else source):
                yield (LOCAL, name) if _is_load(op) else (name, LOCAL)
        return
    reads, writes = reads_and_writes(op)
    carried = {name for name in reads | writes if graph.registers.get(name) != "pred"}
    for before in reads & carried:
        yield from ((before, after) for after in writes & carried)


def _is_load(op: Op) -> bool:
    return op.instruction.opcode in ("ld", "ldu")


def _space(op: Op) -> str:
    named = (word.partition("::")[0] for word in op.instruction.modifiers)
    return next((word for word in named if word in ("global", "shared", "local", "param", "const")), "generic")


def _async_kind(op: Op) -> str:
    """What an instruction does to the asynchronous copies, or ""."""
    name = op.instruction.name
    if name.startswith(("cp.async.ca.", "cp.async.cg.")):
        return "issue"
    return next((kind for prefix, kind in _NAMES.items() if name.startswith(prefix)), "")


_NAMES = {
    "cp.async.commit_group": "commit", "cp.async.mbarrier.arrive": "arrive", "cp.async.wait_group": "wait",
    "cp.async.wait_all": "wait_all", "mbarrier.test_wait": "test", "mbarrier.try_wait": "test",
}  # fmt: skip
