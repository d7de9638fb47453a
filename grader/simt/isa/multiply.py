"""Matrix products of a warp's fragments, as one outlined function for each combination of shape and types.

Products are exact in the accumulator's precision and are added one after the other, in the order of k, by ``fma``
(f32) or with wrap-around (s32). The hardware's order and internal precision are not documented, so floating-point
results may differ from a GPU's in the last places. An f16 result is rounded once, at the end.

The function works in memory, not on 32-lane values: the left operand's rows are converted to single precision (or i32),
the right operand is transposed block by block, and each row of the result is a chain of vector ``fma``s. Of 8 columns
the even ones come first, as in the two registers of an accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder, generated, generated_once
from grader.simt.engine.values import F16, F32, I16, I32, I64, PTR, VOID, Value, vec
from grader.simt.isa.fragments import Fragment, MmaShape, accumulator, operand
from grader.simt.isa.registry import WIDTH

REGISTER = 128
"""Bytes of one 32-bit register of a warp."""

EVEN_FIRST = (0, 2, 4, 6, 1, 3, 5, 7)
NATURAL = (0, 4, 1, 5, 2, 6, 3, 7)
"""The positions of columns 0 … 7 if even columns come first."""


@dataclass(frozen=True)
class Product:
    """``d = a·b + c`` with the PTX type of each; ``wmma``: with fragments of ``wmma``, not of ``mma.sync``."""

    shape: MmaShape
    a: str
    b: str
    c: str
    d: str
    wmma: bool
    saturates: bool = False

    @property
    def name(self) -> str:
        kinds = f"{self.a}_{self.b}_{self.c}_{self.d}{'_sat' if self.saturates else ''}"
        return f"{'wmma' if self.wmma else 'mma'}_{self.shape.m}x{self.shape.n}x{self.shape.k}_{kinds}"

    def operand(self, role: str) -> Fragment:
        return operand(role, self.shape, self.a if role == "a" else self.b, wmma=self.wmma)

    @property
    def is_integer(self) -> bool:
        return self.d == "s32"


def function(module: ir.IRModule, product: Product) -> ir.IRFunction:
    """``(a, b, c, d)``: addresses of each operand's registers, 128 bytes each, 64-byte aligned; writes ``d``'s."""
    return generated_once(module, product.name, VOID, [PTR] * 4, lambda f: _Multiplication(f, product).build())


class _Multiplication:
    """Builds one function. Left and right are the hardware's operands: exchanged if the result is transposed."""

    def __init__(self, f: Builder, product: Product) -> None:
        self.f, self.product = f, product
        a, b, self.c, self.d = f.args
        sides = [(a, product.a, product.operand("a")), (b, product.b, product.operand("b"))]
        exchanged = product.wmma and product.shape.is_transposed
        (self.left, self.left_kind, self.left_fragment), (self.right, self.right_kind, self.right_fragment) = (
            reversed(sides) if exchanged else sides
        )
        self.number = I32 if product.is_integer else F32
        self.depth = product.shape.k
        self.columns = self.right_fragment.extent[0]
        self.block_rows = self.left_fragment.extent[0] // 8
        self.wide_left = f.array(self.number, self.block_rows * 8 * self.depth)
        self.wide_right = f.array(self.number, self.depth * self.columns)

    def build(self) -> None:
        self._widen_left()
        self._transpose_right()
        rows = [self.f.load(vec(self.number, self.columns), self.wide_right, 4 * self.columns * k, align=32)
                for k in range(self.depth)]  # fmt: skip
        with self.f.loop(self.f.const(I64, 8)) as row:
            for block_row in range(self.block_rows):
                self._result_row(block_row, row, rows)

    # -- operands ---------------------------------------------------------------------------------------------------
    def _widen(self, value: Value, kind: str) -> Value:
        """Elements as the numbers that are multiplied."""
        if kind in ("s8", "u8"):
            return value.resize(I32, signed=kind == "s8")
        if kind == "f16":
            return value.bitcast(F16).fpext(F32)
        if kind == "bf16":
            return (value.zext(I32) << 16).bitcast(F32)
        return (value & 0xFFFFE000).bitcast(F32)  # tf32: the hardware ignores the 13 low bits

    def _widen_left(self) -> None:
        """Fill ``wide_left[row][k]``."""
        f, fragment = self.f, self.left_fragment
        count = 4 * fragment.step
        raw = vec(ir.IntType(fragment.bits), count)
        with f.loop(f.const(I64, 8)) as row:
            for i, (g, t) in enumerate(fragment.blocks):
                line = f.load(raw, self.left, row * 16 + i * REGISTER, align=16)
                place = (row + g) * (4 * self.depth) + 4 * t
                f.store(self._widen(line, self.left_kind), self.wide_left, place, align=16)

    def _transpose_right(self) -> None:
        """Fill ``wide_right[k][column]``, of 8 columns the even ones first."""
        f, fragment = self.f, self.right_fragment
        for i, (g, t) in enumerate(fragment.blocks):
            lines = [self._right_line(i, row) for row in EVEN_FIRST]
            for j, line in enumerate(_transposed(lines, 4 * fragment.step)):
                wide = self._widen(line, "s8" if fragment.bits == 8 else self.right_kind)
                f.store(wide, self.wide_right, 4 * ((t + j) * self.columns + g), align=16)

    def _right_line(self, block: int, row: int) -> Value:
        """One row of a block; bytes are extended to 16 bits, so that elements of transpositions have 16 or 32 bits."""
        f, fragment = self.f, self.right_fragment
        raw = vec(ir.IntType(fragment.bits), 4 * fragment.step)
        line = f.load(raw, self.right, block * REGISTER + 16 * row, align=16)
        return line.resize(I16, signed=self.right_kind == "s8") if fragment.bits == 8 else line

    # -- result -----------------------------------------------------------------------------------------------------
    def _result_row(self, block_row: int, row: Value, right: Sequence[Value]) -> None:
        f, product = self.f, self.product
        start = self._load_row(block_row, row)
        total = f.const(start.type, 0) if product.saturates else start
        base = (row + 8 * block_row) * (4 * self.depth)
        for k, line in enumerate(right):
            factor = f.splat(f.load(self.number, self.wide_left, base + 4 * k), self.columns)
            total = total + factor * line if product.is_integer else f.overloaded("llvm.fma", factor, line, total)
        if product.saturates:
            total = f.overloaded("llvm.sadd.sat", start, total)
        self._store_row(block_row, row, total)

    def _places(self, kind: str, block_row: int) -> list[int]:
        """Byte offsets of the blocks of a block row, from left to right."""
        fragment = accumulator(self.product.shape, kind)
        size = fragment.registers_per_block * REGISTER
        inside = [(t, i) for i, (g, t) in enumerate(fragment.blocks) if g == 8 * block_row]
        return [size * i for _, i in sorted(inside)]

    def _load_row(self, block_row: int, row: Value) -> Value:
        f, kind = self.f, self.product.c
        parts = []
        for place in self._places(kind, block_row):
            if WIDTH[kind] == 16:
                line = f.load(vec(F16, 8), self.c, row * 16 + place, align=16)
                parts.append(line.fpext(F32).shuffle(EVEN_FIRST))
            else:
                even, odd = (f.load(vec(self.number, 4), self.c, row * 16 + place + j, align=16) for j in (0, REGISTER))
                parts.append(even.shuffle(range(8), odd))
        return _joined(parts)

    def _store_row(self, block_row: int, row: Value, total: Value) -> None:
        f, kind = self.f, self.product.d
        for n, place in enumerate(self._places(kind, block_row)):
            columns = total.shuffle(range(8 * n, 8 * n + 8))
            if WIDTH[kind] == 16:
                f.store(columns.shuffle(NATURAL).fptrunc(F16), self.d, row * 16 + place, align=16)
            else:
                for j in range(2):
                    f.store(columns.shuffle(range(4 * j, 4 * j + 4)), self.d, row * 16 + place + REGISTER * j, align=16)


def _joined(parts: Sequence[Value]) -> Value:
    while len(parts) > 1:
        lanes = parts[0].type.count
        parts = [a.shuffle(range(2 * lanes), b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _transposed(lines: Sequence[Value], width: int) -> Sequence[Value]:
    """``width`` lines of 8 elements from 8 lines of ``width``: a transposition by three interleaving steps."""
    for _ in range(3):
        pairs = zip(lines[:4], lines[4:], strict=True)
        lines = [half for a, b in pairs for half in _riffled(a, b, width)]
    if width < 8:
        return [_joined(lines[2 * j : 2 * j + 2]) for j in range(width)]
    return [line.shuffle(range(j, j + 8)) for line in lines for j in range(0, width, 8)] if width > 8 else lines


def _riffled(a: Value, b: Value, width: int) -> tuple[Value, Value]:
    order = [i // 2 + width * (i % 2) for i in range(2 * width)]
    return a.shuffle(order[:width], b), a.shuffle(order[width:], b)


@generated("transpose_8x8", vec(I32), vec(I32))
def transpose_function(module: ir.IRModule, f: Builder) -> None:
    """``<32 x i32> -> <32 x i32>``: an 8×8 block of 16-bit elements, transposed between the lanes (`movmatrix`)."""
    block = f.args[0].reinterpret(vec(I16, 64))
    whole = _joined(_transposed([block.shuffle(range(8 * r, 8 * r + 8)) for r in range(8)], 8))
    f.ret(whole.reinterpret(vec(I32)))
