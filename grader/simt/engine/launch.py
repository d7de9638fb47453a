"""One launch: its tables, its share for each CPU thread, and the result.

A launch runs on several threads unless its blocks need the fixed order. If a run on several threads has findings,
exceeds its budget, or two threads access the same memory, it must be repeated on one thread, whose result counts.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from grader.simt.engine import layout
from grader.simt.engine.barriers import RANKS
from grader.simt.engine.code_cache import Loaded
from grader.simt.engine.codegen import Kernel
from grader.simt.engine.findings import Finding
from grader.simt.engine.layout import (
    ALLOCATION,
    BLOCK_COUNTERS,
    FINDING,
    RELEASES,
    RUNNING,
    SITE_COUNTERS,
    USED,
    WORKER,
    WORST,
)
from grader.simt.engine.memory import CACHE_SLOTS
from grader.simt.engine.operands import PARAMETER_BASE
from grader.simt.engine.residents import NotResident, Residents, TooLarge, aligned, block_memory
from grader.simt.engine.shadows import Bytes
from grader.simt.occupancy import SM_COUNT

if TYPE_CHECKING:
    from grader.simt.engine.device import Array, Device

Dim3 = tuple[int, int, int]
Memory = dict[str, npt.NDArray[np.generic]]

MAX_THREADS = 1024
MAX_LOCAL_BYTES = 512 << 10
"""Per thread, as in CUDA."""
MAX_SHARED_BYTES = 1 << 20
WORKER_BYTES = 1 << 30
"""Maximum memory of one worker: local memory and registers of one block."""
WORKERS_BYTES = 2 << 30
"""Maximum memory of all workers; for more, the launch has fewer workers."""

CELLS_BYTES = 4 << 30
"""Maximum address space of all workers' shadow cells; for more, the launch has fewer workers."""
CELL_BYTES = 9
"""Per cell: a stamp and a mark."""

MAX_BLOCKS = layout.Stamp.MAX_SERIAL - 1
"""Per launch: each block has a serial number in the shadow stamps."""

MAX_SWITCHES = 20_000
"""Per adversarial launch: each switch takes some 10 µs."""

BLOCK_COST, WARP_COST, BYTES_PER_COST = 64, 16, 64
"""The cost of starting a block, in units of `blocks.cost`: per block, per warp, and the filled bytes per unit."""


@dataclass(frozen=True)
class Launched:
    """The result of one launch. Counters are u64 by basic block and by site (see `grader.simt.engine.sites`)."""

    kernel: Kernel
    status: int
    blocks: npt.NDArray[np.uint64]
    sites: npt.NDArray[np.uint64]
    worst: Bytes  # a WORST for each site
    findings: tuple[Finding, ...]
    printed: bytes
    spent: int  # of the budget
    rerun: bool  # must be repeated on one thread
    cooperative: bool = False
    resident: int = 0  # maximum of resident blocks


class GridLaunch:
    def __init__(
        self,
        device: Device,
        loaded: Loaded,
        grid: Dim3,
        block: Dim3,
        dynamic: int,
        arguments: Sequence[bytes],
        budget_per_block: int,
        budget: int,
        *,
        cooperative: bool = False,
        resident: int,
        few: bool = False,
    ) -> None:
        self.device, self.kernel, self.code = device, loaded.kernel, loaded.code
        self.grid, self.block, self.dynamic = grid, block, dynamic
        self.budget_per_block, self.budget = budget_per_block, budget
        self.cooperative, self.resident = cooperative, resident
        self.block_count = grid[0] * grid[1] * grid[2]
        # One of them at three quarters: between 2^31 and 2^32 where the last one is beyond.
        self.few = sorted({0, 3 * (self.block_count - 1) // 4, self.block_count - 1}) if few else []
        self.threads = block[0] * block[1] * block[2]
        self.warps = (self.threads + 31) // 32
        filled = self.kernel.shared_bytes + dynamic + 32 * self.warps * self.kernel.local_bytes
        self.block_cost = BLOCK_COST + WARP_COST * self.warps + filled // BYTES_PER_COST
        self.worker_bytes = self.warps * (self.kernel.warp_bytes + 32 * self.kernel.local_bytes)
        self._check()
        self.workspace = device.workspace() if cooperative else 0
        self.arrays = tuple(device.arrays)
        self.shared_bytes = self.kernel.shared_bytes + dynamic
        self.params = self._parameters(arguments)
        self.first_rows: list[int] = []  # of the table: for each array, and for the parameters after them
        self.table = self._allocation_table()
        self.memory: Memory = {  # shared by all workers, by the names of WORKER's pointers to it
            "params": self.params,
            "tids": self._tids(),
            "shared_allocations": self._shared_table(),
            "local_allocations": _table([(0, self.kernel.local_bytes, 0, 0, 0)] if self.kernel.local_bytes else []),
            "symbols": np.array([device.symbols.get(s, 0) for s in self.kernel.symbols] or [0], np.uint64),
            "stop": aligned(64),
            "changed": self._changed(),
        }
        self.used: list[tuple[Array, int]] = []  # once it has run

    def _check(self) -> None:
        """Check the launch before it takes memory or time. Raises ValueError, TooLarge."""
        if min(*self.grid, *self.block) < 1 or self.threads > MAX_THREADS or self.dynamic < 0:
            raise ValueError(f"a launch of {self.grid} blocks of {self.block} threads")
        if self.kernel.local_bytes > MAX_LOCAL_BYTES:
            raise TooLarge(
                f"local arrays of {self.kernel.local_bytes} bytes in each thread ({MAX_LOCAL_BYTES} at most)"
            )
        if self.kernel.shared_bytes + self.dynamic > MAX_SHARED_BYTES:
            raise TooLarge(f"{self.kernel.shared_bytes + self.dynamic} bytes of shared memory in each block")
        if self.worker_bytes > WORKER_BYTES:
            raise TooLarge(f"{self.worker_bytes} bytes of registers and local memory in each block")
        if self.block_count > MAX_BLOCKS:
            raise TooLarge(f"a grid of {self.block_count} blocks; it tells at most {MAX_BLOCKS} of a launch apart")
        if self.cooperative and self.block_count > self.resident:
            raise NotResident(
                f"a cooperative launch of {self.block_count} blocks, of which only {self.resident} can be resident at "
                f"once ({SM_COUNT} multiprocessors × {self.resident // SM_COUNT} blocks of {self.threads} threads)"
            )
        most = self.budget // self.block_cost
        if (len(self.few) or self.block_count) > most:
            raise TooLarge(f"a grid of {self.block_count} blocks, more than the {most} that this case may still start")

    def run(self) -> Launched:
        cells = self.device.shadows.bytes // self.kernel.granule["global"]
        workers = min(
            self.device.threads, self.block_count, WORKERS_BYTES // max(self.worker_bytes, 1),
            CELLS_BYTES // (CELL_BYTES * cells + 1),
        )  # fmt: skip
        workers = 1 if self.kernel.global_order or self.few else max(1, workers)
        first, n = self.device.serials(self.block_count), self.block_count
        if self.few:
            runs = [Worker(self, 0, range(block, block + 1), 1, first) for block in self.few]
        else:
            shares = [range(n * i // workers, n * (i + 1) // workers) for i in range(workers)]
            runs = [Worker(self, i, share, workers, first) for i, share in enumerate(shares)]
        if workers == 1:
            for one in runs:
                one.run()
        else:
            threads = [threading.Thread(target=w.run) for w in runs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.used = self._used(runs)  # the workers themselves are not kept, so that their memory is freed
        return self._merge(runs, shared=workers > 1)

    def _used(self, runs: Sequence[Worker]) -> list[tuple[Array, int]]:
        """The arrays that the launch accessed, with their sectors if these are counted."""
        flags = np.bitwise_or.reduce([_column(w.table, "flags") for w in runs])
        sectors = np.sum([_column(w.table, "sectors") for w in runs], axis=0)
        met, moved = np.bitwise_or.reduceat(flags, self.first_rows), np.add.reduceat(sectors, self.first_rows)
        return [(array, int(moved[i])) for i, array in enumerate(self.arrays) if int(met[i]) & USED]

    def _merge(self, runs: list[Worker], *, shared: bool) -> Launched:
        counters: npt.NDArray[np.uint64] = np.stack([w.counters for w in runs]).sum(axis=0, dtype=np.uint64)
        split = len(BLOCK_COUNTERS) * len(self.kernel.block_lines)
        sites = np.stack([w.counters[split:].reshape(-1, len(SITE_COUNTERS)) for w in runs])
        merged = counters[split:].reshape(-1, len(SITE_COUNTERS)).copy()
        worst = SITE_COUNTERS.index("worst")
        merged[:, worst] = sites[:, :, worst].max(axis=0)
        first = sites[:, :, worst].argmax(axis=0)  # the first worker with the maximum has the first such block
        records = np.stack([w.worst for w in runs])[first, np.arange(merged.shape[0])]
        found = tuple(f for w in runs for f in w.findings())
        status = next((w.status for w in runs if w.status != RUNNING), RUNNING)
        rerun = shared and (bool(found) or status != RUNNING or self._overlap(runs))
        blocks = counters[:split].reshape(-1, len(BLOCK_COUNTERS))
        printed, spent = b"".join(w.printed() for w in runs), sum(w.spent for w in runs)
        return Launched(self.kernel, status, blocks, merged, records, found, printed, spent, rerun,
                        self.cooperative, self.resident)  # fmt: skip

    def _overlap(self, runs: Sequence[Worker]) -> bool:
        """Whether two workers accessed the same cell of global memory, and one of them wrote to it."""
        granule = self.kernel.granule["global"]
        for i, array in enumerate(self.arrays):
            cells = array.shadow // granule, -(-array.data.size // granule)
            met = [w.marks_of(*cells) for w in runs if w.met(i)]
            before = met[0] if met else self.table[:0]
            for mine in met[1:]:
                # The product of two marks is above 1 if one of them is a write.
                if np.any(mine * before > layout.READ_MARK):
                    return True
                before = before | mine
        return False

    def _parameters(self, arguments: Sequence[bytes]) -> Bytes:
        out = aligned(max(self.kernel.parameter_bytes, 1) + 64)
        at = 0
        for (_, size, align), given in zip(self.kernel.parameters, arguments, strict=True):
            at = layout.rounded(at, align)
            out[at : at + len(given)] = np.frombuffer(given, np.uint8)
            at += size
        return out

    def _tids(self) -> Bytes:
        linear = np.arange(self.warps * 32, dtype=np.int32)
        x, y, z = self.block[0], self.block[1], self.block[2]
        axes = np.stack([linear % x, linear // x % y, linear // (x * y) % z])
        out = aligned(self.warps * 384)
        out.view(np.int32).reshape(self.warps, 3, 32)[:] = axes.reshape(3, self.warps, 32).transpose(1, 0, 2)
        return out

    def _allocation_table(self) -> Bytes:
        """The address table, sorted: module variables and arrays, then the parameters.

        A repeated array has a row for each repeat.
        """
        granule = self.kernel.granule["global"]
        rows: list[Row] = []
        for a in self.arrays:
            self.first_rows.append(len(rows))
            flags = layout.INITIALISED * a.initialised | layout.READ_ONLY * a.read_only
            host, shadow = a.data.ctypes.data, a.shadow // granule
            if not a.repeated:
                rows.append((a.address, a.data.size, host, shadow, flags))
            for start in range(0, a.repeated, a.data.size or 1):
                rows.append((a.address + start, min(a.data.size, a.size - start), host, shadow, flags))
        self.first_rows.append(len(rows))
        size = max(self.kernel.parameter_bytes, 1)
        rows.append((PARAMETER_BASE, size, self.params.ctypes.data, 0, layout.INITIALISED | layout.READ_ONLY))
        return _table(rows)

    def _changed(self) -> Bytes:
        """For each site how this run changes the results there (see `grader.simt.engine.changes`)."""
        out = aligned(len(self.kernel.sites) + 1)
        for kernel, site, how in self.device.changed:
            if kernel == self.kernel.name:
                out[site] = how
        return out

    def _shared_table(self) -> Bytes:
        granule = self.kernel.granule["shared"]
        arrays = sorted((offset, size) for _, offset, size in self.kernel.shared)
        if not any(size < 0 for _, size in arrays):
            arrays.append((self.kernel.shared_bytes, -1))  # dynamic shared memory without a name
        rows = [(at, size if size >= 0 else self.dynamic, at, at // granule, 0) for at, size in arrays]
        return _table([row for row in rows if row[1] > 0])


Row = tuple[int, int, int, int, int]


def _table(rows: Sequence[Row]) -> Bytes:
    out = aligned(max(len(rows), 1) * ALLOCATION.size)[: len(rows) * ALLOCATION.size]
    if rows:
        out.view(np.uint64).reshape(len(rows), -1)[:, :5] = np.array(rows, np.uint64)
    return out


def _column(table: Bytes, name: str) -> npt.NDArray[np.uint64]:
    rows = table.view(np.uint64).reshape(-1, ALLOCATION.size // 8)
    return rows[:, ALLOCATION.offset[name] // 8]


class Worker:
    """A share of a launch: a contiguous range of blocks. Only the data is shared with other workers.

    It is that of CPU thread ``index`` of ``count``.
    """

    def __init__(self, launch: GridLaunch, index: int, share: range, count: int, serial: int) -> None:
        self.launch = launch
        kernel = launch.kernel
        n = launch.block_count
        self.first, self.last = share.start, share.stop
        sites = len(kernel.sites)
        cells = launch.device.shadows.bytes // kernel.granule["global"]
        self.counters = np.zeros(len(BLOCK_COUNTERS) * len(kernel.block_lines) + len(SITE_COUNTERS) * sites, np.uint64)
        self.worst = aligned(WORST.size * sites).reshape(sites, WORST.size)
        self.findings_table = aligned(layout.MAX_FINDINGS * FINDING.size)
        self.printed_bytes = aligned(launch.device.printf_bytes + 64)
        self.marks = aligned(cells + 2 * layout.MARKS_MARGIN)
        self.table = aligned(launch.table.size)
        self.table[:] = launch.table
        self.own = block_memory(launch)
        rings = min(n, layout.RINGS) if kernel.global_order else 1
        writes, reads = launch.device.shadows.of_worker(index)
        self.memory: Memory = launch.memory | self.own | {
            "allocations": self.table, "counters": self.counters,
            "site_counters": self.counters[len(BLOCK_COUNTERS) * len(kernel.block_lines) :],
            "findings": self.findings_table, "printed": self.printed_bytes, "worst": self.worst,
            "site_cache": aligned(8 * CACHE_SLOTS * sites + 64), "ranks": aligned(4 * RANKS),
            "releases": aligned(RELEASES.size * rings), "marks": self.marks[layout.MARKS_MARGIN:],
            "global_writes": writes, "global_reads": reads,
        }  # fmt: skip
        self.state = aligned(WORKER.size)
        # On several threads each gets a share: if one exceeds it, the launch is repeated on one thread anyway.
        self.budget = launch.budget if count == 1 else launch.budget // count
        self.waiting: list[Finding] = []
        self._fill(count, serial)

    def _fill(self, count: int, serial: int) -> None:
        launch, kernel = self.launch, self.launch.kernel
        numbers = {
            "shared_bytes": launch.shared_bytes, "local_bytes": kernel.local_bytes,
            "next_block": self.first, "last_block": self.last, "workspace": launch.workspace, "serial_base": serial,
            "budget_per_block": launch.budget_per_block, "budget": self.budget, "block_cost": launch.block_cost,
            "printed_limit": launch.device.printf_bytes, "sequence": 1,
            "global_cells": self.memory["global_writes"].size,
            "object_rows": self.own["objects"].size // layout.ROW if kernel.objects else 0,
            "warp_bytes": kernel.warp_bytes, "header_bytes": layout.header_bytes(len(kernel.block_lines)),
            "rings": self.memory["releases"].size // RELEASES.size,
            "shared_cells": self.own["shared_writes"].size // 8,
            "threads": launch.threads, "warp_count": launch.warps, "dynamic_shared": launch.dynamic,
            "multi_worker": int(count > 1), "undefined": launch.device.undefined * 0x01010101,
            "switches": MAX_SWITCHES, "switch_after": layout.SWITCH_AFTER[launch.device.order.switch_after],
        }  # fmt: skip
        for prefix in ("", "shared_", "local_"):
            numbers[f"{prefix}allocation_count"] = self.memory[f"{prefix}allocations"].size // ALLOCATION.size
        for name, array in self.memory.items():
            WORKER.write(self.state, name, array.ctypes.data)
        for name, value in numbers.items():
            WORKER.write(self.state, name, value)
        WORKER.write(self.state, "grid", *launch.grid)
        WORKER.write(self.state, "block", *launch.block)

    def run(self) -> None:
        """Run all its blocks, or up to a fault."""
        if self.launch.kernel.waits:
            self.waiting = Residents(self.launch, self.state, self.own, self.first, self.last).run()
        else:
            self.launch.code.function("run", [ctypes.c_void_p])(self.state.ctypes.data)

    def met(self, array: int) -> bool:
        """Whether its blocks accessed this array."""
        first, end = self.launch.first_rows[array : array + 2]
        return bool(np.any(_column(self.table, "flags")[first:end] & np.uint64(USED)))

    def marks_of(self, first: int, count: int) -> Bytes:
        """The accesses of its blocks to these cells of global memory: READ_MARK, WRITE_MARK, both or none."""
        return self.marks[layout.MARKS_MARGIN + first :][:count]

    @property
    def spent(self) -> int:
        left = WORKER.read(self.state, "budget")
        return self.budget - (left - (left >> 63 << 64))  # the rest may be below 0

    @property
    def status(self) -> int:
        return WORKER.read(self.state, "status")

    def findings(self) -> list[Finding]:
        rows = self.findings_table.reshape(-1, FINDING.size)[: WORKER.read(self.state, "finding_count")]
        names = ("kind", "site", "thread", "lanes", "block", "address", "other")
        found = [Finding(*(FINDING.read(row, name) for name in names)) for row in rows]
        return [*found, *self.waiting]

    def printed(self) -> bytes:
        return self.printed_bytes[: WORKER.read(self.state, "printed_bytes")].tobytes()
