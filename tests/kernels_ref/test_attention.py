"""The oracle of attention against loops, and its trusted check, which runs on the simulator here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, Arrays, judge

SIZES = {"heads": 2, "n_q": 19, "n_k": 11, "d": 64, "causal": 1}  # two groups of rows; the first 8 rows see no key
FLOATS = "attention:forward_f32"


def inputs(sizes: dict[str, int], dtype: type = np.float32) -> dict[str, npt.NDArray[Any]]:
    random = np.random.default_rng(20261123)
    rows = {"Q": sizes["n_q"], "K": sizes["n_k"], "V": sizes["n_k"]}
    return {name: random.uniform(-3, 3, sizes["heads"] * n * sizes["d"]).astype(dtype) for name, n in rows.items()}


def oracle(arrays: Arrays, sizes: dict[str, int]) -> npt.NDArray[np.float64]:
    o: npt.NDArray[np.float64] = resolve_reference("attention:forward", COURSE)(arrays, sizes)["O"]
    return o


def by_loops(arrays: Arrays, sizes: dict[str, int]) -> list[float]:
    """Each row's keys one after the other, in Python's floats."""
    n_q, n_k, d = sizes["n_q"], sizes["n_k"], sizes["d"]
    result = []
    for head in range(sizes["heads"]):
        for i in range(n_q):
            q = arrays["Q"][(head * n_q + i) * d :][:d].tolist()
            seen = [j for j in range(n_k) if not sizes["causal"] or j <= i + n_k - n_q]
            k, v = (arrays[name][head * n_k * d :].tolist() for name in "KV")
            scores = [math.fsum(q[c] * k[j * d + c] for c in range(d)) / math.sqrt(d) for j in seen]
            shares = [math.exp(score - max(scores)) for score in scores]
            rows = zip(shares, seen, strict=True)
            products = [[share * v[j * d + c] for c in range(d)] for share, j in rows]
            result += [math.fsum(column) / math.fsum(shares) if seen else 0.0 for column in zip(*products, strict=True)]
            result += [0.0] * (0 if seen else d)
    return result


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize(("n_q", "n_k"), [(1, 1), (3, 5), (5, 3), (4, 4)])
def test_attention_equals_loops(n_q: int, n_k: int, causal: int) -> None:
    sizes = {"heads": 2, "n_q": n_q, "n_k": n_k, "d": 4, "causal": causal}
    arrays = inputs(sizes)
    o = oracle(arrays, sizes)
    assert o.dtype == np.float64
    assert o.shape == (2 * n_q * 4,)
    assert o.tolist() == pytest.approx(by_loops(arrays, sizes), rel=1e-12, abs=1e-13)


def a_right_answer(dtype: type = np.float32, **sizes: int) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int]]:
    all_sizes = SIZES | sizes
    arrays = inputs(all_sizes, dtype)
    return {**arrays, "O": oracle(arrays, all_sizes).astype(dtype)}, all_sizes


def signs(sizes: dict[str, int]) -> dict[str, npt.NDArray[Any]]:
    """What the backend draws for a projection, and the place of the projected values."""
    bits = np.random.default_rng(20261124).integers(0, 2, sizes["d"]).astype(np.float64)
    return {"bits": bits, "w": np.zeros(sizes["heads"] * sizes["n_k"])}


def judged(arrays: Arrays, sizes: dict[str, int], name: str = FLOATS, **bounds: float) -> tuple[int, int, list[float]]:
    return judge(name, arrays, sizes, scratch=signs(sizes), **{"absolute": 1e-6, **bounds})


@NEEDS_NVRTC
@pytest.mark.parametrize("sizes", [{}, {"causal": 0}, {"n_k": 300, "d": 128}])
def test_the_check_passes_the_oracles_output(sizes: dict[str, int]) -> None:
    assert judged(*a_right_answer(**sizes)) == NONE_BAD


@NEEDS_NVRTC
def test_the_check_of_halves_allows_their_rounding_and_no_more() -> None:
    answer = a_right_answer(np.float16, causal=0)
    assert judged(*answer, "attention:forward_f16", relative=2.0**-11) == NONE_BAD
    assert judged(*answer, "attention:forward_f16", relative=2.0**-16)[0] > 0


@NEEDS_NVRTC
@pytest.mark.parametrize(("row", "column"), [(0, 3), (18, 63), (30, 0)])
def test_the_check_finds_one_element_and_says_what_it_should_be(row: int, column: int) -> None:
    arrays, sizes = a_right_answer()
    index = row * sizes["d"] + column
    expected = float(arrays["O"][index])
    arrays["O"][index] += 0.01
    bad, first, explanation = judged(arrays, sizes)
    assert (bad, first) == (1, row)
    assert explanation == pytest.approx([index, expected], abs=1e-6)


@NEEDS_NVRTC
def test_the_check_finds_a_nan_and_a_mask_that_is_off_by_one() -> None:
    arrays, sizes = a_right_answer()
    arrays["O"][5] = np.nan
    assert judged(arrays, sizes)[:2] == (1, 0)
    arrays, sizes = a_right_answer()
    shifted = oracle(arrays, sizes | {"causal": 0}).astype(np.float32)
    assert judged({**arrays, "O": shifted}, sizes)[0] == 2 * 18  # the last row of each head sees all keys
