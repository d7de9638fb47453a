"""The restricted evaluator: C's arithmetic, bounds on every value, errors that point."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.expressions import MAX_LENGTH, ExpressionError, cdiv, did_you_mean, evaluate, evaluate_integer

NAMES = {"n": 1000, "sm_count": 108, "alpha": 2.5}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cdiv(n, 256)", 4),
        ("min(2*sm_count, cdiv(n, 32))", 32),
        ("max(1, 2, n)", 1000),
        ("(n + 31) & ~31", 1024),
        ("1 << 20", 2**20),
        ("2**10 - 1", 1023),
        ("-7 // 2", -4),
        ("256 * sizeof(float)", 1024),
        ("sizeof( unsigned  long long )", 8),
        ("256u + 2UL + 0x10", 274),
        ("0.5f * n", 500.0),
        ("1.5e3f", 1500.0),
        ("alpha * 2", 5.0),
        ("sqrt(n * 10)", 100.0),
        ("  n", 1000),
    ],
)
def test_an_expression_has_the_value_that_c_gives_it(text: str, value: float) -> None:
    assert evaluate(text, NAMES) == value


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1).filter(bool))
def test_division_and_remainder_of_integers_truncate_as_in_c(a: int, b: int) -> None:
    quotient, remainder = evaluate("a / b", {"a": a, "b": b}), evaluate("a % b", {"a": a, "b": b})
    assert quotient * b + remainder == a
    assert abs(remainder) < abs(b)
    assert remainder == 0 or (remainder > 0) == (a > 0)


@given(st.integers(1, 2**40), st.integers(1, 2**20))
def test_cdiv_is_the_least_number_of_blocks_that_covers_all(n: int, block: int) -> None:
    blocks = cdiv(n, block)
    assert blocks * block >= n > (blocks - 1) * block


@pytest.mark.parametrize(
    "text",
    [
        "2**62",
        "2**2**2**2**2**9",
        "10**100",
        "1 << 63",
        "3 << 61",
        "9" * 400,
        "1e400",
        "1e300 * 1e300",
        "-2**62",
        "2.0**9999",
    ],
)
def test_values_beyond_62_bits_are_refused_before_they_are_computed(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"range|shift"):
        evaluate(text, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "missing"),
        ("n +* 2", "not an expression"),
        ("5 6", "not an expression"),
        ("((((", "not an expression"),
        ("n = 5", "not an expression"),
        ("1; 2", "not an expression"),
        ("é", "ASCII"),
        ("1/0", "divides by zero"),
        ("n % 0", "divides by zero"),
        ("cdiv(1, 0)", "divides by zero"),
        ("n < 5", "comparison"),
        ("n if n else 2", "condition"),
        ("'a' * 5", "not a number"),
        ("True", "not a number"),
        ("(1, 2)", "several values"),
        ("n.real", "member"),
        ("n[0]", "element of an array"),
        ("lambda: 1", "not arithmetic"),
        ("[1][0]", "element of an array"),
        ("cdiv(n)", "arguments"),
        ("min(x=1)", "not arithmetic"),
        ("min", "without its arguments"),
        ("min()", "needs a value"),
        ("foo(1)", "calls 'foo'"),
        ("__import__('os')", "not a number"),
        ("sizeof(banana)", "not a type"),
        ("~1.5", "arguments"),
        ("1.5 << 2", "shifted"),
        ("cdiv(1.5, 2)", "integers"),
        ("sqrt(0 - 1)", "has no value"),
    ],
)
def test_what_is_no_arithmetic_is_refused_with_its_reason(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert words in caught.value.message


def test_an_unknown_name_is_named_with_its_place_and_what_exists() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("cdiv(N, 256)", NAMES)
    error = caught.value
    assert error.message == "there is no 'N' in 'cdiv(N, 256)'; the names here are alpha, n, sm_count"
    assert error.hint == "did you mean 'n'?"
    assert error.text[error.position] == "N"


def test_a_name_that_is_no_number_says_why() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("2 * out", NAMES, refused={"out": "is an array, not a number"})
    assert caught.value.message == "'out' in '2 * out' is an array, not a number"


def test_positions_stay_true_behind_suffixes_and_sizeof() -> None:
    text = "256u * sizeof(float) + nn"
    with pytest.raises(ExpressionError) as caught:
        evaluate(text, NAMES)
    assert caught.value.position == text.index("nn")


def test_a_long_text_is_refused_and_not_repeated_in_full() -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("1+" * MAX_LENGTH + "1", {})
    assert str(MAX_LENGTH) in caught.value.message
    with pytest.raises(ExpressionError) as caught:
        evaluate("x + " * 100 + "1", {})
    assert len(caught.value.message) < 200


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(ExpressionError):
        evaluate("-" * (MAX_LENGTH - 1) + "1", {})


def test_an_integer_must_be_one() -> None:
    assert evaluate_integer("n * 3", NAMES) == 3000
    with pytest.raises(ExpressionError, match="not an integer"):
        evaluate_integer("n * 0.5", NAMES)


@given(st.text(alphabet="n0123456789+-*/%<>&|~()., eEfFuUxcdivmax_'\"[]", max_size=60))
def test_any_text_is_a_bounded_number_or_an_expression_error(text: str) -> None:
    with suppress(ExpressionError):  # anything else would fail the test
        assert abs(evaluate(text, {"n": 7})) < 2**62


def test_did_you_mean_ignores_case_and_stays_silent_without_a_near_name() -> None:
    assert did_you_mean("BLOCKSIZE", ["BlockSize", "n"]) == "did you mean 'BlockSize'?"
    assert did_you_mean("qqq", ["n", "rows"]) == ""
