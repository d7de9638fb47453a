"""What a form's function sees: the builder ``e.f``, the active lanes, and operands by type.

`Emitter` is abstract about where registers live: the engine keeps them in the warp's state, the tests of single forms
in plain arrays.
"""

from __future__ import annotations

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import F16, F32, F64, I1, I8, I16, I32, I64, Value, vec
from grader.simt.ptx import Immediate, Operand

ELEMENT: dict[str, ir.Type] = {
    "pred": I1, "b8": I8, "u8": I8, "s8": I8, "b16": I16, "u16": I16, "s16": I16, "f16": F16, "bf16": I16,
    "b32": I32, "u32": I32, "s32": I32, "f32": F32, "b64": I64, "u64": I64, "s64": I64, "f64": F64,
}  # fmt: skip
"""Element type of a 32-lane value for each PTX type; packed pairs are 64 lanes of half the width (see PACKED)."""

PACKED: dict[str, ir.Type] = {"f16x2": F16, "bf16x2": I16, "u16x2": I16, "s16x2": I16}
"""Types of which a 32-bit register holds two: a `Value` of 64 lanes, so that one function serves both forms."""


def vector_type(name: str) -> ir.VectorType:
    """The IR type of a value of PTX type ``name``: 32 lanes, or 64 of a packed pair."""
    return vec(PACKED[name], 64) if name in PACKED else vec(ELEMENT[name])


def is_signed(name: str) -> bool:
    return name.startswith("s")


class Emitter:
    """Base of the engine's emitter and the tests'. ``mask`` is the i32 of lanes that execute this instruction."""

    f: Builder
    mask: Value

    @property
    def active(self) -> Value:
        """The executing lanes as ``<32 x i1>``."""
        return self.mask.as_lanes()

    def read(self, operand: Operand, kind: str) -> Value:
        """The operand as a value of PTX type ``kind``."""
        raise NotImplementedError  # abstract

    def write(self, operand: Operand, value: Value, kind: str) -> None:
        """Write the executing lanes of a register."""
        raise NotImplementedError  # abstract

    def read_carry(self) -> Value:
        """The condition code's carry flag as ``<32 x i1>``; `add.cc` writes it, `addc` reads it."""
        raise NotImplementedError  # abstract

    def write_carry(self, value: Value) -> None:
        """Write the executing lanes of the carry flag."""
        raise NotImplementedError  # abstract

    def immediate(self, operand: Immediate, kind: str) -> Value:
        """A literal as a splat of PTX type ``kind``; float literals are bit patterns."""
        f = self.f
        if operand.kind == "int" and kind in ("f32", "f64", "f16"):
            return f.const(vec(ELEMENT[kind]), float(operand.value))
        width = {"f32": 32, "f64": 64}.get(operand.kind)
        if width is None:
            wide = kind if kind not in PACKED else "b32"
            value = f.const(vec(ELEMENT[wide]), operand.value)
            return value.reinterpret(vector_type(kind)) if kind in PACKED else value
        bits = f.const(vec(I32 if width == 32 else I64), operand.value)
        value = bits.bitcast(F32 if width == 32 else F64)
        if kind in ("f32", "f64"):
            return value.fpext(F64) if kind == "f64" else value.fptrunc(F32)
        return bits.resize(ELEMENT[kind])
