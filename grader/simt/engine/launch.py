"""One launch: its tables, its share for each CPU thread, and what came of it.

A launch runs on several threads unless its blocks need the fixed order. If a run on several threads found anything, ran
out of budget, or two threads touched the same memory, only a run of everything on one gives the reference result.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from grader.simt.engine.barrier_objects import ROW, ROWS
from grader.simt.engine.clocks import RANKS
from grader.simt.engine.code_cache import Loaded
from grader.simt.engine.codegen import MAX_PARAMETER_BYTES, Kernel
from grader.simt.engine.findings import Finding
from grader.simt.engine.layout import (
    ALLOCATION,
    COPY_QUEUE_BYTES,
    FINDING,
    INITIALISED,
    MAX_FINDINGS,
    READ_ONLY,
    RUNNING,
    WORKER,
    WORST,
    Stamp,
)
from grader.simt.engine.memory import CACHE_SLOTS
from grader.simt.engine.operands import PARAMETER_BASE
from grader.simt.engine.sites import BLOCK_COUNTERS, SITE_COUNTERS

if TYPE_CHECKING:
    from grader.simt.engine.device import Device

Bytes = npt.NDArray[np.uint8]
Dim3 = tuple[int, int, int]

CHUNK_CELLS = 1024
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


class TooLarge(Exception):
    """Raised when a launch needs more memory or more blocks than the simulator gives."""


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


def _aligned(size: int) -> Bytes:
    """Zeroed bytes at an address that is a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


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
    ) -> None:
        self.device, self.kernel, self.code = device, loaded.kernel, loaded.code
        self.grid, self.block, self.dynamic = grid, block, dynamic
        self.budget_per_block, self.budget = budget_per_block, budget
        self.block_count = grid[0] * grid[1] * grid[2]
        self.threads = block[0] * block[1] * block[2]
        self.warps = (self.threads + 31) // 32
        self.block_cost = BLOCK_COST + WARP_COST * self.warps + (self.kernel.shared_bytes + dynamic) // BYTES_PER_COST
        self.worker_bytes = self.warps * (self.kernel.warp_bytes + 32 * self.kernel.local_bytes)
        self._check()
        self.params = self._parameters(arguments)
        self.tids = self._tids()
        self.table = self._allocation_table()
        self.shared_bytes = self.kernel.shared_bytes + dynamic
        self.shared_table = self._shared_table()
        self.local_table = _table([(0, self.kernel.local_bytes, 0, 0, 0)] if self.kernel.local_bytes else [])
        self.symbols = np.array([device.symbols.get(s, 0) for s in self.kernel.symbols] or [0], np.uint64)
        self.stop = _aligned(64)

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
        for i in range(workers):
            self.device.shadows(i, self.kernel.granule["global"])
        runs = [Worker(self, i, workers, first) for i in range(workers)]
        if workers == 1:
            runs[0].run()
        else:
            threads = [threading.Thread(target=w.run) for w in runs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return self._merge(runs)

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
        rerun = len(runs) > 1 and (bool(found) or status != RUNNING or _overlap(runs))
        blocks = counters[:split].reshape(-1, len(BLOCK_COUNTERS))
        printed, spent = b"".join(w.printed() for w in runs), sum(w.spent for w in runs)
        return Launched(self.kernel, status, blocks, merged, records, found, printed, spent, rerun)

    def _parameters(self, arguments: Sequence[bytes]) -> Bytes:
        out = _aligned(max(self.kernel.parameter_bytes, 1) + 64)
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
        out = _aligned(self.warps * 384)
        out.view(np.int32).reshape(self.warps, 3, 32)[:] = axes.reshape(3, self.warps, 32).transpose(1, 0, 2)
        return out

    def _allocation_table(self) -> Bytes:
        """Sorted by address: module variables and arrays, then the parameters."""
        granule = self.kernel.granule["global"]
        rows = [
            (a.address, a.data.size, a.data.ctypes.data, a.shadow // granule,
             INITIALISED * a.initialised | READ_ONLY * a.read_only)
            for a in self.device.arrays
        ]  # fmt: skip
        shadow_end = self.device.shadow_bytes // granule
        rows.append(
            (
                PARAMETER_BASE,
                max(self.kernel.parameter_bytes, 1),
                self.params.ctypes.data,
                shadow_end,
                INITIALISED | READ_ONLY,
            )
        )
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
    out = _aligned(max(len(rows), 1) * ALLOCATION.size)
    for i, row in enumerate(rows):
        out[i * ALLOCATION.size : i * ALLOCATION.size + 40].view(np.uint64)[:] = np.array(row, np.uint64)
    return out[: len(rows) * ALLOCATION.size] if rows else out[:0]


class Worker:
    """One CPU thread's share of a launch: a contiguous range of blocks, with memory of its own for all but the data."""

    def __init__(self, launch: Launch, index: int, count: int, serial: int) -> None:
        self.launch = launch
        kernel = launch.kernel
        n = launch.block_count
        self.first, self.last = n * index // count, n * (index + 1) // count
        sites = len(kernel.sites)
        self.counters = np.zeros(len(BLOCK_COUNTERS) * len(kernel.block_lines) + len(SITE_COUNTERS) * sites, np.uint64)
        self.worst = _aligned(WORST.size * sites).reshape(sites, WORST.size)
        self.findings_table = _aligned(MAX_FINDINGS * FINDING.size)
        self.printed_bytes = _aligned(launch.device.printf_bytes + 64)
        # Shadow stamps of shared memory carry running block numbers of this device, so the cells may be reused.
        cells = launch.shared_bytes // kernel.granule["shared"] + 64
        self.memory = {
            "warps": _aligned(launch.warps * kernel.warp_bytes), "shared": _aligned(launch.shared_bytes + 64),
            "local": _aligned(kernel.local_bytes * launch.warps * 32 + 512),
            "site_cache": _aligned(8 * CACHE_SLOTS * sites + 64),
            "shared_writes": _aligned(8 * cells), "shared_reads": _aligned(8 * cells), "known": _aligned(128 * 32),
            "lane_known": _aligned(4096 * 32), "arrivals": _aligned(128 * 16), "ranks": _aligned(4 * RANKS),
            "released": _aligned(4 * n + 64 if kernel.global_order else 64),
            "copies": _aligned(COPY_QUEUE_BYTES * launch.warps if kernel.copies else 64),
            "objects": _aligned(ROWS * (launch.shared_bytes // 8 + 1) if kernel.objects else 64),
            "chunks": _aligned((launch.device.shadow_bytes + MAX_PARAMETER_BYTES) // CHUNK_CELLS + 64),
        }  # fmt: skip
        writes, reads = launch.device.shadows(index, kernel.granule["global"])
        self.memory |= {"global_writes": writes, "global_reads": reads}
        self.state = _aligned(WORKER.size)
        # On several threads each gets a share: a case that may run out must be judged on one thread anyway.
        self.budget = launch.budget if count == 1 else launch.budget // count
        self._fill(count, serial)

    def _fill(self, count: int, serial: int) -> None:
        launch, kernel = self.launch, self.launch.kernel
        pointers = {name: a.ctypes.data for name, a in self.memory.items()}
        pointers |= {
            "params": launch.params.ctypes.data, "tids": launch.tids.ctypes.data, "symbols": launch.symbols.ctypes.data,
            "allocations": launch.table.ctypes.data, "shared_allocations": launch.shared_table.ctypes.data,
            "local_allocations": launch.local_table.ctypes.data, "counters": self.counters.ctypes.data,
            "findings": self.findings_table.ctypes.data, "printed": self.printed_bytes.ctypes.data,
            "stop": launch.stop.ctypes.data, "worst": self.worst.ctypes.data,
        }  # fmt: skip
        numbers = {
            "allocation_count": launch.table.size // ALLOCATION.size,
            "shared_allocation_count": launch.shared_table.size // ALLOCATION.size,
            "local_allocation_count": launch.local_table.size // ALLOCATION.size,
            "shared_bytes": launch.shared_bytes, "local_bytes": kernel.local_bytes, "first_block": self.first,
            "last_block": self.last, "serial_base": serial, "budget_per_block": launch.budget_per_block,
            "budget": self.budget, "block_cost": launch.block_cost,
            "printed_limit": launch.device.printf_bytes, "sequence": 1,
            "global_cells": self.memory["global_writes"].size // 8,
            "object_rows": self.memory["objects"].size // ROW if kernel.objects else 0,
            "shared_cells": self.memory["shared_writes"].size // 8,
        }  # fmt: skip
        for name, value in (pointers | numbers).items():
            at = WORKER.offset[name]
            self.state[at : at + 8].view(np.uint64)[0] = value
        small = {
            "grid": launch.grid, "block": launch.block, "threads": (launch.threads,), "warp_count": (launch.warps,),
            "dynamic_shared": (launch.dynamic,), "multi_worker": (int(count > 1),),
        }  # fmt: skip
        for name, values in small.items():
            at = WORKER.offset[name]
            self.state[at : at + 4 * len(values)].view(np.int32)[:] = values

    def run(self) -> None:
        self.launch.code.function("run", [ctypes.c_void_p])(self.state.ctypes.data)

    def _number(self, name: str, width: int = 8) -> int:
        at = WORKER.offset[name]
        return int.from_bytes(self.state[at : at + width].tobytes(), "little")

    @property
    def spent(self) -> int:
        left = int(self.state[WORKER.offset["budget"] :][:8].view(np.int64)[0])
        return self.budget - left

    @property
    def status(self) -> int:
        return self._number("status", 4)

    def findings(self) -> list[Finding]:
        found = []
        for i in range(self._number("finding_count")):
            row = self.findings_table[i * FINDING.size : (i + 1) * FINDING.size]
            small = [int(x) for x in row[:16].view(np.uint32)]
            block, address, other = (int(x) for x in row[FINDING.offset["block"] :][:24].view(np.uint64))
            found.append(Finding(small[0], small[1], small[2], small[3], block, address, other))
        return found

    def printed(self) -> bytes:
        return self.printed_bytes[: self._number("printed_bytes")].tobytes()


def _overlap(runs: list[Worker]) -> bool:
    """Whether two workers touched the same chunk of memory and one of them wrote to it."""
    seen = np.zeros_like(runs[0].memory["chunks"])
    for worker in runs:
        mine = worker.memory["chunks"]
        if np.any((seen & 2) & (mine << 1)) or np.any((mine & 2) & (seen << 1)) or np.any(seen & mine & 2):
            return True
        seen |= mine
    return False
