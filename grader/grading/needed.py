"""The instructions on which outputs depend: only these count for an expectation with "at least".

A trial decides whether an instruction is needed (docs/design/025-instructions-that-count.md): the case is repeated with
the instruction's result changed. It is needed if an output changes, if the run ends with a finding, or does not end.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from grader.counters import KERNEL_COUNTERS, OF_INSTRUCTIONS
from grader.frozen import dataclass
from grader.grading.repeats import ends_alike
from grader.grading.technique import combined, meets, per
from grader.inputs import derive_seed

if TYPE_CHECKING:
    from grader.backends.base import CaseRun, Execution, Session, SiteCounters
    from grader.exercise import Exercise, Expect, Size

TRIED = 6
"""Instructions tried for each expectation, drawn by their share; if one is not needed, more are tried."""
MOST_TRIED = 64
INVERTED, ZERO = 1, 2
"""The changes of a result: all bits inverted, or zero. A maximum may hide the one, a sum the other."""
MOST_SPENT, SPENT_BY_ANY = 4, 1_000_000
"""The limit of instructions of a changed run: this multiple of the usual run's, plus a constant."""

Instruction = tuple[str, int]
"""A kernel's name, and the number of the instruction's site in it."""
Idle = Callable[[Sequence[Instruction], bool], bool]
"""Whether no output depends on these instructions: in the counted case (True), or in a small one."""


@dataclass(frozen=True)
class Unneeded:
    """An expectation that is met only with instructions on which no output depends.

    ``found`` is the counter without them; ``unneeded`` is the number of these instructions.
    """

    expect: Expect
    found: float
    unneeded: int
    of: int
    kernel: str
    line: int


def asked(exercise: Exercise) -> tuple[Expect, ...]:
    """The expectations with an "at least" on a counter of instructions."""
    if exercise.host:
        return ()
    return tuple(e for e in exercise.technique if e.at_least is not None and e.counter in OF_INSTRUCTIONS)


@dataclass(frozen=True)
class Trials:
    """Runs with changed results, of a small case and of the counted one, compared with the unchanged runs."""

    session: Session
    small: tuple[CaseRun, Execution]
    counted: tuple[CaseRun, Execution]
    known: dict[tuple[object, ...], bool] = field(default_factory=dict)

    def change_nothing(self, instructions: Sequence[Instruction], counted: bool) -> bool:
        """Whether no output changes, bit for bit, when the results of these instructions are changed."""
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
    """An expectation's counter by instruction."""

    def __init__(self, expect: Expect, sites: Sequence[SiteCounters], size: Size) -> None:
        self.expect = expect
        self.per = per(expect, size)
        self.definition = KERNEL_COUNTERS[expect.counter]
        self.sites: dict[Instruction, list[SiteCounters]] = defaultdict(list)
        for site in sites:
            if expect.counter in site.counters:
                self.sites[site.kernel, site.site].append(site)

    def of(self, instructions: Iterable[Instruction]) -> float:
        """The value of the counter for these instructions only, as the expectation compares it."""
        return combined(self.expect.counter, self._counters(instructions)) / self.per

    def suffice(self, instructions: Iterable[Instruction]) -> bool:
        return meets(self.expect, self.of(instructions))

    def share(self, one: Instruction) -> float:
        """The weight of an instruction in the draw: its part of the counter, or of the weight of a ratio."""
        return combined(self.definition.over or self.expect.counter, self._counters([one]))

    def helps(self, one: Instruction) -> bool:
        """Whether the counter is nearer to the limit with this instruction than without it."""
        return self.definition.total == "sum" or self.suffice([one])

    def _counters(self, instructions: Iterable[Instruction]) -> list[Mapping[str, float]]:
        return [site.counters for one in instructions for site in self.sites[one]]


def unneeded(expect: Expect, sites: Sequence[SiteCounters], size: Size, seed: int, idle: Idle) -> Unneeded | None:
    """None if the expectation is met by needed instructions, as far as they are tried, or is missed anyway."""
    counted = _Counted(expect, sites, size)
    drawn = sorted(filter(counted.helps, counted.sites), key=lambda one: _lot(one, seed) / counted.share(one))
    needed = [one for one in counted.sites if one not in drawn]
    if not counted.suffice(counted.sites) or (counted.definition.total == "ratio" and not needed):
        return None  # it is missed anyway, or each instruction alone would meet it

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
    for one in doubted:  # some have work only in a larger case
        (dead if idle([one], True) else needed).append(one)
        if counted.suffice(needed):
            return None
    others = drawn[MOST_TRIED:]  # these count if most of the tried ones do
    if 2 * len(dead) < len(tried):
        needed += others
    if counted.suffice(needed):
        return None
    worst = max(sorted(dead), key=counted.share)
    line = counted.sites[worst][0].line
    return Unneeded(expect, counted.of(needed), len(dead), len(counted.sites) - len(others), worst[0], line)


def _lot(one: Instruction, seed: int) -> float:
    """A random number for each instruction: the smallest, divided by their shares, are a draw weighted by shares."""
    return -math.log((1 + derive_seed(seed, "needed", *one)) / (1 << 64))
