"""Which exercise comes next."""

from __future__ import annotations

import pytest

from grader.practice.history import Following, following
from grader.practice.progress import Run

STEPS = tuple((("", name, 1),) for name in "abcdef")


def passes(names: str) -> list[Run]:
    return [Run("2026-11-21T17:05:30Z", "", name, "pass", 80, 80, "sim") for name in names]


@pytest.mark.parametrize(
    ("passed", "following_name", "after", "open_before"),
    [
        ("", "a", None, 0),
        ("a", "b", "a", 0),
        ("abc", "d", "c", 0),
        ("c", "d", "c", 2),  # who begins in the middle goes on there
        ("ca", "b", "a", 0),  # the order of time counts, not that of the course
        ("cab", "d", "b", 0),
        ("f", "a", None, 0),  # past the last one it starts over
        ("abdef", "c", None, 0),
        ("abcdef", None, None, 0),
        ("zb", "c", "b", 1),  # an exercise that is gone is not counted
        ("bz", "c", "b", 1),
    ],
)
def test_next_is_the_first_open_one_behind_the_one_passed_last(passed, following_name, after, open_before):
    found = following(STEPS, passes(passed), lambda at: True)
    assert (None if found.at is None else STEPS[found.at][0][1]) == following_name
    assert (found.after.exercise if found.after else None) == after
    assert found.open_before == open_before


def test_exercise_that_this_machine_cannot_grade_is_passed_over_and_not_counted_as_open():
    assert following(STEPS, passes("c"), lambda at: STEPS[at][0][1] not in "ad") == Following(4, passes("c")[0], 1, "c")
    assert following(STEPS, passes("abcde"), lambda at: at < 5) == Following(None)


def test_same_name_in_another_course_is_another_exercise():
    elsewhere = Run("2026-11-21T17:05:30Z", "/other", "a", "pass", 80, 80, "sim")
    assert following(STEPS, [elsewhere], lambda at: True).at == 0


def test_machine_is_not_asked_about_what_does_not_matter():
    asked = []
    following(STEPS, passes("ab"), lambda at: asked.append(at) or True)
    assert asked == [2]


MOVED = ((("", "a", 2), ("", "a", 1)), (("", "b", 2),), (("", "c", 2), ("", "b", 1)), (("", "d", 2),))
"""Version 2 of a course: b is new, and what version 1 called b is now c."""


def test_pass_of_an_older_version_counts_for_what_the_step_is_called_now():
    found = following(MOVED, passes("b"), lambda at: True)
    assert (found.at, found.after, found.name, found.open_before) == (3, passes("b")[0], "c", 2)
    assert following(MOVED, passes("ab"), lambda at: at < 3).at == 1
