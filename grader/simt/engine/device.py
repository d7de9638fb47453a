"""The simulated device: address space, kernels compiled on demand, launches.

device = Device(module, cache=CodeCache(key), observed=frozenset(OBSERVERS))
a = device.allocate("a", array)                 # an address
result = device.launch("k", grid, block, 0, [a, n], budget_per_block=10**8)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.codegen import MAX_PARAMETER_BYTES
from grader.simt.engine.flatten import UnsupportedPtx
from grader.simt.engine.launch import Bytes, Dim3, Launch, Launched
from grader.simt.engine.layout import Stamp
from grader.simt.ptx import Module

__all__ = ["Array", "Device", "Dim3", "Launched"]

FIRST_ADDRESS = 0x0000_0001_0000_0000
GAP = 16 << 20
MAX_VARIABLE_BYTES = 256 << 20
UNLIMITED = 1 << 62


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
        self.shadow_bytes = 0
        self._serial = 1
        self.last_serial_base = 1
        self._writes: Bytes | None = None
        self._reads: list[Bytes] = []
        self._place_module()

    # -- memory -----------------------------------------------------------------------------------------------------
    def _place_module(self) -> None:
        self.symbols: dict[str, int] = {}
        placed = [v for v in self.module.variables.values() if v.space in ("global", "const")]
        total = sum(max(v.size, 1) for v in placed)
        if total > MAX_VARIABLE_BYTES:
            raise UnsupportedPtx(f"{total} bytes of __device__ and __constant__ variables")
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
        self.arrays.append(Array(name, address, data, initialised, read_only, is_variable, self.shadow_bytes))
        self._next = (address + data.size + max(GAP, data.size) + 511) // 512 * 512
        self.shadow_bytes = (self.shadow_bytes + data.size + 63) // 64 * 64
        self._writes, self._reads = None, []
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
        budget_per_block: int, budget: int = UNLIMITED,
    ) -> Launched:  # fmt: skip
        """Run one kernel to its end. ``arguments`` are the parameters' bytes, the budgets in units of `blocks.cost`.

        Raises UnsupportedPtx, TooLarge; ValueError for arguments or a shape that the kernel or CUDA does not have.
        """
        loaded = self.cache.get(self.module, name, self.observed)
        return Launch(self, loaded, grid, block, dynamic_shared, arguments, budget_per_block, budget).run()

    def shadows(self, worker: int, granule: int) -> tuple[Bytes, Bytes]:
        """Shadow memory of global memory and parameters: writes, which all workers share, and this worker's reads.

        Writes last from launch to launch: they say what was initialised. Two workers in one place mean another run.
        """
        size = 8 * ((self.shadow_bytes + MAX_PARAMETER_BYTES) // granule) + 64
        if self._writes is None:
            self._writes = np.zeros(size, np.uint8)
        while len(self._reads) <= worker:
            self._reads.append(np.zeros(size, np.uint8))
        return self._writes, self._reads[worker]

    def serials(self, count: int) -> int:
        """Running numbers for ``count`` blocks; when they run out, numbers of earlier launches are used again."""
        if self._serial + count > Stamp.MAX_SERIAL:
            self._serial = 1
            self._forget()
        self.last_serial_base = self._serial
        self._serial += count
        return self.last_serial_base

    def _forget(self) -> None:
        """Who wrote and read in earlier launches, all of which are over; but not that something was written."""
        if self._writes is not None:
            stamps = self._writes.view(np.uint64)
            stamps[:] = stamps != 0  # 1: a stamp of block 0, and serials begin with 1
        self._reads = []
