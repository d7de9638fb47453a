"""The oracles of vector_add, reduce_v3 and bank_conflicts against plain loops over indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import built_in_course, resolve_reference
from tests.kernels_ref.trusted import NEEDS_NVRTC, NONE_BAD, judge

RANDOM = np.random.default_rng(20250302)


def oracle(
    reference: str, inputs: dict[str, npt.NDArray[Any]], size: dict[str, int]
) -> dict[str, npt.NDArray[np.float64]]:
    outputs: dict[str, npt.NDArray[np.float64]] = resolve_reference(reference, built_in_course())(inputs, size)
    assert all(array.dtype == np.float64 and array.ndim == 1 for array in outputs.values())
    return outputs


def test_add_keeps_the_bits_that_a_float32_sum_would_lose() -> None:
    a, b = np.array([2**24, 0.1], np.float32), np.array([1, 0.2], np.float32)
    c = oracle("elementwise:add", {"a": a, "b": b}, {"n": 2})["c"]
    assert c.tolist() == [2**24 + 1, float(a[1]) + float(b[1])]


@pytest.mark.parametrize("n", [1, 2, 1023, 4099])
def test_sum_equals_an_exact_sum(n: int) -> None:
    x = RANDOM.uniform(-1, 1, n).astype(np.float32)
    out = oracle("reduction:sum", {"x": x}, {"n": n})["out"]
    assert out.shape == (1,)
    assert out[0] == pytest.approx(math.fsum(map(float, x)), rel=0, abs=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 7, 33])
def test_regroup_puts_every_word_where_the_statement_says(rows: int) -> None:
    x = np.arange(32 * rows, dtype=np.float32)
    outputs = oracle("layout:regroup", {"x": x}, {"rows": rows})
    for pair in range(16 * rows):
        for side in range(2):
            assert outputs["planes"][16 * rows * side + pair] == x[2 * pair + side]
    for record in range(4 * rows):
        for plane in range(8):
            assert outputs["merged"][8 * record + plane] == x[4 * rows * plane + record]
    for row in range(rows):
        for column in range(32):
            assert outputs["columns"][rows * column + row] == x[32 * row + column]


@NEEDS_NVRTC
@pytest.mark.parametrize(("name", "place"), [("planes", 0), ("merged", 1), ("columns", 2)])
def test_the_check_of_regroup_finds_a_wrong_word_in_each_of_its_outputs(name: str, place: int) -> None:
    x, sizes = np.arange(32 * 9, dtype=np.float32) + 1, {"rows": 9}
    out = {key: values.astype(np.float32) for key, values in oracle("layout:regroup", {"x": x}, sizes).items()}
    assert judge("layout:regroup", {"x": x, **out}, sizes) == NONE_BAD
    right, out[name][100] = float(out[name][100]), np.nan
    index = 32 * 9 * place + 100
    assert judge("layout:regroup", {"x": x, **out}, sizes) == (1, index, [index, right])
