"""ptxas beside the simulator: what a GPU would refuse to load or to start.

It starts as soon as there is PTX, and works while the simulator compiles and runs the first case.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from grader.compile import assembly
from grader.errors import Unsupported
from grader.findings.record import Finding
from grader.launch.fit import first_misfit
from grader.process.background import in_background
from grader.simt.occupancy import SIMULATED, SM_COUNT

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.compile.ptxas import Resources
    from grader.launch import LaunchPlan


class Assembling:
    """One program in the hands of ptxas, for the simulated GPU."""

    def __init__(self, program: Program) -> None:
        self._file = program.name
        self._made = in_background(partial(assembly, program, SIMULATED))

    def is_done(self) -> bool:
        """Whether asking it takes no time."""
        return self._made.done()

    def resources(self) -> Mapping[str, Resources]:
        """What each kernel needs; nothing where this machine cannot assemble.

        Raises RefusedProgram for what no GPU would load.
        """
        try:
            return self._made.result().resources
        except Unsupported:
            return {}

    def refusal(self, plan: LaunchPlan) -> Finding | None:
        """The first launch of the plan that CUDA would not start. Raises what `resources` raises."""
        return first_misfit(plan, self.resources(), SIMULATED, self._file, SM_COUNT)

    def not_checked(self) -> tuple[Finding, ...]:
        """A note where this machine cannot assemble."""
        error = self._made.exception()
        if not isinstance(error, Unsupported):
            return ()
        return (Finding("unassembled", facts={"why": error.message, "remedy": error.hint}),)
