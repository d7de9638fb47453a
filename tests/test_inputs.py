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
    Kind,
    derive_seed,
    element_count,
    is_poison,
    make_array,
    make_inputs,
    permutation,
    philox4x32,
    poison,
    random_words,
    stream,
    unusual_kinds,
    values_of,
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


def test_a_few_elements_of_a_special_array_are_nan_infinity_and_zeros_of_both_signs() -> None:
    array = replace(EXERCISE.arrays[0], special=True)
    special, infinite, real = (make_array(array, 40_000, 3, kind) for kind in ("special", "infinite", "real"))
    nan, zero = np.isnan(special), special == 0
    below = np.signbit(special)
    counts = (nan & below, nan & ~below, np.isposinf(special), zero & below, zero & ~below)
    assert all(3 <= count.sum() <= 60 for count in counts)
    assert np.isneginf(infinite).tolist() == nan.tolist()
    assert np.array_equal(infinite[~nan], special[~nan])
    ordinary = np.isfinite(special) & ~zero
    assert ordinary.sum() == 40_000 - sum(count.sum() for count in counts)
    assert np.array_equal(special[ordinary], real[ordinary])
    array = EXERCISE.arrays[0]
    assert np.array_equal(make_array(array, 4000, 3, "special"), make_array(array, 4000, 3, "real"))


@pytest.mark.parametrize(("masked", "row"), [("cols", 100), ("", 162)])
def test_the_first_rows_of_a_special_array_have_a_nan_of_either_sign_and_an_infinity_alone_in_every_run(masked, row):
    array = Array("x", "float32", "rows*cols", masked=bool(masked), masked_rows=masked, special=True)
    for seed in range(40):
        special, infinite = (
            make_array(array, 1300, seed, kind, size={"rows": 13, "cols": 100})[: 4 * row].reshape(4, row)
            for kind in ("special", "infinite")
        )
        nan, above = np.isnan(special), np.isposinf(special)
        assert (nan | above).sum(axis=1).tolist() == [int((r + seed) % 4 != 0) for r in range(4)]
        assert np.signbit(special[nan]).tolist() == [True, False]
        assert above.sum() == 1
        assert np.isneginf(infinite[nan]).all()
        assert np.array_equal(infinite[~nan], special[~nan])


def test_a_special_array_of_few_elements_or_rows_has_what_there_is_room_for():
    array = Array("x", "float32", "rows*cols", masked=True, masked_rows="cols", special=True)
    for seed in range(8):
        got = make_array(array, 200, seed, "special", size={"rows": 2, "cols": 100}).reshape(2, 100)
        assert (np.isnan(got) | np.isposinf(got)).sum(axis=1).tolist() == [int((r + seed) % 4 != 0) for r in range(2)]
    assert len(make_array(replace(array, masked_rows=""), 7, 1, "special")) == 7


def test_nan_has_only_masked_neighbours_somewhere_in_an_array_that_may_be_masked_too() -> None:
    array = replace(EXERCISE.arrays[0], masked=True, special=True)
    packs = make_array(array, 40_000, 3, "special").reshape(-1, 4)
    with_nan = packs[np.isnan(packs).any(axis=1)]
    assert (np.isneginf(with_nan).sum(axis=1) == 3).any()


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


# ------------------------------------------------------------------------------------- shapes and further distributions

NORMAL = Array("x", "float64", "n", values=Values(low=-4.0, high=4.0, shape="normal"))


@given(st.integers(0, M64), st.integers(1, 200))
def test_normal_values_follow_the_documented_formula(seed: int, count: int) -> None:
    def value(x: int) -> float:
        t = sum(x.to_bytes(4, "little")) + (x * 0x9E3779B1 % 2**32 >> 8) * 2.0**-24
        return -0.3 + (0.7 - -0.3) / 1021 * t

    for dtype in ("float16", "float32", "float64"):
        array = Array("x", dtype, "n", values=Values(low=-0.3, high=0.7, shape="normal"))  # type: ignore[arg-type]  # dtypes of the list
        expected = np.array([value(word(i, "x", seed)) for i in range(count)]).astype(dtype)
        assert make_array(array, count, seed, "real").tobytes() == expected.tobytes()


def test_normal_values_are_bell_shaped_and_rarely_equal() -> None:
    got = make_array(NORMAL, 200_000, 5, "real")
    assert got.min() >= -4.0
    assert got.max() < 4.0
    assert abs(got.mean()) < 0.02
    assert got.std() == pytest.approx(8 * 0.14476, rel=0.01)
    inside = [np.mean(np.abs(got / got.std()) < deviations) for deviations in (0.5, 1.0, 2.0, 3.0)]
    assert inside == pytest.approx([0.383, 0.683, 0.954, 0.997], abs=0.016)
    assert len(np.unique(got)) > 0.999 * got.size


def test_the_parts_of_a_normal_value_below_its_sum_are_uniform_and_independent_of_it() -> None:
    got = make_array(replace(NORMAL, values=Values(low=0, high=1021, shape="normal")), 200_000, 5, "real")
    fraction, total = got % 1, np.floor(got)
    assert np.histogram(fraction, 16, (0, 1))[0] == pytest.approx(200_000 / 16, rel=0.05)
    assert abs(np.corrcoef(fraction, total)[0, 1]) < 0.01
    assert abs(np.corrcoef(fraction, np.abs(total - 510))[0, 1]) < 0.01


def test_real_values_that_rise_lie_on_a_line_through_all_chunks() -> None:
    array = Array("x", "float64", "n", values=Values(low=-3.0, high=5.0, rising=True))
    got = make_array(array, 70_001, 7, "real")
    places = (0, 1, 4097, 65535, 65536, 70_000)
    assert got[list(places)].tolist() == [-3.0 + 8.0 * (i / 70_000) for i in places]
    assert (np.diff(got) > 0).all()
    assert make_array(array, 1, 7, "real") == -3


def test_equal_bounds_give_equal_values() -> None:
    for values in (Values(), Values(shape="normal"), Values(rising=True)):
        array = Array("x", "float32", "n", values=replace(values, low=2.5, high=2.5))
        assert set(make_array(array, 1000, 3, "real").tolist()) == {2.5}


@pytest.mark.parametrize("shape", ["uniform", "normal"])
def test_one_element_in_64_is_the_outlier_and_the_others_are_as_without_it(shape: str) -> None:
    plain = Array("x", "float32", "n", values=Values(low=-1.0, high=1.0, shape=shape))  # type: ignore[arg-type]  # both shapes
    drawn = make_array(plain, 64_000, 3, "real")
    array = replace(plain, values=replace(plain.values, outlier=60.0), masked=True, special=True)
    got = make_array(array, 64_000, 3, "real")
    expected = [word(i, "x", 3) % 64 == 33 for i in range(2000)]
    assert (got[:2000] == 60).tolist() == expected
    assert 850 < (got == 60).sum() < 1150
    assert np.array_equal(got[got != 60], drawn[got != 60])
    for kind in ("masked", "special", "infinite"):
        assert np.array_equal(make_array(array, 64_000, 3, kind) == 60, got == 60)  # type: ignore[arg-type]  # both kinds


def test_further_distributions_are_cases_in_their_order_and_arrays_with_fewer_keep_their_values() -> None:
    large, equal, lengths = Values(low=1e4, high=1e4 + 1), Values(low=3, high=3), Values(exact_low=1, exact_high=1)
    x, h, k, y = EXERCISE.arrays
    arrays = (replace(x, unusual=(large, equal)), h, replace(k, unusual=lengths), y)
    exercise = replace(EXERCISE, arrays=arrays)
    assert unusual_kinds(EXERCISE) == ()
    assert unusual_kinds(exercise) == ("unusual", "unusual_2")
    first, second = (make_inputs(exercise, SIZE, 1, kind) for kind in unusual_kinds(exercise))
    assert first["x"].min() >= 1e4
    assert set(second["x"].tolist()) == {3.0}
    assert set(first["k"].tolist()) == {1}
    assert np.array_equal(second["k"], make_inputs(EXERCISE, SIZE, 1, "real")["k"])
    assert values_of(x, "unusual") == values_of(x, "masked") == x.values


def test_every_fourth_row_can_be_masked_whole_and_no_other_is() -> None:
    array = Array("x", "float32", "rows*cols", masked=True, masked_rows="cols")
    size = {"rows": 10, "cols": 50}
    for seed in range(8):
        got = make_array(array, 500, seed, "masked", size=size).reshape(10, 50)
        whole = np.isneginf(got).all(axis=1)
        assert [row for row in range(10) if whole[row]] == [row for row in range(10) if (row + seed) % 4 == 0]
        half = make_array(replace(array, masked_rows=""), 500, seed, "masked").reshape(10, 50)
        assert np.array_equal(got[~whole], half[~whole])


def test_the_rows_that_are_masked_do_not_depend_on_where_a_chunk_ends() -> None:
    array = Array("x", "float16", "n", masked=True, masked_rows="1000")
    got = make_array(array, 200_000, 2**64 - 1, "masked", size={}).reshape(200, 1000)
    assert np.isneginf(got).all(axis=1).tolist() == [(row + 3) % 4 == 0 for row in range(200)]


# --------------------------------------------------------------------------------------- integers: bounds, permutations


def test_the_first_integers_of_a_case_may_be_given_where_there_are_more():
    x, h, k, y = EXERCISE.arrays

    def case(first: tuple[int | str, ...]) -> list[int]:
        exercise = replace(EXERCISE, arrays=(x, h, replace(k, first=first), y))
        return make_inputs(exercise, SIZE, 1)["k"].tolist()

    drawn = case(())
    assert case((-100, "2*cols")) == [-100, 14, drawn[2]]
    assert case((-100,) * 3) == drawn
    assert make_array(replace(k, first=(-100,)), 3, 1, "exact").tolist() == drawn  # as timed launches have them


@pytest.mark.parametrize(("dtype", "first"), [("float32", 1), ("int32", 2**31), ("uint8", -1)])
def test_first_elements_that_the_array_cannot_hold_are_the_authors_error(dtype, first):
    array = Array("x", dtype, "n", values=Values(exact_low=0, exact_high=9), first=(first,))
    with pytest.raises(UsageError, match="are no integers of it"):
        make_inputs(replace(EXERCISE, arrays=(array, EXERCISE.arrays[-1])), {"n": 4}, 1)


def test_bounds_of_integers_may_be_expressions_over_the_sizes() -> None:
    table = Array("table", "int32", "rows", values=Values(exact_low="-rows", exact_high="2*cols - 1"))
    exercise = replace(EXERCISE, arrays=(table, EXERCISE.arrays[3]))
    got = make_inputs(exercise, SIZE, 4, "real")["table"]
    plain = replace(table, values=Values(exact_low=-5, exact_high=13))
    assert np.array_equal(got, make_array(plain, 5, 4, "exact"))


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("pages - 1", "'table': .*no 'pages'"),
        ("cols / 2.0", "'table': .*not an integer"),
        ("-9", "no integers between"),
    ],
)
def test_a_bound_that_is_none_is_the_authors_error(bound: str, words: str) -> None:
    array = Array("table", "int32", "rows", values=Values(exact_high=bound))
    with pytest.raises(UsageError, match=words):
        make_array(array, 4, 1, "exact", size=SIZE)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 17, 64, 65, 1000, 4096, 100_003])
def test_a_permutation_has_every_number_once(count: int) -> None:
    array = Array("table", "int32", "n", values=Values(permutation=True))
    got = make_array(array, count, 7, "real")
    assert got.dtype == np.int32
    assert sorted(got.tolist()) == list(range(count))
    assert np.array_equal(got, make_array(array, count, 7, "exact"))


def test_permutations_differ_by_seed_array_and_sample_and_look_random() -> None:
    count = 10_000
    base = permutation(count, 1, stream("a")).astype(np.int64)
    for other in (
        permutation(count, 2, stream("a")),
        permutation(count, 1, stream("b")),
        permutation(count, 1, stream("a"), 1),
    ):
        assert (base == other.astype(np.int64)).sum() < 10
    assert abs(np.corrcoef(np.arange(count), base)[0, 1]) < 0.05
    assert (np.abs(np.diff(base)) < 100).mean() < 0.04
    assert (base == np.arange(count)).sum() < 10


@pytest.mark.parametrize(("skew", "first"), [(0, 9), (2, 1600), (6, 8078)])
def test_rising_values_ascend_from_bound_to_bound(skew: int, first: int) -> None:
    values = Values(exact_low=0, exact_high="9*n", rising=True, skew="skew")
    array, size = Array("offsets", "int32", "n + 1", values=values), {"n": 1000, "skew": skew}
    got = make_array(array, 1001, 7, "real", size=size)
    assert (got[0], got[-1]) == (0, 9000)
    assert (np.diff(got) >= 0).all()
    assert first <= got[1] <= 2 ** (0.5**skew) * first + 9
    assert np.array_equal(got, make_array(array, 1001, 7, "exact", size=size))
    assert make_array(array, 1, 7, "real", size=size) == 0


def test_rising_values_with_a_width_stay_near_their_place_and_within_the_bounds() -> None:
    array = Array("columns", "int32", "n", values=Values(exact_low=0, exact_high=9999, rising=True, width=50))
    got = make_array(array, 10_000, 7, "real")
    assert 0 <= got.min() <= got.max() <= 9999
    assert 40 < np.abs(got - np.arange(10_000)).max() <= 51
    assert (np.diff(got) < 0).any()


def test_with_a_width_of_all_numbers_rising_values_are_as_others() -> None:
    array = Array("columns", "int32", "n", values=Values(exact_low=0, exact_high=99, rising=True, skew=1, width=99))
    plain = replace(array, values=Values(exact_low=0, exact_high=99))
    assert np.array_equal(make_array(array, 777, 3, "real"), make_array(plain, 777, 3, "real"))


@pytest.mark.parametrize(
    "array",
    [
        Array("offsets", "int64", "n", values=Values(rising=True, skew=1)),
        Array("offsets", "int32", "n", values=Values(rising=True, skew=-1)),
        Array("offsets", "int32", "n", values=Values(rising=True, skew=65)),
        Array("offsets", "int32", "n", values=Values(rising=True, skew=1, width=-1)),
    ],
    ids=("int64", "skew below 0", "skew above 64", "width below 0"),
)
def test_rising_values_that_are_impossible_are_a_mistake_of_the_exercise(array: Array) -> None:
    with pytest.raises(UsageError, match="integers that rise are int32"):
        make_array(array, 10, 7, "exact")


def test_every_order_of_three_numbers_occurs() -> None:
    orders = {tuple(permutation(3, seed, stream("a")).tolist()) for seed in range(200)}
    assert len(orders) == 6


@pytest.mark.parametrize(
    ("array", "kind", "words"),
    [
        (Array("x", "float32", "n", values=Values(shape="gauss")), "real", "no shape 'gauss' of values"),  # type: ignore[arg-type]  # on purpose
        (Array("x", "float32", "n", values=Values(low=2.0, high=1.0)), "real", "no numbers of float32 between 2 and 1"),
        (Array("x", "float16", "n", values=Values(low=0.0, high=1e5)), "real", "no numbers of float16"),
        (Array("x", "float16", "n", values=Values(outlier=1e5)), "real", "its outlier 100000 is no finite float16"),
        (Array("x", "float32", "n", values=Values(rising=True, outlier=9.0)), "real", "rise have no shape, outlier"),
        (Array("x", "float32", "n", values=Values(permutation=True)), "real", "only an int32 array"),
        (Array("x", "int64", "n", values=Values(permutation=True)), "exact", "only an int32 array"),
        (Array("x", "float32", "n", masked=True, masked_rows="cols"), "masked", "no 'cols'"),
    ],
)
def test_a_distribution_that_is_impossible_is_the_authors_error(array: Array, kind: Kind, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_array(array, 4, 1, kind, size={"n": 4})


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
