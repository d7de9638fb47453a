"""Which submission counts, with how many points, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from class_samples import ASSIGNMENT, DEADLINE, ZONE, class_of_30, record, result, submission
from verdict_samples import PASSED, RACY, WASTEFUL

from grader.classroom.gradebook import OPEN, Grade, gradebook, lateness, rounded
from grader.classroom.records import ClassRecord, LateRule, Override

SECOND = timedelta(seconds=1)
RULE = LateRule(grace_minutes=10, percent_per_day=20, days=3)


def grade(made: ClassRecord, student: str = "ada", exercise: str = "vector_add") -> Grade:
    return next(row for row in gradebook(made).rows if row.student.id == student).of(exercise)


def counting(counts: str, *submissions, results=None) -> Grade:
    more = {} if results is None else {"results": tuple(results)}
    return grade(record(*submissions, assignment=replace(ASSIGNMENT, counts=counts), **more))


# ---------------------------------------------------------------------------------------------------------------- time


@pytest.mark.parametrize(
    ("by", "days", "too_late"),
    [
        (timedelta(0), 0, False),
        (-SECOND, 0, False),
        (timedelta(minutes=10), 0, False),
        (timedelta(minutes=10) + SECOND, 1, False),
        (timedelta(days=1, minutes=10), 1, False),
        (timedelta(days=1, minutes=10) + SECOND, 2, False),
        (timedelta(days=3, minutes=10), 3, False),
        (timedelta(days=3, minutes=10) + SECOND, 4, True),
    ],
)
def test_a_day_begins_a_second_after_the_grace_and_after_each_24_hours(by, days, too_late):
    found = lateness(RULE, DEADLINE, DEADLINE + by)
    assert (found.days, found.too_late) == (days, too_late)


def test_without_a_grace_the_deadline_itself_is_in_time_and_a_second_later_is_too_late():
    rule = LateRule()
    assert not lateness(rule, DEADLINE, DEADLINE).too_late
    assert lateness(rule, DEADLINE, DEADLINE + SECOND).too_late


def test_never_too_late_without_a_limit_of_days():
    found = lateness(replace(RULE, days=None), DEADLINE, DEADLINE + timedelta(days=400))
    assert (found.days, found.too_late) == (400, False)


def test_the_same_moment_in_another_zone_is_as_late():
    moment = DEADLINE + timedelta(minutes=11)
    for zone in (UTC, timezone(timedelta(hours=-8))):
        assert lateness(RULE, DEADLINE, moment.astimezone(zone)) == lateness(RULE, DEADLINE, moment)


def test_an_hour_that_the_clock_skips_or_repeats_is_counted_as_it_passed():
    before_back = datetime(2026, 10, 24, 23, 59, tzinfo=ZONE)  # the night has an hour twice
    assert lateness(LateRule(days=None), before_back, datetime(2026, 10, 25, 23, 59, tzinfo=ZONE)).by == timedelta(
        hours=25
    )
    before_on = datetime(2026, 3, 28, 23, 59, tzinfo=ZONE)  # the night has an hour less
    found = lateness(LateRule(days=None), before_on, datetime(2026, 3, 30, 0, 30, tzinfo=ZONE))
    assert (found.by, found.days) == (timedelta(hours=23, minutes=31), 1)
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=ZONE, fold=fold) for fold in (0, 1))
    assert lateness(LateRule(), first, second).by == timedelta(hours=1)


def test_a_time_without_a_zone_is_in_that_of_the_deadline():
    assert lateness(RULE, DEADLINE, DEADLINE.replace(tzinfo=None) + SECOND).by == SECOND


def test_a_submission_whose_time_nobody_knows_is_not_late_and_says_so():
    found = grade(record(submission("ada", submitted=None, time_from="")))
    assert (found.points, found.state) == (40, "graded")
    assert found.notes == ("The time of the submission is not known: it does not count as late.",)
    marked = grade(record(replace(submission("ada", submitted=None, time_from=""), marked_late=True)))
    assert marked.notes == ("The LMS marks the submission as late without a time: here it does not count as late.",)


def test_without_a_deadline_nothing_is_late_and_nothing_is_said():
    made = record(submission("ada", submitted=None), assignment=replace(ASSIGNMENT, deadline=None))
    assert (grade(made).points, grade(made).notes) == (40, ())


# -------------------------------------------------------------------------------------------------------------- points


def test_points_of_the_run_are_scaled_to_those_of_the_assignment_and_what_is_missing_has_a_reason():
    made = submission("ada")
    found = grade(record(made, results=(result(made, WASTEFUL),)))
    assert found.points == 24
    assert [(one.kind, one.points, one.reason) for one in found.attempt.deductions] == [
        ("verdict", 16, "the verdict is technique")
    ]


def test_a_stage_that_was_not_graded_leaves_the_maximum():
    made = submission("ada")
    assert grade(record(made, results=(result(made, replace(PASSED, score=80, max_score=80)),))).points == 40


def test_points_are_rounded_to_two_decimals_with_a_half_up_and_totals_are_sums_of_those():
    assert [rounded(value) for value in (0.125, 0.135, 2.675, 13.333333)] == [0.13, 0.14, 2.68, 13.33]
    one, two = submission("ada"), submission("ada", "reduce_v3")
    third = replace(PASSED, score=1, max_score=3)
    row = gradebook(record(one, two, results=(result(one, third), result(two, third)))).rows[0]
    assert ([g.points for g in row.grades], row.total) == ([13.33, 20], 33.33)


def test_a_late_submission_loses_its_part_for_each_day_and_says_of_what():
    made = submission("ada", at=DEADLINE + timedelta(days=1, hours=1))
    found = grade(record(made, results=(result(made, WASTEFUL),)))
    assert found.points == pytest.approx(24 * 0.6)
    assert found.attempt.deductions[-1].reason == "2 days late: 40 % of 24 points"
    assert sum(one.points for one in found.attempt.deductions) + found.points == pytest.approx(40)


def test_a_part_never_exceeds_the_points():
    made = submission("ada", at=DEADLINE + timedelta(days=30))
    rule = LateRule(percent_per_day=10, days=None)
    assert grade(record(made, assignment=replace(ASSIGNMENT, late=rule))).points == 0


def test_what_is_too_late_gets_nothing_and_says_by_how_much():
    found = grade(record(submission("ada", at=DEADLINE + timedelta(days=4, hours=2))))
    assert (found.state, found.points) == ("too_late", 0)
    assert found.attempt.deductions[-1].reason == "submitted 4 days 2 h after the deadline: too late"


# -------------------------------------------------------------------------------------------------- the one that counts


def test_last_first_and_best_choose_among_several():
    attempts = [submission("ada", number=n, at=DEADLINE - timedelta(hours=9 - n)) for n in (1, 2, 3)]
    results = [result(attempts[0], WASTEFUL), result(attempts[1], PASSED), result(attempts[2], RACY)]
    assert [counting(how, *attempts, results=results).points for how in ("first", "best", "last")] == [24, 40, 0]
    assert counting("last", *reversed(attempts), results=results).attempt.submission.number == 3


def test_the_best_is_compared_after_the_late_rule_and_of_equal_ones_the_earliest_counts():
    early, late = submission("ada", number=1), submission("ada", number=2, at=DEADLINE + timedelta(days=2, hours=1))
    found = counting("best", early, late, results=[result(early, WASTEFUL), result(late, PASSED)])
    assert (found.attempt.submission.number, found.points) == (1, 24)
    same = [submission("ada", number=n) for n in (1, 2)]
    assert counting("best", *same).attempt.submission.number == 1


def test_a_submission_that_is_too_late_does_not_replace_an_earlier_one():
    early, late = submission("ada", number=1), submission("ada", number=2, at=DEADLINE + timedelta(days=9))
    found = counting("last", early, late, results=[result(early, WASTEFUL), result(late)])
    assert (found.points, found.notes) == (24, ("1 submission after this one was too late.",))


def test_a_last_submission_without_a_result_is_open_even_if_an_earlier_one_has_points():
    one, two = submission("ada", number=1), submission("ada", number=2)
    found = counting("last", one, two, results=[result(one)])
    assert (found.points, found.state, found.notes) == (None, "waiting", ("Open: it has not been graded yet.",))


def test_the_best_of_those_with_a_result_counts_and_says_that_it_may_rise():
    one, two = submission("ada", number=1), submission("ada", number=2)
    found = counting("best", one, two, results=[result(one, WASTEFUL)])
    assert (found.points, found.notes) == (24, ("1 submission without a result: the points may rise.",))
    assert counting("best", one, two, results=[result(one)]).notes == ()  # it cannot rise


def test_the_same_bytes_submitted_again_have_the_same_result():
    one = submission("ada", number=1, sha256="a" * 64)
    two = submission("ada", number=2, sha256="a" * 64, at=DEADLINE + timedelta(hours=3))
    assert [a.points for a in counting("last", one, two, results=[result(one)]).attempts] == [40, 32]


def test_of_two_results_of_one_submission_the_later_counts():
    made = submission("ada")
    again = result(made, PASSED, ended=DEADLINE + timedelta(days=1))
    assert grade(record(made, results=(again, result(made, RACY)))).points == 40


# ------------------------------------------------------------------------------------------------- what has no points


@pytest.mark.parametrize("state", OPEN)
def test_what_has_no_result_is_open_and_never_zero(state):
    made = submission("ada")
    results = () if state == "waiting" else (replace(result(made, RACY), verdict=state),)
    book = gradebook(record(made, results=results))
    found = book.rows[0].of("vector_add")
    assert (found.state, found.points, book.rows[0].open, book.rows[0].total) == (state, None, 1, 0)


def test_a_result_without_points_is_open_whatever_its_verdict():
    made = submission("ada")
    assert grade(record(made, results=(result(made, points=None),))).state == "error"
    assert grade(record(made, results=(result(made, max_points=0),))).state == "error"


def test_a_missing_submission_has_no_points_and_says_so():
    found = grade(record())
    assert (found.state, found.points, found.notes) == ("missing", 0, ("Nothing was submitted.",))


# ----------------------------------------------------------------------------------------------------------- decisions


def test_a_teachers_decision_replaces_the_points_also_of_what_is_open_or_missing():
    decided = Override("ada", "vector_add", 33.3, "Graded by hand.", DEADLINE)
    made = submission("ada")
    for class_record in (record(made, overrides=(decided,)), record(made, results=(), overrides=(decided,)),
                         record(overrides=(decided,))):  # fmt: skip
        found = grade(class_record)
        assert (found.state, found.points, found.override.reason) == ("overridden", 33.3, "Graded by hand.")
    assert grade(record(overrides=(decided,))).notes == ("Nothing was submitted.",)


def test_of_two_decisions_the_later_counts():
    first, second = (Override("ada", "vector_add", n, "", DEADLINE + n * SECOND) for n in (1, 2))
    assert grade(record(overrides=(second, first))).points == 2


# ------------------------------------------------------------------------------------------------------------ students


def test_rows_follow_the_roster_and_unknown_students_come_last():
    made = record(submission("zoe"), submission("bob"), overrides=(Override("yan", "vector_add", 1, "", DEADLINE),))
    book = gradebook(made)
    assert [(row.student.id, row.known) for row in book.rows] == [
        ("ada", True), ("bob", True), ("yan", False), ("zoe", False)
    ]  # fmt: skip
    assert [row.student.id for row in book.unknown] == ["yan", "zoe"]


def test_without_a_roster_all_are_known():
    assert [row.known for row in gradebook(record(submission("zoe"), roster="")).rows] == [True]


def test_a_submission_of_an_exercise_that_is_not_assigned_is_named():
    stray = submission("ada", "saxpy")
    assert gradebook(record(stray)).stray == (stray,)


def test_a_class_of_30_has_every_state_and_no_point_more_than_the_maximum():
    book = gradebook(class_of_30())
    assert {g.state for g in book.grades} == {"graded", "overridden", "too_late", "missing", *OPEN}
    assert all(0 <= (g.points or 0) <= g.max_points for g in book.grades)
    assert len(book.rows) == 31
