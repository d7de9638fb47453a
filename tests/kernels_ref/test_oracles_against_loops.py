"""Each oracle against the plainest Python loop that says the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import built_in_course, resolve_reference
from tests.kernels_ref.trusted import NEEDS_NVRTC, NONE_BAD, judge

RANDOM = np.random.default_rng(20250301)


def oracle(reference: str, inputs: dict[str, npt.NDArray[Any]], size: dict[str, int]) -> npt.NDArray[np.float64]:
    outputs = resolve_reference(reference, built_in_course())(inputs, size)
    result: npt.NDArray[np.float64]
    (result,) = outputs.values()
    assert result.dtype == np.float64
    assert result.ndim == 1
    return result


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 2), (3, 31), (7, 5)])
def test_softmax_rows_equals_a_loop_over_rows(rows: int, cols: int) -> None:
    x = RANDOM.uniform(-120, 120, rows * cols).astype(np.float32)
    y = oracle("softmax:rows", {"x": x}, {"rows": rows, "cols": cols})
    for r in range(rows):
        row = [float(value) for value in x[r * cols : (r + 1) * cols]]
        terms = [math.exp(value - max(row)) for value in row]
        expected = [term / math.fsum(terms) for term in terms]
        np.testing.assert_allclose(y[r * cols : (r + 1) * cols], expected, rtol=1e-14)


def test_softmax_of_values_beyond_expf_stays_finite_and_sums_to_one() -> None:
    x = np.array([90, 89, 89, -119, -120, -118], dtype=np.float32)
    y = oracle("softmax:rows", {"x": x}, {"rows": 2, "cols": 3})
    assert np.all(y > 0)
    np.testing.assert_allclose(y.reshape(2, 3).sum(axis=1), 1.0, rtol=1e-15)


def test_log_rows_are_the_logarithms_of_the_shares_also_where_a_share_is_no_float() -> None:
    x = np.array([1, 2, 3, 120, -120, 119], dtype=np.float32)
    size = {"rows": 2, "cols": 3}
    logs = oracle("softmax:log_rows", {"x": x}, size)
    np.testing.assert_allclose(np.exp(logs), oracle("softmax:rows", {"x": x}, size), rtol=1e-13)
    assert logs[4] == pytest.approx(-240 - math.log(1 + math.exp(-1)))


@NEEDS_NVRTC
@pytest.mark.parametrize("name", ["softmax:rows", "softmax:log_rows"])
def test_the_check_of_softmax_passes_the_oracles_output_and_names_what_is_wrong(name: str) -> None:
    size = {"rows": 3, "cols": 300}
    x = RANDOM.uniform(-4, 4, 900).astype(np.float32)
    exact = oracle(name, {"x": x}, size)
    y = exact.astype(np.float32)
    bounds = {"relative": 1e-6, "absolute": 1e-9}
    assert judge(name, {"x": x, "y": y}, size, **bounds) == NONE_BAD
    y[700] += 0.25
    bad, first, (index, expected) = judge(name, {"x": x, "y": y}, size, **bounds)
    assert (bad, first, index) == (1, 700, 700)
    assert expected == pytest.approx(exact[700], rel=1e-12)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (2, 3, 4), (16, 16, 16), (5, 32, 3)])
def test_matmul_equals_three_loops(m: int, n: int, k: int) -> None:
    a = RANDOM.uniform(-1, 1, m * k).astype(np.float16)
    b = RANDOM.uniform(-1, 1, k * n).astype(np.float16)
    c = oracle("gemm:matmul", {"A": a, "B": b}, {"m": m, "n": n, "k": k})
    for i in range(m):
        for j in range(n):
            expected = math.fsum(float(a[i * k + s]) * float(b[s * n + j]) for s in range(k))
            assert c[i * n + j] == pytest.approx(expected, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 4, 16), (3, 8, 32)])
def test_matmul_of_bytes_equals_three_loops_over_integers(m: int, n: int, k: int) -> None:
    a = RANDOM.integers(-128, 128, m * k).astype(np.int8)
    b = RANDOM.integers(-128, 128, n * k).astype(np.int8)
    a[:k] = b[:k] = -128  # the largest product of all
    c = oracle("gemm:matmul_i8", {"A": a, "B": b}, {"m": m, "n": n, "k": k})
    expected = [sum(int(a[i * k + s]) * int(b[j * k + s]) for s in range(k)) for i in range(m) for j in range(n)]
    assert c[0] == 2**14 * k
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("frames", [1, 2, 5000])
def test_frame_energy_equals_a_loop_over_samples(frames: int) -> None:
    x = RANDOM.uniform(-1, 1, frames * 8).astype(np.float32)
    out = oracle("frames:energy", {"x": x}, {"frames": frames})
    expected = [math.fsum(float(v) ** 2 for v in x[f * 8 : (f + 1) * 8]) for f in range(frames)]
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_every_oracle_leaves_its_inputs_alone() -> None:
    x = RANDOM.uniform(-1, 1, 64).astype(np.float32)
    before = x.copy()
    oracle("softmax:rows", {"x": x}, {"rows": 8, "cols": 8})
    oracle("frames:energy", {"x": x}, {"frames": 4})
    np.testing.assert_array_equal(x, before)
