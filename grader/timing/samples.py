"""Statistics of timed samples: the median, its interval, and the decision at a pass line. Pure functions.

This module has only times: `grader.timing.roofline` converts a line into a time, and times into fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal

from grader.frozen import dataclass

Decision = Literal["passed", "slow", "inconclusive"]

CONFIDENCE = 0.95
RESAMPLES = 4000
SLOW_BELOW = 0.98
"""An interval completely below this part of the line is slow; between it and the line more samples are taken."""

MAX_PROCESSES = 3
"""The first process and at most two new ones that add samples."""

DRIFT = 0.05
"""The largest drift of the control kernel's time in one run with which the run is still valid."""


@dataclass(frozen=True)
class Summary:
    """The median of ``samples`` times and its 95 % bootstrap interval, all in seconds."""

    median_s: float
    interval_s: tuple[float, float]
    samples: int


def summarise(samples_s: Sequence[float]) -> Summary:
    """Median and percentile-bootstrap interval of the median; the same samples give the same interval.

    Efron's percentile bootstrap: the median of ``RESAMPLES`` resamples with replacement, and the 2.5 % and 97.5 %
    points of those medians. Raises ValueError if there is no sample, or one that is not positive.
    """
    import numpy as np

    times = np.asarray(samples_s, dtype=np.float64)
    if times.size == 0 or not bool(np.all(np.isfinite(times) & (times > 0))):
        raise ValueError(f"samples must be positive times in seconds, got {list(samples_s)[:5]}")
    picks = np.random.default_rng(0).integers(0, times.size, size=(RESAMPLES, times.size))
    medians = np.median(times[picks], axis=1)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(medians, [tail, 100 - tail])
    return Summary(float(np.median(times)), (float(low), float(high)), int(times.size))


def decide(interval_s: tuple[float, float], line_s: float) -> Decision:
    """The decision for a line of ``line_s`` seconds, from the interval of the median.

    ``passed`` if the whole interval meets the line; ``slow`` if all of it is below 0.98 of the line (a rate below 0.98
    of the line is a time above ``line_s / 0.98``); else ``inconclusive``: more samples are needed.
    """
    fastest_s, slowest_s = interval_s
    if slowest_s <= line_s:
        return "passed"
    return "slow" if fastest_s * SLOW_BELOW > line_s else "inconclusive"


def drift(control_s: Sequence[float]) -> float:
    """The drift of the control kernel's time in a run: the largest median of a third ÷ the smallest, minus 1.

    The thirds are in order of time, so that throttling or another process that comes and goes is visible, and single
    outliers are not. 0.0 for fewer than six samples.
    """
    if len(control_s) < 6:
        return 0.0
    third = len(control_s) // 3
    thirds = (control_s[:third], control_s[third : 2 * third], control_s[2 * third :])
    medians = [median(part) for part in thirds]
    return max(medians) / min(medians) - 1.0


def steady(control_s: Sequence[float]) -> bool:
    """Whether the control kernel's time was steady, so that the samples of the run are valid."""
    return drift(control_s) <= DRIFT
