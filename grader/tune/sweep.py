"""Time all variants that can run, then the best again in turns; which is the best, and which are as fast. Pure.

The timer does the work: `grader.tune.on_gpu.GpuTimer`, or a stand-in of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from grader.timing.samples import Summary, summarise
from grader.tune.build import Variant

FIRST_SAMPLES = 7
FINALISTS = 3
ROUNDS, ROUND_SAMPLES = 3, 10
"""The finalists take turns, so that a clock that rises or falls meets all of them."""
RIGHT = "right"
NOT_MEASURED = "not_measured"


@dataclass(frozen=True)
class Sampled:
    """What a timer says: times in seconds, or the verdict's word and sentence for a variant that failed."""

    seconds: tuple[float, ...] = ()
    word: str = RIGHT
    reason: str = ""
    steady: bool = True


class Timer(Protocol):
    def check(self, variant: Variant) -> Sampled:
        """Run a few small cases; ``seconds`` is empty."""

    def time(self, variant: Variant, samples: int) -> Sampled:
        """Time it at the timed size, each output checked."""


@dataclass(frozen=True)
class Result:
    """One variant with what was found; ``word`` is "" where it was not asked (no GPU)."""

    variant: Variant
    word: str = ""
    reason: str = ""
    summary: Summary | None = None
    final: bool = False  # timed again beside the best


@dataclass(frozen=True)
class Sweep:
    """All results in the order of the combinations."""

    results: tuple[Result, ...]
    interrupted: bool = False

    @property
    def ranked(self) -> tuple[Result, ...]:
        """The measured ones, the fastest first; a finalist before those that were timed once."""
        timed = [one for one in self.results if one.summary is not None]
        return tuple(sorted(timed, key=lambda one: (not one.final, _median(one))))

    @property
    def best(self) -> Result | None:
        return next(iter(self.ranked), None)

    @property
    def ties(self) -> tuple[Result, ...]:
        """Those that cannot be told from the best: their intervals overlap."""
        return tuple(one for one in self.ranked[1:] if self.best is not None and overlaps(one, self.best))


def _median(one: Result) -> float:
    assert one.summary is not None
    return one.summary.median_s


def overlaps(one: Result, other: Result) -> bool:
    """Whether the intervals of the two medians have a time in common."""
    assert one.summary is not None
    assert other.summary is not None
    (low, high), (other_low, other_high) = one.summary.interval_s, other.summary.interval_s
    return low <= other_high and other_low <= high


def unmeasured(variants: Sequence[Variant]) -> Sweep:
    """What is known without a GPU."""
    return Sweep(tuple(Result(variant, variant.word, variant.reason) for variant in variants))


def sweep(
    variants: Sequence[Variant],
    timer: Timer,
    tell: Callable[[str], None] = lambda words: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Sweep:
    """Check and time every variant that can run, then the best again. What is not reached when ``stopped`` says so."""
    results = []
    for number, variant in enumerate(variants, 1):
        tell(f"variant {number} of {len(variants)}")
        results.append(_first(variant, timer, stopped))
    return _again(Sweep(tuple(results), stopped()), timer, tell, stopped)


def _first(variant: Variant, timer: Timer, stopped: Callable[[], bool]) -> Result:
    if variant.word:
        return Result(variant, variant.word, variant.reason)
    if stopped():
        return Result(variant, NOT_MEASURED)
    found = timer.check(variant)
    if found.word == RIGHT:
        found = timer.time(variant, FIRST_SAMPLES)
    return _result(variant, found)


def _result(variant: Variant, found: Sampled) -> Result:
    if found.word != RIGHT or not found.seconds:
        return Result(variant, found.word if found.word != RIGHT else NOT_MEASURED, found.reason)
    return Result(variant, RIGHT, summary=summarise(found.seconds))


def _again(first: Sweep, timer: Timer, tell: Callable[[str], None], stopped: Callable[[], bool]) -> Sweep:
    """Time the best ones in turns; the first times of a finalist no longer count."""
    finalists = first.ranked[:FINALISTS]
    if first.interrupted or len(finalists) < 2:
        return first
    rounds: dict[int, list[Sampled]] = {id(one): [] for one in finalists}
    for number in range(ROUNDS):
        for one in finalists:
            if stopped():
                return replace(first, interrupted=True)
            tell(f"the best {len(finalists)} again, round {number + 1} of {ROUNDS}")
            rounds[id(one)].append(timer.time(one.variant, ROUND_SAMPLES))
    return replace(first, results=tuple(_final(one, rounds.get(id(one))) for one in first.results))


def _final(one: Result, rounds: list[Sampled] | None) -> Result:
    """A finalist with the times of its rounds; a round in which the machine was not steady is left out if it can be."""
    if rounds is None:
        return one
    if failed := next((found for found in rounds if found.word != RIGHT), None):
        return Result(one.variant, failed.word, failed.reason)
    kept = [found for found in rounds if found.steady] or rounds
    seconds = [time for found in kept for time in found.seconds]
    return replace(one, summary=summarise(seconds), final=True) if seconds else one
