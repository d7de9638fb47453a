"""The oracle of the matrix-vector product against loops, and its trusted check, which runs on the simulator here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, Arrays, judge

SIZES = {"m": 7, "k": 520}  # k: more than two rounds of a block's 256 threads, and no whole number of them


def oracle(a: npt.NDArray[np.float16], x: npt.NDArray[np.float16]) -> npt.NDArray[np.float64]:
    sizes = {"m": len(a) // len(x), "k": len(x)}
    y: npt.NDArray[np.float64] = resolve_reference("gemm:matvec", COURSE)({"A": a, "x": x}, sizes)["y"]
    return y


@pytest.mark.parametrize(("m", "k"), [(1, 1), (1, 8), (3, 5), (16, 33)])
def test_matvec_equals_two_loops(m: int, k: int) -> None:
    random = np.random.default_rng(20250309)
    a, x = (random.uniform(-1, 1, count).astype(np.float16) for count in (m * k, k))
    y = oracle(a, x)
    assert y.dtype == np.float64
    assert y.shape == (m,)
    for r in range(m):
        expected = math.fsum(float(a[r * k + c]) * float(x[c]) for c in range(k))
        assert y[r] == pytest.approx(expected, rel=1e-13, abs=1e-14)


def test_matvec_is_the_product_of_matrices_with_one_column() -> None:
    random = np.random.default_rng(20250310)
    a, x = (random.integers(-2047, 2048, count).astype(np.float16) for count in (12 * 40, 40))
    c = resolve_reference("gemm:matmul", COURSE)({"A": a, "B": x}, {"m": 12, "n": 1, "k": 40})["C"]
    np.testing.assert_array_equal(oracle(a, x), c)


def a_right_answer() -> dict[str, npt.NDArray[Any]]:
    """Integers that a half only just holds: whoever reads them through a narrower type is wrong."""
    random = np.random.default_rng(20250311)
    a = random.integers(-2047, 2048, SIZES["m"] * SIZES["k"]).astype(np.float16)
    x = random.choice([-1, 1], SIZES["k"]).astype(np.float16)
    return {"A": a, "x": x, "y": oracle(a, x).astype(np.float32)}


def judged(arrays: Arrays, absolute: float = 0.0) -> tuple[int, int, list[float]]:
    return judge("gemm:matvec", arrays, SIZES, absolute=absolute)


@NEEDS_NVRTC
def test_the_check_passes_the_oracles_output() -> None:
    assert judged(a_right_answer()) == NONE_BAD


@NEEDS_NVRTC
@pytest.mark.parametrize("index", [0, 3, 6])
def test_the_check_finds_one_element_that_is_off_by_one_and_says_what_it_should_be(index: int) -> None:
    arrays = a_right_answer()
    expected = float(arrays["y"][index])
    arrays["y"][index] += 1
    assert judged(arrays) == (1, index, [index, expected])


@NEEDS_NVRTC
def test_the_check_finds_a_nan_and_every_other_row() -> None:
    arrays = a_right_answer()
    arrays["y"][2] = np.nan
    assert judged(arrays)[:2] == (1, 2)
    assert judged({**a_right_answer(), "y": np.full(SIZES["m"], 2**24, np.float32)})[:2] == (SIZES["m"], 0)


@NEEDS_NVRTC
def test_the_check_allows_the_tolerance_and_no_more() -> None:
    arrays = a_right_answer()
    arrays["y"][4] += 2
    assert judged(arrays, absolute=2.0)[0] == 0
    assert judged(arrays, absolute=1.5)[:2] == (1, 4)
