"""Outputs against the oracle: what passes, the first element that does not, what it looks like, and the self-test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.catalog.exercises import load_catalog
from grader.compare import chain_error, compare, self_test
from grader.compare.self_test import TrialCase
from grader.errors import GraderFault, UsageError
from grader.exercise import Array, Exercise, Tolerance, Values
from grader.findings.record import Finding
from grader.findings.sentences import sentence
from grader.inputs import poison
from grader.launch import Launch, LaunchPlan, Scratch

Real = npt.NDArray[np.float64]
Kind = Literal["exact", "real"]
COURSE = Path(__file__).parents[1] / "course"
SCALE = load_catalog([COURSE]).find("scale").exercise


def exercise(
    dtype: Any = "float32", count: str = "n", *, axes: Mapping[str, str] | None = None, **tolerance: Any
) -> Exercise:
    return replace(
        SCALE,
        arrays=(Array("x", "float32", "n"), Array("y", dtype, count, role="out", axes=axes or {})),
        tolerance=Tolerance(**tolerance),
    )


def judged(
    got: npt.NDArray[Any],
    expected: Any,
    *,
    of: Exercise | None = None,
    values: Kind = "exact",
    size: Mapping[str, int] | None = None,
    inputs: Mapping[str, npt.NDArray[Any]] | None = None,
    plan: LaunchPlan | None = None,
) -> Finding | None:
    found = of or exercise(got.dtype.name)
    oracle = np.asarray(expected, dtype=np.float64)
    return compare(found, size or {"n": len(got)}, values, {"y": got}, {"y": oracle}, inputs or {}, plan=plan)


def wrong(got: npt.NDArray[Any], expected: Any, **more: Any) -> Finding:
    found = judged(got, expected, **more)
    assert found is not None
    return found


def floats(*values: float) -> npt.NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def digits_of(found: Finding) -> tuple[str, str]:
    return found.facts["got"], found.facts["expected"]


COUNTING = np.arange(1.0, 101.0)

# ---------------------------------------------------------------------------------------------------------- what passes


def test_exact_cases_allow_nothing_but_the_sign_of_zero() -> None:
    assert judged(floats(1, -0.0, 3), [1, 0, 3]) is None
    assert wrong(floats(1, 2, np.nextafter(np.float32(3), np.float32(4))), [1, 2, 3]).index == 2


def test_exact_cases_compare_with_the_answer_rounded_to_the_dtype() -> None:
    assert judged(floats(0.1), [0.1]) is None
    assert judged(np.array([3, -4], dtype=np.int32), [3, -4]) is None
    assert judged(np.array([2049], dtype=np.float16), [2048]) is None  # 2049 is no half


def test_a_single_nan_among_other_wrong_elements_is_one_of_them() -> None:
    alone = wrong(floats(1, np.nan, 3), [1, 2, 3])
    assert (alone.cause, alone.facts["nan"], alone.facts["wrong"]) == ("nan", 1, 1)
    others = wrong(floats(5, np.nan, 3), [1, 2, 3])
    assert (others.index, others.facts["wrong"]) == (0, 2)
    assert (others.cause, others.facts["nan"]) == ("nan", 1)


def test_nan_and_infinity_are_right_only_where_they_are_expected() -> None:
    kinds: tuple[Kind, ...] = ("exact", "real")
    for values in kinds:
        of = exercise(relative=1.0, absolute=1e30)
        assert judged(floats(np.nan, np.inf), [np.nan, np.inf], of=of, values=values) is None
        assert wrong(floats(np.nan), [1], of=of, values=values).index == 0
        assert wrong(floats(np.inf), [1], of=of, values=values).index == 0
        assert wrong(floats(1), [np.inf], of=of, values=values).index == 0
        assert wrong(floats(-np.inf), [np.inf], of=of, values=values).index == 0


@given(st.floats(-1e6, 1e6), st.floats(0, 1e-2), st.floats(0, 10), st.floats(-20, 20))
def test_real_cases_follow_the_formula_of_the_tolerance(
    value: float, relative: float, absolute: float, off: float
) -> None:
    of = exercise("float64", relative=relative, absolute=absolute)
    got = np.array([value + off])
    within = abs(got[0] - value) <= absolute + relative * abs(value)
    assert (judged(got, [value], of=of, values="real") is None) == bool(within)


def test_a_zero_tolerance_asks_for_the_correctly_rounded_answer() -> None:
    assert judged(floats(1 / 3), [1 / 3], values="real") is None
    assert judged(np.nextafter(floats(1 / 3), np.float32(1)), [1 / 3], values="real") is not None


def test_a_chain_allows_its_roots_worth_of_roundings() -> None:
    of = exercise(chain="n", scale="2*sqrt(n)", chain_factor=3.0)
    bound = 3.0 * 2**-23 * 10 * 20
    assert chain_error(of, {"n": 100}, np.dtype(np.float32)) == pytest.approx(bound, rel=1e-12)
    assert chain_error(of, {"n": 100}, np.dtype(np.int32)) == 0
    expected = np.zeros(100)
    assert judged(np.full(100, 0.99 * bound, dtype=np.float32), expected, of=of, values="real") is None
    assert judged(np.full(100, 1.01 * bound, dtype=np.float32), expected, of=of, values="real") is not None


def test_integers_may_be_off_only_by_the_absolute_tolerance() -> None:
    got = np.array([5, 6], dtype=np.int8)
    assert wrong(got, [5, 7], values="real").index == 1
    assert judged(got, [5, 7], of=exercise("int8", absolute=1), values="real") is None


def test_a_tolerance_that_is_no_expression_is_the_authors_error() -> None:
    with pytest.raises(UsageError, match="the tolerance of scale: there is no 'm'"):
        judged(floats(1), [2], of=exercise(chain="m"), values="real")


# --------------------------------------------------------------------------------------------------------- what is said


def test_the_first_wrong_element_is_named_with_both_values_and_the_count() -> None:
    got = COUNTING.astype(np.float32)
    got[[40, 70]] = (-3, 1e9)
    found = wrong(got, COUNTING)
    assert (found.array, found.index) == ("y", 40)
    assert found.facts == {
        "size": {"n": 100}, "place": {}, "position": None, "value": "got", "inputs": "",
        "got": "-3.0", "expected": "41.0", "wrong": 2, "count": 100,
    }  # fmt: skip


def test_outputs_are_compared_in_the_exercises_order() -> None:
    of = replace(
        SCALE, arrays=(*SCALE.inputs, Array("q", "float32", "n", role="out"), Array("p", "float32", "n", role="out"))
    )
    bad = {"p": floats(1), "q": floats(1)}
    found = compare(of, {"n": 1}, "exact", bad, {"p": np.zeros(1), "q": np.zeros(1)}, {})
    assert found is not None
    assert found.array == "q"


def test_row_and_column_are_named_where_the_count_is_a_product() -> None:
    expected = np.arange(12.0)
    got = expected.astype(np.float32)
    got[7] = 0
    found = wrong(got, expected, of=exercise(count="rows*cols"), size={"rows": 3, "cols": 4, "n": 1})
    assert found.facts["position"] == (1, 3)


def test_an_element_that_was_never_written_is_called_so() -> None:
    got = COUNTING.astype(np.float32)
    got[-1:] = poison("float32", 1)
    found = wrong(got, COUNTING)
    assert (found.index, found.facts["value"]) == (99, "unwritten")


def test_a_difference_in_the_last_bit_shows_in_the_digits() -> None:
    found = wrong(np.nextafter(floats(1), np.float32(2)), [1])
    assert digits_of(found) == ("1.0000001", "1.0")


def test_what_a_pass_computed_from_unwritten_scratch_is_not_said_to_be_unwritten() -> None:
    through_scratch = LaunchPlan((), (Scratch("ping", "float32", 4),))
    found = wrong(poison("float32", 1), [48], plan=through_scratch)
    assert found.facts["value"] == "unwritten_or_computed"


def test_numbers_are_written_plainly_where_they_are_of_ordinary_size() -> None:
    assert digits_of(wrong(floats(-642138), [-1605345])) == ("-642138.0", "-1605345.0")
    assert digits_of(wrong(floats(1e-7), [3e20])) == ("1e-07", "3e+20")
    assert digits_of(wrong(np.array([5], dtype=np.int32), [16777217])) == ("5", "16777217")


def test_a_single_number_that_is_an_inputs_first_is_recognised() -> None:
    inputs = {"x": floats(7, 8)}
    assert wrong(floats(7), [15], of=exercise(count="1"), size={"n": 2}, inputs=inputs).cause == "copy"
    assert wrong(floats(0), [15], of=exercise(count="1"), size={"n": 2}, inputs={"x": floats(0, 15)}).cause == ""


@pytest.mark.parametrize(
    ("got", "expected", "says"),
    [
        (floats(2160), [135], "; it is 16 times what it should be"),
        (floats(-62464), [-61], "; it is 1024 times what it should be"),
        (floats(16), [1], ""),  # a coincidence, perhaps
        (floats(405), [135], ""),
        (floats(-270), [135], ""),
        (floats(1, 270), [1, 135], ""),
    ],
)
def test_a_single_sum_that_was_added_up_several_times_is_told_how_often(got: Any, expected: Any, says: str) -> None:
    found = wrong(got, expected, of=exercise(count=str(len(got))), size={"n": 2})
    assert (found.cause == "multiple") is bool(says)
    assert sentence(found).endswith(says)


def with_tail(count: int) -> npt.NDArray[Any]:
    got = COUNTING.astype(np.float32)
    got[-count:] = poison("float32", count)
    return got


@pytest.mark.parametrize(
    ("got", "cause", "facts"),
    [
        (poison("float32", 100), "nothing_written", {}),
        (with_tail(3), "last_unwritten", {"unwritten": 3}),
        (np.where(COUNTING % 2, COUNTING, poison("float32", 100)).astype(np.float32), "unwritten", {"unwritten": 50}),
        (np.where(COUNTING < 99, COUNTING, np.nan).astype(np.float32), "nan", {"nan": 2}),
        (np.zeros(100, dtype=np.float32), "constant", {"value_of_all": "0.0"}),
        (np.full(100, 7, dtype=np.float32), "constant", {"value_of_all": "7.0"}),
        (np.cos(COUNTING).astype(np.float32), "copy", {"copy_of": "x"}),
        (np.roll(COUNTING, -1).astype(np.float32), "shifted_after", {}),
        (np.roll(COUNTING, 1).astype(np.float32), "shifted_before", {}),
        ((2 * COUNTING).astype(np.float32), "multiple", {"ratio": "2"}),
        ((-COUNTING).astype(np.float32), "multiple", {"ratio": "-1"}),
        (np.where(COUNTING < 50, COUNTING, -0.0).astype(np.float32), "zeros", {}),
        (COUNTING.astype(np.float32) + np.tile([0.001, -0.001], 50).astype(np.float32), "near", {"largest": "0.001"}),
        (
            np.where(COUNTING <= 64, COUNTING, 5 - COUNTING**2).astype(np.float32),
            "from_some_element_on",
            {"multiple_of": 64},
        ),
    ],
)
def test_guess_says_what_a_wrong_array_looks_like(got: npt.NDArray[Any], cause: str, facts: dict[str, Any]) -> None:
    found = wrong(got, COUNTING, inputs={"x": np.cos(COUNTING).astype(np.float32)})
    assert found.cause == cause
    assert facts.items() <= found.facts.items()


def test_whole_numbers_where_fractions_belong_are_told() -> None:
    expected = COUNTING + 0.75
    assert wrong(np.trunc(expected).astype(np.float32), expected).cause == "whole_numbers"
    assert wrong((COUNTING[::-1] ** 2).astype(np.float32), expected).cause != "whole_numbers"  # of whole inputs
    alone = exercise(count="1")
    assert "it is a whole number, and should not be" in sentence(wrong(floats(190.0), [190.96], of=alone))
    assert wrong(floats(17.0), [190.96], of=alone).cause != "whole_numbers"


def test_integers_are_not_said_to_lack_precision() -> None:
    got = COUNTING.astype(np.int32) * 1000
    assert wrong(got + np.tile([1, -1], 50), 1000 * COUNTING).cause != "near"


def test_the_beginning_of_a_row_says_nothing_about_blocks() -> None:
    of, size = exercise(count="rows*cols", axes={"row": "rows", "column": "cols"}), {"rows": 4, "cols": 64, "n": 64}
    expected = np.arange(1.0, 257)
    got = np.where(np.arange(256) < 128, expected, 5 - expected**2).astype(np.float32)
    assert wrong(got, expected, of=of, size=size).facts["multiple_of"] == 0


def test_neighbours_values_here_and_there_are_no_index_that_is_off_by_one() -> None:
    got = np.where(COUNTING % 2 == 1, COUNTING, COUNTING - 1).astype(np.float32)  # each odd word again in the next
    assert "shifted" not in wrong(got, COUNTING).cause
    assert "shifted" not in wrong(np.roll(COUNTING // 90, 1).astype(np.float32), COUNTING // 90).cause


def test_row_and_column_are_those_of_two_sizes_only() -> None:
    got = COUNTING.astype(np.float32) + 7
    size = {"rows": 4, "n": 100}
    assert wrong(got, COUNTING, of=exercise(count="25*rows"), size=size).facts["position"] is None


def test_a_transposed_matrix_is_recognised_by_its_shape() -> None:
    got = COUNTING.reshape(25, 4).T.reshape(-1).astype(np.float32)
    of = exercise(count="rows*cols")
    found = wrong(got, COUNTING, of=of, size={"rows": 25, "cols": 4, "n": 100})
    assert found.cause == "transposed"
    assert wrong(got, COUNTING, of=of, size={"rows": 10, "cols": 10, "n": 100}).cause == ""


def test_the_guess_is_silent_where_nothing_fits() -> None:
    noise = (COUNTING * np.tile([1.5, -2.0, 7.0, 0.3], 25)).astype(np.float32)
    assert wrong(noise, COUNTING).cause == ""


def test_a_byte_that_looks_like_poison_is_not_called_unwritten() -> None:
    got = np.array([1, 2, 127, 4], dtype=np.int8)
    found = wrong(got, [1, 2, 3, 4])
    assert found.facts["value"] == "got"
    got = poison("int8", 4).astype(np.int8)
    got[0] = 1
    found = wrong(got, [1, 2, 3, 4])
    assert found.facts["value"] == "got"
    assert "unwritten" not in found.cause


def plan_of(*launches: tuple[int, int]) -> LaunchPlan:
    return LaunchPlan(tuple(Launch("k", (), (grid, 1, 1), (block, 1, 1)) for grid, block in launches))


def test_the_probable_writer_is_named_where_each_thread_has_one_element() -> None:
    got = COUNTING.astype(np.float32)
    got[70] = 0
    assert wrong(got, COUNTING, plan=plan_of((4, 32))).thread is None  # something was written there
    got[70:71] = poison("float32", 1)
    found = wrong(got, COUNTING, plan=plan_of((4, 32)))
    assert (found.block, found.thread) == ((2, 0, 0), (6, 0, 0))


@pytest.mark.parametrize("plan", [plan_of((2, 32)), plan_of((40, 32)), plan_of((4, 32), (4, 32)), None])
def test_no_writer_is_named_where_it_is_uncertain(plan: LaunchPlan | None) -> None:
    got = COUNTING.astype(np.float32)
    got[70:71] = poison("float32", 1)
    assert wrong(got, COUNTING, plan=plan).thread is None


def test_declared_axes_name_the_wrong_element() -> None:
    got = COUNTING.astype(np.float32)
    got[37] = 0
    axes = {"head": "heads", "query": "n_q", "column": "4"}
    of = exercise(count="heads*n_q*4", axes=axes)
    found = wrong(got, COUNTING, of=of, size={"heads": 5, "n_q": 5, "n": 100})
    assert found.facts["place"] == {"head": 1, "query": 4, "column": 1}
    assert sentence(found).startswith("y[37] (head 1, query 4, column 1) at ")


def test_a_factor_of_each_row_is_told_where_the_rows_differ() -> None:
    factors = np.repeat([0.74, 1.5, 1.0, 1.25], 25)
    of, size = exercise(count="rows*cols"), {"rows": 4, "cols": 25, "n": 100}
    found = wrong((COUNTING * factors).astype(np.float32), COUNTING, of=of, size=size)
    assert found.cause == "multiple_in_each_row"
    assert "; each row is wrong by a factor of its own (row 0: 0.74)" in sentence(found)
    noise = (COUNTING * factors * np.tile([1, 1.01, 1, 0.98], 25)).astype(np.float32)
    assert wrong(noise, COUNTING, of=of, size=size).cause == ""


def test_a_missing_or_short_array_is_the_graders_fault() -> None:
    with pytest.raises(GraderFault, match="no array 'y'"):
        compare(exercise(), {"n": 2}, "exact", {}, {"y": np.zeros(2)}, {})
    with pytest.raises(GraderFault, match=r"the oracle mini:scale gave 'y' with shape \(3,\)"):
        compare(exercise(), {"n": 2}, "exact", {"y": floats(0, 0)}, {"y": np.zeros(3)}, {})


# -------------------------------------------------------------------------------------------------------- the self-test

# `grade dev check` tests every exercise of the course so: tests/test_course.py.


def scaled(inputs: Mapping[str, npt.NDArray[Any]], numbers: Mapping[str, float]) -> dict[str, Real]:
    return {"y": numbers["factor"] * inputs["x"].astype(np.float64)}


@pytest.mark.parametrize(
    ("change", "oracle", "found"),
    [
        ({"tolerance": Tolerance(absolute=10), "exact": False}, scaled, "y passes although it holds zeros"),
        ({"tolerance": Tolerance(relative=1e-2), "exact": False}, scaled, "the answer rounded to 10 bits"),
        ({"tolerance": Tolerance(relative=1e-2), "exact": False}, scaled, "from inputs in the next lower format"),
        ({"scalars": {"factor": 1.0}}, scaled, "y passes although it holds a copy of x"),
        ({}, lambda inputs, numbers: {"y": np.full(64, 3.0)}, "its mean everywhere"),
        ({}, lambda inputs, numbers: {"y": np.ones(64)}, "y passes although it holds ones"),
        ({}, lambda inputs, numbers: {"y": np.full(64, 0.1)}, "the exact answer of y is not exact in float32"),
    ],
)
def test_a_comparison_that_is_too_kind_is_found(change: dict[str, Any], oracle: Any, found: str) -> None:
    assert any(found in problem for problem in self_test(replace(SCALE, **change), {"n": 64}, oracle))


def test_small_integers_alone_do_not_show_a_lower_precision() -> None:
    small = replace(
        SCALE,
        arrays=(Array("x", "float32", "n", values=Values(exact_low=-8, exact_high=8)), SCALE.arrays[1]),
        tolerance=Tolerance(relative=0.01),
    )
    assert any("rounded to 10 bits" in problem for problem in self_test(small, {"n": 64}, scaled))
    assert self_test(replace(small, tolerance=SCALE.tolerance), {"n": 64}, scaled) == []


def test_a_copy_may_be_right_where_the_exercise_says_so() -> None:
    copied = replace(SCALE, scalars={"factor": 1.0}, self_test_copies=False)
    assert self_test(copied, {"n": 64}, scaled) == []


def test_rejects_fills_in_the_right_answer_for_other_outputs() -> None:
    of = replace(SCALE, arrays=(*SCALE.arrays, Array("z", "float32", "n", role="out")))
    expected = {"y": np.ones(3), "z": np.ones(3)}
    case = TrialCase(of, {"n": 3}, "exact", inputs={}, expected=expected, make_coarse=dict)
    assert not case.rejects({"y": floats(1, 1, 1)})
    assert case.rejects({"z": floats(1, 1, 2)})
