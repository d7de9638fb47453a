"""Control flow, and calls that are not inlined: PTX manual, "Control Flow" and "Miscellaneous Instructions"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine import findings
from grader.simt.engine.layout import TRAPPED, WORKER
from grader.simt.engine.memory import LOCAL_BASE
from grader.simt.engine.printing import print_function
from grader.simt.engine.values import I32, vec
from grader.simt.isa.registry import Match, form
from grader.simt.ptx import Instruction

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter


@form("bra{.uni} target", raw=True, tags=("branch",))
def bra(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.branch(e.target(i.operands[0]))


@form("brx.idx{.uni} a, tlist", raw=True, tags=("branch",))
def brx(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """A jump through a `.branchtargets` table, which compilers use for dense `switch` statements."""
    index, table = i.operands
    e.branch_table(e.read(index, "u32"), e.targets(table))


@form("ret{.uni}", raw=True, tags=("exit",))
@form("exit", raw=True, tags=("exit",))
def ret(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.exit()


@form("trap", raw=True, tags=("exit",))
def trap(e: BlockEmitter, m: Match, i: Instruction) -> None:
    with e.f.if_(e.mask.ne(0)):
        e.report(findings.TRAP, e.mask)
    e.exit(trap=True)


@form("brkpt", raw=True)
@form("nanosleep.u32 a", raw=True)
def nothing(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """A breakpoint has no effect without a debugger, and `nanosleep` none because the scheduler is fair."""


@form("call.vprintf d, a, b", raw=True, tags=("slow",))
def vprintf(e: BlockEmitter, m: Match, i: Instruction) -> None:
    result, text, arguments = i.operands
    f = e.f
    e.f.call(print_function(e.g.ir), e.worker, e.warp, e.mask, e.read(text, "b64"),
             e.read(arguments, "b64") - LOCAL_BASE, f.const(I32, e.site()))  # fmt: skip
    e.write(result, f.const(vec(I32), 1), "b32")


@form("call.__assertfail message, file, line, function, size", raw=True)
def assertfail(e: BlockEmitter, m: Match, i: Instruction) -> None:
    f = e.f
    message, file = (e.read(operand, "b64").lane(f.first_lane(e.mask)) for operand in i.operands[:2])
    with f.if_(e.mask.ne(0)):
        e.report(findings.ASSERTION, e.mask, message, file)
        WORKER.store(f, e.worker, "status", TRAPPED)
