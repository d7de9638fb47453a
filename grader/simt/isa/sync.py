"""Synchronisation: PTX manual, chapter "Parallel Synchronization and Communication Instructions".

Barriers of the block end a basic block; operations of a warp (`.sync`) start one, and wait for the lanes of their mask.
Barrier objects (`mbarrier`) are those of sm_80; their order is in `grader.simt.engine.barrier_objects`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine import barrier_objects as objects
from grader.simt.engine import findings, ir
from grader.simt.engine.builder import Builder, generated
from grader.simt.engine.layout import WARP, WORKER
from grader.simt.engine.memory import SHARED_BASE
from grader.simt.engine.values import I1, I32, I64, PTR, VOID, Value, vec
from grader.simt.isa.registry import Example, Match, form, is_signed
from grader.simt.ptx import Instruction, Operand, Vector

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter


# -- barriers of the block ---------------------------------------------------------------------------------------------
def _uniform(e: BlockEmitter, operand: Operand) -> Value:
    """The first executing lane's value of an operand that must be the same in all."""
    return e.read(operand, "b32").lane(e.f.first_lane(e.mask) & 31)


@form("OPCODE{.cta}.sync{.aligned} a{, b}", raw=True, tags=("barrier",), OPCODE=("bar", "barrier"))
@form("OPCODE{.cta}.arrive{.aligned} a, b", raw=True, tags=("barrier",), OPCODE=("bar", "barrier"))
def bar(e: BlockEmitter, m: Match, i: Instruction) -> None:
    which = _uniform(e, i.operands[0]) & 15
    count = _uniform(e, i.operands[1]) if len(i.operands) > 1 else e.f.const(I32, 0)
    e.barrier(which, count, waits=m.sync)


VOTES = {"popc": "count", "and": "and", "or": "or"}


@form("bar{.cta}.red{.aligned}.OP.TYPE d, a, c", raw=True, tags=("barrier", "result"), OP=VOTES, TYPE=("u32", "pred"))
def bar_red(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """`__syncthreads_count/and/or`: votes are counted at arrivals; the result is read after the barrier."""
    f = e.f
    which, vote = _uniform(e, i.operands[1]) & 15, e.read(i.operands[-1], "pred")
    yes = vote.as_mask() & e.mask
    field = f"vote_{VOTES[m.OP]}"
    old = WORKER.load(f, e.worker, field, which)
    new = {
        "popc": lambda: old + f.popcount(yes),
        "or": lambda: old | yes.ne(0).zext(I32),
        "and": lambda: old & yes.eq(e.mask).select(f.const(I32, 1), 0),
    }[m.OP]()
    WORKER.store(f, e.worker, field, new, which)
    e.barrier(which, f.const(I32, 0))


@form("barrier_result.OP.TYPE d, a", raw=True, OP=VOTES, TYPE=("u32", "pred"))
def barrier_result(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """The second half of `bar.red`, which the engine inserts after the barrier: read the result of the votes."""
    value = WORKER.load(e.f, e.worker, f"result_{VOTES[m.OP]}", _uniform(e, i.operands[1]) & 15)
    e.write(i.operands[0], e.f.splat(value if m.TYPE == "u32" else value.ne(0)), m.TYPE)


@form("membar.SCOPE", raw=True, SCOPE=("cta", "gl", "sys"), tags=("fence",))
@form("fence{.KIND}.SCOPE", raw=True, tags=("fence",), KIND=("sc", "acq_rel", "acquire", "release"),
      SCOPE=("cta", "gpu", "sys", "cluster"))  # fmt: skip
def fence(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.fence(m.SCOPE)


# -- operations of a warp ----------------------------------------------------------------------------------------------
def _members(e: BlockEmitter, operand: Operand) -> Value:
    """The lanes in an operation's mask, after they have arrived. A lane must be in its own mask."""
    f = e.f
    members = e.read(operand, "b32")
    f.call(_check_members(f.module), e.worker, e.warp, members, e.mask, f.const(I32, e.site()))
    e.synchronised(members)
    return members


@generated("check_members", VOID, PTR, PTR, vec(I32), I32, I32)
def _check_members(_: ir.IRModule, f: Builder) -> None:
    """check_members(worker, warp, members, mask, site): report lanes that are not in their own mask."""
    worker, warp, members, mask, site = f.args
    outside = ((members >> f.iota(I32)) & 1).eq(0).as_mask() & mask
    with f.if_(outside.ne(0), likely=False):
        first = members.lane(f.first_lane(outside)).zext(I64)
        findings.report(f, warp, worker, findings.BAD_MASK, site, outside, first)


@form("bar.warp.sync membermask", raw=True, tags=("sync",))
def bar_warp_sync(e: BlockEmitter, m: Match, i: Instruction) -> None:
    _members(e, i.operands[0])


@form("activemask.b32 d")
def activemask(e: BlockEmitter, m: Match) -> Value:
    return e.f.splat(e.mask)


@form("vote.sync.MODE.TYPE d, a, membermask", raw=True, tags=("sync",), MODE=("all", "any", "uni", "ballot"),
      TYPE=("pred", "b32"))  # fmt: skip
def vote(e: BlockEmitter, m: Match, i: Instruction) -> None:
    f = e.f
    result, operand, mask = i.operands
    members = _members(e, mask)
    voters = f.splat(e.mask) & members
    yes = f.splat(e.read(operand, "pred").as_mask()) & voters
    value = {
        "ballot": lambda: yes,
        "any": lambda: yes.ne(0),
        "all": lambda: yes.eq(voters),
        "uni": lambda: yes.eq(voters) | yes.eq(0),
    }[m.MODE]()
    e.write(result, value, m.TYPE)


@form("match.MODE.sync.TYPE d, a, membermask", raw=True, tags=("sync",), MODE=("any", "all"), TYPE=("b32", "b64"))
def match(e: BlockEmitter, m: Match, i: Instruction) -> None:
    result, operand, mask = i.operands
    members, value = _members(e, mask), e.read(operand, m.TYPE)
    if m.MODE == "any":
        e.write(result, _equal_lanes(e, value) & members, "b32")
        return
    voters = e.f.splat(e.mask) & members
    same = (_equal_lanes(e, value) & voters).eq(voters)
    if isinstance(result, Vector):
        e.write(result.items[1], same, "pred")
        result = result.items[0]
    e.write(result, same.select(voters, 0), "b32")


def _equal_lanes(e: BlockEmitter, value: Value) -> Value:
    """For each lane, the mask of executing lanes with the same value."""
    f = e.f
    found = f.var(f.const(vec(I32), 0))
    rest = f.var(e.mask)
    with f.while_(lambda: rest.get().ne(0)):
        same = value.eq(f.splat(value.lane(f.first_lane(rest.get())))).as_mask() & e.mask
        found.set(same.as_lanes().select(f.splat(same), found.get()))
        rest.set(rest.get() & ~same)
    return found.get()


@form("redux.sync.OP.TYPE d, a, membermask", raw=True, tags=("sync",), OP=("add", "min", "max", "and", "or", "xor"),
      TYPE=("u32", "s32", "b32"))  # fmt: skip
def redux(e: BlockEmitter, m: Match, i: Instruction) -> None:
    f = e.f
    result, operand, mask = i.operands
    members, value = _members(e, mask), e.read(operand, m.TYPE)
    signed = is_signed(m.TYPE)
    neutral = {"add": 0, "or": 0, "xor": 0, "and": -1, "min": 0x7FFFFFFF if signed else -1,
               "max": -0x80000000 if signed else 0}[m.OP]  # fmt: skip
    sign = ("s" if signed else "u") if m.OP in ("min", "max") else ""
    totals = f.var(f.const(vec(I32), 0))
    with f.each_group(members, e.mask) as group:
        chosen = group.as_lanes().select(value, neutral)
        total = f.overloaded(f"llvm.vector.reduce.{sign}{m.OP}", chosen, result=I32)
        totals.set(group.as_lanes().select(f.splat(total), totals.get()))
    e.write(result, totals.get(), m.TYPE)


@form("shfl.sync.MODE.TYPE d, a, b, c, membermask", raw=True, MODE=("up", "down", "bfly", "idx"),
      TYPE=("b32", "u32", "s32", "f32"), tags=("sync",))  # fmt: skip
def shfl(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Each lane reads another lane's register; segments and clamping are as in the manual's pseudocode."""
    f = e.f
    target, source, offset, clamp, mask = i.operands
    value, b, c = e.read(source, "b32"), e.read(offset, "b32") & 31, e.read(clamp, "b32")
    members = _members(e, mask)
    lane = f.iota(I32)
    segment, limit = (c >> 8) & 31, c & 31
    top = (lane & segment) | (limit & ~segment)
    low = lane & segment
    j, inside = {
        "up": lambda: (lane - b, (lane - b).sge(top)),
        "down": lambda: (lane + b, (lane + b).sle(top)),
        "bfly": lambda: (lane ^ b, (lane ^ b).sle(top)),
        "idx": lambda: (low | (b & ~segment), (low | (b & ~segment)).sle(top)),
    }[m.MODE]()
    j = inside.select(j, lane) & 31
    # Reading a lane that does not execute the instruction, or is not in the mask, is undefined.
    idle = (((f.splat(e.mask) & members) >> j) & 1).eq(0).as_mask() & e.mask
    result = f.var(_permute(e, value, j))
    with f.if_(idle.ne(0), likely=False):
        e.report(findings.INACTIVE_LANE, idle, j.lane(f.first_lane(idle)).zext(I64))
        undefined = f.splat(WORKER.load(f, e.worker, "undefined"))
        result.set(idle.as_lanes().select(undefined, result.get()))
    if isinstance(target, Vector):
        e.write(target.items[1], inside, "pred")
        target = target.items[0]
    e.write(target, result.get(), "b32")


def _permute(e: BlockEmitter, value: Value, j: Value) -> Value:
    """value[j] by lane."""
    f = e.f
    table = f.array(I32, 32)
    f.store(value, table, align=64)
    base = f.splat(f.address(table))
    places = f.pointer(base + (j.zext(I64) << 2))
    return f.gather(vec(I32), places, f.const(vec(I1), 1), f.const(vec(I32), 0), 4)


# -- barrier objects ---------------------------------------------------------------------------------------------------
SHARED = ("shared", "shared::cta")


def _address(e: BlockEmitter, m: Match, operand: Operand) -> Value:
    """The object's address in shared memory; without a state space the operand is a generic address."""
    address = e.address_of(operand)
    return address if m.SPACE else address - SHARED_BASE


def _state(e: BlockEmitter, address: Value) -> Value:
    return e.atomic_memory("shared", address, 64, lambda f, old, given: old, "identity", [])


def _count(e: BlockEmitter, operands: tuple[Operand, ...]) -> Value:
    return e.read(operands[0], "u32").zext(I64) if operands else e.f.const(vec(I64), 1)


def _arrive(e: BlockEmitter, address: Value, count: Value, *, drop: bool = False) -> Value:
    """Let the executing lanes arrive; returns each lane's token, which is the object's state before its arrival."""
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


@form("mbarrier.ACTION{.noComplete}{.release}{.cta}{.SPACE}.b64 d, a{, count}", raw=True, tags=("object",),
      ACTION=("arrive", "arrive_drop"), SPACE=SHARED)  # fmt: skip
def arrive(e: BlockEmitter, m: Match, i: Instruction) -> None:
    address, count = _address(e, m, i.operands[1]), _count(e, i.operands[2:])
    e.write(i.operands[0], _arrive(e, address, count, drop=m.ACTION == "arrive_drop"), "b64")


@form("mbarrier.test_wait{.parity}{.acquire}{.cta}{.SPACE}.b64 d, a, awaited", raw=True, tags=("object",),
      SPACE=SHARED)  # fmt: skip
def test_wait(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Whether the phase of a token, or with this parity, has ended: then the current phase has the other parity.

    A failed test ends the warp's turn, so that the threads that it waits for can run.
    """
    f = e.f
    result, place, awaited = i.operands
    wanted = e.read(awaited, "b32").zext(I64) & 1 if m.parity else objects.phase_of(e.read(awaited, "b64"))
    address = _address(e, m, place)
    phase = objects.phase_of(_state(e, address))
    ended = (phase & 1 if m.parity else phase).ne(wanted)
    lanes = ended.as_mask() & e.mask
    with f.if_(lanes.ne(0)):
        f.call(e.g.objects.acquire(), e.warp, e.worker, address, lanes)
    waiting, index = e.mask & ~lanes, WARP.load(f, e.warp, "index")
    WORKER.store(f, e.worker, "waits_at", waiting.ne(0).select(f.const(I32, e.site() + 1), 0), index)
    with f.if_(waiting.ne(0)):
        WARP.store(f, e.warp, "quantum", 0)
        WORKER.store(f, e.worker, "waits_for", address.lane(f.first_lane(waiting)).trunc(I32), index)
    e.write(result, ended, "pred")


@form(
    "mbarrier.pending_count.b64 d, a",
    Example("mbarrier.pending_count.b64", ([(7 << 40) | (32 << 20) | 5, 1],), [5, 1]),
    operands={"d": "u32"},
)
def pending_count(e: BlockEmitter, m: Match, a: Value) -> Value:
    """The number of arrivals that were pending in the token's state."""
    return (a & objects.COUNT).trunc(I32)


@form("cp.async.mbarrier.arrive{.noinc}{.SPACE}.b64 a", raw=True, SPACE=SHARED,
      tags=("object", "copy_queue", "tracks"))  # fmt: skip
def copies_arrive(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Let the object's phase end only after all copies in flight of the executing lane.

    With ``.noinc`` their completion is one of the expected arrivals; else it does not change their number.
    """
    f = e.f
    address = _address(e, m, i.operands[0])
    f.call(e.g.objects.track(), e.warp, e.worker, address, e.mask)
    if m.noinc:
        _arrive(e, address, f.const(vec(I64), 1))
        return
    f.call(e.g.objects.release(), e.warp, e.worker, address, e.mask)
    _state(e, address)
