"""Compile and assemble each combination, and say of each that cannot run why: before anything is launched.

Several at a time, because ptxas takes seconds for a large kernel; each runs in a child of its own as for a submission.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from grader.compile import Program, assembly, compile_source
from grader.errors import SubmissionError
from grader.launch import DeviceLimits, LaunchPlan, parse_launches, resolve_launches
from grader.simt.occupancy import REGISTER_UNIT, WARP, NotPossible, Occupancy, multiprocessor, occupancy
from grader.tune.settings import Choice, SettingPlace, is_now, rewritten

if TYPE_CHECKING:
    from grader.compile.ptxas import Assembly
    from grader.exercise import Exercise, Size
    from grader.timing.samples import Summary

STATIC_SHARED_BYTES = 48 << 10
"""Of `__shared__` arrays with a size in the source; dynamic shared memory goes further."""
DOES_NOT_FIT = "does_not_fit"
"""Beside the words of verdicts: the program is right so far, but no multiprocessor can hold a block of it."""
MOST_WORKERS = 16


@dataclass(frozen=True)
class Machine:
    """What the variants are made for: ``target`` of the PTX, ``arch`` of the machine code, the limits of a launch."""

    name: str
    arch: str
    target: str
    limits: DeviceLimits


@dataclass(frozen=True)
class Needs:
    """What the largest launch needs, and how much of it fits on one multiprocessor (None: unknown architecture)."""

    kernel: str
    threads: int
    registers: int
    spill_bytes: int
    shared_bytes: int  # static and dynamic
    resident: Occupancy | None


@dataclass(frozen=True)
class TunedVariant:
    """One combination. ``word`` is "" where it can run, else a verdict or `DOES_NOT_FIT`, and ``reason`` says why.

    Once it has been timed ``word`` is what came of that, and ``summary`` has its times if it is right.
    """

    choice: Choice
    now: bool
    needs: Needs | None = None
    word: str = ""
    reason: str = ""
    program: Program | None = field(default=None, repr=False, compare=False)
    summary: Summary | None = None
    final: bool = False  # timed again beside the best


@dataclass(frozen=True)
class Workshop:
    """Makes the variants of one file."""

    exercise: Exercise
    size: Size
    file: str
    source: str
    places: dict[str, SettingPlace]
    machine: Machine

    def build_all(
        self, choices: Sequence[Choice], tell: Callable[[str], None], stopped: Callable[[], bool] = lambda: False
    ) -> tuple[TunedVariant, ...]:
        """Build all of them, in order. Those not yet started when ``stopped`` are left out."""
        done = count(1)

        def build(choice: Choice) -> TunedVariant | None:
            if stopped():
                return None
            variant = self.build(choice)
            tell(f"compiled {next(done)} of {len(choices)}")
            return variant

        with ThreadPoolExecutor(max(1, min(MOST_WORKERS, os.cpu_count() or 1, len(choices)))) as pool:
            return tuple(variant for variant in pool.map(build, choices) if variant is not None)

    def build(self, choice: Choice) -> TunedVariant:
        """One combination. Raises Unsupported where the compiler or the assembler is missing."""
        variant = TunedVariant(choice, is_now(self.places, choice))
        try:
            return self._built(variant)
        except SubmissionError as error:
            return replace(variant, word=error.verdict, reason=error.message)

    def _built(self, variant: TunedVariant) -> TunedVariant:
        source = rewritten(self.source, self.places, variant.choice)
        script = parse_launches(source, file=self.file)
        program = compile_source(source.encode(), self.file, target=self.machine.target)
        plan = resolve_launches(script, self.exercise, self.size, self.machine.limits, program)
        for launch in plan.launches:  # what ptxas would refuse, in words of the source
            entry = program.entry(launch.kernel)
            if entry is not None and entry.static_shared_bytes > STATIC_SHARED_BYTES:
                more = f"with shared= in the launch line a block gets up to {self.machine.limits.max_shared_bytes}"
                message = f"{launch.kernel} declares {entry.static_shared_bytes} bytes of __shared__ arrays, and "
                raise SubmissionError(DOES_NOT_FIT, f"{message}{STATIC_SHARED_BYTES} are the most; {more}")
        needs = needs_of(plan, assembly(program, self.machine.arch), self.machine.arch)
        too_large = [one for one in needs if one.resident is not None and not one.resident.blocks]
        if too_large:
            largest = max(too_large, key=lambda one: one.threads)
            return replace(variant, needs=largest, word=DOES_NOT_FIT, reason=misfit(too_large[0], self.machine.arch))
        # What the launch with the most work needs.
        threads = [math.prod(launch.grid) * math.prod(launch.block) for launch in plan.launches]
        most = needs[threads.index(max(threads))] if threads else None
        return replace(variant, needs=most, program=program)


def needs_of(plan: LaunchPlan, made: Assembly, arch: str) -> tuple[Needs, ...]:
    """What each launch of the plan needs."""
    found = []
    for launch in plan.launches:
        resources, threads = made.resources[launch.kernel], math.prod(launch.block)
        shared = resources.static_shared_bytes + launch.shared_bytes
        spilled = resources.spill_store_bytes + resources.spill_load_bytes
        registers = max(1, resources.registers)
        try:
            resident = occupancy(arch, threads=threads, registers=registers, shared_bytes=shared)
        except NotPossible:  # an architecture newer than the table
            resident = None
        found.append(Needs(launch.kernel, threads, registers, spilled, shared, resident))
    return tuple(found)


def misfit(needs: Needs, arch: str) -> str:
    """Why a multiprocessor cannot hold one block of this launch."""
    has = multiprocessor(arch)
    assert needs.resident is not None
    if "registers" in needs.resident.limiters:
        warps, of_warp = -(-needs.threads // WARP), -(-needs.registers * WARP // REGISTER_UNIT) * REGISTER_UNIT
        product = f"{needs.registers} registers for each of {needs.threads} threads, {warps * of_warp} in all"
        hint = f"__launch_bounds__({needs.threads}) tells the compiler to do with fewer"
        return f"{needs.kernel} needs {product}, and a multiprocessor has {has.registers}; {hint}"
    most = has.shared_bytes_per_block
    return f"{needs.kernel} needs {needs.shared_bytes} bytes of shared memory, and a block gets {most} at most"
