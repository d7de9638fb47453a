"""One launch: its tables, its share for each CPU thread, and what came of it.

A launch runs on several threads unless its blocks need the fixed order. If a run on several threads found anything, ran
out of budget, or two threads touched the same memory, only a run of everything on one gives the reference result.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from grader.simt.engine.code_cache import Loaded
from grader.simt.engine.codegen import Kernel
from grader.simt.engine.findings import Finding
from grader.simt.engine.layout import ALLOCATION, INITIALISED, READ_MARK, READ_ONLY, RUNNING, USED, Stamp
from grader.simt.engine.operands import PARAMETER_BASE
from grader.simt.engine.residents import NotResident, TooLarge, aligned
from grader.simt.engine.shadows import Bytes
from grader.simt.engine.sites import BLOCK_COUNTERS, SITE_COUNTERS
from grader.simt.engine.worker import Worker
from grader.simt.occupancy import SM_COUNT

if TYPE_CHECKING:
    from grader.simt.engine.device import Array, Device

__all__ = ["Dim3", "Launch", "Launched", "TooLarge"]

Dim3 = tuple[int, int, int]

MAX_THREADS = 1024
MAX_LOCAL_BYTES = 512 << 10
"""Of one thread, as in CUDA."""
MAX_SHARED_BYTES = 1 << 20
WORKER_BYTES = 1 << 30
"""Largest memory of one worker: local memory and registers of one block."""
WORKERS_BYTES = 2 << 30
"""Largest memory of all workers together; with fewer workers it is less."""

MAX_BLOCKS = Stamp.MAX_SERIAL - 1
"""Of one launch: each has a serial of its own in the shadow stamps."""

BLOCK_COST, WARP_COST, BYTES_PER_COST = 64, 16, 64
"""What starting a block is charged, in units of `blocks.cost`: once, for each warp, and for its shared memory."""


@dataclass(frozen=True)
class Launched:
    """What one launch did. Counters are u64 by basic block and by site (see `grader.simt.engine.sites`)."""

    kernel: Kernel
    status: int
    blocks: npt.NDArray[np.uint64]
    sites: npt.NDArray[np.uint64]
    worst: Bytes  # a WORST for each site
    findings: tuple[Finding, ...]
    printed: bytes
    spent: int  # of the budget
    rerun: bool  # only one thread gives the reference result
    cooperative: bool = False
    resident: int = 0  # blocks at once, at most


class Launch:
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
    ) -> None:
        self.device, self.kernel, self.code = device, loaded.kernel, loaded.code
        self.grid, self.block, self.dynamic = grid, block, dynamic
        self.budget_per_block, self.budget = budget_per_block, budget
        self.cooperative, self.resident = cooperative, resident
        self.block_count = grid[0] * grid[1] * grid[2]
        self.threads = block[0] * block[1] * block[2]
        self.warps = (self.threads + 31) // 32
        self.block_cost = BLOCK_COST + WARP_COST * self.warps + (self.kernel.shared_bytes + dynamic) // BYTES_PER_COST
        self.worker_bytes = self.warps * (self.kernel.warp_bytes + 32 * self.kernel.local_bytes)
        self._check()
        self.params = self._parameters(arguments)
        self.workspace = device.workspace() if cooperative else 0
        self.tids = self._tids()
        self.arrays = tuple(device.arrays)
        self.table = self._allocation_table()
        self.shared_bytes = self.kernel.shared_bytes + dynamic
        self.shared_table = self._shared_table()
        self.local_table = _table([(0, self.kernel.local_bytes, 0, 0, 0)] if self.kernel.local_bytes else [])
        self.symbols = np.array([device.symbols.get(s, 0) for s in self.kernel.symbols] or [0], np.uint64)
        self.stop = aligned(64)
        self._runs: list[Worker] = []

    def _check(self) -> None:
        """What can be known of a launch before it takes any memory or time."""
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
        if self.block_count > most:
            raise TooLarge(f"a grid of {self.block_count} blocks, more than the {most} that this case may still start")

    def _workers(self) -> int:
        if self.kernel.global_order:
            return 1
        return max(1, min(self.device.threads, self.block_count, WORKERS_BYTES // max(self.worker_bytes, 1)))

    def run(self) -> Launched:
        workers = self._workers()
        first = self.device.serials(self.block_count)
        runs = [Worker(self, i, workers, first) for i in range(workers)]
        if workers == 1:
            runs[0].run()
        else:
            threads = [threading.Thread(target=w.run) for w in runs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self._runs = runs
        return self._merge(runs)

    def used(self) -> list[tuple[Array, int]]:
        """The arrays that the launch met, with the sectors that were moved, as far as they are counted."""
        tables = [w.table.view(np.uint64).reshape(-1, ALLOCATION.size // 8) for w in self._runs]
        flags, sectors = (ALLOCATION.offset[name] // 8 for name in ("flags", "sectors"))
        return [
            (array, sum(int(table[i, sectors]) for table in tables))
            for i, array in enumerate(self.arrays)
            if any(int(table[i, flags]) & USED for table in tables)
        ]

    def _merge(self, runs: list[Worker]) -> Launched:
        counters: npt.NDArray[np.uint64] = np.stack([w.counters for w in runs]).sum(axis=0, dtype=np.uint64)
        split = len(BLOCK_COUNTERS) * len(self.kernel.block_lines)
        sites = np.stack([w.counters[split:].reshape(-1, len(SITE_COUNTERS)) for w in runs])
        merged = counters[split:].reshape(-1, len(SITE_COUNTERS)).copy()
        worst = SITE_COUNTERS.index("worst")
        merged[:, worst] = sites[:, :, worst].max(axis=0)
        first = sites[:, :, worst].argmax(axis=0)  # of the workers, who have their blocks in order
        records = np.stack([w.worst for w in runs])[first, np.arange(merged.shape[0])]
        found = tuple(f for w in runs for f in w.findings())
        status = next((w.status for w in runs if w.status != RUNNING), RUNNING)
        rerun = len(runs) > 1 and (bool(found) or status != RUNNING or self._overlap(runs))
        blocks = counters[:split].reshape(-1, len(BLOCK_COUNTERS))
        printed, spent = b"".join(w.printed() for w in runs), sum(w.spent for w in runs)
        return Launched(self.kernel, status, blocks, merged, records, found, printed, spent, rerun,
                        self.cooperative, self.resident)  # fmt: skip

    def _overlap(self, runs: Sequence[Worker]) -> bool:
        """Whether two workers touched the same cell of global memory and one of them wrote to it."""
        granule = self.kernel.granule["global"]
        for i, array in enumerate(self.arrays):
            cells = array.shadow // granule, -(-array.data.size // granule)
            met = [w.marks_of(*cells) for w in runs if w.met(i)]
            for k, mine in enumerate(met):
                # The product of two marks is above 1 where one of the two is a write.
                if any(np.any(mine * other > READ_MARK) for other in met[:k]):
                    return True
        return False

    def _parameters(self, arguments: Sequence[bytes]) -> Bytes:
        out = aligned(max(self.kernel.parameter_bytes, 1) + 64)
        at = 0
        for (_, size, align), given in zip(self.kernel.parameters, arguments, strict=True):
            at = (at + align - 1) // align * align
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
        """Sorted by address: module variables and arrays, then the parameters."""
        granule = self.kernel.granule["global"]
        rows = [
            (a.address, a.data.size, a.data.ctypes.data, a.shadow // granule,
             INITIALISED * a.initialised | READ_ONLY * a.read_only)
            for a in self.arrays
        ]  # fmt: skip
        size = max(self.kernel.parameter_bytes, 1)
        rows.append((PARAMETER_BASE, size, self.params.ctypes.data, 0, INITIALISED | READ_ONLY))
        return _table(rows)

    def _shared_table(self) -> Bytes:
        granule = self.kernel.granule["shared"]
        rows = []
        for _, offset, size in sorted(self.kernel.shared, key=lambda s: (s[1], s[2])):
            rows.append((offset, size if size >= 0 else self.dynamic, offset, offset // granule, 0))
        if self.dynamic and not any(size < 0 for _, _, size in self.kernel.shared):
            rows.append(
                (
                    self.kernel.shared_bytes,
                    self.dynamic,
                    self.kernel.shared_bytes,
                    self.kernel.shared_bytes // granule,
                    0,
                )
            )
        return _table([r for r in rows if r[1] > 0])


def _table(rows: Sequence[tuple[int, int, int, int, int]]) -> Bytes:
    out = aligned(max(len(rows), 1) * ALLOCATION.size)
    for i, row in enumerate(rows):
        out[i * ALLOCATION.size : i * ALLOCATION.size + 40].view(np.uint64)[:] = np.array(row, np.uint64)
    return out[: len(rows) * ALLOCATION.size] if rows else out[:0]
