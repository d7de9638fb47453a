"""The simulator's child as the machine of a host file: the parent's side of `machine_server`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grader.backends.hostfile.case import is_cooperative
from grader.backends.sim import SimSession
from grader.errors import SubmissionError, Unsupported
from grader.launch.parameters import parameter_names

if TYPE_CHECKING:
    from grader.backends.sim.hostfile.pair import Pair
    from grader.compile import Program
    from grader.exercise import Exercise, Size


class MachineSession(SimSession):
    """The simulator's child as the machine of a host file."""

    def start_machine(self, pair: Pair, host_file: str, source: bytes, exercise: Exercise) -> None:
        """Make the machine over the shared file."""
        shared, program = pair.shared, self.program
        names = {entry.name: parameter_names(program.source, entry.name) for entry in program.entries}
        told = {"do": "host_start", "fd": shared.fd, "size": shared.size, "pool": pair.pool, "host_file": host_file}
        told |= {"devices": _devices(exercise), "scale": _scale(exercise), "parameters": names}
        self.ask(told | {"registers": _registers(program) if _asks_for_occupancy(program, source) else {}})

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One request and its answer. Raises what a case of `SimSession` raises."""
        self._send(request)
        answer, _ = self._await(self._limits.launch_s)
        return answer


def _asks_for_occupancy(program: Program, source: bytes) -> bool:
    """Whether it matters how many registers a kernel needs, which takes an assembler to find out."""
    return is_cooperative(program) or b"ccupancy" in source or b"num_regs" in source


def _registers(program: Program) -> dict[str, int]:
    """Registers of a thread by kernel; none where there is no assembler."""
    from grader.compile import assembly

    try:
        resources = assembly(program, program.target).resources
    except (SubmissionError, Unsupported):
        return {}
    return {name: needs.registers for name, needs in resources.items()}


def _devices(exercise: Exercise) -> int:
    """As many GPUs as the largest case has."""
    sizes: tuple[Size, ...] = (*exercise.small, exercise.simulated)
    secret = exercise.secret.get("gpus", (1, 1, 1))[1]
    return max(exercise.gpus, secret, *(size.get("gpus", 1) for size in sizes))


def _scale(exercise: Exercise) -> float:
    """How much more work the timed size is than the simulated one: bars have the timed size's proportions."""
    from grader.expressions import evaluate

    if exercise.timed is None:
        return 1.0
    for work in (exercise.work.bytes, exercise.work.flops):
        small, large = float(evaluate(work, exercise.simulated)), float(evaluate(work, exercise.timed))
        if small > 0 and large > 0:
            return max(1.0, large / small)
    return 1.0
