"""Peaks, lines and fractions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.exercise import Target
from grader.gpus.detect import Gpu, driver_version, from_attributes
from grader.launch import DeviceLimits
from grader.timing import roofline
from grader.timing.samples import Summary

H200 = Gpu(
    index=0,
    name="NVIDIA H200",
    compute_capability=(9, 0),
    sm_count=132,
    clock_hz=1980e6,
    memory_clock_hz=3201e6,
    bus_width_bits=6016,
    l2_bytes=60 << 20,
    memory_bytes=141 << 30,
    limits=DeviceLimits(),
)
BANDWIDTH = Target(unit="bandwidth", fraction=0.70, ceiling="add_f32x1")


def test_a_named_gpu_has_its_published_peaks():
    peaks = roofline.peaks(H200)
    assert (peaks.bandwidth, peaks.fp32, peaks.fp16_tensor) == pytest.approx((4814e9, 66.9e12, 989.4e12))
    assert peaks.published


def test_the_formulas_reproduce_the_published_figures_of_an_h200():
    peaks = roofline.formula_peaks(H200)
    assert peaks.bandwidth == pytest.approx(4814e9, rel=1e-3)
    assert peaks.fp32 == pytest.approx(66.9e12, rel=1e-3)
    assert peaks.fp16_tensor == pytest.approx(989.4e12, rel=1e-3)  # at 1830 MHz, not at the boost clock
    assert peaks.int8_tensor == pytest.approx(1979e12, rel=1e-3)
    assert not peaks.published


@pytest.mark.parametrize(
    ("name", "capability", "sm_count", "clock_mhz", "bandwidth", "fp32", "tensor", "int8_tensor"),
    [
        ("NVIDIA A100-SXM4-80GB", (8, 0), 108, 1410, 2039, 19.5, 312, 624e12),
        ("NVIDIA GeForce RTX 4090", (8, 9), 128, 2520, 1008, 82.6, 165, 660.6e12),
        ("Tesla T4", (7, 5), 40, 1590, 320, 8.1, 65, 130e12),
        ("Tesla V100-SXM2-16GB", (7, 0), 80, 1530, 898, 15.7, 125, None),
        ("NVIDIA GeForce RTX 3090", (8, 6), 82, 1695, 936, 35.6, 71, 284e12),
    ],
)
def test_table_and_formulas_agree(name, capability, sm_count, clock_mhz, bandwidth, fp32, tensor, int8_tensor):
    gpu = replace(H200, name=name, compute_capability=capability, sm_count=sm_count, clock_hz=clock_mhz * 1e6)
    table, formula = roofline.peaks(gpu), roofline.formula_peaks(gpu)
    assert table.bandwidth == bandwidth * 1e9
    assert table.fp32 == fp32 * 1e12 == pytest.approx(formula.fp32, rel=0.01)
    assert table.fp16_tensor == tensor * 1e12 == pytest.approx(formula.fp16_tensor, rel=0.01)
    assert table.int8_tensor == int8_tensor
    assert formula.int8_tensor == (int8_tensor and pytest.approx(int8_tensor, rel=0.01))


def test_shared_memory_serves_a_word_from_each_of_32_banks_a_clock():
    for limits in (roofline.peaks(H200), roofline.formula_peaks(H200)):
        assert roofline.peak_of("shared", limits) == roofline.limit_of("shared", limits) == 132 * 128 * 1980e6
    assert roofline.counts("shared") == "B"
    assert roofline.peak_of("int32", roofline.peaks(H200)) is None


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 3090 Ti", "NVIDIA A10G", "NVIDIA H200 NVL", "NVIDIA GH200 480GB"])
def test_a_near_name_is_not_taken_for_another_gpu(name):
    assert not roofline.peaks(replace(H200, name=name)).published


def test_a_gpu_before_tensor_cores_has_no_tensor_peak():
    old = roofline.peaks(replace(H200, name="NVIDIA GeForce GTX 1080", compute_capability=(6, 1)))
    assert (old.fp16_tensor, old.int8_tensor) == (None, None)


def test_int8_is_the_formula_of_dp4a_on_every_gpu_and_not_known_where_the_rate_is_not():
    v100 = replace(H200, name="Tesla V100-SXM2-16GB", compute_capability=(7, 0), sm_count=80, clock_hz=1530e6)
    assert roofline.peaks(v100).int8 == pytest.approx(62e12, rel=0.02)  # as published
    assert roofline.peaks(H200).int8 == roofline.formula_peaks(H200).int8 == 8 * 64 * 132 * 1980e6
    assert roofline.peak_of("int8", roofline.peaks(H200)) == pytest.approx(133.8e12, rel=1e-3)
    assert roofline.peaks(replace(H200, compute_capability=(10, 0), name="NVIDIA B200")).int8 is None


@pytest.mark.parametrize(
    ("unit", "counted"),
    [
        ("bandwidth", "B"),
        ("transfer", "B"),
        ("overlap", "B"),
        ("launches", "launch"),
        ("fp32", "FLOP"),
        ("fp16_tensor", "FLOP"),
        ("int8", "OP"),
        ("int8_tensor", "OP"),
    ],
)
def test_a_unit_says_what_its_rates_count(unit, counted):
    summary = Summary(median_s=1e-3, interval_s=(0.9e-3, 1.1e-3), samples=30)
    measured = roofline.measurement(summary, 1e9, Target(unit=unit), "NVIDIA H200", peak=None, ceiling_rate=None)
    assert roofline.counts(unit) == measured.unit == counted


def test_the_line_in_seconds_is_where_the_fraction_is_met():
    line_s = roofline.line_s(work=3 * 2**30, target=BANDWIDTH, peak=4814e9, ceiling_rate=None)
    assert line_s is not None
    assert 3 * 2**30 / line_s / 4814e9 == pytest.approx(0.70)


def test_a_line_of_a_ceiling_is_unknown_until_the_ceiling_is_measured():
    target = replace(BANDWIDTH, of="ceiling", fraction=0.95)
    assert roofline.line_s(1e9, target, peak=4814e9, ceiling_rate=None) is None
    assert roofline.line_s(1e9, target, peak=4814e9, ceiling_rate=2e9) == pytest.approx(1e9 / (0.95 * 2e9))


def test_only_more_than_the_peak_and_a_twentieth_is_impossible():
    assert not roofline.impossible(work=1.04e12, median_s=1.0, peak=1e12)
    assert roofline.impossible(work=1.06e12, median_s=1.0, peak=1e12)
    assert not roofline.impossible(work=1e15, median_s=1.0, peak=None)


def test_integers_that_tensor_cores_multiply_are_not_impossible_beyond_the_peak_of_dp4a():
    limits = roofline.peaks(H200)
    limit = roofline.limit_of("int8", limits)
    assert limit == roofline.limit_of("int8_tensor", limits) == 1979e12  # int8 on its tensor cores, as published
    assert not roofline.impossible(work=1979e12, median_s=1.0, peak=limit)
    assert roofline.impossible(work=2100e12, median_s=1.0, peak=limit)
    assert roofline.limit_of("int8", replace(limits, int8_tensor=None)) == limits.int8


def test_three_products_of_tf32_in_place_of_a_float_product_are_not_impossible():
    limits = roofline.peaks(H200)
    assert not roofline.impossible(work=160e12, median_s=1.0, peak=roofline.limit_of("fp32", limits))
    assert roofline.impossible(work=1100e12, median_s=1.0, peak=roofline.limit_of("fp32", limits))
    assert roofline.limit_of("fp32", replace(limits, fp16_tensor=None)) == limits.fp32


def test_a_measurement_shows_both_fractions():
    summary = Summary(median_s=1e-3, interval_s=(0.9e-3, 1.1e-3), samples=30)
    measured = roofline.measurement(summary, 3.4e9, BANDWIDTH, "NVIDIA H200", peak=4814e9, ceiling_rate=3.5e12)
    assert measured.achieved == pytest.approx(3.4e12)
    assert measured.fraction_of_peak == pytest.approx(3.4 / 4.814)
    assert measured.fraction_of_ceiling == pytest.approx(3.4 / 3.5)
    assert (measured.unit, measured.line, measured.provisional) == ("B", "0.70 of peak", False)


def test_a_run_stands_below_both_roofs():
    limits = roofline.peaks(H200)
    found = roofline.roof(12e9, 1e9, 3e-3, "bandwidth", limits)
    assert found is not None
    assert (found.intensity, found.achieved) == (pytest.approx(1 / 12), pytest.approx(1e9 / 3e-3))
    assert (found.bandwidth, found.compute) == (limits.bandwidth, limits.fp32)
    tensor = roofline.roof(1e9, 1e12, 1e-2, "fp16_tensor", limits)
    assert tensor is not None
    assert (tensor.compute, tensor.unit) == (limits.fp16_tensor, "FLOP")
    integers = roofline.roof(1e9, 1e12, 1e-1, "int8", limits)
    assert integers is not None
    assert (integers.compute, integers.unit) == (limits.int8, "OP")


@pytest.mark.parametrize(("moved", "flops", "unit"), [(1e9, 0, "bandwidth"), (0, 1e9, "fp32"), (1e9, 1e9, "transfer")])
def test_work_without_arithmetic_has_no_place_on_the_roofline(moved, flops, unit):
    assert roofline.roof(moved, flops, 1e-3, unit, roofline.peaks(H200)) is None


@pytest.mark.parametrize(("fraction", "words"), [(0.7, "0.70"), (0.175, "0.175"), (0.0265, "0.0265"), (0.9, "0.90")])
def test_a_line_is_told_with_all_its_decimals(fraction, words):
    assert roofline.line_fraction(fraction) == words


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("transfer", "0.85 of the ceiling smooth"),
        ("overlap", "0.85 of the ideal"),
        ("launches", "0.85 times the plain loop"),
    ],
)
def test_a_line_of_a_host_exercise_is_told_in_its_own_words(unit, words):
    target = Target(unit=unit, fraction=0.85, of="ceiling", ceiling="smooth")
    assert roofline.line_in_words(target) == words


def test_the_ideal_overlap_takes_as_long_as_the_longer_part():
    assert roofline.overlap_ceiling(100.0, 2.0, 5.0) == 20.0
    assert roofline.overlap_ceiling(100.0, 4.0, 1.0) == 25.0


def test_a_line_of_another_gpu_is_provisional():
    summary = Summary(1e-3, (1e-3, 1e-3), 30)
    assert roofline.measurement(summary, 1e9, BANDWIDTH, "NVIDIA L4", 300e9, None).provisional


def test_the_ceiling_is_work_over_its_median_time():
    assert roofline.ceiling(1e9, (1e-3, 2e-3, 9e-3)) == pytest.approx(1e9 / 2e-3)
    assert roofline.ceiling(1e9, ()) is None


def test_the_drivers_numbers_become_a_gpu():
    values = {
        "major": 9, "minor": 0, "sm_count": 132, "clock_khz": 1980000, "memory_clock_khz": 3201000,
        "bus_width_bits": 6016, "l2_bytes": 62914560, "warp_size": 32, "max_threads_per_block": 1024,
        "max_shared_bytes": 232448, "block_x": 1024, "block_y": 1024, "block_z": 64,
        "grid_x": 2**31 - 1, "grid_y": 65535, "grid_z": 65535,
    }  # fmt: skip
    gpu = from_attributes(0, "NVIDIA H200", 141 << 30, values, cuda=13000)
    assert (gpu.arch, gpu.cuda_driver, gpu.clock_hz) == ("sm_90", "13.0", 1980e6)
    assert gpu.limits.max_shared_bytes == 232448
    assert gpu.limits.sm_count == 132


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\nGCC", "580.95.05"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build", "580.65.06"),
        ("something else", ""),
    ],
)
def test_the_drivers_version_is_read_from_its_file(tmp_path, text, version):
    file = tmp_path / "version"
    file.write_text(text)
    assert driver_version(file) == version


def test_a_missing_driver_file_gives_no_version(tmp_path):
    assert driver_version(tmp_path / "none") == ""
