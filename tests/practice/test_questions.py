"""Interview questions: a page cut into questions, and numbers that are drawn."""

from __future__ import annotations

import pytest

from grader.errors import UsageError
from grader.expressions import ExpressionError
from grader.practice.questions import Generator, NumericQuestion, Question, generators_in, questions_in

MOVED = """\
[[number]]
ask = "A kernel reads two float arrays of {n} elements. How many MB?"
draw = { n = [1000, 1048576] }
answer = "8 * n / 1e6"
unit = "MB"
decimals = 2
because = "2 × 4 bytes × {n} = {8 * n} bytes."
"""


def generator(**changes: str) -> Generator:
    """A generator of one table, from its fields as TOML."""
    fields = {"ask": '"{n}?"', "draw": "{ n = [1, 2] }", "answer": '"n"', "because": '"So."'} | changes
    [made] = generators_in("[[number]]\n" + "\n".join(f"{key} = {value}" for key, value in fields.items()), "a.toml")
    return made


# ------------------------------------------------------------------------------------------------------ interview.md


def test_questions_are_headings_and_answers_stand_below_them():
    page = "# Page\n\nFor you.\n\n## Why?\n\n### Answer\n\nBecause.\n\n## How?\n\n### Answer\n\nSo.\n"
    assert questions_in(page) == (Question("Why?", "Because."), Question("How?", "So."))


def test_the_last_line_of_an_answer_says_what_an_interviewer_listens_for():
    page = "## Why?\n\n### Answer\n\nBecause.\n\n**Listens for:** one point;\nanother.\n\n## How?\n\nSo.\n"
    assert questions_in(page) == (Question("Why?", "Because.", "one point; another."), Question("How?", "So."))


def test_heading_inside_of_code_is_no_question():
    page = "## Why?\n\n### Answer\n\n```c\n## 1\n**Listens for:** no\n```\n"
    assert questions_in(page) == (Question("Why?", "```c\n## 1\n**Listens for:** no\n```"),)


def test_page_without_questions_has_none():
    assert questions_in("Nothing.\n") == ()


# ---------------------------------------------------------------------------------------------------- interview.toml


def test_a_draw_fills_the_text_and_computes_the_answer():
    [moved] = generators_in(MOVED, "interview.toml")
    assert moved.count == 2
    assert moved.question(1) == NumericQuestion(
        "A kernel reads two float arrays of 1 048 576 elements. How many MB? Round to 2 decimals.",
        8.388608, "MB", "2 × 4 bytes × 1 048 576 = 8 388 608 bytes.", 2,
    )  # fmt: skip
    assert moved.question(1).shown_answer == "8.39 MB"


def test_a_seed_always_draws_the_same_and_seeds_differ():
    many = generator(draw="{ n = { low = 1, high = 1000 } }")
    assert many.draw("a seed") == many.draw("a seed")
    assert len({many.draw(seed).text for seed in range(20)}) > 15


def test_every_draw_has_a_number():
    two = generator(ask='"{n}, {m}?"', draw="{ n = { low = 2, high = 6, step = 2 }, m = [1, 2.5] }")
    assert [two.question(at).text for at in range(two.count)] == [
        "2, 1?", "4, 1?", "6, 1?", "2, 2.5?", "4, 2.5?", "6, 2.5?"
    ]  # fmt: skip


def test_names_of_a_case_go_together_and_may_be_words():
    gpus = generator(
        ask='"{n} on {gpu}, {{so}}?"', draw="{ n = [2] }", answer='"n * rate"', because='"{n} × {rate} is {answer}."',
        cases='[{ gpu = "an A100", rate = 1.5 }, { gpu = "an H200", rate = 4 }]',
    )  # fmt: skip
    assert [(gpus.question(at).text, gpus.question(at).because) for at in range(gpus.count)] == [
        ("2 on an A100, {so}?", "2 × 1.5 is 3."), ("2 on an H200, {so}?", "2 × 4 is 8.")
    ]  # fmt: skip


def test_division_is_exact_and_what_is_nearly_an_integer_is_one():
    assert generator(answer='"n / 4"').question(0).answer == 0.25
    third = generator(answer='"3 * (n / 10)"', draw="{ n = [10, 20] }").question(0).answer
    assert (third, type(third)) == (3, int)


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        ("8.39", True), ("8.39 MB", True), ("8.388608", True), ("8.4", False), ("8.38", False), ("8388608 B", True),
        ("8 * 2^20 / 10^6", True), ("0.00839 GB", True), ("8.39 s", None), ("eight", None), ("", None),
    ],
)  # fmt: skip
def test_an_answer_is_right_at_the_decimals_that_are_asked_for(typed: str, right: bool | None):
    [moved] = generators_in(MOVED, "interview.toml")
    assert moved.question(1).is_right(typed) is right


def test_an_answer_without_decimals_is_right_exactly():
    blocks = generator(answer='"1000 * n"', unit='"blocks"').question(0)
    assert [blocks.is_right(typed) for typed in ("1000", "1e3 blocks", "1 000", "1001", "999.9")] == [
        True, True, True, False, False
    ]  # fmt: skip


def test_a_half_is_rounded_up_where_it_is_shown_and_accepted_either_way():
    half = generator(answer='"n / 4"', decimals="1").question(0)
    assert (half.answer, half.shown_answer) == (0.25, "0.3")
    assert [half.is_right(typed) for typed in ("0.25", "0.3", "0.2", "0.4")] == [True, True, True, False]


def test_one_of_something_is_no_plural():
    sectors = generator(unit='"sectors per warp"')
    assert [sectors.question(at).shown_answer for at in (0, 1)] == ["1 sector per warp", "2 sectors per warp"]
    assert generator(unit='"ms"').question(0).shown_answer == "1 ms"


def test_a_noun_in_braces_is_counted():
    asked = generator(ask='"{n:packs} of {n * 8:halves}, {n / 2:halves}, 3 + {n}?"', draw="{ n = [1, 2] }")
    assert [asked.question(at).text for at in (0, 1)] == [
        "1 pack of 8 halves, 0.5 halves, 3 + 1?", "2 packs of 16 halves, 1 half, 3 + 2?"
    ]  # fmt: skip


def test_a_share_may_be_typed_as_percent_or_as_a_fraction():
    share = generator(answer='"100 * n / 4"', unit='"%"', draw="{ n = [3] }").question(0)
    assert [share.is_right(typed) for typed in ("75", "75 %", "3/4", "0.75", "0.75 %")] == [True] * 4 + [False]


def test_a_word_is_no_number_in_an_expression():
    with pytest.raises(ExpressionError, match="is a word, not a number"):
        generator(draw='{ n = ["one"] }').question(0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": '" "'}, "a.toml, 1st .*: has no answer"),
        ({"anwser": '"n"'}, "has no field 'anwser'"),
        ({"decimals": "1.5"}, "decimals must be an integer"),
        ({"draw": "{}"}, "must draw each name once"),
        ({"draw": "{ n = [] }"}, "n: must be a list of values, or a range"),
        ({"draw": "{ n = { low = 1 } }"}, "n: must be a list of values, or a range"),
        ({"draw": "{ n = { low = 0, high = 10000 } }"}, "n: has 10001 values; at most 5000"),
        ({"cases": "[{ n = 1 }]"}, "must draw each name once"),
        ({"cases": "[{ a = 1 }, { b = 1 }]"}, "tables with the same names"),
        ({"cases": "[{ a = [1] }]"}, "numbers or words"),
    ],
)
def test_an_invalid_table_says_which_one_and_why(changes: dict[str, str], message: str):
    with pytest.raises(UsageError) as refused:
        generator(**changes)
    assert refused.match(message)


@pytest.mark.parametrize(("toml", "message"), [("[[number]", "is not TOML"), ("a = 1", "must hold .*number.* tables")])
def test_a_file_that_is_none_is_refused(toml: str, message: str):
    with pytest.raises(UsageError, match=message):
        generators_in(toml, "interview.toml")
