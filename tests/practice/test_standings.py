"""Runs summed up, and shown: as a table, as JSON, as CSV."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import StringIO

import pytest

from grader.cli.practice import prediction_line
from grader.practice.progress import COLUMNS, Predicted, Run
from grader.practice.standings import (
    PlacedExercise,
    moved_sentences,
    prediction_lines,
    progress_document,
    runs_csv,
    summary,
    table_lines,
)

PLACES = [
    PlacedExercise((("", "vector_add", 1),), 102, "01_basics"),
    PlacedExercise((("", "hello", 1),), 103, "01_basics"),
    PlacedExercise((("", "reduce_v3", 1),), 403, "04_reduction"),
]


def run(exercise: str, verdict: str, score: int = 0, day: int = 1, **more) -> Run:
    return Run(f"2026-11-{day:02}T12:00:00Z", more.pop("course", ""), exercise, verdict, score, 80, "sim", **more)


RUNS = [
    run("vector_add", "compile_error", day=1),
    run("vector_add", "pass", 80, day=2),
    replace(run("vector_add", "pass", 100, day=3, fraction_of_peak=0.71, gpu="NVIDIA H200"), max_score=100),
    run("vector_add", "race", 0, day=4),
    run("reduce_v3", "technique", 60, day=5),
    run("reduce_v3", "unsupported", day=6),
]


def predicted(exercise: str, value: float, counted: float) -> Predicted:
    right = value == counted
    return Predicted(
        "2026-11-03T12:00:00Z", "", exercise, 1, "sectors_per_request", "", value, counted, was_right=right
    )


def test_predictions_are_counted_and_the_newest_shown_under_the_names_of_today():
    rows = [predicted("vector_add", 8, 4), predicted("vector_add", 4, 4)]
    names = {("", "vector_add", 1): "adding"}
    assert [*prediction_lines(rows, names, day=lambda at: at[:10])] == [
        "1 of 2 predictions right:",
        "  2026-11-03  adding  sectors_per_request = 8, counted 4: your prediction is 2 times the count",
        "  2026-11-03  adding  sectors_per_request = 4, counted 4: right",
    ]
    many = [*prediction_lines([*rows] * 4, {}, day=lambda at: at[:10])]
    assert many[0] == "4 of 8 predictions right; the newest:"
    assert len(many) == 6
    assert [*prediction_lines([], {}, day=str)] == []


def test_a_count_and_its_judgement_stay_in_one_line():
    line = "  2026-11-03  transpose_v3  shared_load_excess_wavefronts = 0, counted 0: right"
    assert prediction_line(line, 100) == line
    assert prediction_line(line, 76) == line.replace(", counted", ",\n    counted")


def test_the_document_has_every_prediction():
    (row,) = progress_document(summary(PLACES, RUNS, {}), RUNS, [predicted("vector_add", 8, 4)])["predictions"]
    assert (row["counter"], row["predicted"], row["counted"], row["was_right"]) == ("sectors_per_request", 8, 4, False)
    assert (row["exercise"], row["exercise_now"]) == ("vector_add", "vector_add")


def test_standing_has_the_best_run_the_first_pass_and_the_number_of_tries():
    vector_add, hello, reduce_v3 = summary(PLACES, RUNS, {("", "vector_add", 1): 2}).standings
    assert (vector_add.state, vector_add.tries, vector_add.hints_seen) == ("passed", 2, 2)  # up to the first pass
    assert vector_add.best == vector_add.fastest == RUNS[2]
    assert (vector_add.passed_at, vector_add.last_at) == (RUNS[1].at, RUNS[3].at)
    assert (hello.state, hello.tries, hello.best, hello.fastest, hello.last_at) == ("new", 0, None, None, None)
    assert (reduce_v3.state, reduce_v3.tries, reduce_v3.best) == ("tried", 1, RUNS[4])


@pytest.mark.parametrize("verdict", ["unsupported", "error"])
def test_run_that_says_nothing_about_the_file_is_no_try(verdict):
    assert summary(PLACES, [run("hello", verdict)], {}).standings[1].state == "new"


def test_pass_with_fewer_points_is_better_than_a_failure_with_more():
    passed = run("hello", "pass", 80)
    slow = replace(run("hello", "slow", 90), max_score=100)
    assert summary(PLACES, [slow, passed, slow], {}).standings[1].best == passed


def test_speed_that_cannot_be_believed_is_no_best():
    cheat = run("hello", "cheat", fraction_of_peak=9.0, gpu="g")
    slow = run("hello", "slow", fraction_of_peak=0.5, gpu="g")
    assert summary(PLACES, [slow, cheat], {}).standings[1].fastest == slow


def test_exercises_of_other_courses_are_counted_only():
    elsewhere = [run("twice", "pass", 80, course="/teacher"), run("vector_add", "pass", 80, course="/teacher")]
    found = summary(PLACES, elsewhere, {})
    assert (found.elsewhere, found.tries, found.count("new")) == (2, 0, 3)


def test_table_reads_chapter_by_chapter():
    lines = list(table_lines(summary(PLACES, RUNS, {}), title=str.upper, day=lambda at: at[:10]))
    assert lines == [
        "01_BASICS: 1 of 2 passed",
        "✔  102  vector_add  100 of 100  71.0 % of peak  2 tries   2026-11-02",
        "   103  hello",
        "",
        "04_REDUCTION: 0 of 1 passed",
        "○  403  reduce_v3     60 of 80                 1 try     not yet, last tried 2026-11-05",
        "",
        "1 of 3 exercises passed, 1 tried, 3 tries.",
    ]


def test_table_says_that_other_courses_have_runs_too():
    found = summary(PLACES, [run("twice", "pass", 80, course="/teacher")], {})
    last = list(table_lines(found, title=str, day=str))[-1]
    assert last == "0 of 3 exercises passed, 0 tries; 1 exercise of other courses: --course DIR shows them."


def test_document_has_every_exercise_and_every_run():
    document = json.loads(json.dumps(progress_document(summary(PLACES, RUNS, {}), RUNS)))
    assert document["schema"] == "warpgrade/progress/1"
    assert document["totals"] == {"exercises": 3, "passed": 1, "tried": 1, "tries": 3}
    assert document["exercises"][0] == {
        "course": "", "name": "vector_add", "number": 102, "chapter": "01_basics", "state": "passed", "tries": 2,
        "hints_seen": 0, "best_score": 100, "max_score": 100, "best_fraction_of_peak": 0.71, "gpu": "NVIDIA H200",
        "passed_at": "2026-11-02T12:00:00Z", "last_at": "2026-11-04T12:00:00Z",
        "passed_as": None,
    }  # fmt: skip
    assert document["exercises"][1]["best_score"] is None
    assert len(document["runs"]) == len(RUNS)
    assert tuple(document["runs"][0]) == (*COLUMNS, "exercise_now")


def test_csv_is_read_back_as_it_was():
    rows = list(csv.DictReader(StringIO(runs_csv(summary(PLACES, RUNS, {}), RUNS))))
    assert [row["verdict"] for row in rows] == [run.verdict for run in RUNS]
    assert rows[2]["fraction_of_peak"] == "0.71"
    assert rows[0]["gpu"] == ""


def test_text_that_a_spreadsheet_would_compute_is_quoted():
    evil = run("=1+1", "pass", course='@evil,"x"\ny')
    (row,) = csv.DictReader(StringIO(runs_csv(summary([], [evil], {}), [evil])))
    assert (row["exercise"], row["course"]) == ("'=1+1", '\'@evil,"x"\ny')


# ---------------------------------------------------------------------------------------- a course of a second version

STEPS = [
    PlacedExercise((("", "sum_v1", 2), ("", "sum_v1", 1)), 401, "04_sums"),
    PlacedExercise((("", "sum_v2", 2),), 402, "04_sums"),
    PlacedExercise((("", "sum_v3", 2), ("", "sum_v2", 1)), 403, "04_sums"),
    PlacedExercise((("", "sum_v4", 2), ("", "sum_v3", 1)), 404, "04_sums"),
]
"""sum_v2 is new; what version 1 called sum_v2 and sum_v3 is now one further. Its sum_v4 is gone."""
GONE = {("", "sum_v4", 1)}


def states(runs: list[Run]) -> str:
    return " ".join(standing.state for standing in summary(STEPS, runs, {}, gone=GONE).standings)


def test_old_pass_counts_for_the_step_and_not_for_the_one_that_has_its_name_now():
    assert states([run("sum_v2", "pass")]) == "new new passed new"
    assert states([run("sum_v2", "pass", course_version=2)]) == "new passed new new"
    assert states([run("sum_v1", "pass")]) == "passed new new new"  # its name has not changed
    assert states([run("sum_v4", "pass")]) == "new new new new"


def test_hints_and_tries_go_with_the_step():
    found = summary(STEPS, [run("sum_v2", "wrong"), run("sum_v3", "pass", course_version=2)], {("", "sum_v2", 1): 3})
    assert [(standing.tries, standing.hints_seen) for standing in found.standings] == [(0, 0), (0, 0), (2, 3), (0, 0)]


def test_progress_says_which_step_an_old_pass_counts_for():
    def sentences(*runs: Run) -> list[str]:
        return list(moved_sentences(summary(STEPS, runs, {}, gone=GONE)))

    v2, v3 = run("sum_v2", "pass"), run("sum_v3", "pass")
    assert sentences(v2) == ["Your pass of version 1's sum_v2 counts for sum_v3: the step has that name now."]
    assert sentences(v2, v3) == [
        "Your passes of version 1 count under the current names: sum_v2 for sum_v3 and sum_v3 for sum_v4."
    ]
    assert sentences(run("sum_v1", "pass"), run("sum_v2", "wrong")) == []
    assert sentences(v2, run("sum_v3", "pass", course_version=2)) == []  # passed again since
    assert sentences(run("sum_v4", "pass")) == ["The course no longer has version 1's sum_v4, which you passed."]


def test_run_of_a_step_that_is_gone_is_not_of_another_course():
    found = summary(STEPS, [run("sum_v4", "pass"), run("twice", "pass", course="/teacher")], {}, gone=GONE)
    assert found.elsewhere == 1


def test_run_of_a_later_version_counts_for_nothing_and_is_not_of_another_course():
    later = run("sum_v9", "pass", course_version=3), run("sum_v1", "pass", course_version=3)
    found = summary(STEPS, later, {}, gone=GONE)
    assert (found.elsewhere, found.count("passed")) == (0, 0)


def test_other_tools_get_the_name_of_then_and_the_name_of_now():
    runs = [run("sum_v2", "pass"), run("sum_v4", "pass")]
    found = summary(STEPS, runs, {}, gone=GONE)
    document = progress_document(found, runs)
    assert [(row["exercise"], row["course_version"], row["exercise_now"]) for row in document["runs"]] == [
        ("sum_v2", 1, "sum_v3"),
        ("sum_v4", 1, None),
    ]
    assert [row["passed_as"] for row in document["exercises"]] == [None, None, {"name": "sum_v2", "version": 1}, None]
    assert [row["exercise_now"] for row in csv.DictReader(StringIO(runs_csv(found, runs)))] == ["sum_v3", ""]
