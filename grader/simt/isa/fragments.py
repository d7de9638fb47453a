"""The layouts of matrix fragments in a warp's registers, and the memory requests that load and store them.

Every fragment consists of *blocks*. In a block, lane l has ``step`` neighbouring elements, at g = l/4 across and
t = step · (l mod 4) along the block; so a block has 8 × 4·step elements. Rows are along g and columns along t, or vice
versa if the fragment is *across* (the right operand, and results of products that are computed transposed).

    ``mma`` layouts are the manual's. ``wmma`` layouts, which the manual does not define, are those of ptxas 12.9 for
    sm_80 and sm_90, from the machine code of every form here, with addresses and registers of all lanes. A wmma load
    has the same requests, so that sectors and wavefronts are those of the hardware:

    where memory runs along t     global: one element run of a lane (4 bytes; 8 for 4-byte accumulators) per block
    where it runs along g         16-bit: the same requests with g and t exchanged, transposed in registers;
                                  other widths: single elements
    shared, operands a and b      16-byte rows of up to four blocks, as `ldmatrix` reads them (8-bit: up to two)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from grader.simt.engine.values import LANES
from grader.simt.isa.registry import WIDTH

WMMA_F16_ELEMENTS = 16
"""Elements of an f16 operand fragment per lane, for all shapes: of smaller tiles there are 2 or 4 copies."""


@dataclass(frozen=True)
class MmaShape:
    m: int
    n: int
    k: int

    @classmethod
    def parse(cls, text: str) -> MmaShape:
        """The shape of PTX's ``m16n8k16``."""
        found = re.fullmatch(r"m(\d+)n(\d+)k(\d+)", text)
        assert found is not None, text
        return cls(*map(int, found.groups()))

    @property
    def is_transposed(self) -> bool:
        """Whether the product is computed as (BᵀAᵀ)ᵀ, because the hardware's left operand has at least 16 rows."""
        return self.m == 8 and self.n > 8


@dataclass(frozen=True)
class Fragment:
    """An operand's layout: the (g, t) places of its blocks in register order; elements have ``bits`` bits."""

    bits: int
    step: int
    across: bool
    blocks: tuple[tuple[int, int], ...]
    copies: int = 1

    @cached_property
    def elements(self) -> int:
        """Elements per lane, including copies: ``fragment<…>::num_elements``."""
        return self.step * len(self.blocks) * self.copies

    @cached_property
    def registers_per_block(self) -> int:
        return self.step * self.bits // 32

    @cached_property
    def registers(self) -> int:
        """32-bit registers per lane, including copies."""
        return self.registers_per_block * len(self.blocks) * self.copies

    @cached_property
    def extent(self) -> tuple[int, int]:
        """Elements along g and along t."""
        return max(g for g, _ in self.blocks) + 8, max(t for _, t in self.blocks) + 4 * self.step

    def runs_along(self, layout: str) -> bool:
        """Whether neighbours in memory (of a ``row`` or a ``col`` matrix) are neighbours along t."""
        return (layout == "row") != self.across

    def place(self, lane: int, element: int) -> tuple[int, int]:
        """(row, column) of ``x[element]`` in a lane."""
        block = self.blocks[element // self.step % len(self.blocks)]
        g, t = block[0] + lane // 4, block[1] + self.step * (lane % 4) + element % self.step
        return (t, g) if self.across else (g, t)


def operand(role: str, shape: MmaShape, kind: str, *, wmma: bool) -> Fragment:
    """The fragment of operand ``a`` or ``b``."""
    bits = WIDTH[kind]
    step = 32 // bits
    left = (role == "a") != (wmma and shape.is_transposed)
    blocks = _blocks(shape.m if role == "a" else shape.n, shape.k, 4 * step, left=left)
    copies = WMMA_F16_ELEMENTS // (step * len(blocks)) if wmma and kind == "f16" else 1
    return Fragment(bits, step, role == "b", blocks, copies)


def accumulator(shape: MmaShape, kind: str) -> Fragment:
    """The fragment of operands ``c`` and ``d``."""
    along, across = (shape.m, shape.n) if shape.is_transposed else (shape.n, shape.m)
    return Fragment(WIDTH[kind], 2, shape.is_transposed, _blocks(across, along, 8, left=True))


def _blocks(g_extent: int, t_extent: int, width: int, *, left: bool) -> tuple[tuple[int, int], ...]:
    """The places of blocks: in left operands and results pairs of blocks along g first; in right operands along t."""
    along = range(0, t_extent, width)
    if not left:
        return tuple((g, t) for g in range(0, g_extent, 8) for t in along)
    return tuple((top + g, t) for top in range(0, g_extent, 16) for t in along for g in range(0, min(16, g_extent), 8))


@dataclass(frozen=True)
class FragmentRequest:
    """One warp request: the start (g, t) and the length of each lane's run of elements, and the blocks that it fills.

    ``element`` is the element that a run of a single element fills; None if the run fills whole registers.
    """

    starts: tuple[tuple[int, int], ...]  # by lane; fewer than 32 if the upper lanes have no address
    bytes: int
    blocks: tuple[int, ...]
    element: int | None = None
    transposed: bool = False


def requests(fragment: Fragment, layout: str, *, rows: bool) -> list[FragmentRequest]:
    """The requests that load or store a fragment. ``rows``: an operand of a product, from shared memory."""
    along = fragment.runs_along(layout)
    if rows and (fragment.bits == 16 or (along and fragment.bits == 8)):
        return _row_requests(fragment, along)
    if along:
        width = fragment.step * fragment.bits // 8
        return [
            FragmentRequest(_lanes(g, t, 1, fragment.step), width, (i,)) for i, (g, t) in enumerate(fragment.blocks)
        ]
    if fragment.bits == 16:
        return [FragmentRequest(_exchanged(g, t), 4, (i,), transposed=True) for i, (g, t) in enumerate(fragment.blocks)]
    return [
        FragmentRequest(_lanes(g, t + j, 1, fragment.step), fragment.bits // 8, (i,), element=j)
        for i, (g, t) in enumerate(fragment.blocks)
        for j in range(fragment.step)
    ]


def _lanes(g: int, t: int, across: int, along: int) -> tuple[tuple[int, int], ...]:
    return tuple((g + across * (lane // 4), t + along * (lane % 4)) for lane in range(LANES))


def _exchanged(g: int, t: int) -> tuple[tuple[int, int], ...]:
    """16-bit pairs of a block whose memory order is along g."""
    return tuple((g + 2 * (lane % 4), t + lane // 4) for lane in range(LANES))


def _row_requests(fragment: Fragment, along: bool) -> list[FragmentRequest]:
    """Lane 8·i + r reads the 16 bytes of row r of the i-th block of a group."""
    size = 4 if fragment.bits == 16 else 2
    groups = [range(i, min(i + size, len(fragment.blocks))) for i in range(0, len(fragment.blocks), size)]
    found = []
    for group in groups:
        places = [fragment.blocks[i] for i in group]
        starts = tuple((g + r, t) if along else (g, t + r) for g, t in places for r in range(8))
        found.append(FragmentRequest(starts, 16, tuple(group), transposed=not along))
    return found
