"""Runs one form on given lanes: how the examples of the registry are executed, without a kernel around them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.code_cache import compile_module
from grader.simt.engine.values import I8, I32, PTR, VOID, Value, vec
from grader.simt.isa.registry import ELEMENT, FORMS, PACKED, Emitter, Form, Match, vector_type
from grader.simt.ptx import Operand, Register

DTYPE = {"pred": "u1", "b8": "u1", "u8": "u1", "s8": "i1", "b16": "u2", "u16": "u2", "s16": "i2", "f16": "f2",
         "bf16": "u2", "b32": "u4", "u32": "u4", "s32": "i4", "f32": "f4", "b64": "u8", "u64": "u8", "s64": "i8",
         "f64": "f8", "f16x2": "f2", "bf16x2": "u2", "u16x2": "u2", "s16x2": "i2"}  # fmt: skip
"""NumPy type of one lane for each PTX type (of one half for packed pairs)."""

ALL_LANES = 0xFFFFFFFF

Lanes = npt.NDArray[Any]


def evaluate(
    text: str, sources: Sequence[Sequence[float]], mask: int = ALL_LANES, *, form: Form | None = None
) -> list[Lanes]:
    """Run the form of the mnemonic ``text`` (``add.s32``) on 32 lanes; gives an array of 32 for each destination.

    Inactive lanes of ``mask`` give 0. Packed types (``f16x2``) take and give 64 values. ``form`` picks one of several
    forms that differ by their operands only (``setp`` with one and with two destinations). Raises LookupError where
    no form matches.
    """
    return evaluate_carry(text, sources, 0, mask, form=form)[0]


def evaluate_carry(
    text: str, sources: Sequence[Sequence[float]], carry: int, mask: int = ALL_LANES, *, form: Form | None = None
) -> tuple[list[Lanes], int]:
    """`evaluate` with the carry flags of the lanes before and after, a bit for each lane."""
    single = _compiled(text, None if form is None else FORMS[form.opcode].index(form))
    return single([lanes_of(values, kind) for kind, values in zip(single.sources, sources, strict=True)], mask, carry)


def evaluate_batch(text: str, *sources: Lanes, form: Form | None = None) -> list[Lanes]:
    """`evaluate` on arrays of one length: compiles once, runs a warp for every 32 values (64 of a packed type)."""
    single = _compiled(text, None if form is None else FORMS[form.opcode].index(form))
    warps = max(-(-len(a) // lane_count(kind)) for a, kind in zip(sources, single.sources, strict=True))
    padded = [np.resize(a, warps * lane_count(kind)) for a, kind in zip(sources, single.sources, strict=True)]
    rows = [np.split(lanes_of(a, kind, warps), warps) for a, kind in zip(padded, single.sources, strict=True)]
    results = [single(list(row), ALL_LANES, 0)[0] for row in zip(*rows, strict=True)]
    per_source = len(sources[0]) / lane_count(single.sources[0])
    counts = [round(per_source * lane_count(kind)) for kind in single.destinations]
    return [np.concatenate(parts)[:count] for parts, count in zip(zip(*results, strict=True), counts, strict=True)]


def lane_count(kind: str) -> int:
    """Elements in a warp's value of a PTX type: 32, or 64 of a packed pair."""
    return 64 if kind in PACKED else 32


def lanes_of(values: Sequence[float] | Lanes, kind: str, warps: int = 1) -> Lanes:
    """Values by lane as an array of the PTX type; short ones repeat. An int for a float type is a bit pattern."""
    dtype = np.dtype(DTYPE[kind])
    if not isinstance(values, np.ndarray):
        values = np.concatenate([_encode(value, dtype) for value in values])
    return np.resize(values.astype(dtype, copy=False), warps * lane_count(kind))


def _encode(value: float, dtype: np.dtype[Any]) -> Lanes:
    if isinstance(value, float) and dtype.kind == "f":
        return np.array([value], dtype)
    bits = int(value) & ((1 << (8 * dtype.itemsize)) - 1)
    return np.array([bits], f"u{dtype.itemsize}").view(dtype)


@dataclass(frozen=True)
class _Compiled:
    """A form's machine code with the PTX types of its operands."""

    sources: tuple[str, ...]
    destinations: tuple[str, ...]
    run: Callable[..., Any]

    def __call__(self, inputs: list[Lanes], mask: int, carry: int) -> tuple[list[Lanes], int]:
        inputs = [np.ascontiguousarray(lanes) for lanes in inputs]
        outputs = [np.zeros(lane_count(kind), DTYPE[kind]) for kind in self.destinations]
        flags = np.array([carry], np.uint32)
        table = np.array([a.ctypes.data for a in (*inputs, *outputs, flags)], np.uint64)
        self.run(table.ctypes.data, mask)
        return outputs, int(flags[0])


@cache
def _compiled(text: str, at: int | None) -> _Compiled:
    opcode, *modifiers = text.split(".")
    candidates = FORMS[opcode] if at is None else [FORMS[opcode][at]]
    matches = ((form, match) for form in candidates if (match := form.match(modifiers)))
    form, match = next(matches, (None, None))
    if form is None or match is None:
        raise LookupError(f"no form for {text}")
    sources = tuple(form.operand_type(name, match) for name in form.sources)
    destinations = tuple(form.operand_type(name, match) for name in form.destinations)
    code = compile_module(str(_module(form, match, sources, destinations)))
    return _Compiled(sources, destinations, code.function("single", [ctypes.c_void_p, ctypes.c_uint32]))


class WarpEmitter(Emitter):
    """An emitter that holds one warp's registers of 32 bits as values, and its carry flag."""

    def __init__(self, f: Builder, mask: Value, carry: Value) -> None:
        self.f = f
        self.mask = mask
        self.held: dict[str, Value] = {}
        self.carry = f.var(carry)

    def read(self, operand: Operand, kind: str) -> Value:
        assert isinstance(operand, Register)
        return self.held[operand.name].bitcast(ELEMENT[kind])

    def write(self, operand: Operand, value: Value, kind: str) -> None:
        assert isinstance(operand, Register)
        self.held[operand.name] = value.bitcast(I32)

    def read_carry(self) -> Value:
        return self.carry.get().as_lanes()

    def write_carry(self, value: Value) -> None:
        others = self.carry.get() & ~self.mask
        self.carry.set(others | (value.as_mask() & self.mask))


def _module(form: Form, match: Match, sources: Sequence[str], destinations: Sequence[str]) -> ir.IRModule:
    module = ir.IRModule()
    f = Builder(module, "single", VOID, [PTR, I32], public=True)
    table, mask = f.args
    pointers = [f.load(PTR, table, 8 * i) for i in range(len(sources) + len(destinations) + 1)]
    flags = pointers[-1]
    e = WarpEmitter(f, mask, f.load(I32, flags))
    result = form.build(e, match, *[_load(f, kind, pointers[i]) for i, kind in enumerate(sources)])
    results = result if isinstance(result, tuple) else (result,)
    for value, kind, pointer in zip(results, destinations, pointers[len(sources) : -1], strict=True):
        assert value.type == vector_type(kind), f"{form.syntax}: {value.type} for {kind}"
        _store(e, kind, pointer, value)
    f.store(e.carry.get(), flags)
    f.ret()
    f.finish()
    return module


def _load(f: Builder, kind: str, pointer: Value) -> Value:
    if kind == "pred":
        return f.load(vec(I8), pointer, align=1).ne(0)
    return f.load(vector_type(kind), pointer, align=1)


def _store(e: Emitter, kind: str, pointer: Value, value: Value) -> None:
    active = e.mask.as_lanes()
    if kind in PACKED:
        active = active.shuffle([i // 2 for i in range(64)])
    if kind == "pred":
        value = value.zext(I8)
    zero = e.f.const(value.type, 0.0 if value.is_float else 0)
    e.f.store(active.select(value, zero), pointer, align=1)
