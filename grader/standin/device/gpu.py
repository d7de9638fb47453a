"""The simulator under the device: allocations, launches, the memory that each launch accessed, and its arguments.

A launch copies bytes: a Python ``float``, which has 8 bytes, is not converted for a parameter of 4 bytes. The kernel
then reads another number, and CUDA reports no error. An argument that the kernel happens to read correctly is no
mistake: a Python int for an ``int``, 0.0 for a ``float``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from grader.frozen import dataclass
from grader.simt.counters import Counters, WarpRequest, count, worst_requests
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.device import Device
from grader.simt.engine.flatten import plain_name
from grader.simt.engine.launch import Launched
from grader.simt.engine.layout import RUNNING
from grader.simt.engine.printing import render
from grader.simt.engine.residents import TooLarge
from grader.simt.events import Event, explain, too_large
from grader.simt.ptx import Module
from grader.simt.simulate import RECORD_ROOM, Call, Options
from grader.standin.device.memory import MemoryRegion, Space
from grader.standin.device.operations import KernelLaunch, StreamOperation
from grader.standin.device.spans import Footprint, Spans, span, total, union, without
from grader.standin.protocol import HOST_BASE
from grader.text import bytes_words, counted

MOST_PICTURED = 64
"""Launches of a run whose worst requests are kept: those of thousands of small launches would add nothing."""
NOTHING_COUNTED = Counters({}, {})


@dataclass(frozen=True, eq=False)
class RegionUse:
    """One launch's accesses to one region."""

    region: MemoryRegion
    sectors: int


@dataclass(frozen=True, eq=False)
class LaunchResult:
    """One launch: its part of the report, and its memory accesses. ``call`` is None if the launch could not start."""

    events: tuple[Event, ...]
    call: Call | None = None
    counters: Counters | None = None
    worst: tuple[WarpRequest, ...] = ()
    footprint: Footprint = field(default_factory=Footprint)
    used: tuple[RegionUse, ...] = ()
    printed: str = ""
    complete: bool = True
    unordered: tuple[tuple[str, int], ...] = ()  # `Kernel.unordered`


class SimulatedGpu:
    """One device of the simulator that stands for all GPUs; each launch hides the memory that it must not access."""

    def __init__(
        self, module: Module, cache: CodeCache, options: Options, parameters: Mapping[str, Sequence[str]]
    ) -> None:
        self.options = options
        self.left = options.instructions
        self.counting = True
        self.undefined, self.order = options.undefined, options.order
        self._module, self._parameters = module, parameters
        prints = any(name in module.functions for name in ("vprintf", "__assertfail"))
        # One thread: a launch on several may have to be repeated, and the memory from before it is not kept.
        self._device = Device(
            module, cache=cache, threads=1, observed=options.observed,
            printf_bytes=RECORD_ROOM * options.printf_bytes * prints,
        )  # fmt: skip
        self._regions: dict[str, MemoryRegion] = {}
        self._keys: dict[MemoryRegion, str] = {}
        self._counted: dict[tuple[str, bytes, bytes], Counters] = {}  # by kernel and what its blocks and sites counted

    # -- memory -----------------------------------------------------------------------------------------------------
    def add(self, region: MemoryRegion) -> None:
        """Let kernels access a region. Pinned memory counts as initialised: host writes to it cannot be observed."""
        key, is_pinned = f"region {len(self._regions)}", region.kind == "pinned"
        self._device.allocate(key, region.data, initialised=is_pinned, in_place=True, address=region.start)
        self._regions[key], self._keys[region] = region, key

    def remove(self, region: MemoryRegion) -> None:
        """Take a region away: a later access by a kernel is a stray one."""
        self._device.free(region.start)
        del self._keys[region]  # `_regions` keeps it, to name it in findings of later accesses

    def written(self, start: int, size: int) -> None:
        """A copy, a fill or the host has written to device or managed memory."""
        self._device.mark_written(start, size)

    def copied(self, target: int, source: int, size: int) -> None:
        """A copy between watched regions: the target is written where the source was."""
        unwritten = self._device.unwritten(source, size)
        for start, end in without(span(0, size), unwritten).tolist():
            self._device.mark_written(target + start, end - start)

    def is_unwritten(self, start: int, size: int) -> bool:
        """Whether none of these bytes of device memory was ever written."""
        return total(self._device.unwritten(start, size)) == size

    def variables(self) -> list[tuple[int, int, str]]:
        """Address, end address (exclusive) and name of each module variable."""
        return [(a.address, a.end, plain_name(a.name)) for a in self._device.arrays if a.is_variable]

    def array_name(self, key: str | None, names: Callable[[MemoryRegion], str]) -> str | None:
        """The name of an event's array in reports."""
        region = self._regions.get(key) if key is not None else None
        return key if region is None else names(region)

    # -- kernels ----------------------------------------------------------------------------------------------------
    def launch(
        self,
        kernel: KernelLaunch,
        hidden: Callable[[MemoryRegion], bool],
        names: Callable[[MemoryRegion], str],
        call: int,
    ) -> LaunchResult:
        """Run a kernel, which cannot access ``hidden`` regions. ``call`` is its index among the launches of the run.

        The result has counters and worst requests only if `counting` is set.
        """
        try:
            launched = self._launch(kernel, hidden)
        except TooLarge as error:
            return LaunchResult((too_large(kernel.name, error),), complete=False)
        self.left = max(0, self.left - launched.spent)
        events = explain(self._device, launched, kernel.grid, kernel.block, kernel.shared_bytes, call=call)
        worst: tuple[WarpRequest, ...] = ()
        if self.counting and call < MOST_PICTURED:
            worst = worst_requests(self._device, launched, kernel.grid, kernel.shared_bytes)
        return LaunchResult(
            tuple(replace(e, array=self.array_name(e.array, names)) for e in events),
            self._call(kernel, names),
            self._count(kernel.name, launched) if self.counting else NOTHING_COUNTED,
            tuple(replace(w, array=self.array_name(w.array, names)) for w in worst),
            *self._touched(),
            render(launched.printed, self._device.text, self.options.printf_bytes),
            launched.status == RUNNING,
            launched.kernel.unordered,
        )

    def _count(self, kernel: str, launched: Launched) -> Counters:
        """The counters of a launch, computed once for launches with equal raw counts."""
        key = kernel, launched.blocks.tobytes(), launched.sites.tobytes()
        if key not in self._counted:
            self._counted[key] = count(launched)
        return self._counted[key]

    def _launch(self, kernel: KernelLaunch, hidden: Callable[[MemoryRegion], bool]) -> Launched:
        self._device.undefined, self._device.order = self.undefined, self.order
        unseen = {key for region, key in self._keys.items() if hidden(region)}
        away = [a for a in self._device.arrays if a.name in unseen]
        self._device.arrays = [a for a in self._device.arrays if a.name not in unseen]
        try:
            return self._device.launch(
                kernel.name, kernel.grid, kernel.block, kernel.shared_bytes, kernel.arguments,
                budget_per_block=self.options.instructions_per_block, budget=self.left, cooperative=kernel.cooperative,
            )  # fmt: skip
        finally:
            self._device.arrays = sorted([*self._device.arrays, *away], key=lambda a: a.address)

    def _call(self, kernel: KernelLaunch, names: Callable[[MemoryRegion], str]) -> Call:
        """The launch, with array names instead of pointers."""
        arguments = tuple(self._argument(a, names) for a in kernel.arguments)
        parameters = self.parameters(kernel.name)
        return Call(kernel.name, kernel.grid, kernel.block, kernel.shared_bytes, arguments, parameters)

    def parameters(self, kernel: str) -> tuple[str, ...]:
        """The names of a kernel's parameters; empty if they are not known."""
        return tuple(self._parameters.get(kernel, ()))

    def elements(self, kernel: str) -> list[str]:
        """The PTX types of a kernel's parameters."""
        return [parameter.element for parameter in self._module.functions[kernel].parameters]

    def _argument(self, argument: bytes, names: Callable[[MemoryRegion], str]) -> str | bytes:
        if len(argument) != POINTER_BYTES:
            return argument
        address = int.from_bytes(argument, "little")
        region = next((r for r in self._keys if r.start <= address < r.end), None)
        return argument if region is None else names(region)

    def _touched(self) -> tuple[Footprint, tuple[RegionUse, ...]]:
        """The addresses that the last launch accessed, and its sectors per region."""
        reads: list[Spans] = []
        writes: list[Spans] = []
        atomics: list[Spans] = []
        used: list[RegionUse] = []
        for touched in self._device.touched():
            at = touched.array.address
            reads.append(touched.reads + at)
            # A cell with plain and atomic writes counts as the kind of its last write.
            writes.append(without(touched.writes, touched.atomics) + at)
            atomics.append(touched.atomics + at)
            if touched.array.name in self._regions:
                used.append(RegionUse(self._regions[touched.array.name], touched.sectors))
        return Footprint(union(reads), union(writes), union(atomics)), tuple(used)


ARRAY = "array"
"""The kind of an argument that is an array or another address. The other kinds are the names in `KINDS`."""

POINTER_BYTES = 8

PYTHON: Mapping[str, str] = {"int": "int64", "float": "float64", "bool": "bool"}
"""The types to which CuPy converts Python's own numbers."""

KINDS = frozenset(
    (ARRAY, *PYTHON, "bool_", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
     "uint32", "uint64")
)  # fmt: skip
"""Kinds of arguments that are compared with their parameters."""


READS: Mapping[str, str] = {
    "f32": "float32", "f64": "float64", "u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "uint32",
    "s32": "int32", "u64": "uint64", "s64": "int64",
}  # fmt: skip
"""The NumPy dtype with which a parameter of each PTX type reads its bytes."""


@dataclass(frozen=True)
class ArgumentMismatch:
    """One argument that its parameter misreads. The kernel reads ``value`` as ``seen``; both are "" for addresses."""

    given: str  # as `KINDS` has it
    given_bytes: int
    element: str  # the parameter's PTX type
    element_bytes: int
    seen: str = ""
    value: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self) | {"is_python": self.given in PYTHON}


def mismatch(element: str, size: int, kind: str, content: bytes) -> ArgumentMismatch | None:
    """How a parameter of PTX type ``element`` misreads an argument; None if it does not, or this cannot be known."""
    if element not in READS or kind not in KINDS or len(content) < size:
        return None
    if kind == ARRAY:
        fits = size == POINTER_BYTES and element != "f64"
        return None if fits else ArgumentMismatch(kind, POINTER_BYTES, element, size)
    value = _as_number(content, PYTHON.get(kind, kind))
    seen = _as_number(content[:size], READS[element])
    if _is_same(value, seen, size, integer="f" not in element):
        return None
    return ArgumentMismatch(kind, len(content), element, size, _shown(seen), _shown(value))


def _shown(number: float | int) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def _as_number(content: bytes, dtype: str) -> float | int:
    value: float | int = np.frombuffer(content, dtype, 1)[0].item()
    return value


def _is_same(value: float | int, seen: float | int, size: int, *, integer: bool) -> bool:
    if not integer:
        return value == seen or (value != value and seen != seen)
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        return False
    bits = 8 * size
    return -(1 << (bits - 1)) <= value < 1 << bits and (int(value) - int(seen)) % (1 << bits) == 0


FLOATS = {"f32": "<f4", "f64": "<f8"}
ADDRESSES = ("u64", "s64", "b64")
MOST_SHOWN = 12
SMALL = 1 << 32
"""Integers from this value on are shown in hexadecimal: they are probably addresses."""


@dataclass(frozen=True)
class KernelParameter:
    """A kernel's parameter: its name ("" if it is not known) and its PTX type."""

    name: str
    element: str


def launched(space: Space, op: StreamOperation, parameters: Sequence[KernelParameter], place: str) -> str:
    """Return where a kernel was launched, and with which arguments."""
    work = op.job.work
    assert isinstance(work, KernelLaunch)
    given = [
        f"{parameter.name or f'argument {i + 1}'} = {_value(space, parameter.element, content)}"
        for i, (parameter, content) in enumerate(zip(parameters, work.arguments, strict=False))
    ]
    shown = [*given[:MOST_SHOWN], *(["…"] if len(given) > MOST_SHOWN else [])]
    return f"{place} with {', '.join(shown)}" if given else place


def parameters_of(elements: Sequence[str], names: Sequence[str]) -> list[KernelParameter]:
    """Return types and names together; without names if their number does not match."""
    matching = names if len(names) == len(elements) else ()
    return [KernelParameter(name, element) for element, name in zip_longest(elements, matching, fillvalue="")]


def _value(space: Space, element: str, content: bytes) -> str:
    if element in FLOATS:
        return f"{np.frombuffer(content, FLOATS[element], 1)[0]:g}"
    number = int.from_bytes(content, "little", signed=True)
    if element in ADDRESSES and len(content) == POINTER_BYTES:
        return _memory(space, number) or (str(number) if abs(number) < SMALL else f"{number % (1 << 64):#x}")
    return str(number) if len(content) <= POINTER_BYTES else bytes_words(len(content))


def _memory(space: Space, address: int) -> str:
    """``the device copy of x (1024 elements)``: the memory from an address on, and its size; "" if there is none."""
    region, array = space.at(address), space.array_at(address)
    if array is not None:
        start, end = HOST_BASE + array.offset, HOST_BASE + array.offset + array.size
    elif region is not None:
        start, end = region.start, region.end
    else:
        return f"{space.name(address)}, which is freed" if space.freed(address) is not None else ""
    name = space.copied_name(address)
    size = next((np.dtype(array.dtype).itemsize for array in space.arrays if array.name == name), 0)
    offset, left = address - start, end - address
    element = f"element {offset // size}" if size and offset % size == 0 else f"byte {offset}"
    place = f" from {element} on" if offset else ""
    amount = counted(left // size, "element") if size and left % size == 0 else bytes_words(left)
    return f"{space.name(address)}{place} ({amount})"
