"""The oracle of the transpose ladder against a loop, and its trusted check, which runs on the simulator here."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, judge

ROWS, COLS = 7, 45  # 315 elements: more than one block, and no whole number of blocks


def oracle(x: npt.NDArray[np.float32], rows: int, cols: int) -> npt.NDArray[np.float64]:
    outputs = resolve_reference("layout:transpose", COURSE)({"x": x}, {"rows": rows, "cols": cols})
    out: npt.NDArray[np.float64] = outputs["out"]
    return out


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 7), (7, 1), (3, 5), (33, 31)])
def test_transpose_puts_every_element_where_the_statement_says(rows: int, cols: int) -> None:
    x = np.arange(rows * cols, dtype=np.float32)
    out = oracle(x, rows, cols)
    assert out.dtype == np.float64
    assert out.shape == (rows * cols,)
    for r in range(rows):
        for c in range(cols):
            assert out[c * rows + r] == x[r * cols + c]


def test_transpose_leaves_its_input_alone() -> None:
    x = np.arange(15, dtype=np.float32)
    oracle(x, 3, 5)
    np.testing.assert_array_equal(x, np.arange(15, dtype=np.float32))


def a_right_answer() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    x = np.random.default_rng(20250304).integers(1, 2**24, ROWS * COLS).astype(np.float32)
    return x, oracle(x, ROWS, COLS).astype(np.float32)


def judged(x: npt.NDArray[np.float32], out: npt.NDArray[np.float32]) -> tuple[int, int, list[float]]:
    return judge("layout:transpose", {"x": x, "out": out}, {"rows": ROWS, "cols": COLS})


@NEEDS_NVRTC
def test_the_check_passes_the_oracles_output() -> None:
    assert judged(*a_right_answer()) == NONE_BAD


@NEEDS_NVRTC
@pytest.mark.parametrize("index", [0, 100, ROWS * COLS - 1])
def test_the_check_finds_one_wrong_bit_and_says_what_it_should_be(index: int) -> None:
    x, out = a_right_answer()
    expected = float(out[index])
    out[index] = np.nextafter(out[index], np.float32(np.inf))
    assert judged(x, out) == (1, index, [index, expected])


@NEEDS_NVRTC
def test_the_check_finds_a_nan() -> None:
    x, out = a_right_answer()
    out[7] = np.nan
    assert judged(x, out)[:2] == (1, 7)


@NEEDS_NVRTC
def test_the_check_refuses_a_copy_but_for_what_stays_in_its_place() -> None:
    x, _ = a_right_answer()
    stays = sum(r * COLS + c == c * ROWS + r for r in range(ROWS) for c in range(COLS))
    assert judged(x, x.copy())[:2] == (ROWS * COLS - stays, 1)
