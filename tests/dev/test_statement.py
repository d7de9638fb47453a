"""What is counted in a statement, what its form asks, and whom it binds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.catalog.courses import built_in_course
from grader.catalog.exercises import load_catalog
from grader.dev.statement import MOST_VALUES, MOST_WORDS, form_of, has_form
from grader.dev.static import form_problems

STATEMENT = """\
# scale

## The question

Five words are counted here.

```
a drawing of no words, 3.2 ms wide
```

<!-- claim: stub sectors = 4
     over two lines -->
<!-- measured: scale -->
Measured on an H200: `scale` takes 235.5 µs at n = 268435456: 4560 GB/s, 0.947 of peak.
<!-- end -->

## Before and after

```diff
- before
+ after
```

## Predict

What is `sectors`?

## The task

| stage | what it asks |
|---|---|
| fast | 0.5 of peak or more |

## If it does not pass

Nobody counts these words: 5 ms, 6 ms.
"""


def said(prose: str) -> str:
    """The statement with other prose below its question."""
    return STATEMENT.replace("Five words are counted here.", prose)


def test_words_of_prose_are_counted_up_to_the_last_part_and_nothing_else():
    headings = "scale The question Before and after Predict What is sectors? The task"
    assert form_of(STATEMENT).words == len(headings.split()) + 5
    assert form_of(STATEMENT).values == ()


def test_signs_without_a_letter_or_a_digit_are_no_words():
    assert form_of(said("one – two · three → four = five")).words == form_of(STATEMENT).words


@pytest.mark.parametrize(
    ("prose", "values"),
    [
        ("It takes 235.5 µs, and 2 ms there.", ("235.5 µs", "2 ms")),
        ("At 55 GB/s, 4.8 TB/s and 989 TFLOP/s.", ("55 GB/s", "4.8 TB/s", "989 TFLOP/s")),
        ("That is 0.94 of peak,\nor 94 % of it, or 94 per cent.", ("0.94", "94 %", "94 per cent")),
        ("It is 5 to 8 times as fast, or 2.5 × faster.", ("8 times as", "2.5 × faster")),
        ("One step costs 396 clocks at 1.98 GHz.", ("396 clocks", "1.98 GHz")),
        ("It executes 0.21 instructions an element.", ("0.21",)),
    ],
)
def test_a_time_a_rate_a_share_and_a_number_with_decimals_are_values(prose, values):
    assert form_of(said(prose)).values == values


@pytest.mark.parametrize(
    "prose",
    [
        "A block of 256 threads in 8 warps, n = 2^28, 65 536 elements.",
        "That is 3.2 GB: 16 KB in each SM, 37.5 MiB of L2, 17.2 · 10⁹ operations.",
        "A `float` is 4 bytes, a sector 32 bytes, 4 sectors a request.",
        "On `sm_90`, with CUDA 12.9, CuPy 14.2, `ptxas` 13.0 and compute capability 9.0.",
        "It says `0.94 of peak` or `1.0f`, in reduce_v3 and step 2.",
        "It is loaded 4 times, 32 times as much, and 3 sectors.",
    ],
)
def test_a_size_a_version_a_name_and_code_are_no_values(prose):
    assert form_of(said(prose)).values == ()


def test_more_words_or_values_than_a_screen_holds_are_too_many():
    fits = MOST_WORDS - form_of(said("")).words
    assert form_of(said("word " * fits)).too_many == ()
    assert form_of(said("word " * (fits + 1))).too_many == (
        '651 words before "If it does not pass"; at most 650 are read',
    )
    assert form_of(said("2 ms. " * MOST_VALUES)).too_many == ()
    (message,) = form_of(said("2 ms. " * (MOST_VALUES + 1))).too_many
    assert message == "9 measured or computed values in its prose; at most 8 are remembered"


@pytest.mark.parametrize(
    ("prose", "message"),
    [
        ("Two rounds were faster by 2 %.", "line 5: '2 %' is measured, but typed by hand"),
        ("Measured: 235 µs.", "line 5: '235 µs' is measured, but typed by hand"),
        ("In a trial\n\n1.2 ms. Then it reached\n0.93 of peak.", "line 8: '0.93' is measured, but typed by hand"),
        ("| step | rate, this = 1 |\n|---|---|\n| 2 | 0.9 |", "line 5: a table of measured values, typed by hand"),
        ("It is probably slower.", "line 5: 'probably': measure it, or leave it out"),
    ],
)  # fmt: skip
def test_a_measured_value_is_generated_and_a_guess_left_out(prose, message):
    assert form_of(said(prose)).unproven == (message,)


@pytest.mark.parametrize(
    "prose",
    [
        "At the 4.8 TB/s of an H200, 3.2 GB take 0.67 ms.",
        "The link carries 55 GB/s each way: 4.9 ms for 256 MiB.",
        "A longer column needs 4.5 bytes.",
        "It must be faster. At least 0.9 of the places are taken.",
        "| for each element | sectors |\n|---|---|\n| v2 | 0.25 |",
    ],
)
def test_what_is_computed_or_from_a_datasheet_need_not_be_generated(prose):
    assert form_of(said(prose)).unproven == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("## Predict\n", "## A guess\n", 'its parts are "The question", "Before and after", "A guess"'),
        ("## Predict\n\nWhat is `sectors`?\n\n", "", 'its parts are "The question", "Before and after", "The task"'),
        ("```diff\n- before\n+ after\n```", "So.", '"Before and after" shows no code'),
        ("- before\n", "- before\n" * 12, 'the code of "Before and after" has 13 lines; at most 12'),
    ],
)
def test_the_five_parts_are_there_in_order_and_the_second_is_a_short_diff(old, new, words):
    assert form_of(STATEMENT).parts == ()
    (message,) = form_of(STATEMENT.replace(old, new)).parts
    assert message.startswith(words)


@pytest.mark.parametrize("words", ["by the formulas above", "as in the\npicture", "see the picture"])
def test_a_task_does_not_point_at_what_an_interview_does_not_show(words):
    task = STATEMENT.replace("## The task\n", f"## The task\n\nCompute `y` {words}.\n")
    assert [" ".join(words.split()[-2:]) in text for text in form_of(task).parts] == [True]
    assert not form_of(said(f"Compute `y` {words}.")).parts


def test_a_heading_inside_code_is_no_part():
    assert form_of(said("```\n## Not a part\n```")).parts == ()
    assert has_form(STATEMENT)
    assert not has_form(STATEMENT.replace("## The question", "## The idea"))


def test_the_built_in_course_keeps_to_the_form_once_a_statement_has_it(tmp_path):
    ours = replace(load_catalog().find("vector_add"), folder=tmp_path)
    assert ours.course == built_in_course()
    ours.statement.write_text(STATEMENT)
    assert form_problems(ours) == ([], [], "README.md: 17 words, 0 values")
    ours.statement.write_text(said("It took 2 ms."))
    assert [str(problem) for problem in form_problems(ours)[0]] == [
        "README.md: line 5: '2 ms' is measured, but typed by hand"
    ]
    ours.statement.write_text("# scale\n" + "word " * 700)
    assert form_problems(ours) == ([], [], "")


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("How fast is it?", 'its part "Predict" names no counter'),
        ("Is `n` 4?", 'its part "Predict" names no counter'),
        ("What are `copies`?", 'its part "Predict": copies is a counter of host files, and vector_add has none'),
        ("What are `registers`?", 'its part "Predict": vector_add does not count registers: only exercises that '
         "require occupancy do"),
    ],
)  # fmt: skip
def test_a_statement_asks_for_counters_that_can_be_predicted(tmp_path, part, message):
    ours = replace(load_catalog().find("vector_add"), folder=tmp_path)
    ours.statement.write_text(STATEMENT.replace("What is `sectors`?", part))
    assert [problem.message for problem in form_problems(ours)[0]] == [message]
    ours.statement.write_text(STATEMENT.replace("What is `sectors`?", "`grade vector_add --predict sectors=VALUE`"))
    assert form_problems(ours)[0] == []


def test_other_courses_write_as_they_like_and_get_advice(scale):
    scale.statement.write_text("# scale\n" + "word " * 700)
    problems, advice, counts = form_problems(scale)
    assert [str(message) for message in advice] == [
        'README.md: 701 words before "If it does not pass"; at most 650 are read'
    ]
    assert (problems, counts) == ([], "")
    scale.statement.write_text(said("It took 2 ms."))
    assert form_problems(scale) == ([], [], "README.md: 16 words, 1 value")
