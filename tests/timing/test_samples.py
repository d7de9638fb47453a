"""Medians, intervals and what a pass line makes of them."""

from __future__ import annotations

import pytest

from grader.timing.samples import decide, drift, steady, summarise


def test_the_median_lies_inside_its_interval():
    summary = summarise([1.0, 1.1, 1.2, 1.3, 5.0])
    assert summary.median_s == 1.2
    assert summary.interval_s[0] <= 1.2 <= summary.interval_s[1]
    assert summary.samples == 5


def test_the_same_samples_give_the_same_interval():
    samples = [1.0 + 0.01 * (k * 7 % 11) for k in range(30)]
    assert summarise(samples) == summarise(samples)


def test_equal_samples_leave_no_doubt():
    assert summarise([2e-3] * 30).interval_s == (2e-3, 2e-3)


def test_more_samples_of_the_same_spread_narrow_the_interval():
    def width(count: int) -> float:
        low, high = summarise([1.0 + 0.1 * (k * 37 % count) / count for k in range(count)]).interval_s
        return high - low

    assert width(480) < width(30) / 2


def test_one_slow_outlier_does_not_move_the_interval_far():
    low, high = summarise([1.0 + 1e-3 * k for k in range(29)] + [50.0]).interval_s
    assert 1.0 <= low < high < 1.03


@pytest.mark.parametrize("samples", [[], [1.0, 0.0], [1.0, float("nan")], [1.0, -1.0]])
def test_samples_that_are_no_times_are_refused(samples):
    with pytest.raises(ValueError, match="positive times"):
        summarise(samples)


@pytest.mark.parametrize(
    ("interval_s", "decision"),
    [
        ((0.90, 0.99), "passed"),
        ((0.90, 1.00), "passed"),
        ((0.99, 1.01), "inconclusive"),
        ((1.01, 1.10), "inconclusive"),
        ((1.0205, 1.10), "slow"),  # 1 / 0.98 = 1.0204
        ((1.0203, 1.10), "inconclusive"),
    ],
)
def test_a_line_is_met_missed_or_left_open(interval_s, decision):
    assert decide(interval_s, line_s=1.0) == decision


def test_a_control_that_slows_down_shows_as_drift():
    assert drift([1.0] * 10 + [1.2] * 10 + [1.2] * 10) == pytest.approx(0.2)
    assert not steady([1.0] * 10 + [1.2] * 20)


def test_a_neighbour_that_comes_and_goes_shows_as_drift():
    assert not steady([1.0] * 10 + [1.1] * 10 + [1.0] * 10)


def test_single_outliers_of_the_control_are_no_drift():
    assert steady([1.0, 1.01, 3.0, 1.0, 1.02, 1.0, 1.01, 1.0, 1.0, 2.0, 1.0, 1.01])


def test_a_few_control_times_say_nothing():
    assert drift([1.0, 2.0, 3.0]) == 0.0
