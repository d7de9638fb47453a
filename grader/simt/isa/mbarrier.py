"""Barrier objects: PTX manual, section "Parallel Synchronization and Communication Instructions: mbarrier".

Forms of sm_80; what they order is in `grader.simt.engine.barrier_objects`. A wait that finds its phase going on ends
the warp's turn, so that the threads it waits for come next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from grader.simt.engine import barrier_objects as objects
from grader.simt.engine.layout import WARP, WORKER
from grader.simt.engine.memory import SHARED_BASE
from grader.simt.engine.values import I32, I64, Value, vec
from grader.simt.isa.registry import Example, Match, form
from grader.simt.ptx import Instruction, Operand

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

SHARED = ("shared", "shared::cta")


def _address(e: BlockEmitter, m: Match, operand: Operand) -> Value:
    """Where in shared memory the object lies; without a state space the address is a generic one."""
    address = e.address_of(operand)
    return address if m.SPACE else address - SHARED_BASE


def _identity(f: object, old: Value, given: object) -> Value:
    return old


def _count(e: BlockEmitter, operands: tuple[Operand, ...]) -> Value:
    return e.read(operands[0], "u32").zext(I64) if operands else e.f.const(vec(I64), 1)


def _arrive(e: BlockEmitter, address: Value, count: Value, *, drop: bool = False) -> Value:
    """Gives each lane's token: the object as it found it."""
    f, code = e.f, e.g.objects
    f.call(code.release(), e.warp, e.worker, address, e.mask)
    name = "object_drop" if drop else "object_arrive"
    token = e.atomic_memory("shared", address, 64, objects.arrival(drop=drop), name, [count])
    ended = (token & objects.COUNT).ule(count & objects.COUNT).as_mask() & e.mask
    with f.if_(ended.ne(0)):
        f.call(code.arrived(), e.warp, e.worker, address, ended)
    return token


@form("mbarrier.init{.SPACE}.b64 a, count", raw=True, SPACE=SHARED, tags=("object",))
def init(e: BlockEmitter, m: Match, i: Instruction) -> None:
    address = _address(e, m, i.operands[0])
    e.f.call(e.g.objects.forget(), e.warp, e.worker, address, e.mask)
    e.store_memory("shared", address, [objects.first_state(_count(e, i.operands[1:]))], 64)


@form("mbarrier.inval{.SPACE}.b64 a", raw=True, SPACE=SHARED, tags=("object",))
def inval(e: BlockEmitter, m: Match, i: Instruction) -> None:
    poison = e.f.const(vec(I64), -1)
    e.atomic_memory("shared", _address(e, m, i.operands[0]), 64, lambda f, old, given: given[0], "exch_b64", [poison])


@form("mbarrier.arrive{.noComplete}{.release}{.cta}{.SPACE}.b64 d, a{, count}", raw=True, SPACE=SHARED,
      tags=("object",))  # fmt: skip
def arrive(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.write(i.operands[0], _arrive(e, _address(e, m, i.operands[1]), _count(e, i.operands[2:])), "b64")


@form("mbarrier.arrive_drop{.noComplete}{.release}{.cta}{.SPACE}.b64 d, a{, count}", raw=True, SPACE=SHARED,
      tags=("object",))  # fmt: skip
def arrive_drop(e: BlockEmitter, m: Match, i: Instruction) -> None:
    token = _arrive(e, _address(e, m, i.operands[1]), _count(e, i.operands[2:]), drop=True)
    e.write(i.operands[0], token, "b64")


@form("mbarrier.test_wait{.acquire}{.cta}{.SPACE}.b64 d, a, token", raw=True, SPACE=SHARED, tags=("object",))
def test_wait(e: BlockEmitter, m: Match, i: Instruction) -> None:
    token = e.read(i.operands[2], "b64")
    _wait(e, m, i, lambda phase: phase.ne(objects.phase_of(token)))


@form("mbarrier.test_wait.parity{.acquire}{.cta}{.SPACE}.b64 d, a, parity", raw=True, SPACE=SHARED, tags=("object",))
def test_wait_parity(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Whether the phase of this parity has ended: the one that is going on has the other one."""
    parity = e.read(i.operands[2], "b32").zext(I64)
    _wait(e, m, i, lambda phase: (phase & 1).ne(parity & 1))


def _wait(e: BlockEmitter, m: Match, i: Instruction, has_ended: Callable[[Value], Value]) -> None:
    f = e.f
    address = _address(e, m, i.operands[1])
    state = e.atomic_memory("shared", address, 64, _identity, "identity", [])
    ended = has_ended(objects.phase_of(state))
    lanes = ended.as_mask() & e.mask
    with f.if_(lanes.ne(0)):
        f.call(e.g.objects.acquire(), e.warp, e.worker, address, lanes)
    waiting, index = e.mask & ~lanes, WARP.load(f, e.warp, "index")
    WORKER.store(f, e.worker, "waits_at", waiting.ne(0).select(f.const(I32, e.site() + 1), 0), index)
    with f.if_(waiting.ne(0)):
        WARP.store(f, e.warp, "quantum", 0)
        WORKER.store(f, e.worker, "waits_for", address.lane(f.first_lane(waiting)).trunc(I32), index)
    e.write(i.operands[0], ended, "pred")


@form("mbarrier.pending_count.b64 d, a", operands={"d": "u32", "a": "b64"},
      examples=[Example("mbarrier.pending_count.b64", ([(7 << 40) | (32 << 20) | 5, 1],), [5, 1])])  # fmt: skip
def pending_count(e: BlockEmitter, m: Match, a: Value) -> Value:
    """Arrivals that were still missing when the token was given."""
    return (a & objects.COUNT).trunc(I32)


@form("cp.async.mbarrier.arrive{.noinc}{.SPACE}.b64 a", raw=True, SPACE=SHARED,
      tags=("object", "copy_queue", "tracks"))  # fmt: skip
def copies_arrive(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """The object's phase does not end before all copies are done that the executing lane has under way.

    ``.noinc``: that is one of the arrivals that the object expects. Else it adds one and takes it away again.
    """
    f = e.f
    address = _address(e, m, i.operands[0])
    f.call(e.g.objects.track(), e.warp, e.worker, address, e.mask)
    if m.noinc:
        _arrive(e, address, f.const(vec(I64), 1))
        return
    f.call(e.g.objects.release(), e.warp, e.worker, address, e.mask)
    e.atomic_memory("shared", address, 64, _identity, "identity", [])
