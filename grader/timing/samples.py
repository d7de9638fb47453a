"""Statistics of timed samples: the median, its interval, and what a pass line makes of them. Pure functions.

Nothing here knows bytes, peaks or GPUs: `grader.timing.roofline` turns a line into a time and times into fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Decision = Literal["passed", "slow", "inconclusive"]

CONFIDENCE = 0.95
RESAMPLES = 4000
SLOW_BELOW = 0.98
"""An interval wholly below this part of the line is slow; between it and the line more samples are taken."""

MAX_PROCESSES = 3
"""The first process and at most two fresh ones that add samples."""

DRIFT = 0.05
"""How far the control kernel may move inside one run before the run says nothing about the submission."""


@dataclass(frozen=True)
class Summary:
    """The median of ``samples`` times and its 95 % bootstrap interval, all in seconds."""

    median_s: float
    interval_s: tuple[float, float]
    samples: int


def summarise(samples_s: Sequence[float], *, seed: int = 0) -> Summary:
    """Median and percentile-bootstrap interval of the median; the same samples give the same interval.

    Efron's percentile bootstrap: the median of ``RESAMPLES`` resamples with replacement, and the 2.5 % and 97.5 %
    points of those medians. Raises ValueError where there is no sample, or one that is not positive.
    """
    import numpy as np

    times = np.asarray(samples_s, dtype=np.float64)
    if times.size == 0 or not bool(np.all(np.isfinite(times) & (times > 0))):
        raise ValueError(f"samples must be positive times in seconds, got {list(samples_s)[:5]}")
    picks = np.random.default_rng(seed).integers(0, times.size, size=(RESAMPLES, times.size))
    medians = np.median(times[picks], axis=1)
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(medians, [tail, 100 - tail])
    return Summary(float(np.median(times)), (float(low), float(high)), int(times.size))


def decide(interval_s: tuple[float, float], line_s: float) -> Decision:
    """What the interval of the median says about a line that is met in ``line_s`` seconds or less.

    ``passed`` when the whole interval meets the line; ``slow`` when all of it lies below 0.98 of the line (a rate
    below 0.98 of the line is a time above ``line_s / 0.98``); else ``inconclusive``: more samples are needed.
    """
    fastest_s, slowest_s = interval_s
    if slowest_s <= line_s:
        return "passed"
    return "slow" if fastest_s * SLOW_BELOW > line_s else "inconclusive"


def drift(control_s: Sequence[float]) -> float:
    """How far the control kernel's time moved inside the run: the largest third's median over the smallest's, minus 1.

    The run is cut into three stretches in order, so that throttling or a neighbour that comes and goes shows, and
    single outliers do not. 0.0 where there are fewer than six samples.
    """
    if len(control_s) < 6:
        return 0.0
    cut = len(control_s) // 3
    stretches = (control_s[:cut], control_s[cut : 2 * cut], control_s[2 * cut :])
    medians = [median(stretch) for stretch in stretches]
    return max(medians) / min(medians) - 1.0


def steady(control_s: Sequence[float]) -> bool:
    """Whether the control kernel kept its time, so that the samples beside it may be believed."""
    return drift(control_s) <= DRIFT
