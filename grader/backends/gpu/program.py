"""A submission's cubin on the device: its kernels, its variables, and how to put them back as they were loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.backends.gpu.arguments import resolve
from grader.backends.gpu.buffers import Place
from grader.backends.gpu.cuda import CudaError, Device, Function
from grader.backends.gpu.elf import StateSection, state_sections
from grader.compile import Entry
from grader.errors import SubmissionError
from grader.launch import Constant, Launch, LaunchPlan, Zero

_TRIES = 32  # variables whose address is asked for before a section counts as unreachable


@dataclass(frozen=True)
class _Snapshot:
    """A section of variables on the device, and a copy of what it held when the module was loaded."""

    address: int
    size: int
    copy: int


class LoadedProgram:
    """One cubin in the device's memory. Raises CudaError where CUDA refuses it."""

    def __init__(self, device: Device, cubin: bytes, entries: tuple[Entry, ...]) -> None:
        self._device = device
        self._cubin = cubin
        self._entries = {entry.name: entry for entry in entries}
        self._functions: dict[str, Function] = {}
        self._snapshots: list[_Snapshot] = []
        self._load()
        self._reload = not self._take_snapshots(state_sections(cubin))

    def _load(self) -> None:
        self._functions.clear()
        self._module = self._device.load(self._cubin)

    def restore(self) -> None:
        """Put every `__device__` and `__constant__` variable back: nothing is carried from one launch to the next."""
        if self._reload:
            self._device.synchronise()
            self._load()
        for saved in self._snapshots:
            self._device.copy(saved.address, saved.copy, saved.size)

    def set_constants(self, constants: tuple[Constant, ...], places: Mapping[str, Place], base: int) -> None:
        """Fill `__constant__` arrays from buffers. Raises SubmissionError where a symbol is missing or too small."""
        for constant in constants:
            place = places[constant.buffer]
            address, size = self._variable(constant)
            if place.size > size:
                raise SubmissionError(
                    "invalid",
                    f"{constant.symbol} holds {size} bytes; {constant.buffer} has {place.size} (line {constant.line})",
                )
            self._device.copy(address, base + place.start, place.size)

    def prepare(self, plan: LaunchPlan) -> None:
        """Find the plan's kernels and allow their dynamic shared memory, so that queueing launches is quick."""
        for launch in plan.launches:
            function = self._function(launch.kernel)
            if launch.shared_bytes:
                self._device.allow_shared(function, launch.shared_bytes)

    def queue(self, plan: LaunchPlan, addresses: Mapping[str, int], sizes: Mapping[str, int]) -> None:
        """Queue all steps of the plan on the stream, in order."""
        for step in plan.steps:
            if isinstance(step, Zero):
                self._device.fill8(addresses[step.buffer], 0, sizes[step.buffer])
            else:
                self._queue_launch(step, addresses)

    def _queue_launch(self, launch: Launch, addresses: Mapping[str, int]) -> None:
        self._device.launch(
            self._function(launch.kernel),
            launch.grid,
            launch.block,
            resolve(launch.args, self._entries[launch.kernel].parameters, addresses),
            launch.shared_bytes,
            cooperative=launch.cooperative,
            cluster=launch.cluster,
        )

    def _function(self, name: str) -> Function:
        if name not in self._functions:
            if name not in self._entries:
                raise SubmissionError("invalid", f"there is no kernel {name} in this file")
            self._functions[name] = self._device.function(self._module, name)
        return self._functions[name]

    def _variable(self, constant: Constant) -> tuple[int, int]:
        try:
            return self._device.variable(self._module, constant.symbol)
        except CudaError:
            message = f"there is no __constant__ array {constant.symbol} in the program (line {constant.line})"
            hint = "a __constant__ array that no kernel reads is removed by the compiler"
            raise SubmissionError("invalid", message, hint=hint) from None

    def _take_snapshots(self, sections: tuple[StateSection, ...]) -> bool:
        """Copy all sections aside; False where one cannot be reached by any name: then restoring means reloading."""
        for section in sections:
            address = self._section_address(section)
            if address is None:
                return False
            saved = _Snapshot(address, section.size, self._device.allocate(section.size))
            self._device.copy(saved.copy, saved.address, saved.size)
            self._snapshots.append(saved)
        self._device.synchronise()
        return True

    def _section_address(self, section: StateSection) -> int | None:
        for variable in section.variables[:_TRIES]:
            try:
                address, _ = self._device.variable(self._module, variable.name)
            except CudaError:
                continue
            return address - variable.offset
        return None
