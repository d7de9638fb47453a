"""Data movement: PTX manual, chapter "Data Movement and Conversion Instructions" (`cvt` has a chapter of its own)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from grader.simt.engine.memory import LOCAL_BASE, SHARED_BASE
from grader.simt.engine.values import I8, I16, I32, I64, Value, bits_of
from grader.simt.isa.emit import ELEMENT
from grader.simt.isa.registry import WIDTH, Example, Match, form
from grader.simt.ptx import Address, Instruction, Operand, Vector

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

SCALARS = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64")
SPACES = ("global", "shared", "local", "const", "param")
INTEGERS = {8: I8, 16: I16, 32: I32, 64: I64}
CACHE = ("ca", "cg", "cs", "lu", "cv", "wb", "wt")
SCOPES = ("cta", "gpu", "sys", "cluster")


@form("mov.TYPE d, a", raw=True, tags=("copy",),
      TYPE=("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64",
      "f16", "f16x2", "pred", "b128", "b8", "u8", "s8"))  # fmt: skip
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


def _space(m: Match) -> str:
    text = m.SPACE.partition("::")[0]
    return text or "generic"


def _load(e: BlockEmitter, m: Match, i: Instruction) -> None:
    target, source = i.operands[0], i.operands[1]
    bits, count = WIDTH[m.TYPE], {"": 1, "v2": 2, "v4": 4, "v8": 8}[m.VEC]
    items = target.items if isinstance(target, Vector) else (target,)
    space = _space(m)
    if space == "param":
        whole = _parameter(e, source, bits, count)
        if whole is not None:
            _spread(e, items, whole, m.TYPE)
            return
    ordered = "volatile" if m.volatile else ""
    values = e.load_memory(space, e.address_of(source), bits, count, ordered=ordered, used=e.used(items))
    _spread(e, items, values, m.TYPE)


def _parameter(e: BlockEmitter, source: Operand, bits: int, count: int) -> list[Value] | None:
    values = []
    for k in range(count):
        assert isinstance(source, Address)
        value = e.load_parameter(replace(source, offset=source.offset + k * bits // 8), bits)
        if value is None:
            return None
        values.append(value)
    return values


def _spread(e: BlockEmitter, items: tuple[Operand, ...], values: list[Value], kind: str) -> None:
    for item, value in zip(items, values, strict=True):
        e.write(item, value.bitcast(ELEMENT[kind]), kind)


LOAD_TYPES = {"TYPE": (*SCALARS, "f16", "b128"), "VEC": ("v2", "v4", "v8"), "CACHE": CACHE, "SCOPE": SCOPES,
              "SPACE": (*SPACES, "shared::cta", "param::entry", "param::func")}  # fmt: skip
EVICT = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")


@form(
    "ld{.SPACE}{.CACHE}{.EVICT}{.PREFETCH}{.VEC}.TYPE d, a",
    raw=True,
    tags=("memory", "load"),
    EVICT=EVICT,
    PREFETCH=PREFETCH,
    also=LOAD_TYPES,
)
def ld(e: BlockEmitter, m: Match, i: Instruction) -> None:
    _load(e, m, i)


@form("ld.volatile{.SPACE}{.PREFETCH}{.VEC}.TYPE d, a", raw=True, tags=("memory",), PREFETCH=PREFETCH, also=LOAD_TYPES)
def ld_volatile(e: BlockEmitter, m: Match, i: Instruction) -> None:
    _load(e, m, i)


@form("ld.ORDER.SCOPE{.SPACE}{.EVICT}{.PREFETCH}{.VEC}.TYPE d, a", raw=True, tags=("memory", "fence"),
      ORDER=("relaxed", "acquire"), EVICT=EVICT, PREFETCH=PREFETCH, also=LOAD_TYPES)  # fmt: skip
def ld_ordered(e: BlockEmitter, m: Match, i: Instruction) -> None:
    values = e.load_memory(
        _space(m), e.address_of(i.operands[1]), WIDTH[m.TYPE], {"": 1, "v2": 2, "v4": 4}[m.VEC], ordered=m.ORDER
    )
    if m.ORDER == "acquire":
        e.acquire(m.SCOPE)
    target = i.operands[0]
    _spread(e, target.items if isinstance(target, Vector) else (target,), values, m.TYPE)


@form(
    "ld.global{.CACHE}.nc{.EVICT}{.PREFETCH}{.VEC}.TYPE d, a",
    raw=True,
    tags=("memory",),
    EVICT=EVICT,
    PREFETCH=PREFETCH,
    also=LOAD_TYPES,
)
def ld_nc(e: BlockEmitter, m: Match, i: Instruction) -> None:
    target = i.operands[0]
    count = {"": 1, "v2": 2, "v4": 4, "v8": 8}[m.VEC]
    items = target.items if isinstance(target, Vector) else (target,)
    values = e.load_memory("global", e.address_of(i.operands[1]), WIDTH[m.TYPE], count, used=e.used(items))
    _spread(e, items, values, m.TYPE)


@form("ldu{.SPACE}{.VEC}.TYPE d, a", raw=True, tags=("memory",), also=LOAD_TYPES)
def ldu(e: BlockEmitter, m: Match, i: Instruction) -> None:
    _load(e, m, i)


def _store(e: BlockEmitter, m: Match, i: Instruction, ordered: str) -> None:
    target, source = i.operands[0], i.operands[1]
    bits = WIDTH[m.TYPE]
    items = source.items if isinstance(source, Vector) else (source,)
    values = [_raw(e.read(item, m.TYPE), bits) for item in items]
    e.store_memory(_space(m), e.address_of(target), values, bits, ordered=ordered)


def _raw(value: Value, bits: int) -> Value:
    return value.bitcast(INTEGERS[bits]) if bits_of(value.type) == bits else value.resize(INTEGERS[bits])


@form("st{.SPACE}{.CACHE}{.EVICT}{.VEC}.TYPE a, b", raw=True, tags=("memory",), EVICT=EVICT, also=LOAD_TYPES)
def st(e: BlockEmitter, m: Match, i: Instruction) -> None:
    _store(e, m, i, "")


@form("st.volatile{.SPACE}{.VEC}.TYPE a, b", raw=True, tags=("memory",), also=LOAD_TYPES)
def st_volatile(e: BlockEmitter, m: Match, i: Instruction) -> None:
    _store(e, m, i, "volatile")


@form("st.ORDER.SCOPE{.SPACE}{.EVICT}{.VEC}.TYPE a, b", raw=True, tags=("memory", "fence"),
      ORDER=("relaxed", "release"),      EVICT=EVICT, also=LOAD_TYPES)  # fmt: skip
def st_ordered(e: BlockEmitter, m: Match, i: Instruction) -> None:
    if m.ORDER == "release":
        e.fence(m.SCOPE)
    _store(e, m, i, m.ORDER)


WINDOWS = {"global": 0, "const": 0, "param": 0, "shared": SHARED_BASE, "local": LOCAL_BASE}
CVTA_SPACES = ("global", "shared", "local", "const", "param", "shared::cta", "param::entry")


@form("cvta.SPACE.TYPE d, a", tags=("copy",), SPACE=CVTA_SPACES, TYPE=("u64", "u32"))
def cvta(e: BlockEmitter, m: Match, a: Value) -> Value:
    return a + WINDOWS[_space(m)]


@form("cvta.to.SPACE.TYPE d, a", tags=("copy",), SPACE=CVTA_SPACES, TYPE=("u64", "u32"))
def cvta_to(e: BlockEmitter, m: Match, a: Value) -> Value:
    return a - WINDOWS[_space(m)]


@form("isspacep.SPACE d, a", SPACE=CVTA_SPACES, operands={"d": "pred", "a": "u64"},
      examples=[Example("isspacep.shared", ([SHARED_BASE + 4, 16],), [1, 0]),
                Example("isspacep.global", ([SHARED_BASE + 4, 16],), [0, 1])])  # fmt: skip
def isspacep(e: BlockEmitter, m: Match, a: Value) -> Value:
    space = _space(m)
    if WINDOWS[space]:
        return (a - WINDOWS[space]).ult(1 << 24)
    return a.ult(SHARED_BASE)


@form("prefetch{.SPACE}.LEVEL a", raw=True, SPACE=SPACES, LEVEL=("L1", "L2", "L2::evict_last", "L2::evict_normal"))
def prefetch(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Only a hint; the simulator has no caches."""


@form("prefetchu.L1 a", raw=True)
def prefetchu(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Only a hint, like `prefetch`."""
