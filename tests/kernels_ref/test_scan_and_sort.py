"""The oracles and checks of chapter 5 that select and sort, against plain NumPy and against wrong answers."""

from __future__ import annotations

import numpy as np
import pytest

from grader.catalog.courses import resolve_reference
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, judge

RANDOM = np.random.default_rng(20261124)


def test_topk_of_special_values_by_hand() -> None:
    x = np.array([1, np.inf, 2, np.nan, -0.0, 0.0, -np.inf, np.nan, 2, np.inf, -5], np.float32)
    outputs = resolve_reference("counting:topk", COURSE)({"x": x}, {"rows": 1, "cols": 11})
    assert outputs["places"].tolist() == [3, 7, 1, 9, 2, 8, 0, 4]
    np.testing.assert_array_equal(outputs["values"], [np.nan, np.nan, np.inf, np.inf, 2, 2, 1, 0])


@NEEDS_NVRTC
@pytest.mark.parametrize("cols", [8, 300])
def test_the_check_of_topk_passes_the_oracles_output_and_names_what_is_wrong(cols: int) -> None:
    size = {"rows": 3, "cols": cols}
    x = RANDOM.integers(-9, 9, 3 * cols).astype(np.float32)
    outputs = resolve_reference("counting:topk", COURSE)({"x": x}, size)
    values, places = outputs["values"].astype(np.float32), outputs["places"].astype(np.int32)
    arrays = {"x": x, "values": values, "places": places}
    assert judge("counting:topk", arrays, size) == NONE_BAD
    wrong = values.copy()
    wrong[13] += 1
    assert judge("counting:topk", {**arrays, "values": wrong}, size) == (1, 13, [13.0, float(values[13])])
    swapped = places.copy()
    swapped[[8, 9]] = swapped[[9, 8]]
    assert judge("counting:topk", {**arrays, "places": swapped}, size) == (2, 32, [32.0, float(places[8])])


def test_a_pass_by_four_bits_keeps_equal_digits_in_order() -> None:
    keys = np.array([0x31, 0xF0000012, 0x21, 0x00, 0x15], np.uint32)
    inputs = {"keys": keys, "values": np.arange(5, dtype=np.int32)}
    outputs = resolve_reference("counting:digit_pass", COURSE)(inputs, {"shift": 4})
    assert outputs["out_values"].tolist() == [3, 1, 4, 2, 0]
    assert outputs["out_keys"].tolist() == [0, 0xF0000012, 0x15, 0x21, 0x31]


@NEEDS_NVRTC
def test_the_check_of_a_pass_passes_the_oracles_output_and_names_what_is_wrong() -> None:
    n = 3000
    size = {"n": n, "shift": 28}
    keys = RANDOM.integers(0, 1 << 32, n).astype(np.uint32)
    values = RANDOM.permutation(n).astype(np.int32)
    outputs = resolve_reference("counting:digit_pass", COURSE)({"keys": keys, "values": values}, size)
    out_keys, out_values = outputs["out_keys"].astype(np.uint32), outputs["out_values"].astype(np.int32)
    arrays = {"keys": keys, "values": values, "out_keys": out_keys, "out_values": out_values}
    scratch = {"pieces": np.zeros(16 * 256)}
    assert judge("counting:digit_pass", arrays, size, scratch=scratch) == NONE_BAD
    wrong = out_values.copy()
    wrong[3] += 1
    expected = (1, n + 3, [float(n + 3), float(out_values[3])])
    assert judge("counting:digit_pass", {**arrays, "out_values": wrong}, size, scratch=scratch) == expected
    lost = np.zeros_like(out_keys)
    bad, first, found = judge("counting:digit_pass", {**arrays, "out_keys": lost}, size, scratch=scratch)
    assert (bad, first, found) == (n, 0, [0.0, float(out_keys[0])])


def test_sums_of_segments_keep_to_their_own_elements_and_an_empty_one_is_0() -> None:
    x = np.array([1, 2, np.nan, 4, np.inf, 6], np.float32)
    offsets = np.array([0, 0, 2, 2, 3, 4, 6, 6], np.int32)
    outputs = resolve_reference("sparse:segmented_sum", COURSE)({"x": x, "offsets": offsets}, {"segments": 7})
    np.testing.assert_array_equal(outputs["out"], [0, 3, 0, np.nan, 4, np.inf, 0])


@NEEDS_NVRTC
@pytest.mark.parametrize("skew", [0, 3])
def test_the_check_of_segments_passes_the_oracles_output_and_names_what_is_wrong(skew: int) -> None:
    size = {"n": 5000, "segments": 300}
    x = RANDOM.integers(-9, 9, 5000).astype(np.float32)
    offsets = np.round(5000 * (np.arange(301) / 300) ** (0.5**skew)).astype(np.int32)
    out = resolve_reference("sparse:segmented_sum", COURSE)({"x": x, "offsets": offsets}, size)["out"]
    arrays = {"x": x, "offsets": offsets, "out": out.astype(np.float32)}
    assert judge("sparse:segmented_sum", arrays, size) == NONE_BAD
    wrong = arrays["out"].copy()
    wrong[[7, 299]] += 1
    assert judge("sparse:segmented_sum", {**arrays, "out": wrong}, size) == (2, 7, [7.0, float(out[7])])
