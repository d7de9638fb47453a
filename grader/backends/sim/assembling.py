"""ptxas beside the simulator, to find programs and launches that a GPU would refuse.

It runs in the background while the simulator compiles and runs the first case.
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
    """The assembly of one program for the simulated GPU, in the background."""

    def __init__(self, program: Program) -> None:
        self._file = program.name
        self._made = in_background(partial(assembly, program, SIMULATED))

    def is_done(self) -> bool:
        """Whether ptxas has ended, so that no method waits."""
        return self._made.done()

    def resources(self) -> Mapping[str, Resources]:
        """The resources of each kernel; {} if this machine cannot assemble.

        Raises RefusedProgram if ptxas refuses the program.
        """
        try:
            return self._made.result().resources
        except Unsupported:
            return {}

    def refusal(self, plan: LaunchPlan) -> Finding | None:
        """A finding on the first launch of the plan that CUDA would refuse, or None. Raises what `resources` raises."""
        return first_misfit(plan, self.resources(), SIMULATED, self._file, SM_COUNT)

    def not_checked(self) -> tuple[Finding, ...]:
        """A note if this machine cannot assemble; else ()."""
        error = self._made.exception()
        if not isinstance(error, Unsupported):
            return ()
        return (Finding("unassembled", facts={"why": error.message, "remedy": error.hint}),)
