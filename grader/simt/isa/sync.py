"""Synchronisation of threads: PTX manual, chapter "Parallel Synchronization and Communication Instructions".

Barriers of the block end a basic block; operations of a warp (`.sync`) start one and wait for their named lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.simt.engine import findings
from grader.simt.engine.layout import WORKER
from grader.simt.engine.values import I1, I32, I64, Value, vec
from grader.simt.isa.registry import Match, form
from grader.simt.ptx import Instruction, Operand, Vector

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter


def _uniform(e: BlockEmitter, operand: Operand) -> Value:
    """The first executing lane's value of an operand that must be the same in all."""
    return e.read(operand, "b32").lane(e.f.first_lane(e.mask) & 31)


def _barrier(e: BlockEmitter, i: Instruction, *, waits: bool = True) -> None:
    f = e.f
    which = _uniform(e, i.operands[0]) & 15
    count = _uniform(e, i.operands[1]) if len(i.operands) > 1 else f.const(I32, 0)
    e.barrier(which, count, waits=waits)


for _name in ("bar", "barrier"):
    for _tail in ("a", "a, b"):

        @form(f"{_name}{{.cta}}.sync{{.aligned}} {_tail}", raw=True, tags=("barrier",))
        def bar_sync(e: BlockEmitter, m: Match, i: Instruction) -> None:
            _barrier(e, i)

    @form(f"{_name}{{.cta}}.arrive{{.aligned}} a, b", raw=True, tags=("barrier",))
    def bar_arrive(e: BlockEmitter, m: Match, i: Instruction) -> None:
        _barrier(e, i, waits=False)


@form(
    "bar{.cta}.red{.aligned}.OP.TYPE d, a, c",
    raw=True,
    OP=("popc", "and", "or"),
    TYPE=("u32", "pred"),
    tags=("barrier", "result"),
)
def bar_red(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """`__syncthreads_count/and/or`: votes gather while threads arrive; the result is read when they go on."""
    f = e.f
    which, vote = _uniform(e, i.operands[1]) & 15, e.read(i.operands[-1], "pred")
    yes = vote.as_mask() & e.mask
    name = {"popc": "count"}.get(m.OP, m.OP)
    old = WORKER.load(f, e.worker, f"vote_{name}", which)
    new = {
        "count": lambda: old + f.popcount(yes),
        "or": lambda: old | yes.ne(0).zext(I32),
        "and": lambda: old & yes.eq(e.mask).select(f.const(I32, 1), 0),
    }[name]()
    WORKER.store(f, e.worker, f"vote_{name}", new, which)
    e.barrier(which, f.const(I32, 0))


@form("barrier_result.OP.TYPE d, a", raw=True, OP=("popc", "and", "or"), TYPE=("u32", "pred"))
def barrier_result(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """The second half of `bar.red` (the engine puts it behind the barrier): read what the votes gave."""
    f = e.f
    name = {"popc": "count"}.get(m.OP, m.OP)
    value = WORKER.load(f, e.worker, f"result_{name}", _uniform(e, i.operands[1]) & 15)
    e.write(i.operands[0], f.splat(value if m.TYPE == "u32" else value.ne(0)), m.TYPE)


@form("bar.warp.sync membermask", raw=True, tags=("sync",))
def bar_warp_sync(e: BlockEmitter, m: Match, i: Instruction) -> None:
    members = e.read(i.operands[0], "b32")
    check_members(e, members)
    e.synchronised(members)


def check_members(e: BlockEmitter, members: Value) -> None:
    """A lane must be named in its own mask."""
    f = e.f
    own = (members >> f.iota(I32)) & 1
    outside = own.eq(0).as_mask() & e.mask
    with f.if_(outside.ne(0), likely=False):
        e.report(findings.BAD_MASK, outside, members.lane(f.first_lane(outside)).zext(I64))


@form("membar.SCOPE", raw=True, SCOPE=("cta", "gl", "sys"), tags=("fence",))
def membar(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.fence(m.SCOPE)


@form(
    "fence{.KIND}.SCOPE",
    raw=True,
    KIND=("sc", "acq_rel", "acquire", "release"),
    SCOPE=("cta", "gpu", "sys", "cluster"),
    tags=("fence",),
)
def fence(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.fence(m.SCOPE)


@form("activemask.b32 d", operands={"d": "b32"})
def activemask(e: BlockEmitter, m: Match) -> Value:
    return e.f.splat(e.mask)


def _members(e: BlockEmitter, operand: Operand) -> Value:
    members = e.read(operand, "b32")
    check_members(e, members)
    e.synchronised(members)
    return members


@form(
    "vote.sync.MODE.TYPE d, a, membermask",
    raw=True,
    MODE=("all", "any", "uni", "ballot"),
    TYPE=("pred", "b32"),
    tags=("sync",),
)
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


@form("match.any.sync.TYPE d, a, membermask", raw=True, TYPE=("b32", "b64"), tags=("sync",))
def match_any(e: BlockEmitter, m: Match, i: Instruction) -> None:
    result, operand, mask = i.operands
    members, value = _members(e, mask), e.read(operand, m.TYPE)
    e.write(result, _equal_lanes(e, value) & members, "b32")


@form("match.all.sync.TYPE d, a, membermask", raw=True, TYPE=("b32", "b64"), tags=("sync",))
def match_all(e: BlockEmitter, m: Match, i: Instruction) -> None:
    f = e.f
    result, operand, mask = i.operands
    members, value = _members(e, mask), e.read(operand, m.TYPE)
    voters = f.splat(e.mask) & members
    same = (_equal_lanes(e, value) & voters).eq(voters)
    if isinstance(result, Vector):
        e.write(result.items[1], same, "pred")
        result = result.items[0]
    e.write(result, same.select(voters, 0), "b32")


def _equal_lanes(e: BlockEmitter, value: Value) -> Value:
    """For each lane, the executing lanes that hold the same value."""
    f = e.f
    found = f.var(f.const(vec(I32), 0))
    rest = f.var(e.mask)
    with f.while_(lambda: rest.get().ne(0)):
        same = value.eq(f.splat(value.lane(f.first_lane(rest.get())))).as_mask() & e.mask
        found.set(same.as_lanes().select(f.splat(same), found.get()))
        rest.set(rest.get() & ~same)
    return found.get()


_REDUCTIONS = {"add": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor"}


@form(
    "redux.sync.OP.TYPE d, a, membermask", raw=True, OP=tuple(_REDUCTIONS), TYPE=("u32", "s32", "b32"), tags=("sync",)
)
def redux(e: BlockEmitter, m: Match, i: Instruction) -> None:
    f = e.f
    result, operand, mask = i.operands
    members, value = _members(e, mask), e.read(operand, m.TYPE)
    neutral = {"add": 0, "or": 0, "xor": 0, "and": -1, "min": 0x7FFFFFFF if m.TYPE == "s32" else -1,
               "max": -0x80000000 if m.TYPE == "s32" else 0}[m.OP]  # fmt: skip
    sign = {"min": "s" if m.TYPE == "s32" else "u", "max": "s" if m.TYPE == "s32" else "u"}.get(m.OP, "")
    totals = f.var(f.const(vec(I32), 0))
    with f.each_group(members, e.mask) as group:
        chosen = group.as_lanes().select(value, neutral)
        total = f.overloaded(f"llvm.vector.reduce.{sign}{m.OP}", chosen, result=I32)
        totals.set(group.as_lanes().select(f.splat(total), totals.get()))
    e.write(result, totals.get(), m.TYPE)


@form("shfl.sync.MODE.TYPE d, a, b, c, membermask", raw=True, MODE=("up", "down", "bfly", "idx"),
      TYPE=("b32", "u32", "s32", "f32"), tags=("sync",))  # fmt: skip
def shfl(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Each lane reads another lane's register; segments and clamping as the manual's pseudo-code says."""
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
    _check_sources(e, j, members)
    result = _permute(e, value, j)
    if isinstance(target, Vector):
        e.write(target.items[1], inside, "pred")
        target = target.items[0]
    e.write(target, result, "b32")


def _check_sources(e: BlockEmitter, j: Value, members: Value) -> None:
    """Reading a lane that does not execute the instruction, or that the mask does not name, is undefined."""
    f = e.f
    idle = (((f.splat(e.mask) & members) >> j) & 1).eq(0).as_mask() & e.mask
    with f.if_(idle.ne(0), likely=False):
        e.report(findings.INACTIVE_LANE, idle, j.lane(f.first_lane(idle)).zext(I64))


def _permute(e: BlockEmitter, value: Value, j: Value) -> Value:
    """value[j] by lane."""
    f = e.f
    table = f.array(I32, 32)
    f.store(value, table, align=64)
    base = f.splat(f.address(table))
    places = f.pointer(base + (j.zext(I64) << 2))
    return f.gather(vec(I32), places, f.const(vec(I1), 1), f.const(vec(I32), 0), 4)
