"""Event sites: the places in a kernel that observers look at, numbered, with their source lines.

Counters lie in one array of u64 for each worker: BLOCK_COUNTERS for each basic block, then SITE_COUNTERS for each site.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.simt.engine.layout import Stamp

if TYPE_CHECKING:
    from grader.simt.engine.blocks import Graph, Op

BLOCK_COUNTERS = ("executions", "active_lanes", "predicated_off", "predicated", "divergent")
SITE_COUNTERS = (
    "requests",
    "bytes",
    "sectors",
    "wavefronts",
    "ideal_wavefronts",
    "worst",
    "lanes",
    "overlapped",
    "fetching",
)


@dataclass(frozen=True)
class Site:
    """One memory or synchronisation instruction. ``kind`` is load, store, atomic, or "" for others."""

    index: int
    op: int
    block: int
    line: int
    name: str
    space: str = ""
    kind: str = ""
    bytes: int = 0  # for each lane
    orders_blocks: bool = False  # a global atomic or volatile access: blocks run in the fixed interleaving


class SiteTable:
    """Numbers the instructions that may report or count; memory requests add themselves as they are generated."""

    def __init__(self, graph: Graph, granule: dict[str, int], seeds: frozenset[int]) -> None:
        self.sites: list[Site] = []
        self.lines: list[int] = []
        self._by_op: dict[int, int] = {}
        self._block_of = {op.index: b.index for b in graph.blocks for op in b.ops}
        self.granule = granule  # bytes of a shadow cell, by space
        self.seeds = seeds  # plain loads that count as relaxed, by the index of their instruction
        self.has_fences = any("fence" in op.form.tags for b in graph.blocks for op in b.ops)

    def of_op(self, op: Op) -> int:
        """The site of an instruction that reports something but makes no memory request."""
        if op.index not in self._by_op:
            self._by_op[op.index] = self.request(op, "", "", 0)
        return self._by_op[op.index]

    def request(self, op: Op, space: str, kind: str, bytes_: int, *, orders_blocks: bool = False) -> int:
        """A new site for one memory request of an instruction."""
        line = op.instruction.line.line if op.instruction.line else 0
        index = len(self.sites)
        self.sites.append(
            Site(
                index, op.index, self._block_of[op.index], line, op.instruction.name, space, kind, bytes_, orders_blocks
            )
        )
        self._by_op.setdefault(op.index, index)
        return index

    def line_index(self, site: int) -> int:
        """Where the site's line stands in the stamps' line table; the last entry stands for all that do not fit."""
        line = self.sites[site].line
        if line not in self.lines and len(self.lines) < Stamp.MAX_LINE:
            self.lines.append(line)
        return self.lines.index(line) if line in self.lines else Stamp.MAX_LINE
