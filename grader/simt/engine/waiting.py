"""Loops that may wait: which backward jumps of a kernel close a loop that looks at memory until somebody changes it.

A round of such a loop that leaves memory and the loop's own registers as they were is followed by the same round again
for ever, until somebody else changes memory. So a warp can be put to sleep after two rounds (`Wait.exact`), and blocks
of which all sleep are a deadlock. That needs a loop whose rounds depend on nothing but memory and registers, and that
does not count: a loop with a counter or a time limit goes on. It only gives way after a quantum, and always may go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.simt.engine.blocks import Block, Graph, Op, reads_and_writes, registers_in, successors
from grader.simt.ptx import Immediate, Register

READS = ("ld", "ldu", "atom")
OWN = frozenset({"param", "param::entry", "param::func", "const", "local"})
"""State spaces that nobody else writes to."""
STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel"})
UNFORESEEN = frozenset({"slow", "copy_queue", "result"})
"""Tags of what makes rounds differ, or is an effect by itself: `printf`, asynchronous copies, votes of a block."""
MAKES_FRESH = frozenset({"fence", "barrier", "sync"})
"""Tags of what makes a compiler load again in each round. A plain load without any has an address of its own there."""
TIMES = ("%clock", "%globaltimer")
MOST_REGISTERS = 16


@dataclass(frozen=True)
class Wait:
    """A backward jump that closes a loop that may wait.

    ``polls``: it reads what is meant to change, by atomics or volatile. ``exact``: its rounds depend on nothing but
    memory and ``carried``, the registers that a round hands to the next.
    """

    polls: bool
    exact: bool
    carried: tuple[str, ...] = ()


def waits(graph: Graph) -> Mapping[int, Wait]:
    """By the index of the jump's basic block; nothing for a kernel whose blocks cannot signal each other."""
    if not any(_signals(op) for block in graph.blocks for op in block.ops):
        return {}
    found = {}
    for block in graph.blocks:
        back = [target for target in successors(graph, block) if target <= block.index]
        if len(back) == 1:
            wait = _wait(graph, graph.blocks[back[0] : block.index + 1])
            if wait is not None:
                found[block.index] = wait
    return found


def _signals(op: Op) -> bool:
    """Whether this orders blocks, or is seen by another one in time."""
    named = set(op.instruction.modifiers)
    strong = op.instruction.opcode in ("atom", "red") or ("memory" in op.form.tags and named & STRONG)
    return "fence" in op.form.tags or bool(strong and not any(m.startswith("shared") for m in named))


def _wait(graph: Graph, loop: list[Block]) -> Wait | None:
    ops = [op for block in loop for op in block.ops]
    polls = any(_is_strong(graph, op) for op in ops)
    reloads = any(_reads(graph, op) for op in ops) and any(op.form.tags & MAKES_FRESH for op in ops)
    if not polls and not reloads:
        return None
    carried = _carried(loop)
    foreseen = not any(op.form.tags & UNFORESEEN or _reads_time(op) for op in ops)
    if foreseen and len(carried) <= MOST_REGISTERS and not _counts(graph, loop, carried):
        return Wait(polls, True, carried)
    return Wait(polls, False) if polls else None


def _reads(graph: Graph, op: Op) -> bool:
    """Whether this looks at memory that others write to, and somebody wants to know what it saw."""
    if "object" in op.form.tags:
        return True
    seen = op.instruction.operands[:1]
    wanted = op.instruction.opcode != "atom" or any(n in graph.read for o in seen for n in registers_in(o))
    return op.instruction.opcode in READS and wanted and not OWN & set(op.instruction.modifiers)


def _is_strong(graph: Graph, op: Op) -> bool:
    """Whether this reads what is meant to change."""
    return _reads(graph, op) and (
        op.instruction.opcode not in ("ld", "ldu") or bool(STRONG & set(op.instruction.modifiers))
    )


def _reads_time(op: Op) -> bool:
    return any(name.startswith(TIMES) for operand in op.instruction.operands for name in registers_in(operand))


def _carried(loop: list[Block]) -> tuple[str, ...]:
    """Registers that are alive at the loop's head and written in the loop."""
    read: set[str] = set()
    written: set[str] = set()
    for op in loop[0].ops:
        r, w = reads_and_writes(op)
        read |= r - written
        written |= w
    alive = read | (loop[0].live_out - written)
    every = {name for block in loop for op in block.ops for name in reads_and_writes(op)[1]}
    return tuple(sorted(alive & every))


# ------------------------------------------------------------------------------------------------------------ counters
def _counts(graph: Graph, loop: list[Block], carried: tuple[str, ...]) -> bool:
    """Whether every round adds something to a register: no round then is like the one before."""
    definitions: dict[str, list[tuple[Block, Op]]] = defaultdict(list)
    for block in loop:
        for op in block.ops:
            for name in reads_and_writes(op)[1]:
                definitions[name].append((block, op))
    varies = _varying(loop, carried)
    of_varying = {name: places for name, places in definitions.items() if name in varies}
    return any(_is_counter(graph, loop, name, of_varying) for name in carried)


def _varying(loop: list[Block], carried: tuple[str, ...]) -> set[str]:
    """Registers that may differ from round to round: they depend on carried ones, or on more than registers."""
    varies, before = set(carried), -1
    while len(varies) > before:
        before = len(varies)
        for op in (op for block in loop for op in block.ops):
            read, written = reads_and_writes(op)
            if read & varies or op.form.tags & {"memory", "sync", "object"}:
                varies |= written
    return varies


def _is_counter(graph: Graph, loop: list[Block], start: str, definitions: Mapping[str, list[tuple[Block, Op]]]) -> bool:
    """Whether a register's next value is its last one and something that is not 0, in every round."""
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
    """An addition of a constant, or of a register that the loop does not write (a stride): it is hardly 0."""
    zero = any(isinstance(o, Immediate) and o.value == 0 for o in op.instruction.operands[1:])
    return op.instruction.opcode in ("add", "sub") and not zero


def _always(graph: Graph, loop: list[Block], block: Block) -> bool:
    """Whether every round passes this block: without it no path leads from the loop's head to its jump."""
    first, last = loop[0].index, loop[-1].index
    if block.index in (first, last):
        return True
    seen, work = {first}, [first]
    while work:
        for following in _within(graph, work.pop(), first, last):
            if following != block.index and following not in seen:
                seen.add(following)
                work.append(following)
    return last not in seen


def _within(graph: Graph, index: int, first: int, last: int) -> Iterator[int]:
    return (s for s in successors(graph, graph.blocks[index]) if first <= s <= last)
