"""One case: memory, launches in order, results. The simulator's entry point.

    outcome = simulate(module, memories, steps, cache=CodeCache(key))

A run on several CPU threads that has findings or conflicts is repeated on one thread: so results, counters and findings
do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from grader.simt.counters import Counters, SiteCounters, WarpRequest, count, count_sites, worst_requests
from grader.simt.engine.code_cache import CodeCache
from grader.simt.engine.device import Device
from grader.simt.engine.launch import Dim3, Launched
from grader.simt.engine.layout import RUNNING
from grader.simt.engine.printing import render
from grader.simt.engine.residents import TooLarge
from grader.simt.engine.schedule import USUAL, Order
from grader.simt.events import Event, explain, merge, too_large
from grader.simt.observers import OBSERVERS
from grader.simt.ptx import Module

Bytes = npt.NDArray[np.uint8]

RECORD_ROOM = 32  # bytes for printf records per character of the limit, which is one of text


@dataclass(frozen=True, eq=False)
class Memory:
    """A buffer: its bytes at the start, whether they are initialised, and its offset from an aligned address."""

    name: str
    data: Bytes
    initialised: bool
    offset: int = 0  # bytes from an aligned address to its begin
    repeated: int = 0  # its size in bytes, if it repeats ``data``


@dataclass(frozen=True)
class Call:
    """One kernel launch. An argument is a buffer's name or the parameter's bytes."""

    kernel: str
    grid: Dim3
    block: Dim3
    shared_bytes: int
    arguments: tuple[str | bytes, ...]
    parameters: tuple[str, ...] = ()  # their names in the source, if known
    cooperative: bool = False  # a cooperative launch


@dataclass(frozen=True)
class Fill:
    """Zero a buffer."""

    name: str


@dataclass(frozen=True)
class Upload:
    """Copy a buffer's bytes into a module variable (a `__constant__` array)."""

    symbol: str
    name: str


Step = Call | Fill | Upload


@dataclass(frozen=True)
class Options:
    """Options of a case. Limits of instructions are in plain warp instructions (see `blocks.cost`): of a block, which
    ends an endless loop soon and always at the same place, and of all launches of the case.
    """

    observed: frozenset[str] = frozenset(OBSERVERS)
    counted: bool = True  # whether the outcome has counters; the code counts in any case
    by_site: bool = False  # also the counters of each instruction
    threads: int = 1
    instructions_per_block: int = 100_000_000
    instructions: int = 4_000_000_000
    printf_bytes: int = 64 << 10
    undefined: int = 0xFF  # the byte that fills shared and local memory when a block starts (NaN in every float type),
    # and the result of a shuffle from an inactive lane
    order: Order = USUAL
    few: bool = False  # run only the first block of a launch, the last one, and one between them
    changed: Sequence[tuple[str, int, int]] = ()  # kernels, sites, how: see `grader.simt.engine.changes`


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a case. ``complete`` is False if a launch ended early (a fault, a deadlock, a limit)."""

    memory: Mapping[str, Bytes]
    calls: tuple[Call, ...]
    counters: tuple[Counters, ...]
    worst: tuple[tuple[WarpRequest, ...], ...]  # of each call, for pictures
    events: tuple[Event, ...]
    printed: str
    complete: bool
    sites: tuple[SiteCounters, ...] = ()  # of all calls, with `Options.by_site`
    unordered: tuple[tuple[str, int], ...] = ()  # `Kernel.unordered` of all kernels
    spent: int = 0  # of the limit of instructions
    variables: Mapping[str, Bytes] = field(default_factory=dict)  # changed variables of the module


def simulate(
    module: Module,
    memories: Sequence[Memory],
    steps: Sequence[Step],
    *,
    cache: CodeCache,
    options: Options | None = None,
    variables: Mapping[str, Bytes] | None = None,
) -> Outcome:
    """Run the steps on fresh memory. ``variables`` are values of module variables that replace the initial ones.

    Raises UnsupportedPtx, with the source line; KeyError for an unknown symbol.
    """
    chosen = options or Options()
    run = _Run(module, memories, cache, chosen, chosen.threads, variables or {})
    if not run.steps(steps):
        run = _Run(module, memories, cache, chosen, 1, variables or {})
        run.steps(steps)
    return run.outcome()


class _Run:
    def __init__(
        self,
        module: Module,
        memories: Sequence[Memory],
        cache: CodeCache,
        options: Options,
        threads: int,
        variables: Mapping[str, Bytes],
    ) -> None:
        self.options = options
        self.device = Device(
            module,
            cache=cache,
            threads=threads,
            observed=options.observed,
            printf_bytes=RECORD_ROOM * options.printf_bytes,
            undefined=options.undefined,
            order=options.order,
            changed=options.changed,
        )
        for name, data in variables.items():
            self.device.variable(name).data[:] = data
        self.addresses = {
            m.name: self.device.allocate(
                m.name, m.data, initialised=m.initialised, offset=m.offset, repeated=m.repeated
            )
            for m in memories
        }
        self.calls: list[Call] = []
        self.counters: list[Counters] = []
        self.worst: list[tuple[WarpRequest, ...]] = []
        self.sites: list[SiteCounters] = []
        self.events: list[Event] = []
        self.printed = ""
        self.complete = True
        self.unordered: dict[tuple[str, int], None] = {}
        self.left = options.instructions

    def steps(self, steps: Sequence[Step]) -> bool:
        """Run all steps, or up to one that ends early; False if the run must be repeated on one thread."""
        for step in steps:
            if isinstance(step, Fill):
                self.device.array(step.name).data[:] = 0
                self.device.mark_initialised(step.name)
            elif isinstance(step, Upload):
                target, source = self.device.variable(step.symbol).data, self.device.array(step.name).data
                size = min(target.size, source.size)
                target[:size] = source[:size]
            elif not self._call(step):
                return False
            if not self.complete:
                break
        return True

    def _call(self, call: Call) -> bool:
        given = [self.addresses[a].to_bytes(8, "little") if isinstance(a, str) else a for a in call.arguments]
        try:
            launched = self.device.launch(
                call.kernel, call.grid, call.block, call.shared_bytes, given,
                budget_per_block=self.options.instructions_per_block, budget=self.left, cooperative=call.cooperative,
                few=self.options.few,
            )  # fmt: skip
        except TooLarge as error:
            self.events.append(too_large(call.kernel, error))
            self.complete = False
            return True
        if launched.rerun:
            return False
        at, counted = len(self.calls), self.options.counted
        self.calls.append(call)
        self.unordered |= dict.fromkeys(launched.kernel.unordered)
        self.counters.append(count(launched) if counted else Counters({}, {}))
        self.sites += count_sites(launched) if self.options.by_site else ()
        worst = worst_requests(self.device, launched, call.grid, call.shared_bytes) if counted else ()
        self.worst.append(worst)
        self.events += explain(self.device, launched, call.grid, call.block, call.shared_bytes, call=at)
        self._print(launched)
        self.left = max(0, self.left - launched.spent)
        self.complete = launched.status == RUNNING
        return True

    def _print(self, launched: Launched) -> None:
        limit = self.options.printf_bytes
        self.printed += render(launched.printed, self.device.text, limit - len(self.printed))
        if len(self.printed) > limit:  # short records can print long texts
            self.printed = self.printed[:limit]
            if not any(event.kind == "print_limit" for event in self.events):
                self.events.append(Event("print_limit", launched.kernel.name, None, (0, 0, 0), (0, 0, 0)))

    def outcome(self) -> Outcome:
        memory = {name: self.device.array(name).data for name in self.addresses}
        return Outcome(
            memory,
            tuple(self.calls),
            tuple(self.counters),
            tuple(self.worst),
            tuple(merge(self.events)),
            self.printed,
            self.complete,
            sites=tuple(self.sites),
            unordered=tuple(self.unordered),
            spent=self.options.instructions - self.left,
            variables=self.device.changed_variables(),
        )
