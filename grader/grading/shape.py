"""Counters that follow from the launch lines and the assembled program, not from running: the launch's own shape.

`threads` and `shared_memory_bytes` are in every counted launch; `occupancy` (with `registers` and `spill_bytes`) and
`grid_growth`, which cost something, only where the exercise expects something of them. See docs/counters.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.errors import SubmissionError
from grader.exercise import Exercise, Size
from grader.grading.records import CompiledSubmission
from grader.launch import DeviceLimits, resolve_launches
from grader.verdict import LaunchRecord

if TYPE_CHECKING:
    from grader.compile.ptxas import Resources
    from grader.launch import LaunchPlan

GROWTH = 4
"""`grid_growth` compares the grids at this many times each number of the size."""


@dataclass(frozen=True)
class Shaped:
    """A submission at one size on one device: all that the counters of this module are made of."""

    exercise: Exercise
    compiled: CompiledSubmission
    size: Size
    limits: DeviceLimits

    @property
    def asked(self) -> frozenset[str]:
        return frozenset(expect.counter for expect in self.exercise.technique)


def with_shape(what: Shaped, launches: Sequence[LaunchRecord]) -> tuple[LaunchRecord, ...]:
    """The launches with these counters added. Raises Unsupported where `occupancy` needs ptxas and there is none."""
    static = {entry.name: entry.static_shared_bytes for entry in what.compiled.program.entries}
    growth = _growth(what) if "grid_growth" in what.asked else ()
    resources = _resources(what) if "occupancy" in what.asked else {}
    shaped = []
    for at, launch in enumerate(launches):
        shared = static.get(launch.kernel, 0) + launch.shared_bytes
        counters = {"threads": float(math.prod(launch.grid) * math.prod(launch.block))}
        counters |= {"shared_memory_bytes": float(shared)} if shared else {}
        counters |= {"grid_growth": growth[at]} if at < len(growth) else {}
        if launch.kernel in resources:
            counters |= _residency(launch, resources[launch.kernel], shared)
        shaped.append(replace(launch, counters={**launch.counters, **counters}))
    return tuple(shaped)


def _growth(what: Shaped) -> tuple[float, ...]:
    """Blocks of each launch at `GROWTH` times the timed size over those at that size, where a cap has long set in.

    Where the larger size cannot be launched (no int holds it, or no grid), the timed size is the larger one.
    """
    size = what.exercise.timed or what.size
    for smaller in (size, {name: max(1, n // GROWTH) for name, n in size.items()}):
        after = _blocks(what, {name: GROWTH * n for name, n in smaller.items()})
        if after:
            return tuple(new / old for old, new in zip(_blocks(what, smaller), after, strict=False))
    return ()


def _blocks(what: Shaped, size: Size) -> tuple[int, ...]:
    """Blocks of each launch; none where a grid of that size cannot be launched."""
    try:
        plan: LaunchPlan = resolve_launches(
            what.compiled.script, what.exercise, size, what.limits, what.compiled.program
        )
    except SubmissionError:
        return ()
    return tuple(math.prod(launch.grid) for launch in plan.launches)


def _resources(what: Shaped) -> Mapping[str, Resources]:
    """What the kernels need on the simulated device, as its assembler says."""
    from grader.compile import assembly
    from grader.simt.occupancy import SIMULATED

    return assembly(what.compiled.program, SIMULATED).resources


def _residency(launch: LaunchRecord, needs: Resources, shared_bytes: int) -> Mapping[str, float]:
    """The occupancy, and what it was bought with: registers, and what did not fit into them."""
    from grader.simt.occupancy import SIMULATED, occupancy

    registers, threads = max(needs.registers, 1), math.prod(launch.block)
    found = occupancy(SIMULATED, threads=threads, registers=registers, shared_bytes=shared_bytes)
    spilled = needs.spill_store_bytes + needs.spill_load_bytes
    counters = {"registers": float(registers), "occupancy": found.fraction}
    return counters | ({"spill_bytes": float(spilled)} if spilled else {})


def question_of(launches: Sequence[LaunchRecord]) -> str:
    """The command that explains the least occupied launch: what limits it, and what each resource would allow."""
    least = min(launches, key=lambda launch: launch.counters.get("occupancy", math.inf))
    counters = least.counters
    words = f"--block {math.prod(least.block)} --registers {counters.get('registers', 1):.0f}"
    return f"`grade device --arch sm_80 {words} --shared {counters.get('shared_memory_bytes', 0):.0f}`"
