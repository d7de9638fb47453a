"""A timed host exercise in figures and words: overlap, launches, transfers, and times that cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from host_files import EXERCISE, backend

from grader.exercise import Target, Work
from grader.grading.fast_hostfile import SpeedSamples


def judged(unit, seconds, baselines_s, fraction=0.85, work=None, **more):
    target = Target(unit=unit, fraction=fraction, of="ceiling", **more)
    exercise = replace(EXERCISE, target=target, work=work or EXERCISE.work)
    against = SpeedSamples(exercise, target, {"rows": 200}, backend("", EXERCISE))
    against.add((seconds,) * 9, {name: (value,) * 9 for name, value in baselines_s.items()})
    return against.speed()


COPIES_AND_KERNEL = {"link_both_ways": 4.9e-3, "computing": 4.2e-3}


def test_an_overlap_is_the_longer_of_copying_and_computing_over_the_measured_time():
    speed = judged("overlap", 5.4e-3, COPIES_AND_KERNEL)
    assert speed.word == "pass"
    assert speed.measured.fraction_of_ceiling == pytest.approx(4.9 / 5.4)
    assert speed.detail == (
        "0.91 of the ideal: 4.9 ms copying, 4.2 ms computing, measured 5.4 ms; the line is 0.85 of the ideal"
    )
    longer = judged("overlap", 10e-3, {"link_both_ways": 4.9e-3, "computing": 9e-3})
    assert longer.measured.fraction_of_ceiling == pytest.approx(0.9)


def test_one_thing_after_another_is_slow():
    assert judged("overlap", 9.5e-3, COPIES_AND_KERNEL).word == "slow"


def test_a_run_may_compute_faster_than_the_trusted_kernel_but_not_copy_faster_than_the_link():
    slow_kernel = {"link_both_ways": 4.9e-3, "computing": 20e-3}
    assert judged("overlap", 5.2e-3, slow_kernel).word == "pass"
    speed = judged("overlap", 4.5e-3, slow_kernel)
    assert speed.word == "inconclusive"
    assert "work was skipped, or the grader is wrong" in speed.detail


def test_launches_are_told_as_so_many_times_the_plain_loop():
    work = Work(launches="rows")
    speed = judged("launches", 240e-6, {"plain_loop": 818.4e-6}, fraction=3.0, work=work)
    assert speed.word == "pass"
    assert speed.measured.unit == "launch"
    assert speed.measured.achieved == pytest.approx(200 / 240e-6)
    assert speed.detail == (
        "3.41 times the plain loop: 200 launches in 240 µs, the loop takes 818 µs; "
        "the line is 3.00 times the plain loop"
    )
    assert judged("launches", 800e-6, {"plain_loop": 818.4e-6}, fraction=3.0, work=work).word == "slow"


def test_no_rate_of_launches_is_impossible():
    work = Work(launches="rows")
    assert judged("launches", 1e-6, {"plain_loop": 1e-3}, fraction=3.0, work=work).word == "pass"


def test_a_transfer_faster_than_its_link_is_inconclusive():
    speed = judged("transfer", 1e-3, {"link_to_device": 1.2e-3}, ceiling="link_to_device")
    assert (speed.word, "faster than the link itself" in speed.detail) == ("inconclusive", True)
    assert judged("transfer", 1.3e-3, {"link_to_device": 1.2e-3}, ceiling="link_to_device").word == "pass"


def test_without_a_line_the_figures_are_told():
    speed = judged("overlap", 5.4e-3, COPIES_AND_KERNEL, fraction=0.0)
    assert speed.word == "unlined"
    assert speed.detail.endswith("measured 5.4 ms; no pass line is known here: `grade calibrate` draws one")


def test_a_host_exercise_may_be_timed_against_the_memorys_peak():
    target = Target(unit="bandwidth", fraction=0.5)
    exercise = replace(EXERCISE, target=target, work=Work(bytes="4814000000*rows"))
    against = SpeedSamples(exercise, target, {"rows": 3}, backend(""))
    against.add((5e-3,) * 5, {})  # 3 ms at the peak of 4814 GB/s
    speed = against.speed()
    assert (speed.word, speed.measured.fraction_of_peak) == ("pass", pytest.approx(0.6))
    assert speed.detail == "0.600 of peak; the line is 0.50 of peak"


def test_without_its_yardstick_nothing_is_decided():
    assert judged("overlap", 5.4e-3, {}).word == "inconclusive"


def test_samples_of_several_processes_count_together():
    against = SpeedSamples(EXERCISE, EXERCISE.target, {"rows": 200}, backend(""))
    against.add((1e-3,) * 3, {"link_to_device": (1e-3,) * 3})
    against.add((3e-3,) * 6, {"link_to_device": (3e-3,) * 6})
    measured = against.speed().measured
    assert (measured.samples, measured.median_s) == (9, 3e-3)
    assert measured.ceiling == pytest.approx(256 * 200 / 3e-3)
