"""Matrix products of a warp: PTX manual, chapter "Warp Level Matrix Instructions".

Layouts and requests are in `grader.simt.isa.fragments`, the arithmetic in `grader.simt.isa.multiply`. All of a warp's
threads must execute these instructions together; a load waits for them before it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.simt.engine.values import I32, I64, Value, vec
from grader.simt.isa.fragments import Fragment, FragmentRequest, MmaShape, accumulator, operand, requests
from grader.simt.isa.multiply import REGISTER, Product, function, transpose_function
from grader.simt.isa.registry import WIDTH, Match, form
from grader.simt.ptx import Instruction, Operand, items

if TYPE_CHECKING:
    from grader.simt.engine.block_emitter import BlockEmitter

WMMA_SHAPES = ("m16n16k16", "m8n32k16", "m32n8k16")
BYTES = ("s8", "u8")
HALVES = ("f16", "f32")
LAYOUTS = ("row", "col")
TILE = {"ROLE": ("a", "b"), "LAYOUT": LAYOUTS, "SPACE": ("global", "shared", "shared::cta"),
        "SHAPE": (*WMMA_SHAPES, "m16n16k8"), "TYPE": (*HALVES, "s32")}  # fmt: skip
"""Choices of loads and stores of accumulators; operands have other shapes and types."""


def _wait(e: BlockEmitter) -> None:
    e.synchronised(e.f.const(vec(I32), -1))


def _shuffled(e: BlockEmitter, register: Value, *, transposed: bool) -> Value:
    return e.f.call(transpose_function(e.f.module), register) if transposed else register


# -- requests --------------------------------------------------------------------------------------------------------
class _Tile:
    """A matrix tile in memory, with the addresses of a fragment's elements by (g, t)."""

    def __init__(self, e: BlockEmitter, fragment: Fragment, m: Match, address: Value, stride: Value) -> None:
        self.e, self.fragment, self.address, self.stride = e, fragment, address, stride
        self.along = fragment.runs_along(m.LAYOUT)
        self.space = m.space
        self.patterns: dict[tuple[tuple[int, int], ...], Value] = {}

    def addresses(self, request: FragmentRequest) -> Value:
        """The byte address of each lane's run: the lanes' offsets, which requests share, plus the request's start."""
        starts = [start if self.along else start[::-1] for start in request.starts]
        major, minor = starts[0]
        pattern = tuple((a - major, b - minor) for a, b in starts)
        if pattern not in self.patterns:
            self.patterns[pattern] = self._pattern(pattern)
        size = self.fragment.bits // 8
        here = self.patterns[pattern] + self.stride * (major * size) if major else self.patterns[pattern]
        return here + minor * size if minor else here

    def _pattern(self, pattern: Sequence[tuple[int, int]]) -> Value:
        """The tile's address plus the lanes' offsets; the stride is in elements."""
        f = self.e.f
        majors, minors = zip(*pattern, *[(0, 0)] * (32 - len(pattern)), strict=True)
        elements = f.lanes(I64, majors) * self.stride + f.lanes(I64, minors)
        return self.address + elements * (self.fragment.bits // 8)

    def load(self, request: FragmentRequest) -> list[tuple[int, Value]]:
        """(register, value) pairs of one request; the bits of a run that is shorter than a register are in place."""
        e = self.e
        where, first = self.addresses(request), request.blocks[0] * self.fragment.registers_per_block
        if request.bytes == 16:
            mask = e.mask & ((1 << len(request.starts)) - 1)
            words = e.load_memory(self.space, where, 32, 4, mask=mask)
            rows = [_from_rows(e, words, i) for i in range(len(request.blocks))]
            return [(first + i, _shuffled(e, row, transposed=request.transposed)) for i, row in enumerate(rows)]
        if request.element is None:
            words = e.load_memory(self.space, where, 32, request.bytes // 4)
            return [(first + i, _shuffled(e, word, transposed=request.transposed)) for i, word in enumerate(words)]
        (value,) = e.load_memory(self.space, where, self.fragment.bits, 1)
        at = request.element * self.fragment.bits
        return [(first + at // 32, value.resize(I32) << at % 32)]

    def store(self, request: FragmentRequest, registers: Sequence[Value]) -> None:
        e = self.e
        first = request.blocks[0] * self.fragment.registers_per_block
        chosen = registers[first : first + self.fragment.registers_per_block]
        if request.element is not None:
            chosen = [chosen[request.element]]  # accumulators that are stored by element have 32 bits
        values = [_shuffled(e, register, transposed=request.transposed) for register in chosen]
        e.store_memory(self.space, self.addresses(request), values, 32)


def _from_rows(e: BlockEmitter, words: Sequence[Value], block: int) -> Value:
    """A block's register from its 16-byte rows: lane l gets word l mod 4 of the row that lane 8·block + l/4 read."""
    f = e.f
    lanes = [8 * block + lane // 4 for lane in range(32)]
    low, high = (a.shuffle([r + 32 * (lane % 2) for lane, r in enumerate(lanes)], b) for a, b in (words[:2], words[2:]))
    return f.lanes(I32, [lane % 4 for lane in range(32)]).ult(2).select(low, high)


def _tile(e: BlockEmitter, m: Match, i: Instruction, fragment: Fragment, address_at: int) -> _Tile:
    """The tile of a load or store; without a stride operand its rows (or columns) are contiguous."""
    if len(i.operands) > 2:
        stride = e.read(i.operands[2], "u32").zext(I64)
    else:
        stride = e.f.const(vec(I64), fragment.extent[1 if fragment.runs_along(m.LAYOUT) else 0])
    return _Tile(e, fragment, m, e.address_of(i.operands[address_at]), stride)


@form("wmma.load.ROLE.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE d, a{, stride}", raw=True, tags=("sync", "memory"),
      also=TILE, SHAPE=WMMA_SHAPES, TYPE=("f16", "bf16", *BYTES))  # fmt: skip
@form("wmma.load.ROLE.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE d, a{, stride}", raw=True, tags=("sync", "memory"),
      also=TILE, SHAPE=("m16n16k8",), TYPE=("tf32",))  # fmt: skip
@form("wmma.load.c.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE d, a{, stride}", raw=True, tags=("sync", "memory"),
      also=TILE)  # fmt: skip
def wmma_load(e: BlockEmitter, m: Match, i: Instruction) -> None:
    shape = MmaShape.parse(m.SHAPE)
    fragment = operand(m.ROLE, shape, m.TYPE, wmma=True) if m.ROLE else accumulator(shape, m.TYPE)
    _wait(e)
    tile = _tile(e, m, i, fragment, 1)
    held: dict[int, Value] = {}
    for request in requests(fragment, m.LAYOUT, rows=bool(m.ROLE) and tile.space == "shared"):
        for register, value in tile.load(request):
            held[register] = held[register] | value if register in held else value
    for n, item in enumerate(items(i.operands[0])):
        e.write(item, held[n % len(held)], "b32")


@form("wmma.store.d.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE a, b{, stride}", raw=True, tags=("sync", "memory"),
      also=TILE)  # fmt: skip
def wmma_store(e: BlockEmitter, m: Match, i: Instruction) -> None:
    _wait(e)
    fragment = accumulator(MmaShape.parse(m.SHAPE), m.TYPE)
    tile = _tile(e, m, i, fragment, 0)
    registers = [e.read(item, "b32") for item in items(i.operands[1])]
    for request in requests(fragment, m.LAYOUT, rows=False):
        tile.store(request, registers)


# -- products --------------------------------------------------------------------------------------------------------
def _in_memory(e: BlockEmitter, source: Operand, fragment: Fragment) -> Value:
    """The registers of an operand (the first copy of each) in a stack array."""
    f = e.f
    registers = items(source)[: fragment.registers // fragment.copies]
    place = f.array(vec(I32), len(registers))
    for n, register in enumerate(registers):
        f.store(e.read(register, "b32"), place, REGISTER * n, align=64)
    return place


_WMMA = "wmma.mma.sync.aligned.ALAYOUT.BLAYOUT"
_MMA = "mma.sync.aligned"
PRODUCT = {"ALAYOUT": LAYOUTS, "BLAYOUT": LAYOUTS, "SHAPE": WMMA_SHAPES, "ATYPE": BYTES, "BTYPE": BYTES}


@form(f"{_WMMA}.SHAPE.DTYPE.CTYPE d, a, b, c", raw=True, tags=("sync",), also=PRODUCT, DTYPE=HALVES, CTYPE=HALVES)
@form(f"{_WMMA}.SHAPE.f32.bf16.bf16.f32 d, a, b, c", raw=True, tags=("sync",), also=PRODUCT)
@form(f"{_WMMA}.SHAPE.f32.tf32.tf32.f32 d, a, b, c", raw=True, tags=("sync",), also=PRODUCT, SHAPE=("m16n16k8",))
@form(f"{_WMMA}.SHAPE.s32.ATYPE.BTYPE.s32{{.satfinite}} d, a, b, c", raw=True, tags=("sync",), also=PRODUCT)
@form(f"{_MMA}.SHAPE.row.col.f16.f16.f16.f16 d, a, b, c", raw=True, tags=("sync",), SHAPE=("m16n8k8", "m16n8k16"))
@form(f"{_MMA}.SHAPE.row.col.f32.f16.f16.f32 d, a, b, c", raw=True, tags=("sync",), SHAPE=("m16n8k8", "m16n8k16"))
@form(f"{_MMA}.SHAPE.row.col.f32.bf16.bf16.f32 d, a, b, c", raw=True, tags=("sync",), SHAPE=("m16n8k8", "m16n8k16"))
@form(f"{_MMA}.SHAPE.row.col.f32.tf32.tf32.f32 d, a, b, c", raw=True, tags=("sync",), SHAPE=("m16n8k4", "m16n8k8"))
@form(f"{_MMA}.SHAPE.row.col{{.satfinite}}.s32.ATYPE.BTYPE.s32 d, a, b, c", raw=True, tags=("sync",), also=PRODUCT,
      SHAPE=("m8n8k16", "m16n8k16", "m16n8k32"))  # fmt: skip
def mma(e: BlockEmitter, m: Match, i: Instruction) -> None:
    f = e.f
    d, *factors, c = (modifier for modifier in i.modifiers if modifier in WIDTH)
    a, b = factors or ("f16", "f16")
    product = Product(MmaShape.parse(m.SHAPE), a, b, c, d, wmma=m.OPCODE == "wmma", saturates=m.satfinite)
    fragments = (product.operand("a"), product.operand("b"), accumulator(product.shape, c))
    places = [_in_memory(e, source, fragment) for source, fragment in zip(i.operands[1:], fragments, strict=True)]
    targets = items(i.operands[0])
    result = f.array(vec(I32), len(targets))
    e.drop_if_changed(places[0], REGISTER * (fragments[0].registers // fragments[0].copies))
    f.call(function(f.module, product), *places, result)
    for n, item in enumerate(targets):
        e.write(item, f.load(vec(I32), result, REGISTER * n, align=64), "b32")


# -- blocks of 8 × 8 -------------------------------------------------------------------------------------------------
@form("ldmatrix.sync.aligned.m8n8.COUNT{.trans}{.SPACE}.b16 d, a", raw=True, tags=("sync", "memory"),
      COUNT=("x1", "x2", "x4"), SPACE=("shared", "shared::cta"))  # fmt: skip
def ldmatrix(e: BlockEmitter, m: Match, i: Instruction) -> None:
    """Lane 8·k + r has the address of row r of block k."""
    _wait(e)
    count = int(m.COUNT[1:])
    words = e.load_memory(m.space, e.address_of(i.operands[1]), 32, 4, mask=e.mask & ((1 << (8 * count)) - 1))
    for k, item in enumerate(items(i.operands[0])):
        e.write(item, _shuffled(e, _from_rows(e, words, k), transposed=m.trans), "b32")


@form("movmatrix.sync.aligned.m8n8.trans.b16 d, a", raw=True, tags=("sync",))
def movmatrix(e: BlockEmitter, m: Match, i: Instruction) -> None:
    target, source = i.operands
    e.write(target, _shuffled(e, e.read(source, "b32"), transposed=True), "b32")
