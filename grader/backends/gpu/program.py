"""A submission's cubin on the device: its kernels, its variables, and how to put them back as they were loaded."""

from __future__ import annotations

from collections.abc import Mapping

from grader.backends.arguments import resolve
from grader.backends.gpu.buffers import Place
from grader.backends.gpu.cuda import CudaError, Device, Function, Module
from grader.backends.gpu.elf import state_sections
from grader.backends.gpu.variables import Snapshot
from grader.compile import Entry
from grader.errors import SubmissionError
from grader.launch import Constant, Launch, LaunchPlan, TensorMap, Zero


class LoadedProgram:
    """One cubin in the device's memory. Raises CudaError where CUDA refuses it.

    ``support`` is the module of support.cu, whose kernel restores variables; without it the cubin is loaded again.
    """

    def __init__(self, device: Device, cubin: bytes, entries: tuple[Entry, ...], support: Module | None = None) -> None:
        self._device = device
        self._cubin = cubin
        self._entries = {entry.name: entry for entry in entries}
        self._functions: dict[str, Function] = {}
        self._plan: LaunchPlan | None = None
        self._encoded: dict[tuple[TensorMap, int], bytes] = {}
        self._load()
        self._snapshot, self.restored_by = self._take_snapshot(support)

    def _load(self) -> None:
        self._functions.clear()
        self._module = self._device.load(self._cubin)

    def restore(self) -> None:
        """Put every `__device__` and `__constant__` variable back: nothing is carried from one launch to the next."""
        if self._snapshot is not None:
            self._snapshot.restore()
            return
        self._device.synchronise()
        self._load()
        if self._plan is not None:
            self.prepare(self._plan)  # a module that was loaded again has new kernels

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
        self._plan = plan
        for launch in plan.launches:
            function = self._function(launch.kernel)
            if launch.shared_bytes:
                self._device.allow_shared(function, launch.shared_bytes)

    def queue(self, plan: LaunchPlan, addresses: Mapping[str, int], sizes: Mapping[str, int]) -> None:
        """Queue all steps of the plan on the stream, in order."""
        maps = {one.name: self._map(one, addresses[one.buffer]) for one in plan.tensor_maps}
        for step in plan.steps:
            if isinstance(step, Zero):
                self._device.fill8(addresses[step.buffer], 0, sizes[step.buffer])
            else:
                self._queue_launch(step, addresses, maps)

    def _map(self, wanted: TensorMap, address: int) -> bytes:
        """The map of the buffer where it lies now; encoded once for each address, so that queueing stays quick.

        Raises SubmissionError (``invalid``) where CUDA refuses it.
        """
        if (wanted, address) not in self._encoded:
            try:
                self._encoded[wanted, address] = self._device.tensor_map(wanted, address)
            except CudaError as error:
                message = f"CUDA refuses the tensor map {wanted.name} (line {wanted.line}): {error}"
                raise SubmissionError("invalid", message, hint="look at its shape, strides and box again") from None
        return self._encoded[wanted, address]

    def _queue_launch(self, launch: Launch, addresses: Mapping[str, int], maps: Mapping[str, bytes]) -> None:
        self._device.launch(
            self._function(launch.kernel),
            launch.grid,
            launch.block,
            resolve(launch.args, self._entries[launch.kernel].parameters, addresses, maps),
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

    def _take_snapshot(self, support: Module | None) -> tuple[Snapshot | None, str]:
        """The snapshot, and in words how variables will be restored; None: by loading the cubin again."""
        sections = state_sections(self._cubin)
        if support is None and sections:
            return None, "loading again: there are no kernels of our own"
        kernel = self._device.function(support, "copy_pieces") if sections else None
        try:
            snapshot = Snapshot(self._device, kernel, sections, self._find)
        except CudaError as error:
            return None, f"loading again: {error}"
        return snapshot, f"copies of {len(snapshot)} variables"

    def _find(self, name: str) -> tuple[int, int]:
        return self._device.variable(self._module, name)
