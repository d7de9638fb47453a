"""The simulated device: address space, kernels compiled on demand, launches.

device = Device(module, cache=CodeCache(key), observed=frozenset(OBSERVERS))
a = device.allocate("a", array)                 # an address; the array is copied
result = device.launch("k", grid, block, 0, [a, n], budget_per_block=10**8)

Memory can be allocated and freed between launches; the device remembers which bytes were written:

b = device.allocate("b", bytes_view, in_place=True, address=HOST_BASE + 4096)
                                                # kernels use the caller's own (writable, contiguous) buffer, here at
                                                # an address of the caller's choice, which must be free
device.free(b)                                  # later accesses are findings (kind "use_after_free"), with b's name
device.mark_written(a, size)                    # the host, or a copy, has filled these bytes from address a on
device.unwritten(a, size)                       # intervals of bytes that were never written, counted from a
device.launch("k", …, cooperative=True)         # raises TooLarge if not all blocks can be resident at once
device.resident("k", block, dynamic_shared)     # the number of resident blocks; `resident=` of launch overrides it
device.touched()                                # of the last launch: `Touched` for each array that it used, with the
                                                # byte intervals of reads, writes and atomics, and the sectors

Intervals are rows [start, end) of an int64 array, in bytes from the start of the array, sorted, disjoint, merged, and
as coarse as a shadow cell (at most 4 bytes). `touched` needs the observer "races". A launch on several threads whose
result says ``rerun`` leaves wrong memory: a caller that cannot begin again makes the device with ``threads=1``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from grader.simt.engine.code_cache import CodeCache, Loaded
from grader.simt.engine.codegen import MAX_PARAMETER_BYTES, cell_bytes
from grader.simt.engine.flatten import UnsupportedPtx
from grader.simt.engine.launch import Dim3, GridLaunch, Launched
from grader.simt.engine.layout import Stamp, rounded
from grader.simt.engine.schedule import USUAL, Order
from grader.simt.engine.shadows import Bytes, Intervals, Shadows
from grader.simt.occupancy import SM_COUNT
from grader.simt.ptx import Module

FIRST_ADDRESS = 0x0000_0001_0000_0000
GAP = 16 << 20
MAX_VARIABLE_BYTES = 256 << 20
UNLIMITED = 1 << 62
WORKSPACE_NAME, WORKSPACE_BYTES = "the grid's barrier", 64
KEPT_FREED = 1024
"""The number of freed arrays whose names are remembered."""


@dataclass(frozen=True, eq=False)
class Array:
    """One allocation of global memory: ``data`` is its content, ``address`` its address in kernels."""

    name: str
    address: int
    data: Bytes
    initialised: bool
    read_only: bool = False
    is_variable: bool = False  # a variable of the module; buffers are in a namespace of their own
    shadow: int = 0  # place of its first shadow cell, in bytes of memory
    repeated: int = 0  # its size in bytes, if it repeats ``data``

    @property
    def size(self) -> int:
        return self.repeated or self.data.size

    @property
    def end(self) -> int:
        return self.address + self.size

    def holds(self, address: int) -> bool:
        return self.address <= address < self.end


@dataclass(frozen=True, eq=False)
class Touched:
    """The accesses of the last launch to one array: intervals of bytes (see the module), and 32-byte sectors."""

    array: Array
    reads: Intervals
    writes: Intervals
    atomics: Intervals  # the part of the writes that was atomic
    sectors: int


def _copied(data: npt.NDArray[np.generic], offset: int) -> Bytes:
    """The bytes, which begin as far from an aligned address as they do on the device."""
    room = np.empty(offset + data.nbytes, np.uint8)
    room[offset:] = data.reshape(-1).view(np.uint8)
    return room[offset:]


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
        undefined: int = 0xFF,
        order: Order = USUAL,
        changed: Sequence[tuple[str, int, int]] = (),
    ) -> None:
        self.order = order
        self.changed = changed  # kernels' names, sites and how their results are changed: `grader.simt.engine.changes`
        self.module = module
        self.cache = cache
        self.threads = threads
        self.observed = observed
        self.printf_bytes = printf_bytes
        self.undefined = undefined
        self.arrays: list[Array] = []  # by address
        self.freed: list[Array] = []  # the last ones
        self.shadows = Shadows(cell_bytes(module), MAX_PARAMETER_BYTES)
        self._next = FIRST_ADDRESS
        self._serial = 1
        self._used: list[tuple[Array, int]] = []
        self._workspace: Array | None = None
        self.last_serial_base = 1
        self.symbols: dict[str, int] = {}  # the addresses of the module's variables
        self._variable_bytes = 0
        self._initial: dict[str, bytes] = {}  # of `__device__` variables
        self._place_variables(module.used)

    # -- memory -----------------------------------------------------------------------------------------------------
    def _place_variables(self, names: Set[str]) -> None:
        """Allocate these variables of the module, with their initial values."""
        placed = [v for v in self.module.variables.values() if v.name in names and v.space in ("global", "const")]
        self._variable_bytes += sum(max(v.size, 1) for v in placed)
        if self._variable_bytes > MAX_VARIABLE_BYTES:
            raise UnsupportedPtx(f"{self._variable_bytes} bytes of __device__ and __constant__ variables")
        contents = [np.zeros(max(variable.size, 1), np.uint8) for variable in placed]
        for variable, data in zip(placed, contents, strict=True):
            data[: len(variable.initial)] = np.frombuffer(variable.initial, np.uint8)
            constant = variable.space == "const"
            self.symbols[variable.name] = self._place(variable.name, data, True, read_only=constant, is_variable=True)
        for variable, data in zip(placed, contents, strict=True):
            for offset, symbol in variable.symbols:
                data[offset : offset + 8].view(np.uint64)[0] = self.symbols.get(symbol.name, 0) + symbol.offset
            if variable.space == "global":
                self._initial[variable.name] = data.tobytes()

    def allocate(
        self,
        name: str,
        data: npt.NDArray[np.generic],
        *,
        initialised: bool = True,
        in_place: bool = False,
        address: int | None = None,
        offset: int = 0,
        repeated: int = 0,
    ) -> int:
        """Copy an array to the device, or use it ``in_place``; returns its address (``address``, if given).

        A slice begins ``offset`` bytes after an aligned address. An array of ``repeated`` bytes repeats the given ones
        in the same memory. Reads of uninitialised arrays before writes are findings. Raises ValueError if it overlaps
        another array.
        """
        if in_place and not (data.flags.c_contiguous and data.flags.writeable):
            raise ValueError(f"{name} is not writable memory in one piece")
        own = data.reshape(-1).view(np.uint8) if in_place else _copied(data, offset)
        room = rounded(repeated, 512)  # for addresses that are far off
        return self._place(name, own, initialised, address=address, offset=offset + room, repeated=repeated)

    def _place(
        self,
        name: str,
        data: Bytes,
        initialised: bool,
        *,
        address: int | None = None,
        offset: int = 0,
        repeated: int = 0,
        read_only: bool = False,
        is_variable: bool = False,
    ) -> int:
        at = self._next + offset if address is None else address
        index = bisect_left(self.arrays, at, key=attrgetter("address"))
        neighbours, size = self.arrays[max(0, index - 1) : index + 1], repeated or data.size
        if any(a.address < at + max(size, 1) and at < max(a.end, a.address + 1) for a in neighbours):
            raise ValueError(f"{name} would overlap another array")
        placed = Array(name, at, data, initialised, read_only, is_variable, self.shadows.place(data.size), repeated)
        self.arrays.insert(index, placed)
        if address is None:
            self._next = rounded(at + size + max(GAP, size), 512)
        return at

    def workspace(self) -> int:
        """The address of the workspace for `grid.sync()`, which the driver gives a cooperative launch, zeroed."""
        if self._workspace is None:
            at = self._place(WORKSPACE_NAME, np.zeros(WORKSPACE_BYTES, np.uint8), True)
            self._workspace = next(a for a in self.arrays if a.address == at)
        self._workspace.data[:] = 0
        return self._workspace.address

    def is_workspace(self, address: int) -> bool:
        return self._workspace is not None and self._workspace.holds(address)

    def free(self, address: int) -> None:
        """Free the array that begins at this address. Raises KeyError if there is none."""
        gone = next((a for a in self.arrays if a.address == address), None)
        if gone is None:
            raise KeyError(hex(address))
        self.arrays.remove(gone)
        self.shadows.release(gone.shadow, gone.data.size)
        self.freed = [*self.freed[1 - KEPT_FREED :], gone]

    def freed_at(self, address: int) -> Array | None:
        """The freed array that contained this address, and the last one if there are several; else None."""
        return next((a for a in reversed(self.freed) if a.holds(address)), None)

    def mark_written(self, address: int, size: int) -> None:
        """Mark these bytes of one array as written, by the host or a copy. Raises KeyError if no array has them."""
        array = self._holding(address, size)
        self.shadows.mark_written(array.shadow + address - array.address, size)

    def unwritten(self, address: int, size: int) -> Intervals:
        """Intervals of these bytes of one array that were never written, counted from ``address``. Raises KeyError."""
        array = self._holding(address, size)
        if array.initialised:
            return np.zeros((0, 2), np.int64)
        return self.shadows.unwritten(array.shadow + address - array.address, size)

    def _holding(self, address: int, size: int) -> Array:
        found = next((a for a in self.arrays if a.address <= address and address + size <= a.end), None)
        if found is None:
            raise KeyError(hex(address))
        return found

    def array(self, name: str) -> Array:
        """A buffer by name. Raises KeyError."""
        return self._named(name, is_variable=False)

    def variable(self, name: str) -> Array:
        """A variable of the module by name, even if no function uses it. Raises KeyError."""
        if name not in self.symbols:
            self._place_variables({name})
        return self._named(name, is_variable=True)

    def _named(self, name: str, *, is_variable: bool) -> Array:
        found = next((a for a in self.arrays if a.name == name and a.is_variable == is_variable), None)
        if found is None:
            raise KeyError(name)
        return found

    def changed_variables(self) -> dict[str, Bytes]:
        """Contents of the module's variables that have changed since the device was made, by name."""
        variables = (a for a in self.arrays if a.is_variable and a.name in self._initial)
        return {a.name: a.data for a in variables if a.data.tobytes() != self._initial[a.name]}

    def mark_initialised(self, name: str) -> None:
        """Mark the whole array as initialised."""
        named = self.array(name)
        self.arrays[self.arrays.index(named)] = replace(named, initialised=True)

    def text(self, address: int) -> str:
        """The C string at an address of global memory; "" if there is none."""
        found = self.locate(address)
        if found is None or not 0 <= found[1] < found[0].data.size:
            return ""
        raw = found[0].data[found[1] : found[1] + 4096].tobytes()
        return raw.partition(b"\0")[0].decode("utf-8", "replace")

    def locate(self, address: int) -> tuple[Array, int] | None:
        """The allocation nearest below an address (or above it), with the byte offset into it."""
        index = bisect_right(self.arrays, address, key=attrgetter("address"))
        below, above = self.arrays[:index][-1:], self.arrays[index : index + 1]
        around = ((a, max(a.repeated, GAP // 2)) for a in (*below, *above))
        for array, distance in (*around, *((a, GAP) for a in below)):
            offset = address - array.address
            if -distance <= offset < array.size + distance:
                return array, offset
        return None

    # -- launching --------------------------------------------------------------------------------------------------
    def launch(
        self, name: str, grid: Dim3, block: Dim3, dynamic_shared: int, arguments: Sequence[bytes], *,
        budget_per_block: int, budget: int = UNLIMITED, cooperative: bool = False, resident: int | None = None,
        few: bool = False,
    ) -> Launched:  # fmt: skip
        """Run one kernel. ``arguments`` are the parameters' bytes; the budgets are in units of `blocks.cost`.

        ``resident`` overrides the number of resident blocks. With ``few``, only three blocks run.
        Raises UnsupportedPtx, TooLarge; ValueError for arguments that do not fit the kernel, or a shape that CUDA does
        not allow.
        """
        loaded = self._loaded(name)
        at_once = self.resident(name, block, dynamic_shared) if resident is None else resident
        launch = GridLaunch(
            self, loaded, grid, block, dynamic_shared, arguments, budget_per_block, budget,
            cooperative=cooperative, resident=at_once, few=few,
        )  # fmt: skip
        launched = launch.run()
        self._used = launch.used
        return launched

    def _loaded(self, name: str) -> Loaded:
        return self.cache.get(self.module, name, self.observed, adversarial=self.order.adversarial)

    def resident(self, name: str, block: Dim3, dynamic_shared: int) -> int:
        """The number of resident blocks of a kernel, without the limit of registers. Raises UnsupportedPtx."""
        kernel = self._loaded(name).kernel
        return SM_COUNT * kernel.blocks_per_sm(max(1, block[0] * block[1] * block[2]), dynamic_shared)

    def touched(self) -> list[Touched]:
        """The accesses of the last launch to each array, sorted by address."""
        return [
            Touched(array, *self.shadows.since(self.last_serial_base, array.shadow, array.data.size), sectors)
            for array, sectors in self._used
            if array is not self._workspace
        ]

    def serials(self, count: int) -> int:
        """The first of ``count`` consecutive serial numbers for blocks; after the last one they start again."""
        if self._serial + count > Stamp.MAX_SERIAL:
            self._serial = 1
            self.shadows.forget()
        self.last_serial_base = self._serial
        self._serial += count
        return self.last_serial_base
