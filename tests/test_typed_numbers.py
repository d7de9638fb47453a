"""Numbers as people type them, with and without units."""

from __future__ import annotations

import pytest

from grader.typed_numbers import typed_rounding, typed_value, values_in_unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("12.5", 12.5), ("1e6", 1e6), ("3/4", 0.75), ("2^20", 2**20), ("1 048 576", 2**20),
        ("1,048,576", 2**20), ("4 MiB", 2**22), ("8*n", 8000), ("cdiv(n, 256)", 4), ("-3", -3), ("about 3", None),
        ("", None), ("__import__('os')", None), ("12,5", None),
    ],
)  # fmt: skip
def test_a_number_or_arithmetic_has_a_value_and_everything_else_none(text: str, value: float | None) -> None:
    assert typed_value(text, {"n": 1000}) == value


def test_what_is_typed_with_a_point_is_rounded_by_half_of_its_last_digit() -> None:
    assert [typed_rounding(text) for text in ("0.18", "8.3e6", "4", "3/4")] == [0.005, 50_000, 0, 0]


@pytest.mark.parametrize(
    ("text", "unit", "values"),
    [
        ("12.5", "MB", (12.5,)), ("12.5 MB", "MB", (12.5,)), ("12.5mb", "MB", (12.5,)), ("0.0125 GB", "MB", (12.5,)),
        ("4 KiB", "B", (4096,)), ("2 us", "µs", (2,)), ("0.002 ms", "µs", (2,)), ("3 TB/s", "GB/s", (3000,)),
        ("1/12 FLOP per byte", "FLOP/B", (1 / 12,)), ("60 TFLOPS", "TFLOP/s", (60,)), ("≈ 7", "", (7,)),
        ("1 sector", "sectors", (1,)), ("4", "sectors", (4,)), ("6 blocks", "blocks per SM", (6,)),
        ("1 Block per SM", "blocks per SM", (1,)),
        ("75 %", "%", (75,)), ("3/4", "%", (0.75, 75)), ("75 %", "", (0.75,)), ("8x", "times", (8,)),
        ("4 apples", "sectors", ()), ("4 s", "MB", ()), ("4 GB", "GB/s", ()), ("MB", "MB", ()), ("", "", ()),
        ("4 MB", "", ()), ("8 times", "", (8,)),
    ],
)  # fmt: skip
def test_an_answer_may_leave_its_unit_out_or_take_a_related_one(
    text: str, unit: str, values: tuple[float, ...]
) -> None:
    assert values_in_unit(text, unit) == pytest.approx(values)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("8, because 256/32 = 8", "", 8),
        ("8 because 256 threads are 8 warps", "warps", 8),
        ("4 * 32 = 128 bytes", "B", 128),
        ("about 12.5 MB", "MB", 12.5),
        ("29 ms: 140 GB / 4.8 TB/s", "ms", 29),
        ("75 % (three of four)", "%", 75),
        ("it is 1,048,576", "", 1048576),
    ],
)
def test_a_reason_beside_the_number_is_no_obstacle(text: str, unit: str, value: float) -> None:
    assert values_in_unit(text, unit) == (pytest.approx(value),)


@pytest.mark.parametrize("text", ["because 8", "a few", "many, 8 of them", "-"])
def test_words_before_any_number_are_no_answer(text: str) -> None:
    assert values_in_unit(text, "") == ()
