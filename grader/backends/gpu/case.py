"""One case on the GPU: fresh arrays, the launches in order, then everything that may have gone wrong. Child side."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.backends.gpu.arena import Arena
from grader.backends.gpu.cuda import Device
from grader.backends.gpu.guards import GuardCheck, diagnostic
from grader.backends.gpu.program import LoadedProgram
from grader.backends.gpu.wire import Shape
from grader.launch import LaunchPlan
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class CaseOutcome:
    outputs: dict[str, npt.NDArray[np.generic]]
    diagnostics: tuple[Diagnostic, ...]
    inputs_changed: tuple[str, ...]
    elapsed_s: float


class CaseRunner:
    """Runs cases of one loaded program on one device."""

    def __init__(self, device: Device, arena: Arena, guards: GuardCheck, program: LoadedProgram) -> None:
        self._device = device
        self._arena = arena
        self._guards = guards
        self._program = program

    def run(self, plan: LaunchPlan, shapes: tuple[Shape, ...], data: Arrays) -> CaseOutcome:
        """Run the plan once. Raises CudaError where a kernel or launch failed, SubmissionError for bad arguments."""
        self._fill(shapes, data)
        self._program.restore()
        self._program.set_constants(plan.constants, self._arena.layout.places, self._arena.base)
        self._program.prepare(plan)
        self._device.synchronise()
        start = time.perf_counter()
        self._program.queue(plan, self._arena.addresses(), self._arena.sizes())
        self._device.synchronise()
        elapsed_s = time.perf_counter() - start
        return self._outcome(plan, shapes, data, elapsed_s)

    def _fill(self, shapes: tuple[Shape, ...], data: Arrays) -> None:
        self._arena.lay_out(shapes)
        for shape in shapes:
            if shape.name in data:
                self._arena.upload(shape.name, data[shape.name])
            else:
                self._arena.poison_array(shape.name)

    def _outcome(self, plan: LaunchPlan, shapes: tuple[Shape, ...], data: Arrays, elapsed_s: float) -> CaseOutcome:
        strays = self._guards.strays(self._arena.base, self._arena.layout)
        kernel = only_kernel(plan)
        return CaseOutcome(
            outputs={s.name: self._arena.download(s.name, s.dtype) for s in shapes if s.role == "out"},
            diagnostics=tuple(diagnostic(stray, kernel) for stray in strays),
            inputs_changed=tuple(s.name for s in shapes if s.role == "in" and self._changed(s, data)),
            elapsed_s=elapsed_s,
        )

    def _changed(self, shape: Shape, data: Arrays) -> bool:
        if shape.name not in data:
            return False
        return self._arena.download(shape.name, shape.dtype).tobytes() != data[shape.name].tobytes()


def only_kernel(plan: LaunchPlan) -> str | None:
    """The kernel's name where the plan launches only one; the GPU does not tell which of several it was."""
    names = {launch.kernel for launch in plan.launches}
    return names.pop() if len(names) == 1 else None
