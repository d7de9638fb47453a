"""The code of one basic block: counters, instructions, and where its lanes continue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.simt.engine import findings, ir, store_buffer
from grader.simt.engine.blocks import Op, cost
from grader.simt.engine.builder import Builder, generated_once
from grader.simt.engine.layout import DEADLOCKED, RUNNING, SWITCH_AFTER, TIMED_OUT, TRAPPED, WARP, WORKER
from grader.simt.engine.operands import OperandEmitter
from grader.simt.engine.schedule import QUANTUM
from grader.simt.engine.values import I1, I32, PTR, VOID, Value, mangle, vec
from grader.simt.engine.waiting import gives_way, waits_on_jump
from grader.simt.ptx import Operand, Vector

if TYPE_CHECKING:
    pass


MISFITS = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Exceptions of a form for inline assembly with operands of a wrong number, shape or type."""


def _takes_whole_warp(op: Op) -> bool:
    """Whether all 32 lanes must execute this together: a ``.sync.aligned`` operation without a mask."""
    return "sync" in op.form.tags and "membermask" not in op.form.operands


def _keep(module: ir.IRModule, kind: ir.Type) -> ir.IRFunction:
    """keep(values, place, lanes): store these lanes of a register. A masked store in each place is slow to compile."""

    def build(f: Builder) -> None:
        value, place, mask = f.args
        with f.if_(mask.eq(-1)):
            f.store(value, place, align=64)
            f.ret()
            f.enter(f.block("some"))
        f.masked_store(value, place, mask.as_lanes(), 64)

    return generated_once(module, f"keep_{mangle(kind)}", VOID, [kind, PTR, I32], build)


LONG = 150
"""Lines of a basic block of LLVM: its time for a block grows faster than the block."""

INLINE = 4
"""Lines of IR, at most, of a plain form that is no function of its own."""


@dataclass(frozen=True)
class _Function:
    """The parameter ``e`` of a form whose code becomes a function: it has operands, and nothing else of a kernel."""

    f: Builder


def _outlined(module: ir.IRModule, name: str, op: Op, types: Sequence[ir.Type]) -> ir.IRFunction | None:
    """A plain form as a function, which kernels share; None if it is short, has several results or needs the kernel."""
    if (known := module.adopted(name)) is not None:
        return known
    f = Builder(module, name, VOID, types)
    try:
        result = op.form.build(_Function(f), op.match, *f.args)
    except MISFITS:  # its own place reports it, if it is an error
        result = None
    if not isinstance(result, Value) or f.fn.lines <= INLINE:
        del module.globals[name]
        return None
    f.fn.result = result.type
    f.fn.attributes.add("noinline")
    f.ret(result)
    module.shared[name] = f.fn
    return f.finish()


class BlockEmitter(OperandEmitter):
    """Emits one basic block; the parameter ``e`` of forms."""

    ended = False

    # -- the block --------------------------------------------------------------------------------------------------
    def run(self) -> None:
        f = self.f
        f.enter(self.region.code[self.block.index])
        self.block_mask = self.mask = self.region.masks[self.block.index]
        if self.block.is_sync:
            self._wait_for_lanes()
        charge = sum(cost(op) for op in self.block.ops)
        f.add_to(self.worker, WORKER.offset["block_budget"], -charge)
        self.g.observers.block(self, self.block.index)
        for position, op in enumerate(self.block.ops):
            self._cut()
            self._instruction(op, position)
        if not self.ended and self.block.ends_in:
            self._switch()
        elif not self.ended:
            self.jump(self.block.index + 1, self.block_mask)

    def _cut(self) -> None:
        """Begin a new basic block of LLVM, if the present one is long."""
        if len(self.f.here.lines) >= LONG:
            on = self.f.block("on")
            self.f.goto(on)
            self.f.enter(on)

    def _switch(self) -> None:
        """After an access that depends on the order of warps: let others run, if this run's order says so.

        After a store or an atomic without a result, only if it overtook a buffered store, or each is in memory at once.
        """
        self._store_registers()
        f, after = self.f, self.block.index + 1
        left = WORKER.load(f, self.worker, "switches")
        if self.block.ends_in == "store":
            least = f.const(I32, int(self.block.ops[-1].instruction.opcode == "st"))
            here = f.call(store_buffer.overtake(f.module), self.worker, self.warp, least)
        else:
            here = WORKER.load(f, self.worker, "switch_after").eq(SWITCH_AFTER[self.block.ends_in])
        with f.if_(here & left.ne(0)):
            WORKER.store(f, self.worker, "switches", left - 1)
            if self.block.ends_in == "store":
                WORKER.store(f, self.worker, "goes_last", 1)
            self._enqueue(after, self.block_mask)
            f.goto(self.region.give_up)
        self._go(after, self.block_mask)
        self.ended = True

    def _instruction(self, op: Op, position: int) -> None:
        self.op = op
        guard = op.instruction.guard
        self.guard, self.mask = None, self.block_mask
        if guard is not None:
            self.guard = self._predicate(guard)
            self.mask = self.block_mask & self.guard.as_mask()
            if "branch" not in op.form.tags:
                self.g.observers.predicated(self, self.block.index)
        if _takes_whole_warp(op):
            self._check_whole_warp()
        elif position and "sync" in op.form.tags:
            self.f.call(self.g.schedule.expect_members(), self.worker, self.warp, self.block_mask, self._members(op),
                        self.f.const(I32, self.site()))  # fmt: skip
        try:
            if op.form.raw:
                op.form.build(self, op.match, op.instruction)
            else:
                self._plain(op)
        except MISFITS as error:
            raise self.unsupported(f"the operands of {op.instruction.name}") from error
        if not self.ended:
            self.g.observers.executed(self, op, position)
        self.guard, self.mask = None, self.block_mask

    def _plain(self, op: Op) -> None:
        form, operands = op.form, op.instruction.operands
        names = form.operands
        if len(operands) != len(names):
            raise self.unsupported(f"the instruction {op.instruction.name} with {len(operands)} operands")
        values: list[Value] = []
        targets: list[tuple[str, Operand]] = []
        for name, operand in zip(names, operands, strict=True):
            if not name.startswith("d"):
                values.append(self.read(operand, form.operand_type(name, op.match)))
            else:
                parts = operand.items if isinstance(operand, Vector) and "|" in name else (operand,)
                targets += zip(name.split("|"), parts, strict=True)
        function = self._function(op, values)
        result = form.build(self, op.match, *values) if function is None else self.f.call(function, *values)
        results = result if isinstance(result, tuple) else (result,)
        for (name, operand), value in zip(targets, results, strict=True):
            self.write(operand, value, form.operand_type(name, op.match))

    def _function(self, op: Op, values: Sequence[Value]) -> ir.IRFunction | None:
        """The function of a plain form with these types of operands; None if its code is short, or needs more."""
        name = " ".join((op.instruction.name, *(mangle(value.type) for value in values)))
        if name not in self.g.plain:
            self.g.plain[name] = _outlined(self.f.module, name, op, [value.type for value in values])
        return self.g.plain[name]

    # -- control ----------------------------------------------------------------------------------------------------
    def _store_registers(self) -> None:
        for name in sorted(self.dirty & self.block.live_out):
            self._cut()
            value = self.values[name]
            place = self.f.at(self.warp, self.g.slots[name])
            if value.type == vec(I1):
                old = self.f.load(I32, place)
                self.f.store((value.as_mask() & self.block_mask) | (old & ~self.block_mask), place)
            else:
                self.f.call(_keep(self.f.module, value.type), value, place, self.block_mask)

    def target(self, operand: Operand) -> int:
        """The block of a label."""
        targets = self.targets(operand)
        if len(targets) != 1:
            raise self.unsupported("a branch to several labels")
        return targets[0]

    def targets(self, operand: Operand) -> list[int]:
        """The blocks of a label, or of a table of labels."""
        labels = self.g.graph.labels(operand)
        if not labels or any(label not in self.g.graph.targets for label in labels):
            raise self.unsupported("a branch to an unknown label")
        return [self.g.graph.targets[label] for label in labels]

    def branch(self, target: int) -> None:
        """Let the executing lanes go to block ``target``, the others to the next block."""
        self._store_registers()
        f = self.f
        taken = self.mask
        self.ended = True
        if self.guard is None:
            self._go(target, taken)
            return
        rest = self.block_mask & ~taken
        some, none, both, check = (f.block(name) for name in ("some", "none", "both", "check"))
        f.branch(taken.eq(0), none, check)
        f.enter(check)
        f.branch(rest.eq(0), some, both)
        f.enter(none)
        self._go(self.block.index + 1, self.block_mask)
        f.enter(some)
        self._go(target, self.block_mask)
        f.enter(both)
        self.g.observers.diverged(self, self.block.index)
        self._enqueue(target, taken)
        self._enqueue(self.block.index + 1, rest)
        if target <= self.block.index:
            self._tick([], taken)
        f.goto(self.region.dispatch)

    def branch_table(self, index: Value, targets: Sequence[int]) -> None:
        """Let each executing lane go to the block ``targets[index]``. An index outside the table is a trap."""
        self._store_registers()
        f = self.f
        rest = f.var(self.mask)
        for k, target in enumerate(targets):
            lanes = index.eq(k).as_mask() & self.mask
            rest.set(rest.get() & ~lanes)
            with f.if_(lanes.ne(0)):
                self._enqueue(target, lanes)
        with f.if_(rest.get().ne(0), likely=False):
            self.report(findings.TRAP, rest.get())
            WORKER.store(f, self.worker, "status", TRAPPED)
        if self.guard is not None:
            with f.if_((self.block_mask & ~self.mask).ne(0)):
                self._enqueue(self.block.index + 1, self.block_mask & ~self.mask)
        if min(targets) <= self.block.index:
            self._tick([])
        f.goto(self.region.dispatch)
        self.ended = True

    def _enqueue(self, target: int, lanes: Value) -> None:
        self.f.call(self.g.schedule.enqueue(), self.warp, self.f.const(I32, target), lanes)

    def jump(self, target: int, mask: Value) -> None:
        self._store_registers()
        self._go(target, mask)
        self.ended = True

    def _go(self, target: int, mask: Value) -> None:
        """Let all lanes of the block go to ``target``: by a jump if no other lanes of the warp are pending."""
        f = self.f
        if target <= self.block.index:
            self._tick([(target, mask)], mask)
        if target in self.region.code:
            queue = f.block("queue")
            alone = WARP.load(f, self.warp, "pending").eq(0)
            f.branch(alone, self.region.code[target], queue)
            self.region.masks[target].add_incoming(mask, f.here)
            f.enter(queue)
        self._enqueue(target, mask)
        f.goto(self.region.dispatch)

    def _tick(self, leaving: Sequence[tuple[int, Value]], jumping: Value | None = None) -> None:
        """At a backward jump: end a block that exceeded its limit or has a fault; yield if the warp's quantum is used
        up, or its lanes wait for a change of memory.

        ``leaving`` are the lanes that are not in the queue yet, with the block where they go; ``jumping`` the lanes
        that jump back, if known.
        """
        f = self.f
        waits = waits_on_jump(self, jumping) if self.g.waits else f.const(I1, 0)
        spent = WORKER.load(f, self.worker, "block_budget").slt(0)
        left = WARP.load(f, self.warp, "quantum") - 1
        WARP.store(f, self.warp, "quantum", left)
        stop, go_on = f.block("tick"), f.block("tock")
        running = WORKER.load(f, self.worker, "status").eq(RUNNING)
        f.branch(spent | left.slt(0) | ~running | waits, stop, go_on, weights=(1, 999))
        f.enter(stop)
        self.drain_stores()
        for target, mask in leaving:
            self._enqueue(target, mask)
        WARP.store(f, self.warp, "quantum", QUANTUM)
        WARP.store(f, self.warp, "rotate", self.block.index + 1)
        if self.g.waits:
            gives_way(self, waits, jumping)
        with f.if_(spent & running):
            self._out_of_budget()
        f.goto(self.region.give_up)
        f.enter(go_on)

    def _out_of_budget(self) -> None:
        """Report an endless loop; or, if the loop waits for a barrier object, all warps that wait for one."""
        f = self.f
        if self.g.has_objects:
            waits = WORKER.load(f, self.worker, "waits_at", WARP.load(f, self.warp, "index")).ne(0)
            with f.if_(waits):
                f.call(self.g.objects.stuck(), self.worker)
                WORKER.store(f, self.worker, "status", DEADLOCKED)
        with f.if_(WORKER.load(f, self.worker, "status").eq(RUNNING)):
            self.report(findings.BUDGET, self.block_mask, WORKER.load(f, self.worker, "last_share"))
            WORKER.store(f, self.worker, "status", TIMED_OUT)

    def exit(self, *, trap: bool = False) -> None:
        """End the executing lanes."""
        self._store_registers()
        self.drain_stores()
        f = self.f
        WARP.store(f, self.warp, "alive", WARP.load(f, self.warp, "alive") & ~self.mask)
        alive = WORKER.load(f, self.worker, "alive") - f.popcount(self.mask)
        WORKER.store(f, self.worker, "alive", alive)
        if trap:
            with f.if_(self.mask.ne(0)):
                WORKER.store(f, self.worker, "status", TRAPPED)
        if self.guard is None:
            f.goto(self.region.dispatch)
        else:
            rest, on = self.block_mask & ~self.mask, f.block("on")
            f.branch(rest.eq(0), self.region.dispatch, on)
            f.enter(on)
            self._go(self.block.index + 1, rest)
        self.ended = True

    def barrier(self, barrier: Value, count: Value, *, waits: bool = True) -> None:
        """Let the executing lanes arrive at a barrier (``count`` 0: of all threads), and wait there if it ``waits``."""
        self._store_registers()
        self.drain_stores()
        f = self.f
        after = self.block.index + 1
        with f.if_(self.mask.ne(0)):
            if self.op.line in self.g.grid_syncs:
                self.g.schedule.barriers.of_grid(f, self.worker, barrier)
            arrive = self.g.schedule.barriers.arrive()
            f.call(arrive, self.worker, self.warp, self.mask, barrier, count, f.const(I32, after),
                   f.const(I32, self.site()), f.const(I32, int(waits)))  # fmt: skip
        self.g.observers.barrier(self, self.block.index)
        rest = self.block_mask & ~self.mask if waits else self.block_mask
        if self.guard is not None or not waits:
            with f.if_(rest.ne(0)):
                self._enqueue(after, rest)
        f.goto(self.region.dispatch)
        self.ended = True

    # -- waiting lanes ----------------------------------------------------------------------------------------------
    def _wait_for_lanes(self) -> None:
        """Before a ``.sync`` operation: if lanes of its mask are elsewhere, park this group until they arrive."""
        f = self.f
        op = self.block.ops[0]
        schedule, index = self.g.schedule, f.const(I32, self.block.index)
        if _takes_whole_warp(op):
            parked = f.call(schedule.await_warp(), self.warp, index, self.block_mask)
        else:
            parked = f.call(schedule.await_members(), self.worker, self.warp, index, self.block_mask,
                            self._members(op), f.const(I32, self.site()))  # fmt: skip
        together = f.block("together")
        f.branch(parked.ne(0), self.region.dispatch, together)
        f.enter(together)

    def _members(self, op: Op) -> Value:
        """The masks of a ``.sync`` operation."""
        return self.read(op.instruction.operands[op.form.operands.index("membermask")], "b32")

    def _check_whole_warp(self) -> None:
        """Report lanes that diverged, ended or do not exist (a block of 16 threads): their elements are missing."""
        f = self.f
        f.call(self.g.schedule.check_warp(), self.worker, self.warp, self.mask, f.const(I32, self.site()))

    def synchronised(self, members: Value) -> None:
        """After a ``.sync`` operation: order later accesses of its lanes after their earlier ones."""
        self.drain_stores()
        self.g.observers.warp_sync(self, members)
