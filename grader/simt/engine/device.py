"""The simulated device: address space, kernels compiled on demand, launches spread over CPU threads.

    device = Device(module, source_name="x.cu")
    a = device.allocate("a", array)                 # an address
    result = device.launch("k", grid, block, 0, [a, n])

A launch runs on several threads unless its blocks need the fixed order; if a run on several threads found anything,
or two threads touched the same memory, it is the caller who runs everything again on one (`Launched.rerun`).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from grader.simt.engine.code_cache import CodeCache, Loaded
from grader.simt.engine.codegen import Kernel
from grader.simt.engine.findings import Finding
from grader.simt.engine.layout import ALLOCATION, FINDING, INITIALISED, MAX_FINDINGS, READ_ONLY, RUNNING, WORKER, Stamp
from grader.simt.engine.memory import CACHE_SLOTS
from grader.simt.engine.operands import PARAMETER_BASE
from grader.simt.engine.sites import BLOCK_COUNTERS, SITE_COUNTERS
from grader.simt.ptx import Module

Bytes = npt.NDArray[np.uint8]
Dim3 = tuple[int, int, int]

FIRST_ADDRESS = 0x0000_0001_0000_0000
GAP = 16 << 20
CHUNK_CELLS = 1024


@dataclass(frozen=True, eq=False)
class Array:
    """One allocation of global memory. ``data`` is its content; ``address`` where kernels see it."""

    name: str
    address: int
    data: Bytes
    initialised: bool
    read_only: bool = False
    is_variable: bool = False  # of the module; buffers have names of their own
    shadow: int = 0  # index of its first shadow cell, in bytes of memory


@dataclass(frozen=True)
class Launched:
    """What one launch did. ``counters`` are u64 by basic block and by site (see `grader.simt.engine.sites`)."""

    kernel: Kernel
    status: int
    blocks: npt.NDArray[np.uint64]
    sites: npt.NDArray[np.uint64]
    findings: tuple[Finding, ...]
    printed: bytes
    rerun: bool  # only one thread gives the reference result


class Device:
    """One simulated GPU with one loaded module."""

    def __init__(
        self,
        module: Module,
        *,
        cache: CodeCache,
        threads: int = 1,
        observed: frozenset[str],
        printf_bytes: int = 64 << 10,
    ) -> None:
        self.module = module
        self.cache = cache
        self.threads = threads
        self.observed = observed
        self.printf_bytes = printf_bytes
        self.arrays: list[Array] = []
        self._next = FIRST_ADDRESS
        self._shadow_bytes = 0
        self._serial = 1
        self.last_serial_base = 1
        self._shadows: list[tuple[Bytes, Bytes]] = []
        self._place_module()

    # -- memory -----------------------------------------------------------------------------------------------------
    def _place_module(self) -> None:
        self.symbols: dict[str, int] = {}
        placed = [v for v in self.module.variables.values() if v.space in ("global", "const")]
        for variable in placed:
            data = np.zeros(max(variable.size, 1), np.uint8)
            data[: len(variable.initial)] = np.frombuffer(variable.initial, np.uint8)
            constant = variable.space == "const"
            self.symbols[variable.name] = self._place(variable.name, data, True, read_only=constant, is_variable=True)
        for variable in placed:
            for offset, symbol in variable.symbols:
                target = self.symbols.get(symbol.name, 0) + symbol.offset
                self.variable(variable.name).data[offset : offset + 8].view(np.uint64)[0] = target

    def allocate(self, name: str, data: npt.NDArray[np.generic], *, initialised: bool = True) -> int:
        """Copy an array to the device; gives its address. Uninitialised arrays are watched for reads before writes."""
        return self._place(name, np.frombuffer(data.tobytes(), np.uint8).copy(), initialised)

    def _place(
        self, name: str, data: Bytes, initialised: bool, *, read_only: bool = False, is_variable: bool = False
    ) -> int:
        address = self._next
        self.arrays.append(Array(name, address, data, initialised, read_only, is_variable, self._shadow_bytes))
        self._next = (address + data.size + max(GAP, data.size) + 511) // 512 * 512
        self._shadow_bytes = (self._shadow_bytes + data.size + 63) // 64 * 64
        self._shadows = []
        return address

    def array(self, name: str) -> Array:
        """A buffer by name. Raises KeyError."""
        return self._named(name, is_variable=False)

    def variable(self, name: str) -> Array:
        """A variable of the module by name. Raises KeyError."""
        return self._named(name, is_variable=True)

    def _named(self, name: str, *, is_variable: bool) -> Array:
        for array in self.arrays:
            if array.name == name and array.is_variable == is_variable:
                return array
        raise KeyError(name)

    def mark_initialised(self, name: str) -> None:
        """The host has filled this array: reading it is fine."""
        named = self.array(name)
        self.arrays[self.arrays.index(named)] = replace(named, initialised=True)

    def text(self, address: int) -> str:
        """The C string at an address of global memory; "" where there is none."""
        found = self.locate(address)
        if found is None or not 0 <= found[1] < found[0].data.size:
            return ""
        raw = found[0].data[found[1] : found[1] + 4096].tobytes()
        return raw.partition(b"\0")[0].decode("utf-8", "replace")

    def locate(self, address: int) -> tuple[Array, int] | None:
        """The allocation nearest below an address (or above it), with the byte offset into it."""
        below = [a for a in self.arrays if a.address <= address]
        above = [a for a in self.arrays if a.address > address]
        if below and address - below[-1].address < below[-1].data.size + GAP // 2:
            return below[-1], address - below[-1].address
        if above and above[0].address - address <= GAP // 2:
            return above[0], address - above[0].address
        if below and address - below[-1].address < below[-1].data.size + GAP:
            return below[-1], address - below[-1].address
        return None

    # -- launching --------------------------------------------------------------------------------------------------
    def launch(
        self, name: str, grid: Dim3, block: Dim3, dynamic_shared: int, arguments: Sequence[bytes], *,
        budget_per_block: int, cooperative: bool = False,
    ) -> Launched:  # fmt: skip
        """Run one kernel to its end. ``arguments`` are the parameters' bytes. Raises UnsupportedPtx."""
        loaded = self.cache.get(self.module, name, self.observed)
        return _Launch(self, loaded, grid, block, dynamic_shared, arguments, budget_per_block).run()

    def shadows(self, worker: int) -> tuple[Bytes, Bytes]:
        """Shadow memory (writes, reads) of one worker for all of global memory: 8 bytes for each byte at most."""
        while len(self._shadows) <= worker:
            size = 8 * self._shadow_bytes + 64
            self._shadows.append((np.zeros(size, np.uint8), np.zeros(size, np.uint8)))
        return self._shadows[worker]

    def serials(self, count: int) -> int:
        """Running numbers for ``count`` blocks; when they run out, all shadows start anew."""
        if self._serial + count > Stamp.MAX_SERIAL:
            self._serial = 1
            self._shadows = []
        self.last_serial_base = self._serial
        self._serial += count
        return self.last_serial_base


def _aligned(size: int) -> Bytes:
    """Zeroed bytes at an address that is a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


class _Launch:
    def __init__(
        self,
        device: Device,
        loaded: Loaded,
        grid: Dim3,
        block: Dim3,
        dynamic: int,
        arguments: Sequence[bytes],
        budget: int,
    ) -> None:
        self.device, self.kernel, self.code = device, loaded.kernel, loaded.code
        self.grid, self.block, self.dynamic, self.budget = grid, block, dynamic, budget
        self.block_count = grid[0] * grid[1] * grid[2]
        self.threads = block[0] * block[1] * block[2]
        self.warps = (self.threads + 31) // 32
        self.params = self._parameters(arguments)
        self.tids = self._tids()
        self.table = self._allocation_table()
        self.shared_bytes = self.kernel.shared_bytes + dynamic
        self.shared_table = self._shared_table()
        self.local_table = _table([(0, self.kernel.local_bytes, 0, 0, 0)] if self.kernel.local_bytes else [])
        self.symbols = np.array([device.symbols.get(s, 0) for s in self.kernel.symbols] or [0], np.uint64)

    def run(self) -> Launched:
        workers = 1 if self.kernel.global_order or self.block_count < 2 else min(self.device.threads, self.block_count)
        first = self.device.serials(self.block_count)
        runs = [_Worker(self, i, workers, first) for i in range(workers)]
        if workers == 1:
            runs[0].run()
        else:
            threads = [threading.Thread(target=w.run) for w in runs]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return self._merge(runs)

    def _merge(self, runs: list[_Worker]) -> Launched:
        counters: npt.NDArray[np.uint64] = np.stack([w.counters for w in runs]).sum(axis=0, dtype=np.uint64)
        split = len(BLOCK_COUNTERS) * len(self.kernel.block_lines)
        sites = np.stack([w.counters[split:].reshape(-1, len(SITE_COUNTERS)) for w in runs])
        merged = counters[split:].reshape(-1, len(SITE_COUNTERS)).copy()
        worst, place = SITE_COUNTERS.index("worst"), SITE_COUNTERS.index("worst_address")
        for i in range(merged.shape[0]):
            best = int(np.argmax(sites[:, i, worst]))
            merged[i, [worst, place]] = sites[best, i, [worst, place]]
        found = tuple(f for w in runs for f in w.findings())
        status = next((w.status for w in runs if w.status != RUNNING), RUNNING)
        rerun = len(runs) > 1 and (bool(found) or status != RUNNING or _overlap(runs))
        blocks = counters[:split].reshape(-1, len(BLOCK_COUNTERS))
        return Launched(self.kernel, status, blocks, merged, found, b"".join(w.printed() for w in runs), rerun)

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
        shadow_end = self.device._shadow_bytes // granule
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


class _Worker:
    """One CPU thread's share of a launch: a contiguous range of blocks, with memory of its own for everything but data."""

    def __init__(self, launch: _Launch, index: int, count: int, serial: int) -> None:
        self.launch = launch
        kernel = launch.kernel
        n = launch.block_count
        self.first, self.last = n * index // count, n * (index + 1) // count
        sites = len(kernel.sites)
        self.counters = np.zeros(len(BLOCK_COUNTERS) * len(kernel.block_lines) + len(SITE_COUNTERS) * sites, np.uint64)
        self.findings_table = _aligned(MAX_FINDINGS * FINDING.size)
        self.printed_bytes = _aligned(launch.device.printf_bytes + 64)
        # Shadow stamps of shared memory carry running block numbers of this device, so the cells may be reused.
        cells = launch.shared_bytes // kernel.granule["shared"] + 64
        self.memory = {
            "warps": _aligned(launch.warps * kernel.warp_bytes), "shared": _aligned(launch.shared_bytes + 64),
            "local": _aligned(kernel.local_bytes * launch.warps * 32 + 512), "site_cache": _aligned(8 * CACHE_SLOTS * sites + 64),
            "shared_writes": _aligned(8 * cells), "shared_reads": _aligned(8 * cells), "known": _aligned(128 * 32),
            "lane_known": _aligned(4096 * 32), "arrivals": _aligned(128 * 16),
            "released": _aligned(4 * n + 64 if kernel.global_order else 64),
            "chunks": _aligned(launch.device._shadow_bytes // CHUNK_CELLS + 64),
        }  # fmt: skip
        writes, reads = launch.device.shadows(index)
        self.memory |= {"global_writes": writes, "global_reads": reads}
        self.state = _aligned(WORKER.size)
        self._fill(count, serial)

    def _fill(self, count: int, serial: int) -> None:
        launch, kernel = self.launch, self.launch.kernel
        pointers = {name: a.ctypes.data for name, a in self.memory.items()}
        pointers |= {
            "params": launch.params.ctypes.data, "tids": launch.tids.ctypes.data, "symbols": launch.symbols.ctypes.data,
            "allocations": launch.table.ctypes.data, "shared_allocations": launch.shared_table.ctypes.data,
            "local_allocations": launch.local_table.ctypes.data, "counters": self.counters.ctypes.data,
            "findings": self.findings_table.ctypes.data, "printed": self.printed_bytes.ctypes.data,
        }  # fmt: skip
        numbers = {
            "allocation_count": launch.table.size // ALLOCATION.size,
            "shared_allocation_count": launch.shared_table.size // ALLOCATION.size,
            "local_allocation_count": launch.local_table.size // ALLOCATION.size,
            "shared_bytes": launch.shared_bytes, "local_bytes": kernel.local_bytes, "first_block": self.first,
            "last_block": self.last, "serial_base": serial, "budget_per_block": launch.budget,
            "printed_limit": launch.device.printf_bytes, "sequence": 1,
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


def _overlap(runs: list[_Worker]) -> bool:
    """Whether two workers touched the same chunk of memory and one of them wrote to it."""
    seen = np.zeros_like(runs[0].memory["chunks"])
    for worker in runs:
        mine = worker.memory["chunks"]
        if np.any((seen & 2) & (mine << 1)) or np.any((mine & 2) & (seen << 1)) or np.any(seen & mine & 2):
            return True
        seen |= mine
    return False
