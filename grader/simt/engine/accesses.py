"""What can be said of a kernel's memory accesses before it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from grader.simt.engine.blocks import Graph, Op, reads_and_writes
from grader.simt.isa.registry import FORMS
from grader.simt.ptx import Address, Instruction, Operand, Register, Symbol
from grader.simt.ptx.reader import SIZES

Place = tuple[str, int]
WIDEST = 4
"""Bytes of a shadow cell at most."""


def narrowest(instructions: Iterable[Instruction]) -> int:
    """Bytes that one shadow cell stands for: the narrowest access (4 at most), so that no two share a cell in part.

    Global memory's cells outlive a launch, so that all kernels of a module must agree on theirs.
    """
    kinds = {(i.opcode, i.modifiers[-1:]) for i in instructions}
    widths = (
        SIZES.get("".join(last), WIDEST)
        for opcode, last in kinds
        if opcode in FORMS and any("memory" in f.tags for f in FORMS[opcode])
    )
    return min(WIDEST, *widths, WIDEST)


def seeds_of_swaps(graph: Graph) -> frozenset[int]:
    """Indices of the plain loads whose value an `atom.cas` on the same address compares with.

    The programming guide seeds its compare-and-swap loops with one, and a stale value only costs one more round:

        old = *address; do { assumed = old; old = atomicCAS(address, assumed, f(assumed)); } while (assumed != old);

    So such a load counts as a relaxed one, and races with nothing atomic.
    """
    ops = [op for block in graph.blocks for op in block.ops]
    swaps = [op for op in ops if "swap" in op.form.tags]
    if not swaps:
        return frozenset()
    definitions: dict[str, list[Op]] = defaultdict(list)
    for op in ops:
        for name in reads_and_writes(op)[1]:
            definitions[name].append(op)
    found: set[int] = set()
    for swap in swaps:
        _, address, compared, _ = swap.instruction.operands
        found |= {op.index for op in _sources(compared, definitions) if _place(op.instruction.operands[1], definitions)
                  == _place(address, definitions)}  # fmt: skip
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


def _place(operand: Operand, definitions: dict[str, list[Op]]) -> Place | None:
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
