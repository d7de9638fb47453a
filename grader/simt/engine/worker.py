"""One CPU thread's share of a launch: its memory, its counters, and the structure that generated code works on."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from grader.simt.engine.barriers import RANKS
from grader.simt.engine.findings import Finding
from grader.simt.engine.layout import (
    ALLOCATION,
    FINDING,
    MARKS_MARGIN,
    MAX_FINDINGS,
    RELEASES,
    RINGS,
    ROW,
    USED,
    WORKER,
    WORST,
    header_bytes,
)
from grader.simt.engine.memory import CACHE_SLOTS
from grader.simt.engine.residents import Residents, aligned, block_memory, number
from grader.simt.engine.shadows import Bytes
from grader.simt.engine.sites import BLOCK_COUNTERS, SITE_COUNTERS

if TYPE_CHECKING:
    from grader.simt.engine.launch import Launch


class Worker:
    """One CPU thread's share of a launch: a contiguous range of blocks, with memory of its own for all but the data."""

    def __init__(self, launch: Launch, index: int, count: int, serial: int) -> None:
        self.launch = launch
        kernel = launch.kernel
        n = launch.block_count
        self.first, self.last = n * index // count, n * (index + 1) // count
        sites = len(kernel.sites)
        cells = launch.device.shadows.bytes // kernel.granule["global"]
        self.counters = np.zeros(len(BLOCK_COUNTERS) * len(kernel.block_lines) + len(SITE_COUNTERS) * sites, np.uint64)
        self.worst = aligned(WORST.size * sites).reshape(sites, WORST.size)
        self.findings_table = aligned(MAX_FINDINGS * FINDING.size)
        self.printed_bytes = aligned(launch.device.printf_bytes + 64)
        self.marks = aligned(cells + 2 * MARKS_MARGIN)
        self.own = block_memory(launch)
        rings = min(n, RINGS) if kernel.global_order else 1
        self.memory: dict[str, npt.NDArray[np.generic]] = {
            "site_cache": aligned(8 * CACHE_SLOTS * sites + 64), "ranks": aligned(4 * RANKS),
            "releases": aligned(RELEASES.size * rings), "marks": self.marks[MARKS_MARGIN:],
        }  # fmt: skip
        self.table = aligned(launch.table.size)
        self.table[:] = launch.table
        writes, reads = launch.device.shadows.of_worker(index)
        self.memory |= {"global_writes": writes, "global_reads": reads}
        self.state = aligned(WORKER.size)
        # On several threads each gets a share: a case that may run out must be judged on one thread anyway.
        self.budget = launch.budget if count == 1 else launch.budget // count
        self.waiting: list[Finding] = []
        self._fill(count, serial)

    def _fill(self, count: int, serial: int) -> None:
        launch, kernel = self.launch, self.launch.kernel
        pointers = {name: a.ctypes.data for name, a in (*self.memory.items(), *self.own.items())}
        pointers |= {
            "params": launch.params.ctypes.data, "tids": launch.tids.ctypes.data, "symbols": launch.symbols.ctypes.data,
            "allocations": self.table.ctypes.data, "shared_allocations": launch.shared_table.ctypes.data,
            "local_allocations": launch.local_table.ctypes.data, "counters": self.counters.ctypes.data,
            "site_counters": self.counters[len(BLOCK_COUNTERS) * len(kernel.block_lines) :].ctypes.data,
            "findings": self.findings_table.ctypes.data, "printed": self.printed_bytes.ctypes.data,
            "stop": launch.stop.ctypes.data, "worst": self.worst.ctypes.data,
        }  # fmt: skip
        numbers = {
            "allocation_count": launch.table.size // ALLOCATION.size,
            "shared_allocation_count": launch.shared_table.size // ALLOCATION.size,
            "local_allocation_count": launch.local_table.size // ALLOCATION.size,
            "shared_bytes": launch.shared_bytes, "local_bytes": kernel.local_bytes,
            "next_block": self.first, "last_block": self.last, "workspace": launch.workspace, "serial_base": serial,
            "budget_per_block": launch.budget_per_block, "budget": self.budget, "block_cost": launch.block_cost,
            "printed_limit": launch.device.printf_bytes, "sequence": 1,
            "global_cells": self.memory["global_writes"].size,
            "object_rows": self.own["objects"].size // ROW if kernel.objects else 0,
            "warp_bytes": kernel.warp_bytes, "header_bytes": header_bytes(len(kernel.block_lines)),
            "rings": self.memory["releases"].size // RELEASES.size,
            "shared_cells": self.own["shared_writes"].size // 8,
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
        """All of its blocks, or up to a fault."""
        if self.launch.kernel.waits:
            self.waiting = Residents(self.launch, self.state, self.own, self.first, self.last).run()
        else:
            self.launch.code.function("run", [ctypes.c_void_p])(self.state.ctypes.data)

    def met(self, allocation: int) -> bool:
        """Whether its blocks touched this line of the table."""
        row = self.table[allocation * ALLOCATION.size + ALLOCATION.offset["flags"] :][:8]
        return bool(int(row.view(np.uint64)[0]) & USED)

    def marks_of(self, first: int, count: int) -> Bytes:
        """What its blocks did with these cells of global memory: READ_MARK, WRITE_MARK, both or none."""
        return self.marks[MARKS_MARGIN + first :][:count]

    def _number(self, name: str, width: int = 8) -> int:
        return number(self.state, name, width)

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
        return [*found, *self.waiting]

    def printed(self) -> bytes:
        return self.printed_bytes[: self._number("printed_bytes")].tobytes()
