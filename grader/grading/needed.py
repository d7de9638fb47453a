"""Which of the instructions that an expectation counts the outputs need: only these satisfy an "at least".

Whether an instruction is needed is tried (docs/design/025-instructions-that-count.md): a case runs again with its
result changed. It is needed if an output is another one then, if the run ends with a finding, or if it does not end.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from grader.counters import KERNEL_COUNTERS, OF_INSTRUCTIONS
from grader.grading.repeats import ends_alike
from grader.grading.technique import combined, meets, per
from grader.inputs import derive_seed

if TYPE_CHECKING:
    from grader.backends.base import CaseRun, Execution, Session, SiteCounters
    from grader.exercise import Exercise, Expect, Size

TRIED = 6
"""Instructions that are tried of each expectation, drawn by their share; where one is not needed, more are tried."""
MOST_TRIED = 64
INVERTED, ZERO = 1, 2
"""How a result is changed: a maximum may survive the one, a sum the other."""
MOST_SPENT, SPENT_BY_ANY = 4, 1_000_000
"""Of the budget, what a changed run may take: so many times the usual run's, and this besides."""

Instruction = tuple[str, int]
"""A kernel's name, and the number of the instruction's site there."""
Idle = Callable[[Sequence[Instruction], bool], bool]
"""Whether nothing changes with the results of these instructions: in the counted case (True), or in a small one."""


@dataclass(frozen=True)
class Unneeded:
    """An expectation that is met only with instructions which no output needs.

    ``found`` is what the others make of the counter; ``unneeded`` of its instructions change no output.
    """

    expect: Expect
    found: float
    unneeded: int
    of: int
    kernel: str
    line: int


def asked(exercise: Exercise) -> tuple[Expect, ...]:
    """The expectations for which it matters: at least so much of what single instructions do."""
    if exercise.host:
        return ()
    return tuple(e for e in exercise.technique if e.at_least is not None and e.counter in OF_INSTRUCTIONS)


@dataclass(frozen=True)
class Trials:
    """Runs with changed results, of a small case and of the counted one; each beside what it gave unchanged."""

    session: Session
    small: tuple[CaseRun, Execution]
    counted: tuple[CaseRun, Execution]
    known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def change_nothing(self, instructions: Sequence[Instruction], counted: bool) -> bool:
        """Whether all outputs stay, bit for bit, when the results of these instructions change."""
        key = (*instructions, counted)
        if key not in self.known:
            self.known[key] = self._change_nothing(instructions, *(self.counted if counted else self.small))
        return self.known[key]

    def _change_nothing(self, instructions: Sequence[Instruction], run: CaseRun, usual: Execution) -> bool:
        most = min(run.instructions, MOST_SPENT * usual.spent + SPENT_BY_ANY)
        for how in (INVERTED, ZERO):
            changed = tuple((*instruction, how) for instruction in instructions)
            again = replace(run, counters=False, by_site=False, changed=changed, instructions=most)
            if not ends_alike(usual, self.session.run(again)):
                return False
        return True


class _Counted:
    """An expectation's counter, instruction by instruction."""

    def __init__(self, expect: Expect, sites: Sequence[SiteCounters], size: Size) -> None:
        self.expect = expect
        self.per = per(expect, size)
        self.definition = KERNEL_COUNTERS[expect.counter]
        self.sites: dict[Instruction, list[SiteCounters]] = defaultdict(list)
        for site in sites:
            if expect.counter in site.counters:
                self.sites[site.kernel, site.site].append(site)

    def of(self, instructions: Iterable[Instruction]) -> float:
        """The counter, if there were these instructions only, as the expectation asks for it."""
        return combined(self.expect.counter, self._counters(instructions)) / self.per

    def suffice(self, instructions: Iterable[Instruction]) -> bool:
        return meets(self.expect, self.of(instructions))

    def share(self, one: Instruction) -> float:
        """What a draw of instructions goes by: their part of the counter, or of what a ratio is weighted with."""
        return combined(self.definition.over or self.expect.counter, self._counters([one]))

    def helps(self, one: Instruction) -> bool:
        """Whether the limit is nearer with this instruction than without it."""
        return self.definition.total == "sum" or self.suffice([one])

    def _counters(self, instructions: Iterable[Instruction]) -> list[Mapping[str, float]]:
        return [site.counters for one in instructions for site in self.sites[one]]


def unneeded(expect: Expect, sites: Sequence[SiteCounters], size: Size, seed: int, idle: Idle) -> Unneeded | None:
    """Return None where the expectation is met by instructions that are needed, as far as is tried, or not at all."""
    counted = _Counted(expect, sites, size)
    drawn = sorted(filter(counted.helps, counted.sites), key=lambda one: _lot(one, seed) / counted.share(one))
    needed = [one for one in counted.sites if one not in drawn]
    if not counted.suffice(counted.sites) or (counted.definition.total == "ratio" and not needed):
        return None  # it is missed anyway; or each instruction alone would meet it

    dead: list[Instruction] = []
    doubted: list[Instruction] = []
    tried = drawn[:MOST_TRIED]
    for number, one in enumerate(tried):
        if number == TRIED and not dead:
            return None
        if not idle([one], number == 0):
            needed.append(one)
        elif dead:
            doubted.append(one)
        else:
            (dead if number == 0 or idle([one], True) else needed).append(one)
        if counted.suffice(needed):
            return None
    if doubted and idle(doubted, True):
        dead, doubted = dead + doubted, []
    for one in doubted:  # some have their work only where there is more of it
        (dead if idle([one], True) else needed).append(one)
        if counted.suffice(needed):
            return None
    others = drawn[MOST_TRIED:]  # which count if most of those do that were tried
    if 2 * len(dead) < len(tried):
        needed += others
    if counted.suffice(needed):
        return None
    worst = max(sorted(dead), key=counted.share)
    line = counted.sites[worst][0].line
    return Unneeded(expect, counted.of(needed), len(dead), len(counted.sites) - len(others), worst[0], line)


def _lot(one: Instruction, seed: int) -> float:
    """Of each instruction; divided by its share, the smallest are a draw in proportion to the shares."""
    return -math.log((1 + derive_seed(seed, "needed", *one)) / (1 << 64))
