"""Waiting loops: the backward jumps of a kernel that close a loop which reads memory until another thread changes it.

If an iteration of such a loop changes neither memory nor the loop's own registers, all further iterations are the same
until another thread changes memory. So a warp can be put to sleep after two iterations (`Wait.exact`), and if all
blocks sleep, that is a deadlock. This requires a loop whose iterations depend only on memory and registers, and that
does not count: a loop with a counter or a time limit continues; it only yields after a quantum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.simt.engine import ir
from grader.simt.engine.blocks import STRONG, Block, Graph, Op, is_strong, successors
from grader.simt.engine.flatten import registers_in, storage_bytes
from grader.simt.engine.layout import WARP, WORKER
from grader.simt.engine.values import I1, I32, Value, vec
from grader.simt.ptx import Immediate, Register

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

READS = ("ld", "ldu", "atom")
OWN = frozenset({"param", "param::entry", "param::func", "const", "local"})
"""State spaces that other threads do not write to."""
UNFORESEEN = frozenset({"slow", "copy_queue", "result"})
"""Tags of instructions with other effects, so that iterations differ: `printf`, asynchronous copies, block votes."""
MAKES_FRESH = frozenset({"fence", "barrier", "sync"})
"""Tags of instructions after which the compiler must load again. Without one in the loop, a plain load that is still in
it has another address in each iteration."""
TIMES = ("%clock", "%globaltimer")
MOST_REGISTERS = 16


@dataclass(frozen=True)
class Wait:
    """A backward jump that closes a waiting loop.

    ``polls``: the loop has atomic or volatile reads. ``exact``: its iterations depend only on memory and on
    ``carried``, the registers that an iteration passes to the next.
    """

    polls: bool
    exact: bool
    carried: tuple[str, ...] = ()


def waits(graph: Graph) -> Mapping[int, Wait]:
    """Waiting loops by the index of the jump's basic block; {} for a kernel whose blocks cannot signal each other."""
    if not any(map(_signals, graph.ops)):
        return {}
    found = {}
    for block in graph.blocks:
        back = [target for target in successors(graph, block) if target <= block.index]
        if len(back) == 1 and (wait := _wait(graph, graph.blocks[back[0] : block.index + 1])):
            found[block.index] = wait
    return found


def _signals(op: Op) -> bool:
    """Whether another block may see the effect of this instruction, or be ordered by it."""
    in_shared = any(m.startswith("shared") for m in op.instruction.modifiers)
    return "fence" in op.form.tags or (is_strong(op) and not in_shared)


def _wait(graph: Graph, loop: list[Block]) -> Wait | None:
    ops = [op for block in loop for op in block.ops]
    reads = [op.instruction for op in ops if _reads(graph, op)]
    polls = any(i.opcode not in ("ld", "ldu") or STRONG & set(i.modifiers) for i in reads)
    reloads = bool(reads) and any(op.form.tags & MAKES_FRESH for op in ops)
    if not polls and not reloads:
        return None
    carried = _carried(loop)
    timed = any(name.startswith(TIMES) for op in ops for name in registers_in(op.instruction.operands))
    foreseen = not timed and not any(op.form.tags & UNFORESEEN for op in ops)
    if foreseen and len(carried) <= MOST_REGISTERS and not _counts(graph, loop, carried):
        return Wait(polls, True, carried)
    return Wait(polls, False) if polls else None


def _reads(graph: Graph, op: Op) -> bool:
    """Whether this reads memory that others may write to, and its value is used."""
    if "object" in op.form.tags:
        return True
    seen = registers_in(op.instruction.operands[:1])
    wanted = op.instruction.opcode != "atom" or any(name in graph.read for name in seen)
    return op.instruction.opcode in READS and wanted and not OWN & set(op.instruction.modifiers)


def _carried(loop: list[Block]) -> tuple[str, ...]:
    """Registers that are live at the loop's head and written in the loop."""
    read: set[str] = set()
    written: set[str] = set()
    for op in loop[0].ops:
        read |= op.reads - written
        written |= op.writes
    alive = read | (loop[0].live_out - written)
    every = {name for block in loop for op in block.ops for name in op.writes}
    return tuple(sorted(alive & every))


# ------------------------------------------------------------------------------------------------------------ counters
def _counts(graph: Graph, loop: list[Block], carried: tuple[str, ...]) -> bool:
    """Whether every iteration adds to a register, so that no iteration is like the one before."""
    definitions: dict[str, list[tuple[Block, Op]]] = defaultdict(list)
    for block in loop:
        for op in block.ops:
            for name in op.writes:
                definitions[name].append((block, op))
    varies = _varying(loop, carried)
    of_varying = {name: places for name, places in definitions.items() if name in varies}
    return any(_is_counter(graph, loop, name, of_varying) for name in carried)


def _varying(loop: list[Block], carried: tuple[str, ...]) -> set[str]:
    """Registers that may differ between iterations: they depend on carried ones, or on more than registers."""
    varies, before = set(carried), -1
    while len(varies) > before:
        before = len(varies)
        for op in (op for block in loop for op in block.ops):
            if op.reads & varies or op.form.tags & {"memory", "sync", "object"}:
                varies |= op.writes
    return varies


def _is_counter(graph: Graph, loop: list[Block], start: str, definitions: Mapping[str, list[tuple[Block, Op]]]) -> bool:
    """Whether every iteration adds something other than 0 to the register ``start``."""
    name, steps = start, 0
    for _ in range(8):
        of_name = definitions.get(name, [])
        if len(of_name) != 1 or of_name[0][1].instruction.guard or not _always(graph, loop, of_name[0][0]):
            return False
        op = of_name[0][1]
        sources = [o for o in op.instruction.operands[1:] if isinstance(o, Register) and o.name in definitions]
        if len(sources) != 1 or not ("copy" in op.form.tags or _adds(op)):
            return False
        steps += _adds(op)
        name = sources[0].name
        if name == start:
            return steps > 0
    return False


def _adds(op: Op) -> bool:
    """Whether this adds a constant, or a register that the loop does not write: a stride, which is hardly ever 0."""
    zero = any(isinstance(o, Immediate) and o.value == 0 for o in op.instruction.operands[1:])
    return op.instruction.opcode in ("add", "sub") and not zero


def _always(graph: Graph, loop: list[Block], block: Block) -> bool:
    """Whether every iteration executes this block: without it there is no path from the loop's head to its jump."""
    first, last = loop[0].index, loop[-1].index
    if block.index in (first, last):
        return True
    seen, work = {first}, [first]
    while work:
        for following in successors(graph, graph.blocks[work.pop()]):
            if first <= following <= last and following != block.index and following not in seen:
                seen.add(following)
                work.append(following)
    return last not in seen


# ---------------------------------------------------------------------------------------------------------------- code
def waits_on_jump(e: BlockEmitter, lanes: Value | None) -> Value:
    """At the backward jump of ``lanes``: whether they repeat the same iteration until another thread changes memory.

    That is so if the warp's last backward jump was this one, of the same lanes with the same registers, and no memory
    has changed since.
    """
    f, wait = e.f, e.g.waits.get(e.block.index)
    if wait is None or not wait.exact or lanes is None:
        WARP.store(f, e.warp, "edge", 0)
        return f.const(I1, 0)
    edge, changes = e.block.index + 1, WORKER.load(f, e.worker, "changes")
    again = WARP.load(f, e.warp, "edge").eq(edge) & WARP.load(f, e.warp, "edge_lanes").eq(lanes)
    again = again & WARP.load(f, e.warp, "edge_changes").eq(changes)
    same = f.var(again.zext(I32))
    if wait.carried:
        with f.if_(again):
            differs = f.var(f.const(I32, 0))
            for now, last in _registers(e, wait):
                before = f.load(now.type, last, align=4)
                differs.set(differs.get() | (now ^ before if now.type == I32 else now.ne(before).as_mask()))
            same.set((differs.get() & lanes).eq(0).zext(I32))
    with f.if_(same.get().eq(0)):
        for name, value in (("edge", f.const(I32, edge)), ("edge_lanes", lanes), ("edge_changes", changes)):
            WARP.store(f, e.warp, name, value)
        WARP.store(f, e.warp, "read_address", 0)  # recorded again in the next iteration
        for now, last in _registers(e, wait):
            f.store(now, last, align=4)
    return same.get().ne(0)


def gives_way(e: BlockEmitter, waits: Value, lanes: Value | None) -> None:
    """Record at a backward jump, when the warp yields, whether it waits, may be waiting, or has work to do."""
    f, wait = e.f, e.g.waits.get(e.block.index)
    if wait is None or not wait.polls:
        with f.if_(waits ^ 1):
            WORKER.store(f, e.worker, "restless", 1)
    if wait is None or not wait.exact or lanes is None:
        return
    changes = WORKER.load(f, e.worker, "changes")
    with f.if_(waits):
        kept = WARP.load(f, e.warp, "spun_changes").eq(changes).select(WARP.load(f, e.warp, "spun"), 0)
        WARP.store(f, e.warp, "spun", kept | lanes)
        WARP.store(f, e.warp, "spun_changes", changes)


def carried_bytes(waits: Mapping[int, Wait], registers: Mapping[str, str]) -> int:
    """Bytes per warp for the registers of its last jump."""
    sizes = [sum(_size(registers[name]) for name in wait.carried) for wait in waits.values()]
    return max(sizes, default=0)


def _size(kind: str) -> int:
    return 4 if kind == "pred" else 32 * storage_bytes(kind)


def _registers(e: BlockEmitter, wait: Wait) -> Iterator[tuple[Value, Value]]:
    """Each carried register's value as integers (a predicate: its mask), and where its value of the last jump is."""
    at = e.g.carried_at
    for name in wait.carried:
        kind = e.g.graph.registers[name]
        whole = I32 if kind == "pred" else vec(ir.IntType(8 * storage_bytes(kind)))
        yield e.f.load(whole, e.f.at(e.warp, e.g.slots[name]), align=4), e.f.at(e.warp, at)
        at += _size(kind)
