"""Data movement: PTX manual, chapter "Data Movement and Conversion Instructions" (`cvt` is in `convert.py`).

The engine's part of asynchronous copies is `grader.simt.engine.copies`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.simt.engine.copies import SIZES
from grader.simt.engine.memory import LOCAL_BASE, SHARED_BASE
from grader.simt.engine.values import I8, I16, I32, I64, Value, bits_of, vec
from grader.simt.isa.registry import ELEMENT, WIDTH, Example, Match, form
from grader.simt.ptx import Address, Immediate, Instruction, Operand, Register, Vector, items

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

SCALARS = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64")
SPACES = ("global", "shared", "local", "const", "param")
INTEGERS = {8: I8, 16: I16, 32: I32, 64: I64}


@form("mov.TYPE d, a", raw=True, tags=("copy",), TYPE=(*SCALARS, "f16", "f16x2", "pred", "b128"))
def mov(e: BlockEmitter, m: Match, i: Instruction) -> None:
    target, source = i.operands
    if isinstance(source, Vector):
        e.write(target, _pack(e, source, WIDTH[m.TYPE]), f"b{WIDTH[m.TYPE]}")
    elif isinstance(target, Vector):
        _unpack(e, target, e.read(source, m.TYPE), WIDTH[m.TYPE])
    else:
        e.write(target, e.read(source, m.TYPE), m.TYPE)


def _pack(e: BlockEmitter, parts: Vector, bits: int) -> Value:
    """Low parts first: ``mov.b32 %r, {%h1, %h2}``."""
    each = bits // len(parts.items)
    whole = ELEMENT[f"b{bits}"]
    result = None
    for k, part in enumerate(parts.items):
        value = e.read(part, f"b{each}").resize(whole) << (k * each)
        result = value if result is None else result | value
    assert result is not None
    return result


def _unpack(e: BlockEmitter, parts: Vector, value: Value, bits: int) -> None:
    each = bits // len(parts.items)
    raw = value.bitcast(ELEMENT[f"b{bits}"])
    for k, part in enumerate(parts.items):
        e.write(part, (raw >> (k * each)).trunc(ELEMENT[f"b{each}"]), f"b{each}")


# -- loads and stores --------------------------------------------------------------------------------------------------
ACCESS = {
    "TYPE": (*SCALARS, "f16", "b128"),
    "VEC": ("v2", "v4", "v8"),
    "CACHE": ("ca", "cg", "cs", "lu", "cv", "wb", "wt"),
    "SCOPE": ("cta", "gpu", "sys", "cluster"),
    "SPACE": (*SPACES, "shared::cta", "param::entry", "param::func"),
    "EVICT": ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"),
    "PREFETCH": ("L2::64B", "L2::128B", "L2::256B"),
}


def _parameter(e: BlockEmitter, source: Operand, bits: int, count: int) -> list[Value] | None:
    values = []
    for k in range(count):
        assert isinstance(source, Address)
        value = e.load_parameter(replace(source, offset=source.offset + k * bits // 8), bits)
        if value is None:
            return None
        values.append(value)
    return values


@form("ld{.SPACE}{.CACHE}{.EVICT}{.L2::cache_hint}{.PREFETCH}{.VEC}.TYPE d, a{, policy}", raw=True,
      tags=("memory", "load"), also=ACCESS)  # fmt: skip
@form("ld.volatile{.SPACE}{.PREFETCH}{.VEC}.TYPE d, a", raw=True, tags=("memory",), also=ACCESS)
@form("ld.ORDER.SCOPE{.SPACE}{.EVICT}{.PREFETCH}{.VEC}.TYPE d, a", raw=True, tags=("memory", "fence"),
      ORDER=("relaxed", "acquire"), also=ACCESS)  # fmt: skip
@form("ld.SPACE{.CACHE}.nc{.EVICT}{.L2::cache_hint}{.PREFETCH}{.VEC}.TYPE d, a{, policy}", raw=True, tags=("memory",),
      also=ACCESS | {"SPACE": ("global",)})  # fmt: skip
@form("ldu{.SPACE}{.VEC}.TYPE d, a", raw=True, tags=("memory",), also=ACCESS)
def ld(e: BlockEmitter, m: Match, i: Instruction) -> None:
    target, source, *_ = i.operands  # a cache policy is only a hint
    bits, count, targets = WIDTH[m.TYPE], int(m.VEC[1:] or 1), items(target)
    values = _parameter(e, source, bits, count) if m.space == "param" else None
    if values is None:
        ordered = "volatile" if m.volatile else m.ORDER
        used = -1 if m.ORDER else e.used(targets)
        values = e.load_memory(m.space, e.address_of(source), bits, count, ordered=ordered, used=used)
    if m.ORDER == "acquire":
        e.acquire(m.SCOPE)
    for item, value in zip(targets, values, strict=True):
        e.write(item, value.bitcast(ELEMENT[m.TYPE]), m.TYPE)


@form("st{.SPACE}{.CACHE}{.EVICT}{.L2::cache_hint}{.VEC}.TYPE a, b{, policy}", raw=True, tags=("memory",), also=ACCESS)
@form("st.volatile{.SPACE}{.VEC}.TYPE a, b", raw=True, tags=("memory",), also=ACCESS)
@form("st.ORDER.SCOPE{.SPACE}{.EVICT}{.VEC}.TYPE a, b", raw=True, tags=("memory", "fence"),
      ORDER=("relaxed", "release"), also=ACCESS)  # fmt: skip
def st(e: BlockEmitter, m: Match, i: Instruction) -> None:
    if m.ORDER == "release":
        e.fence(m.SCOPE)
    target, source, *_ = i.operands
    bits = WIDTH[m.TYPE]
    values = []
    for item in items(source):
        value = e.read(item, m.TYPE)
        same = bits_of(value.type) == bits
        values.append(value.bitcast(INTEGERS[bits]) if same else value.resize(INTEGERS[bits]))
    ordered = "volatile" if m.volatile else m.ORDER
    e.store_memory(m.space, e.address_of(target), values, bits, ordered=ordered)


@form("prefetch{.SPACE}.LEVEL a", raw=True, SPACE=SPACES, LEVEL=("L1", "L2", "L2::evict_last", "L2::evict_normal"))
@form("prefetchu.L1 a", raw=True)
def prefetch(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Only a hint; the simulator has no caches."""


# -- addresses ---------------------------------------------------------------------------------------------------------
WINDOWS = {"global": 0, "const": 0, "param": 0, "shared": SHARED_BASE, "local": LOCAL_BASE}
CVTA_SPACES = ("global", "shared", "local", "const", "param", "shared::cta", "param::entry")


@form("cvta{.to}.SPACE.TYPE d, a", tags=("copy",), SPACE=CVTA_SPACES, TYPE=("u64", "u32"))
def cvta(e: BlockEmitter, m: Match, a: Value) -> Value:
    return a - WINDOWS[m.space] if m.to else a + WINDOWS[m.space]


@form(
    "isspacep.SPACE d, a",
    Example("isspacep.shared", ([SHARED_BASE + 4, 16],), [1, 0]),
    Example("isspacep.global", ([SHARED_BASE + 4, 16],), [0, 1]),
    SPACE=CVTA_SPACES,
    operands={"d": "pred", "a": "u64"},
)
def isspacep(e: BlockEmitter, m: Match, a: Value) -> Value:
    window = WINDOWS[m.space]
    return (a - window).ult(1 << 24) if window else a.ult(SHARED_BASE)


# -- asynchronous copies -----------------------------------------------------------------------------------------------
BYPASS_BYTES = 16
"""The only size of `.cg`, which bypasses L1."""


@form(
    "cp.async.CACHE.SPACE.global{.L2::cache_hint}{.PREFETCH} a, b, size{, given}{, policy}",
    raw=True,
    tags=("memory", "copy_queue"),
    also=ACCESS,
    CACHE=("ca", "cg"),
    SPACE=("shared", "shared::cta"),
)
def cp_async(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Copy 4, 8 or 16 bytes per lane. The first ``given`` bytes come from the source, the rest are zero.

    With a predicate instead, all bytes (false) or none (true) come from the source.
    """
    target, source, size_operand, *rest = i.operands
    size = int(size_operand.value) if isinstance(size_operand, Immediate) else 0
    sizes = (BYPASS_BYTES,) if m.CACHE == "cg" else SIZES
    if size not in sizes:
        raise e.unsupported(
            f"cp.async.{m.CACHE} of another size than {'16' if m.CACHE == 'cg' else '4, 8 or 16'} bytes"
        )
    hinted = "L2::cache_hint" in i.modifiers
    given = _given(e, rest[:-1] if hinted else rest, size)
    e.g.copy.issue(e, e.address_of(target), e.address_of(source), size, given, bypass=m.CACHE == "cg")


def _given(e: BlockEmitter, operands: Sequence[Operand], size: int) -> Value | None:
    """The bytes that each lane reads from its source; None if all lanes read all bytes."""
    if not operands:
        return None
    (operand,) = operands
    if isinstance(operand, Register) and e.g.graph.registers.get(operand.name) == "pred":
        return e.read(operand, "pred").select(e.f.const(vec(I32), 0), size)
    if isinstance(operand, Immediate) and int(operand.value) == size:
        return None
    asked = e.read(operand, "u32")
    return asked.ult(size).select(asked, size)


@form("cp.async.commit_group", raw=True, tags=("copy_queue",))
def commit_group(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.g.copy.commit(e)


@form("cp.async.wait_group newest", raw=True, tags=("copy_queue", "slow"))
def wait_group(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Wait until at most the N newest groups of the executing lane are in flight."""
    (newest,) = i.operands
    if not isinstance(newest, Immediate):
        raise e.unsupported("cp.async.wait_group with a number that is not constant")
    e.g.copy.wait(e, min(max(int(newest.value), 0), 1 << 20))


@form("cp.async.wait_all", raw=True, tags=("copy_queue", "slow"))
def wait_all(e: BlockEmitter, m: Match, i: Instruction) -> None:
    e.g.copy.commit(e)
    e.g.copy.wait(e, 0)


@form("createpolicy.fractional.PRIORITY{.SECOND}.b64 d{, fraction}", raw=True,
      PRIORITY=("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"),
      SECOND=("L2::evict_first", "L2::evict_unchanged"))  # fmt: skip
def createpolicy(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """A cache policy: no result depends on it."""
    e.write(i.operands[0], e.f.const(vec(I64), 0), "b64")
