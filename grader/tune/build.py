"""Compile and assemble each combination, and find out, before any launch, which cannot run and why.

Several are built at a time, because ptxas takes seconds for a large kernel; each in its own child, as for a submission.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from itertools import count
from typing import TYPE_CHECKING

from grader.compile import Program, assembly, compile_source
from grader.compile.ptxas import STATIC_SHARED_BYTES
from grader.errors import SubmissionError
from grader.frozen import dataclass
from grader.grading.hints import in_words
from grader.grading.hints.rules import Seen
from grader.launch import DeviceLimits, LaunchPlan, parse_launches, resolve_launches
from grader.launch.fit import misfit
from grader.simt.occupancy import NotPossible, Occupancy, occupancy
from grader.tune.settings import Choice, SettingPlace, is_now, rewritten

if TYPE_CHECKING:
    from grader.compile.ptxas import Assembly
    from grader.exercise import Exercise, Size
    from grader.timing.samples import Summary

DOES_NOT_FIT = "does_not_fit"
"""A word in addition to the verdicts: the program is valid, but a multiprocessor cannot hold one of its blocks."""
MOST_WORKERS = 16


@dataclass(frozen=True)
class Machine:
    """The machine to build for: ``target`` of the PTX, ``arch`` of the machine code, and the limits of a launch."""

    name: str
    arch: str
    target: str
    limits: DeviceLimits


@dataclass(frozen=True)
class Needs:
    """The resources of one launch, and how many of its blocks fit on a multiprocessor (None: unknown architecture)."""

    kernel: str
    threads: int
    registers: int
    spill_bytes: int
    shared_bytes: int  # static and dynamic
    resident: Occupancy | None


@dataclass(frozen=True)
class TunedVariant:
    """One combination. ``word`` is "" if it can run, else a verdict or `DOES_NOT_FIT`, and ``reason`` says why.

    After the timing ``word`` is its result, and ``summary`` has its times if the output is correct.
    """

    choice: Choice
    now: bool
    needs: Needs | None = None
    word: str = ""
    reason: str = ""
    program: Program | None = field(default=None, repr=False, compare=False)
    summary: Summary | None = None
    final: bool = False  # timed again with the best ones


@dataclass(frozen=True)
class Workshop:
    """Makes the variants of one file."""

    exercise: Exercise
    size: Size
    file: str
    source: str
    places: dict[str, SettingPlace]
    machine: Machine
    headers: Mapping[str, str] = field(default_factory=dict)

    def build_all(
        self, choices: Sequence[Choice], tell: Callable[[str], None], stopped: Callable[[], bool] = lambda: False
    ) -> tuple[TunedVariant, ...]:
        """Build all combinations, in order, without those not yet started when ``stopped()`` becomes true."""
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
        """Build one combination. Raises Unsupported if the compiler or the assembler is missing."""
        variant = TunedVariant(choice, is_now(self.places, choice))
        try:
            return self._built(variant)
        except SubmissionError as error:
            return replace(variant, word=error.verdict, reason=error.message)

    def _built(self, variant: TunedVariant) -> TunedVariant:
        source = rewritten(self.source, self.places, variant.choice)
        script = parse_launches(source, file=self.file)
        program = compile_source(source.encode(), self.file, target=self.machine.target, headers=self.headers)
        plan = resolve_launches(script, self.exercise, self.size, self.machine.limits, program)
        for launch in plan.launches:  # ptxas would refuse this, in a less helpful message
            entry = program.entry(launch.kernel)
            if entry is not None and entry.static_shared_bytes > STATIC_SHARED_BYTES:
                more = f"with shared= in the launch line a block can have up to {self.machine.limits.max_shared_bytes}"
                message = f"{launch.kernel} declares {entry.static_shared_bytes} bytes of __shared__ arrays; "
                raise SubmissionError(DOES_NOT_FIT, f"{message}the maximum is {STATIC_SHARED_BYTES}; {more}")
        made = assembly(program, self.machine.arch)
        needs = needs_of(plan, made, self.machine.arch)
        for need, launch in zip(needs, plan.launches, strict=True):
            if found := misfit(launch, made.resources[launch.kernel], self.machine.arch):
                why = in_words(found, Seen())
                return replace(variant, needs=need, word=DOES_NOT_FIT, reason=f"{why.message}; {why.hint}")
        # The resources of the launch with the most threads.
        threads = [math.prod(launch.grid) * math.prod(launch.block) for launch in plan.launches]
        most = needs[threads.index(max(threads))] if threads else None
        return replace(variant, needs=most, program=program)


def needs_of(plan: LaunchPlan, assembled: Assembly, arch: str) -> tuple[Needs, ...]:
    """The resources of each launch of the plan."""
    needs = []
    for launch in plan.launches:
        resources, threads = assembled.resources[launch.kernel], math.prod(launch.block)
        shared = resources.static_shared_bytes + launch.shared_bytes
        spilled = resources.spill_store_bytes + resources.spill_load_bytes
        registers = max(1, resources.registers)
        try:
            resident = occupancy(arch, threads=threads, registers=registers, shared_bytes=shared)
        except NotPossible:  # an architecture newer than the table
            resident = None
        needs.append(Needs(launch.kernel, threads, registers, spilled, shared, resident))
    return tuple(needs)
