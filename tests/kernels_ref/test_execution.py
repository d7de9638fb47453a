"""The oracles of chapter 3 against plain loops, and what the statement of occupancy says of the assembler."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import built_in_course, resolve_reference
from grader.compile import assembly, compile_source
from grader.compile.ptxas import Resources
from grader.compile.toolchain import find_toolchain
from tests.kernels_ref.trusted import NEEDS_NVRTC, NONE_BAD, judge

RANDOM = np.random.default_rng(20250303)
WORD = 2**32 - 1
TOOLCHAIN = find_toolchain()
NEEDS_PTXAS = pytest.mark.skipif(not TOOLCHAIN.nvrtc_library or not TOOLCHAIN.ptxas, reason="no NVRTC, or no ptxas")


def oracle(name: str, inputs: dict[str, npt.NDArray[Any]], rounds: int = 1) -> npt.NDArray[np.float64]:
    function = resolve_reference(f"execution:{name}", built_in_course())
    outputs: dict[str, npt.NDArray[np.float64]] = function(inputs, {"rounds": rounds})
    (result,) = outputs.values()
    assert result.dtype == np.float64
    assert result.ndim == 1
    return result


# -------------------------------------------------------------------------------------------------------------- decode


def xorshift32(word: int) -> int:
    for shift in (13, -17, 5):
        word ^= (word << shift if shift > 0 else word >> -shift) & WORD
    return word


def decoded(i: int, word: int) -> int:
    """What the statement says of word ``i``, with the CRC-32 of a library."""
    if i // 8 % 2 == 1:
        return zlib.crc32((word ^ WORD).to_bytes(4, "little")) ^ WORD
    for _ in range(20):
        word = xorshift32(word)
    return word


def test_xorshift32_is_the_generator_of_the_paper() -> None:
    assert xorshift32(2463534242) == 723471715  # its own first value there


@pytest.mark.parametrize("n", [1, 8, 9, 16, 17, 1000])
def test_decode_does_for_each_run_of_eight_words_what_its_sensor_needs(n: int) -> None:
    x = RANDOM.integers(0, 2**32, n, dtype=np.uint32)
    before = x.copy()
    assert oracle("decode", {"x": x}).tolist() == [decoded(i, int(word)) for i, word in enumerate(x)]
    np.testing.assert_array_equal(x, before)


def test_decode_holds_at_the_ends_of_the_range() -> None:
    x = np.tile(np.array([0, 1, 2**31, WORD], np.uint32), 4)
    assert oracle("decode", {"x": x}).tolist() == [decoded(i, int(word)) for i, word in enumerate(x)]


def test_each_round_decodes_what_the_one_before_gave() -> None:
    x = RANDOM.integers(0, 2**32, 33, dtype=np.uint32)
    twice = [decoded(i, decoded(i, int(word))) for i, word in enumerate(x)]
    assert oracle("decode", {"x": x}, rounds=2).tolist() == twice


@NEEDS_NVRTC
@pytest.mark.parametrize("spoilt", [0, 8, 1002])
def test_the_check_of_decode_finds_one_wrong_bit_and_says_what_the_word_should_be(spoilt: int) -> None:
    x = RANDOM.integers(0, 2**32, 1003, dtype=np.uint32)
    out, sizes = oracle("decode", {"x": x}, rounds=3).astype(np.uint32), {"n": 1003, "rounds": 3}
    assert judge("execution:decode", {"x": x, "out": out}, sizes) == NONE_BAD
    right, out[spoilt] = int(out[spoilt]), out[spoilt] ^ 1
    assert judge("execution:decode", {"x": x, "out": out}, sizes) == (1, spoilt, [spoilt, right])


# ----------------------------------------------------------------------------------------------------------- distances


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 7), (256, 2), (257, 31), (600, 5)])
def test_distances_equals_two_loops(n: int, m: int) -> None:
    x, y = (RANDOM.integers(-3000, 3001, count).astype(np.float32) for count in (n, m))
    expected = [sum(abs(float(a) - float(b)) for b in y) for a in x]
    assert oracle("distances", {"x": x, "y": y}).tolist() == expected


def test_distances_keeps_the_bits_that_a_float32_difference_would_lose() -> None:
    x, y = np.array([2**24], np.float32), np.array([-1, 0.5], np.float32)
    assert oracle("distances", {"x": x, "y": y}).tolist() == [2**24 + 1 + 2**24 - 0.5]


@NEEDS_NVRTC
@pytest.mark.parametrize(("spoilt", "by"), [(0, np.nan), (300, 1.0)])
def test_the_check_of_distances_finds_one_wrong_sum_and_says_what_it_should_be(spoilt: int, by: float) -> None:
    x, y = (RANDOM.integers(-3000, 3001, count).astype(np.float32) for count in (301, 17))
    out, sizes = oracle("distances", {"x": x, "y": y}).astype(np.float32), {"n": 301, "m": 17}
    assert judge("execution:distances", {"x": x, "y": y, "out": out}, sizes) == NONE_BAD
    right, out[spoilt] = float(out[spoilt]), out[spoilt] + by
    assert judge("execution:distances", {"x": x, "y": y, "out": out}, sizes) == (1, spoilt, [spoilt, right])


# --------------------------------------------------------------------------------------------------------------- hares


def test_hares_takes_each_island_through_its_steps() -> None:
    hares, foxes = (RANDOM.uniform(0.5, 1.5, 20).astype(np.float32) for _ in range(2))
    expected = []
    for x, y in zip(hares.tolist(), foxes.tolist(), strict=True):
        for _ in range(7):
            x += 0.25 * x * (1 - y)
            y += 0.25 * y * (x - 1)
        expected.append(x)
    after = resolve_reference("execution:hares", built_in_course())(
        {"hares": hares, "foxes": foxes}, {"steps": 7, "h": 0.25}
    )
    np.testing.assert_allclose(after["out"], expected, rtol=1e-14)


# ---------------------------------------------------------------------------------------------------------------- slew


def test_slew_follows_each_row_from_zero() -> None:
    x = np.array([[5, 5, 5, -5], [1, -1, 3, 9]], np.float32)
    found = resolve_reference("execution:slew", built_in_course())(
        {"x": x.ravel()}, {"rows": 2, "cols": 4, "rate": 2.0}
    )
    assert found["y"].tolist() == [2, 4, 5, 3, 1, -1, 1, 3]


# ----------------------------------------------------------------------------------- what the statement says of ptxas


def assembled(own: int, bounds: str) -> Resources:
    """The solution of occupancy with so many points a thread, and with these launch bounds, for sm_80."""
    text = (built_in_course().solutions / "03_execution" / "occupancy.cu").read_text()
    for old, new in ((r"#define OWN \d+", f"#define OWN {own}"), (r"\n__launch_bounds__\(.*\)\n", f"\n{bounds}\n")):
        text, changed = re.subn(old, new, text)
        assert changed == 1
    return assembly(compile_source(text.encode(), "occupancy.cu"), "sm_80").resources["occupancy"]


@NEEDS_PTXAS
@pytest.mark.parametrize("own", [4, 6])
def test_up_to_six_points_fit_into_32_registers_without_a_word(own: int) -> None:
    found = assembled(own, "")
    assert (found.registers <= 32, found.spill_store_bytes) == (True, 0)


@NEEDS_PTXAS
def test_eight_points_take_more_than_32_registers_until_the_compiler_is_told() -> None:
    assert assembled(8, "").registers > 32
    found = assembled(8, "__launch_bounds__(256, 8)")
    assert (found.registers <= 32, found.spill_store_bytes, found.spill_load_bytes) == (True, 0, 0)


@NEEDS_PTXAS
def test_twelve_points_spill_when_32_registers_have_to_do() -> None:
    assert assembled(12, "").spill_store_bytes == 0
    found = assembled(12, "__launch_bounds__(256, 8)")
    assert found.registers <= 32
    assert min(found.spill_store_bytes, found.spill_load_bytes) > 0
