"""A submission's cubin on the device: its kernels, its variables, and one case of it. Child side."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from grader.backends.base import Execution
from grader.backends.gpu.arena import Arena
from grader.backends.gpu.cuda import Cuda, CudaError, Function, Module
from grader.backends.gpu.faults import stray_diagnostic
from grader.backends.gpu.variables import Snapshot, state_sections
from grader.backends.gpu.wire import LaunchShape
from grader.backends.plans import resolve
from grader.compile import Entry
from grader.errors import SubmissionError
from grader.launch import Constant, LaunchPlan, TensorMap, Zero


class LoadedProgram:
    """A loaded cubin. Raises CudaError if CUDA refuses it.

    ``support`` is the module of support.cu, with a kernel that restores variables; without it `restore` loads the cubin
    again.
    """

    def __init__(self, device: Cuda, cubin: bytes, entries: tuple[Entry, ...], support: Module | None = None) -> None:
        self._device = device
        self._cubin = cubin
        self._entries = {entry.name: entry for entry in entries}
        self._functions: dict[str, Function] = {}
        self._plan: LaunchPlan | None = None
        self._encoded: dict[tuple[TensorMap, int], bytes] = {}
        self._load()
        self.has_state = any(s.variables and s.name.startswith(".nv.global") for s in state_sections(cubin))
        self._snapshot, self.restored_by = self._take_snapshot(support)

    def _load(self) -> None:
        self._functions.clear()
        self._module = self._device.load(self._cubin)

    def restore(self) -> None:
        """Give every `__device__` and `__constant__` variable its initial value again."""
        if self._snapshot is not None:
            self._snapshot.restore()
            return
        self._device.synchronise()
        self._load()
        if self._plan is not None:
            self.prepare(self._plan)  # the functions belong to the old module

    def set_constants(self, constants: tuple[Constant, ...], arena: Arena) -> None:
        """Fill `__constant__` arrays from buffers. Raises SubmissionError if a symbol is missing or too small."""
        for constant in constants:
            try:
                address, size = self._device.variable(self._module, constant.symbol)
            except CudaError:
                message = f"there is no __constant__ array {constant.symbol} in the program (line {constant.line})"
                hint = "a __constant__ array that no kernel reads is removed by the compiler"
                raise SubmissionError("invalid", message, hint=hint) from None
            needed = arena.layout.places[constant.buffer].size
            if needed > size:
                raise SubmissionError(
                    "invalid",
                    f"{constant.symbol} holds {size} bytes; {constant.buffer} has {needed} (line {constant.line})",
                )
            self._device.copy(address, arena.address(constant.buffer), needed)

    def prepare(self, plan: LaunchPlan) -> None:
        """Get the plan's functions and allow their dynamic shared memory, so that `queue` is quick."""
        self._plan = plan
        for launch in plan.launches:
            function = self._function(launch.kernel)
            if launch.shared_bytes:
                self._device.allow_shared(function, launch.shared_bytes)

    def queue(self, plan: LaunchPlan, arena: Arena) -> None:
        """Queue all steps of the plan on the stream, in order."""
        addresses = arena.addresses()
        maps = {one.name: self._map(one, addresses[one.buffer]) for one in plan.tensor_maps}
        for step in plan.steps:
            if isinstance(step, Zero):
                self._device.fill8(addresses[step.buffer], 0, arena.layout.places[step.buffer].size)
                continue
            self._device.launch(
                self._function(step.kernel),
                step.grid,
                step.block,
                resolve(step.args, self._entries[step.kernel].parameters, addresses, maps),
                step.shared_bytes,
                cooperative=step.cooperative,
                cluster=step.cluster,
            )

    def _map(self, wanted: TensorMap, address: int) -> bytes:
        """The tensor map for a buffer at ``address``; encoded once, so that `queue` is quick.

        Raises SubmissionError (``invalid``) if CUDA refuses it.
        """
        if (wanted, address) not in self._encoded:
            try:
                self._encoded[wanted, address] = self._device.tensor_map(wanted, address)
            except CudaError as error:
                message = f"CUDA refuses the tensor map {wanted.name} (line {wanted.line}): {error}"
                raise SubmissionError("invalid", message, hint="look at its shape, strides and box again") from None
        return self._encoded[wanted, address]

    def _function(self, name: str) -> Function:
        if name not in self._functions:
            if name not in self._entries:
                raise SubmissionError("invalid", f"there is no kernel {name} in this file")
            self._functions[name] = self._device.function(self._module, name)
        return self._functions[name]

    def _take_snapshot(self, support: Module | None) -> tuple[Snapshot | None, str]:
        """The snapshot, and in words how `restore` works; None if it has to load the cubin again."""
        sections = state_sections(self._cubin)
        if support is None and sections:
            return None, "loading again: there are no kernels of our own"
        kernel = self._device.function(support, "copy_pieces") if sections else None
        try:
            snapshot = Snapshot(self._device, kernel, sections, partial(self._device.variable, self._module))
        except CudaError as error:
            return None, f"loading again: {error}"
        return snapshot, f"copies of {len(snapshot)} variables"


def run_case(
    device: Cuda,
    arena: Arena,
    program: LoadedProgram,
    plan: LaunchPlan,
    shapes: tuple[LaunchShape, ...],
    data: Mapping[str, npt.NDArray[np.generic]],
    *,
    keeps_state: bool = False,
) -> Execution:
    """Run the plan once: fresh arrays, the launches in order, then the checks of guard zones and inputs.

    With ``keeps_state`` the program's variables keep their values from the case before. Raises CudaError if a kernel or
    a launch fails, SubmissionError for bad arguments.
    """
    arena.lay_out(shapes)
    for shape in shapes:
        if shape.name in data:
            arena.upload(shape.name, data[shape.name])
        else:
            arena.poison_array(shape.name)
    if not keeps_state:
        program.restore()
    program.set_constants(plan.constants, arena)
    program.prepare(plan)
    device.synchronise()
    start = time.perf_counter()
    program.queue(plan, arena)
    device.synchronise()
    elapsed_s = time.perf_counter() - start
    strays = arena.strays()
    kernel = only_kernel(plan)
    given = [s for s in shapes if s.role == "in" and s.name in data]
    return Execution(
        outputs={s.name: arena.download(s.name, s.dtype) for s in shapes if s.role == "out"},
        diagnostics=tuple(stray_diagnostic(stray, kernel) for stray in strays),
        inputs_changed=tuple(
            s.name for s in given if arena.download(s.name, s.dtype).tobytes() != data[s.name].tobytes()
        ),
        elapsed_s=elapsed_s,
        has_state=program.has_state,
    )


def only_kernel(plan: LaunchPlan) -> str | None:
    """The kernel's name if the plan launches only one, else None: the GPU does not tell which kernel failed."""
    names = {launch.kernel for launch in plan.launches}
    return names.pop() if len(names) == 1 else None
