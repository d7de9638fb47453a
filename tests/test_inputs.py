"""Input arrays from the counter-based generator, and the poison that outputs start with."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import UsageError
from grader.exercise import Array, Exercise, Values
from grader.inputs import (
    POISON_WORD,
    derive_seed,
    element_count,
    is_poison,
    make_array,
    make_inputs,
    philox4x32,
    poison,
    random_words,
    stream,
)

EXERCISE = Exercise(
    name="mix",
    order=1,
    idea="an exercise for these tests",
    arrays=(
        Array("x", "float32", "rows*cols", values=Values(exact_low=-100, exact_high=100, low=-3.0, high=5.0)),
        Array("h", "float16", "rows", values=Values(exact_low=-2048, exact_high=2048)),
        Array("k", "int32", "cdiv(rows, 2)", values=Values(exact_low=0, exact_high=9)),
        Array("y", "float32", "rows", role="out"),
    ),
    oracle="none:none",
    small=({"rows": 5, "cols": 7},),
    simulated={"rows": 64, "cols": 100},
)
SIZE = {"rows": 5, "cols": 7}
M32, M64 = 2**32 - 1, 2**64 - 1


def word(index: int, name: str, seed: int, sample: int = 0) -> int:
    """One word of the stream, by the module's docstring, in plain integers."""
    c = [(index // 4) & M32, index // 4 >> 32, zlib.crc32(name.encode()), sample]
    k = [seed & M32, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & M32, (p0 >> 32) ^ c[3] ^ k[1], p0 & M32]
        k = [(k[0] + 0x9E3779B9) & M32, (k[1] + 0xBB67AE85) & M32]
    return c[index % 4]


@pytest.mark.parametrize(
    ("counter", "stream_and_sample", "seed", "answer"),
    [
        (0, (0, 0), 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (M64, (M32, M32), M64, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            0x85A308D3_243F6A88,
            (0x13198A2E, 0x03707344),
            0x299F31D0_A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_known_answers(
    counter: int, stream_and_sample: tuple[int, int], seed: int, answer: str
) -> None:
    """The vectors are those of Random123's kat_vectors for philox4x32-10."""
    words = philox4x32(np.array([counter], dtype=np.uint64), *stream_and_sample, seed)
    assert " ".join(f"{int(one):08x}" for one in words[0]) == answer


@given(st.integers(0, M64), st.integers(0, 300), st.integers(0, M32))
def test_every_word_is_the_one_that_the_docstring_defines(seed: int, index: int, sample: int) -> None:
    assert int(random_words(index + 1, seed, stream("x"), sample)[index]) == word(index, "x", seed, sample)


@given(st.integers(0, M64), st.integers(1, 200))
def test_exact_values_follow_the_documented_formula(seed: int, count: int) -> None:
    array = Array("x", "float32", "n", values=Values(exact_low=-7, exact_high=1000))
    got = make_array(array, count, seed, "exact")
    assert got.dtype == np.float32
    assert got.tolist() == [-7 + (word(i, "x", seed) * 1008 >> 32) for i in range(count)]


@given(st.integers(0, M64), st.integers(1, 200))
def test_real_values_follow_the_documented_formula(seed: int, count: int) -> None:
    array = Array("x", "float32", "n", values=Values(low=-0.3, high=0.7))
    scale = 0.7 - -0.3
    expected = [np.float32(-0.3 + scale * ((word(i, "x", seed) >> 8) * 2.0**-24)) for i in range(count)]
    assert make_array(array, count, seed, "real").tolist() == [float(one) for one in expected]


def test_a_stream_longer_than_a_chunk_goes_on_without_a_seam() -> None:
    words = random_words(200_001, 9, 1)
    assert [int(words[i]) for i in (65_535, 65_536, 131_072, 200_000)] == [
        int(philox4x32(np.array([i // 4], dtype=np.uint64), 1, 0, 9)[0, i % 4])
        for i in (65_535, 65_536, 131_072, 200_000)
    ]


def test_the_first_elements_do_not_depend_on_the_count() -> None:
    array = EXERCISE.arrays[0]
    assert np.array_equal(make_array(array, 10, 3, "real"), make_array(array, 1000, 3, "real")[:10])


def test_all_inputs_have_their_dtype_and_count() -> None:
    inputs = make_inputs(EXERCISE, SIZE, 42)
    assert {name: (array.dtype.name, array.shape) for name, array in inputs.items()} == {
        "x": ("float32", (35,)),
        "h": ("float16", (5,)),
        "k": ("int32", (3,)),
    }


def test_arrays_seeds_and_samples_draw_from_different_streams() -> None:
    array = EXERCISE.arrays[0]
    first = make_array(array, 1000, 1, "real")
    assert np.array_equal(first, make_array(array, 1000, 1, "real"))
    for other in (
        make_array(array, 1000, 2, "real"),
        make_array(array, 1000, 1, "real", sample=1),
        make_array(replace(array, name="z"), 1000, 1, "real"),
    ):
        assert (first == other).sum() < 5


def test_exact_values_fill_their_range_evenly() -> None:
    got = make_array(Array("x", "int8", "n", values=Values(exact_low=-3, exact_high=4)), 80_000, 5, "exact")
    values, counts = np.unique(got, return_counts=True)
    assert values.tolist() == list(range(-3, 5))
    assert abs(counts - 10_000).max() < 500


def test_real_values_are_uniform_on_their_interval() -> None:
    got = make_array(EXERCISE.arrays[0], 80_000, 5, "real").astype(np.float64)
    assert got.min() >= -3.0
    assert got.max() < 5.0
    assert abs(got.mean() - 1.0) < 0.05
    assert abs(got.std() - 8 / 12**0.5) < 0.05


def test_half_of_a_masked_array_is_infinity() -> None:
    array = EXERCISE.arrays[0]
    masked, real = make_array(replace(array, masked=True), 4000, 3, "masked"), make_array(array, 4000, 3, "real")
    infinite = np.isneginf(masked)
    assert 1800 < infinite.sum() < 2200
    assert np.array_equal(masked[~infinite], real[~infinite])
    assert np.array_equal(make_array(array, 4000, 3, "masked"), real)


def test_a_few_elements_of_a_special_array_are_nan_and_infinity() -> None:
    array = EXERCISE.arrays[0]
    special, real = (make_array(replace(array, special=True), 40_000, 3, kind) for kind in ("special", "real"))
    counts = (np.isnan(special).sum(), np.isposinf(special).sum())
    assert all(5 <= count <= 45 for count in counts)
    ordinary = np.isfinite(special)
    assert ordinary.sum() == 40_000 - sum(counts)
    assert np.array_equal(special[ordinary], real[ordinary])
    assert np.array_equal(make_array(array, 4000, 3, "special"), make_array(array, 4000, 3, "real"))


def test_integer_arrays_hold_integers_in_real_cases_too() -> None:
    real, exact = make_inputs(EXERCISE, SIZE, 1, "real"), make_inputs(EXERCISE, SIZE, 1, "exact")
    assert np.array_equal(real["k"], exact["k"])
    assert not np.array_equal(real["x"], exact["x"])


def test_a_full_32_bit_range_is_possible() -> None:
    array = Array("x", "uint32", "n", values=Values(exact_low=0, exact_high=M32))
    assert np.array_equal(make_array(array, 99, 7, "exact"), random_words(99, 7, stream("x")))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (Array("x", "uint32", "n"), "does not hold every integer from -8 to 8"),
        (Array("x", "int8", "n", values=Values(exact_low=0, exact_high=128)), "int8"),
        (Array("x", "float16", "n", values=Values(exact_low=0, exact_high=2049)), "float16"),
        (Array("x", "float32", "n", values=Values(exact_low=0, exact_high=2**24 + 1)), "float32"),
        (Array("x", "int32", "n", values=Values(exact_low=5, exact_high=4)), "no integers between 5 and 4"),
    ],
)
def test_a_range_that_the_dtype_cannot_hold_is_the_authors_error(array: Array, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_array(array, 4, 1, "exact")


@pytest.mark.parametrize(
    ("count", "words"), [("m", "no 'm'"), ("n - 5", "has 0 elements"), ("n * 0.5", "not an integer")]
)
def test_a_count_that_is_none_is_the_authors_error(count: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        element_count(Array("x", "float32", count), {"n": 5})


def test_derived_seeds_are_stable_and_differ() -> None:
    assert derive_seed(1, "case", 3) == derive_seed(1, "case", 3)
    assert len({derive_seed(1, "case", i) for i in range(100)} | {derive_seed(2, "case", i) for i in range(100)}) == 200
    assert 0 <= derive_seed(2**64 - 1, "x") < 2**64


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_poison_is_not_a_number(dtype: str) -> None:
    assert np.isnan(poison(dtype, 7)).all()


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int32", [2147188731] * 3),
        ("int64", [9222105380131930107] * 3),
        ("uint8", [251, 127, 251]),
        ("uint16", [0x7FFB] * 3),
    ],
)
def test_poison_of_integers_is_the_documented_pattern(dtype: str, values: list[int]) -> None:
    assert poison(dtype, 3).tolist() == values
    assert poison(dtype, 3).tobytes() == (POISON_WORD.to_bytes(4, "little") * 6)[: poison(dtype, 3).nbytes]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64"])
def test_only_untouched_elements_are_poison(dtype: str) -> None:
    values = poison(dtype, 5)
    values[2] = 1
    assert is_poison(values).tolist() == [True, True, False, True, True]


def test_another_nan_is_no_poison() -> None:
    assert not is_poison(np.array([np.nan], dtype=np.float32))[0]
