"""What students see of a case that is not published."""

from __future__ import annotations

from dataclasses import replace

from verdict_samples import PASSED, RACE, RACY, WAITLESS

from grader.render.classroom.shown import for_student
from grader.verdict import CaseResult, Diagnostic

WRONG = Diagnostic("wrong", "dst[3] is 0.5, but it should be 1.5", file="a.cu", line=6, index=3, hint="mind the last")
SMALL, SECRET = CaseResult({"n": 8}, "passed"), CaseResult({"n": 1023}, "failed", WRONG.message)
VERDICT = replace(
    RACY, verdict="wrong", diagnostics=(WRONG,), cases=(SMALL, SECRET), failing=SECRET, printed="x = 3.7",
    printed_case=SECRET, file="/srv/teacher/hw/a.cu", next_step="Mind the last.",
)  # fmt: skip
PUBLISHED = ({"n": 8}, {"n": 64})


def shown(hidden, verdict=VERDICT):
    return for_student(verdict, hidden=hidden, published=PUBLISHED)


def test_nobody_sees_the_seed_and_the_folder():
    for hidden in ("all", "sizes", "verdict"):
        assert (shown(hidden).seed, shown(hidden).file) == (None, "a.cu")


def test_all_shows_the_wrong_value():
    assert (shown("all").diagnostics, shown("all").printed) == ((WRONG,), "x = 3.7")


def test_sizes_shows_size_kind_line_and_hint_but_no_value_and_nothing_printed():
    seen = shown("sizes")
    (found,) = seen.diagnostics
    assert (found.message, found.line, found.hint, found.index) == (
        "In a hidden case: wrong (line 6).", 6, "mind the last", None
    )  # fmt: skip
    assert seen.failing == CaseResult({"n": 1023}, "failed")
    assert (seen.printed, seen.printed_case) == ("", None)
    assert [case.detail for case in seen.cases] == ["", ""]
    assert "1.5" not in repr(seen)


def test_verdict_shows_that_a_hidden_case_failed_and_nothing_else():
    seen = shown("verdict")
    assert [found.message for found in seen.diagnostics] == ["A hidden case failed."]
    assert (seen.cases, seen.failing, seen.next_step, seen.timeline) == ((SMALL,), None, "", None)
    assert "1023" not in repr(seen)


def test_what_a_published_case_shows_stays():
    published = replace(VERDICT, cases=(replace(SECRET, size={"n": 64}),), failing=None, printed_case=SMALL)
    for hidden in ("all", "sizes", "verdict"):
        assert shown(hidden, published).diagnostics == (WRONG,)
        assert shown(hidden, published).printed == ("" if hidden == "verdict" else "x = 3.7")


def test_a_race_in_a_hidden_case_keeps_its_line_but_not_its_threads():
    (found,) = for_student(replace(RACY, failing=None), hidden="sizes", published=()).diagnostics[:1]
    assert (found.line, found.accesses, found.thread) == (RACE.line, (), None)
    assert found.message == "In a hidden case: two threads access the same address without an order (line 10)."


def test_the_timeline_of_a_hidden_case_is_not_drawn():
    assert for_student(WAITLESS, hidden="sizes", published=()).timeline is None


def test_a_pass_says_nothing_about_the_next_exercise():
    assert for_student(PASSED, hidden="all", published=()).next_step == ""
