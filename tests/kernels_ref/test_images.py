"""Planes of pixels and strided views: oracles against plain loops, trusted checks on the simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, Arrays, judge

PLANES, H, W = 3, 5, 7
IMAGES = {"planes": PLANES, "h": H, "w": W}
STRIDED = {
    "n0": 3,
    "n1": 2,
    "n2": 5,
    "n3": 13,
    "a0": 133,
    "a1": 67,
    "a2": 1,
    "a3": 5,
    "b0": 0,
    "b1": 2,
    "b2": 0,
    "b3": 1,
}


def values(count: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(7).uniform(-4, 4, count).astype(np.float32)


X = values(PLANES * H * W)
CASES: Mapping[str, tuple[Arrays, dict[str, int], str]] = {
    "images:max_pool": ({"x": X}, IMAGES, "y"),
    "images:im2col": ({"x": X}, IMAGES, "y"),
    "elementwise:strided_broadcast": ({"a": values(398), "b": values(15)}, STRIDED, "out"),
}


def expected(name: str) -> npt.NDArray[np.float64]:
    inputs, sizes, output = CASES[name]
    result: npt.NDArray[np.float64] = resolve_reference(name, COURSE)(inputs, sizes)[output]
    return result


def test_max_pool_is_the_largest_of_each_square_and_keeps_nan() -> None:
    x = X.reshape(PLANES, H, W)
    squares = [
        max(float(x[p, 2 * r + i, 2 * c + j]) for i in (0, 1) for j in (0, 1))
        for p in range(PLANES)
        for r in range(H // 2)
        for c in range(W // 2)
    ]
    assert expected("images:max_pool").tolist() == squares
    oracle = resolve_reference("images:max_pool", COURSE)
    one = oracle({"x": np.array([1, 2, np.nan, 3], np.float32)}, {"planes": 1, "h": 2, "w": 2})
    assert math.isnan(one["y"][0])


def test_im2col_moves_a_plane_once_for_each_tap() -> None:
    x = X.reshape(PLANES, H, W)

    def tap(p: int, k: int, r: int, c: int) -> float:
        row, column = r + k // 3 - 1, c + k % 3 - 1
        return float(x[p, row, column]) if 0 <= row < H and 0 <= column < W else 0.0

    patches = [tap(p, k, r, c) for p in range(PLANES) for k in range(9) for r in range(H) for c in range(W)]
    assert expected("images:im2col").tolist() == patches


def test_strided_broadcast_adds_what_the_strides_name() -> None:
    (a, b), s = CASES["elementwise:strided_broadcast"][0].values(), STRIDED
    sums = [
        float(a[i * s["a0"] + j * s["a1"] + k * s["a2"] + m * s["a3"]])
        + float(b[i * s["b0"] + j * s["b1"] + k * s["b2"] + m * s["b3"]])
        for i, j, k, m in np.ndindex(3, 2, 5, 13)
    ]
    assert expected("elementwise:strided_broadcast").tolist() == sums


@NEEDS_NVRTC
@pytest.mark.parametrize("name", CASES)
def test_the_check_passes_the_oracles_output_and_names_what_is_wrong(name: str) -> None:
    inputs, sizes, output = CASES[name]
    exact = expected(name)
    result = exact.astype(np.float32)
    bounds = {"relative": 1e-6, "absolute": 1e-6}
    assert judge(name, {**inputs, output: result}, sizes, **bounds) == NONE_BAD
    place = len(result) - 3
    result[place] += 0.25
    bad, first, (index, right) = judge(name, {**inputs, output: result}, sizes, **bounds)
    assert (bad, first, index) == (1, place, place)
    assert right == pytest.approx(exact[place], rel=1e-12)
