"""Words and numbers for people."""

from __future__ import annotations

import io
import sys

import pytest

from grader.output import print_line, wrapped
from grader.text import (
    amount,
    case_words,
    duration,
    figure,
    glued,
    index_words,
    listed,
    minutes_words,
    number,
    percent,
    rate,
    safe,
    size_words,
    to_ascii,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\tb", "a    b"),
        ("a\nb", "a b"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202e\u2066\u200b\ufeff", "\\u{202e}\\u{2066}\\u{200b}\\u{feff}"),
        ("\u2028", "\\u{2028}"),
        ("\udcff", "\\u{dcff}"),
        ("\U000e0041", "\\u{e0041}"),
        ("\u3164\u115f\u034f\ufe00\U000e0100", "\\u{3164}\\u{115f}\\u{34f}\\u{fe00}\\u{e0100}"),
        ("größe µ ⚠\ufe0f", "größe µ ⚠\ufe0f"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text, shown):
    assert safe(text) == shown


def test_line_breaks_stay_where_they_are_wanted():
    assert safe("a\nb\r\x0b", lines=True) == "a\nb\\x0d\\x0b"


def test_ascii_keeps_colours_and_folds_the_rest():
    assert to_ascii("\x1b[32m✔\x1b[0m 0.5 µs × ü") == "\x1b[32m+\x1b[0m 0.5 us x \\xfc"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (3.412e12, "B", "3.41 TB/s"),
        (989.4e12, "FLOP", "989 TFLOP/s"),
        (1.1e14, "OP", "110 TOP/s"),
        (1.979e15, "OP", "1.98 POP/s"),
        (5.5e10, "B", "55 GB/s"),
        (12.0, "B", "12 B/s"),
        (3.12e5, "launch", "312 k launches/s"),
        (12.0, "launch", "12 launches/s"),
    ],
)
def test_rates_have_three_digits_and_a_prefix(value, unit, shown):
    assert rate(value, unit) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(1.5, "1.5 s"), (2.134e-4, "213 µs"), (0.0129, "12.9 ms"), (4e-8, "40 ns"), (0.0, "0 ns")]
)
def test_times_have_three_digits_and_a_unit(seconds, shown):
    assert duration(seconds) == shown


def test_counters_are_whole_where_they_are_and_a_dash_where_there_is_nothing():
    assert [number(value) for value in (3.0, 0.98765, 1e6, float("nan"), None, float("inf"))] == [
        "3", "0.9877", "1000000", "–", "–", "inf",
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "shown"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ("abc", "a, b and c")])
def test_words_are_listed_with_an_and_before_the_last(words, shown):
    assert listed(words) == shown


@pytest.mark.parametrize(
    ("minutes", "shown"), [(0, "0 min"), (45, "45 min"), (60, "1 h"), (150, "2 h 30 min"), (1340, "22 h 20 min")]
)
def test_minutes_become_hours(minutes, shown):
    assert minutes_words(minutes) == shown


def test_a_case_names_its_slices():
    assert case_words({"n": 7}, "real", {}) == "n=7, real values"
    assert case_words({"n": 7}, "exact", {"a": 4}) == "n=7, exact values, slice a[4:]"
    assert case_words({"n": 7}, "exact", {"a": 1, "b": 1}) == "n=7, exact values, slices a[1:], b[1:]"


def test_sizes_indices_and_fractions_in_words():
    assert size_words({"rows": 33, "cols": 7}) == "rows=33, cols=7"
    assert index_words((5, 0, 0)) == "5"
    assert index_words((5, 0, 1)) == "(5, 0, 1)"
    assert percent(0.7104) == "71.0 %"


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_message_is_wrapped_on_a_terminal_and_whole_elsewhere(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    message = "grade: there is no exercise 'reduce_v77' among the 57\n       `grade list` shows the names of all"
    monkeypatch.setattr("sys.stderr", io.StringIO())
    print_line(message, to_stderr=True)
    assert sys.stderr.getvalue() == f"{message}\n"
    monkeypatch.setattr("sys.stderr", Terminal())
    print_line(message, to_stderr=True)
    assert sys.stderr.getvalue().splitlines() == [
        "grade: there is no exercise 'reduce_v77'",
        "       among the 57",
        "       `grade list` shows the names of",
        "       all",
    ]


def test_a_line_breaks_between_numbers_alone():
    assert wrapped("of 1 000 000 threads", width=8) == "of\n1 000 000\nthreads"
    assert glued("30 launches of 1 048 576 in 5 1234", "_") == "30 launches of 1_048_576 in 5 1234"


def test_an_amount_has_a_prefix_and_no_exponent():
    assert [amount(268e6, "FLOP"), amount(1.07e9, "B"), amount(12, "B")] == ["268 MFLOP", "1.07 GB", "12 B"]
    assert [figure(value) for value in (0.25, 20.61, 1365.3, 999.7)] == ["0.25", "20.6", "1365", "1000"]
