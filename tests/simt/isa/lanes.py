"""Runs raw forms on a warp's registers and a piece of memory, without the engine: for the tests of matrix forms."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from single import WarpEmitter

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.code_cache import compile_module
from grader.simt.engine.values import I32, I64, PTR, VOID, Value, vec
from grader.simt.isa.registry import find
from grader.simt.ptx import Address, Instruction, Operand, Register, Vector

Registers = Mapping[str, npt.NDArray[np.uint32]]


@dataclass(frozen=True)
class Traced:
    """One warp request: its kind and space, bytes of each lane, and the address of each active lane."""

    kind: str
    space: str
    bytes: int
    addresses: tuple[int, ...]


@dataclass
class Warp:
    """What the instructions left: 32 lanes of each register, and the requests they made (addresses from 0)."""

    registers: dict[str, npt.NDArray[np.uint32]]
    requests: list[Traced] = field(default_factory=list)


def registers(names: str, count: int) -> Vector:
    """``registers("a", 3)`` is ``{a0, a1, a2}``."""
    return Vector(tuple(Register(f"{names}{i}") for i in range(count)))


class _Lanes(WarpEmitter):
    """A `WarpEmitter` with a memory; the warp's requests are written to ``trace``."""

    def __init__(self, f: Builder, mask: Value, base: Value, trace: Value) -> None:
        super().__init__(f, mask, carry=f.const(I32, 0))
        self.base, self.trace = base, trace
        self.made: list[tuple[str, str, int]] = []

    def address_of(self, operand: Operand) -> Value:
        assert isinstance(operand, Address)
        assert isinstance(operand.base, Register)
        return self.held[operand.base.name].zext(I64) + operand.offset

    def synchronised(self, members: Value) -> None:
        assert members.type == vec(I32)

    def drop_if_changed(self, place: Value, size: int) -> None:
        assert size % 128 == 0

    def _places(self, kind: str, space: str, address: Value, size: int, mask: Value | None) -> tuple[Value, Value]:
        """Host addresses and lanes of a request, which is also written to the trace."""
        lanes = (self.mask if mask is None else mask).as_lanes()
        kept = lanes.select(address, -1)
        self.f.store(kept, self.trace, 256 * len(self.made), align=8)
        self.made.append((kind, space, size))
        return self.f.splat(self.base) + address, lanes

    def load_memory(
        self, space: str, address: Value, bits: int, count: int = 1, *, mask: Value | None = None
    ) -> list[Value]:
        f, kind = self.f, vec(ir.IntType(bits))
        where, lanes = self._places("load", space, address, bits * count // 8, mask)
        return [f.gather(kind, f.pointer(where + i * bits // 8), lanes, f.const(kind, 0), 1) for i in range(count)]

    def store_memory(self, space: str, address: Value, values: Sequence[Value], bits: int) -> None:
        f = self.f
        where, lanes = self._places("store", space, address, bits * len(values) // 8, self.mask)
        for i, value in enumerate(values):
            assert value.type == vec(ir.IntType(bits))
            f.scatter(value, f.pointer(where + i * bits // 8), lanes, 1)


def instruction(text: str, *operands: Operand) -> Instruction:
    """An instruction from its mnemonic and its operands."""
    opcode, *modifiers = text.split(".")
    return Instruction(opcode, tuple(modifiers), operands)


def run(program: Sequence[Instruction], given: Registers, memory: npt.NDArray[Any] | None = None) -> Warp:
    """Execute the instructions in order. ``memory`` (any contiguous array) is read and written in place."""
    module = ir.IRModule()
    f = Builder(module, "run", VOID, [PTR, PTR, PTR, PTR], public=True)
    inputs, outputs, base, trace = f.args
    e = _Lanes(f, f.const(I32, -1), f.address(base), trace)
    for n, name in enumerate(given):
        e.held[name] = f.load(vec(I32), inputs, 128 * n, align=4)
    for step in program:
        found = find(step)
        assert found is not None, step.name
        found[0].build(e, found[1], step)
    for n, value in enumerate(e.held.values()):
        f.store(value, outputs, 128 * n, align=4)
    f.ret()
    f.finish()
    return _execute(compile_module(str(module)).function("run", [ctypes.c_void_p] * 4), e, given, memory)


def _execute(code: Callable[..., Any], e: _Lanes, given: Registers, memory: npt.NDArray[Any] | None) -> Warp:
    inputs = np.array([np.resize(lanes, 32) for lanes in given.values()], np.uint32)
    outputs = np.zeros((len(e.held), 32), np.uint32)
    trace = np.full((len(e.made) + 1, 32), -1, np.int64)
    place = 0 if memory is None else memory.ctypes.data
    code(inputs.ctypes.data, outputs.ctypes.data, place, trace.ctypes.data)
    made = [Traced(*what, tuple(int(a) for a in row if a >= 0)) for what, row in zip(e.made, trace, strict=False)]
    return Warp(dict(zip(e.held, outputs, strict=True)), made)


__all__ = ["Traced", "Warp", "instruction", "registers", "run"]
