"""The structures that generated code and Python share: field offsets by name, computed once.

WORKER      for each CPU thread: pointers to all memory, the current block, budgets, barriers
WARP        for each warp of the block: the waiting lanes, then the registers
ALLOCATION  one row of an address table
FINDING     one finding as recorded by generated code
WORST       the worst request of a site, for pictures
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

import numpy as np
import numpy.typing as npt

from grader.simt.engine import ir
from grader.simt.engine.builder import Builder
from grader.simt.engine.values import I32, I64, PTR, Value, bits_of, vec

_UNSIGNED = {size: Struct(code) for size, code in ((1, "<B"), (2, "<H"), (4, "<I"), (8, "<Q"))}


def rounded(size: int, unit: int) -> int:
    """``size`` rounded up to a multiple of ``unit``."""
    return -(-size // unit) * unit


class Layout:
    """Named fields at fixed offsets, each aligned to its size."""

    def __init__(self, fields: Sequence[tuple[str, ir.Type] | tuple[str, ir.Type, int]]) -> None:
        self.offset: dict[str, int] = {}
        self.kind: dict[str, ir.Type] = {}
        at = 0
        for name, kind, *count in fields:
            size = bits_of(kind) // 8
            at = rounded(at, size)
            self.offset[name], self.kind[name] = at, kind
            at += size * (count[0] if count else 1)
        self.size = rounded(at, 64)

    def at(self, f: Builder, base: Value, name: str, index: Value | None = None) -> Value:
        """Address of a field, or of one element of an array field (``index`` i32 or i64)."""
        place = f.at(base, self.offset[name])
        if index is None:
            return place
        return f.at(place, index.zext(I64) * (bits_of(self.kind[name]) // 8))

    def read(self, raw: npt.NDArray[np.uint8], name: str, index: int = 0) -> int:
        """A field, or an element of an array field, of the structure in ``raw``, as an unsigned integer."""
        unsigned = _UNSIGNED[bits_of(self.kind[name]) // 8]
        return int(unsigned.unpack_from(raw.data, self.offset[name] + unsigned.size * index)[0])

    def write(self, raw: npt.NDArray[np.uint8], name: str, *values: int) -> None:
        """Set a field, or the first elements of an array field, of the structure in ``raw``."""
        unsigned = _UNSIGNED[bits_of(self.kind[name]) // 8]
        for index, value in enumerate(values):
            unsigned.pack_into(raw.data, self.offset[name] + unsigned.size * index, value)

    def load(self, f: Builder, base: Value, name: str, index: Value | None = None) -> Value:
        return f.load(self.kind[name], self.at(f, base, name, index))

    def row(self, f: Builder, base: Value, name: str) -> Value:
        """An array field of 32 elements as a vector: one element for each lane."""
        return f.load(vec(self.kind[name]), self.at(f, base, name), align=64)

    def store_row(self, f: Builder, base: Value, name: str, value: Value, lanes: Value | None = None) -> None:
        """Set an array field of 32 elements, or its elements of some lanes (an i32 mask)."""
        if lanes is None:
            f.store(value, self.at(f, base, name), align=64)
        else:
            f.masked_store(value, self.at(f, base, name), lanes.as_lanes(), 64)

    def store(self, f: Builder, base: Value, name: str, value: Value | int, index: Value | None = None) -> None:
        given = value if isinstance(value, Value) else f.const(self.kind[name], value)
        f.store(given, self.at(f, base, name, index))


WORKER = Layout(
    [
        ("params", PTR), ("tids", PTR), ("warps", PTR), ("allocations", PTR), ("shared_allocations", PTR),
        ("local_allocations", PTR),
        ("site_cache", PTR), ("shared", PTR), ("local", PTR), ("counters", PTR), ("findings", PTR), ("printed", PTR),
        ("site_counters", PTR),
        ("global_writes", PTR), ("global_reads", PTR), ("shared_writes", PTR), ("shared_reads", PTR),
        ("marks", PTR), ("releases", PTR), ("rings", I64), ("fences", PTR),
        ("known", PTR), ("lane_known", PTR), ("arrivals", PTR), ("ranks", PTR),
        ("symbols", PTR), ("global_cells", I64), ("shared_cells", I64),
        ("worst", PTR), ("copies", PTR), ("objects", PTR), ("object_rows", I64), ("stores", PTR), ("changed", PTR),
        ("allocation_count", I64), ("shared_allocation_count", I64),
        ("local_allocation_count", I64), ("shared_bytes", I64), ("local_bytes", I64),
        ("last_block", I64), ("serial", I64), ("serial_base", I64),
        ("block_budget", I64), ("block_started_with", I64), ("own_left", I64), ("budget_per_block", I64),
        ("warp_bytes", I64), ("header_bytes", I64),
        ("block_cost", I64), ("last_share", I64), ("stop", PTR), ("printed_limit", I64),
        ("next_block", I64), ("changes", I64), ("workspace", I64),
        ("budget", I64), ("finding_count", I64), ("printed_bytes", I64), ("sequence", I64), ("global_changes", I64),
        ("switches", I64),  # up to here COMMON
        ("grid", I32, 3), ("block", I32, 3), ("ctaid", I32, 3), ("threads", I32), ("warp_count", I32),
        ("alive", I32), ("status", I32), ("fenced", I32), ("dynamic_shared", I32),
        ("multi_worker", I32), ("undefined", I32), ("partial_sync", I32),
        ("barriers", I32), ("of_grid", I32), ("restless", I32), ("asleep", I32), ("round", I32), ("switch_after", I32),
        ("block_fenced", I32), ("goes_last", I32),
        ("arrived", I32, 16), ("expected", I32, 16), ("vote_and", I32, 16), ("vote_or", I32, 16),
        ("vote_count", I32, 16), ("result_and", I32, 16), ("result_or", I32, 16), ("result_count", I32, 16),
        ("waits_at", I32, 32), ("waits_for", I32, 32), ("arrived_acquired", I64, 16),
    ]
)  # fmt: skip

FETCHES, COPY_GROUPS, COPY_BARRIERS = 16, 8, 16
"""Slots of a warp for fetches in flight (see `grader.simt.observers.overlap`)."""

WARP = Layout(
    [
        ("alive", I32), ("pending", I32), ("parked", I32), ("rotate", I32), ("forced", I32), ("clock", I32),
        ("index", I32), ("waits", I32), ("quantum", I32),
        ("edge", I32), ("edge_lanes", I32), ("edge_changes", I64), ("spun", I32), ("spun_changes", I64),
        ("read_site", I32), ("own_site", I32), ("read_address", I64), ("own_address", I64),
        ("observed", I64), ("acquired", I64),
        ("wait_block", I32, 32), ("wait_mask", I32, 32), ("wait_barrier", I32, 32), ("wait_site", I32, 32),
        ("wait_alive", I32, 32),
        ("executed", I32), ("counted", I32), ("spanned", I32), ("fetches", I32, FETCHES),
        ("copy_open", I32), ("copy_commits", I32), ("copy_waits", I32), ("copy_groups", I32, COPY_GROUPS),
        ("copy_barriers", I32, COPY_BARRIERS),
    ]
)  # fmt: skip
"""Followed by a bit for each basic block with waiting lanes, by BLOCK_LANES for each block, and by the registers."""

MAX_BLOCKS = 1_000
"""Maximum of basic blocks per kernel."""
PENDING_WORDS = 16
PENDING_AT = WARP.size
LANES_AT = PENDING_AT + 8 * PENDING_WORDS
BLOCK_LANES = 8
"""Bytes per basic block: the lanes (i32) that wait to run it, and the lanes that they wait for."""


def header_bytes(blocks: int) -> int:
    """Bytes of a warp's state before its registers, in a kernel with ``blocks`` basic blocks."""
    return rounded(LANES_AT + BLOCK_LANES * blocks, 64)


ALLOCATION = Layout([("low", I64), ("size", I64), ("host", I64), ("shadow", I64), ("flags", I64), ("sectors", I64)])
INITIALISED, READ_ONLY, USED = 1, 2, 4
"""Flags of an allocation: the host filled it; stores to it are out of bounds; this launch has accessed it."""

FINDING = Layout(
    [("kind", I32), ("site", I32), ("thread", I32), ("lanes", I32), ("block", I64), ("address", I64), ("other", I64)]
)
MAX_FINDINGS = 256

WORST = Layout(
    [
        ("address", I64, 32),
        ("block", I64),
        ("taken", I32),
        ("least", I32),
        ("lanes", I32),
        ("warp", I32),
        ("shared", I32),
    ]
)

KEPT_RELEASES = 8
RELEASES = Layout(
    [("rows", I32, 32 * KEPT_RELEASES), ("times", I64, KEPT_RELEASES), ("owner", I64), ("count", I64), ("first", I64)]
)
"""A block's last releases: clocks of its warps, and times. ``first``: the time of its first release."""
RINGS = 1 << 16
"""The number of blocks of a launch whose releases are kept."""
ROW = 128
"""Bytes of a row of clocks: an i32 for each of a block's 32 warps."""
FENCES_BYTES = 33 * ROW
"""Per block: for each warp a row of the clocks that its last fence covers; and one row for all fences together."""

SWITCH_AFTER = {"": 0, "load": 1, "atomic": 2, "store": 3, "each store": 4}
"""The accesses after which a warp lets others run, in an adversarial run."""

READ_MARK, WRITE_MARK = 1, 2
MARKS_MARGIN = 512
"""Bytes around a worker's marks of cells: 32 consecutive lanes are marked at once, active or not."""

COPY_QUEUE = Layout([("groups", I32, 32), ("used", I64), ("issued", I32)])
"""Per warp, in kernels with asynchronous copies: committed groups of each lane, a bit per used slot; slots follow."""
COPY = Layout(
    [
        ("source", I64, 32), ("target", I64, 32), ("source_cell", I64, 32), ("target_cell", I64, 32),
        ("bytes", I32, 32), ("groups", I32, 32), ("barriers", I32, 32),
        ("lanes", I32), ("size", I32), ("line", I32), ("clock", I32), ("number", I32), ("kept", I32),
    ]
)  # fmt: skip
"""A slot: the lanes in flight of one request, with host addresses, shadow cells, and bytes from the source.

``kept`` is -1, or 0 where this run makes all of these bytes 0 (see `grader.simt.engine.changes`).
"""
COPY_SLOTS = 64
COPY_QUEUE_BYTES = COPY_QUEUE.size + COPY_SLOTS * COPY.size

HELD = Layout([("place", I64, 32), ("value", I64, 32), ("lanes", I32), ("bytes", I32)])
"""A buffered store of one element per lane: host address and value."""
STORE_BUFFER = Layout([("count", I32), ("oldest", I32)])
"""Per warp, in an adversarial run (see `grader.simt.engine.store_buffer`); its slots follow.

``oldest``: slots of the oldest instruction.
"""
HELD_SLOTS = 16
STORE_BUFFER_BYTES = STORE_BUFFER.size + HELD_SLOTS * HELD.size

BLOCK_COUNTERS = ("executions", "active_lanes", "predicated", "predicated_off", "divergent")
SITE_COUNTERS = (
    "requests", "bytes", "wanted", "sectors", "wavefronts", "ideal_wavefronts", "worst", "lanes", "overlapped",
    "fetching", "grouped", "local_bytes",
)  # fmt: skip
"""Counters are in one array of u64 per worker: first those of each basic block, then those of each site."""

COMMON = ("budget", "finding_count", "printed_bytes", "sequence", "global_changes", "switches")
"""Consecutive fields of WORKER that all resident blocks of a launch share."""

RUNNING, TIMED_OUT, TRAPPED, DEADLOCKED, FATAL, SUSPENDED = range(6)
"""Values of a worker's status; all but RUNNING end its blocks. SUSPENDED: the current block waits for others."""


class Stamp:
    """The stamp of an access in a shadow cell: thread, time and source line, packed into 64 bits (0: never).

    block serial 24 | thread 10 | warp clock 18 | line 10 | several readers 1 | atomic 1
    """

    SERIAL, THREAD, CLOCK, LINE, SEVERAL, ATOMIC = 40, 30, 12, 2, 1, 0
    MAX_SERIAL, MAX_CLOCK, MAX_LINE = (1 << 24) - 1, (1 << 18) - 1, (1 << 10) - 1
