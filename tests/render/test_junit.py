"""JUnit XML: what a CI page counts, links and shows."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from verdict_samples import HOSTILE, PASSED, RACY, plainly, stages

from grader.render.junit import to_junit
from grader.verdict import VERDICTS, Verdict

STAMP = "2026-01-31T12:00:00+00:00"


def document(*verdicts: Verdict) -> ElementTree.Element:
    return ElementTree.fromstring(to_junit(verdicts, timestamp=STAMP))


def suite(verdict: Verdict) -> ElementTree.Element:
    return document(verdict)[0]


def test_a_pass_is_a_suite_of_five_cases_without_a_complaint():
    found = suite(PASSED)
    assert [case.get("name") for case in found.iter("testcase")] == ["compiles", "runs", "correct", "technique", "fast"]
    counts = [found.get(name) for name in ("tests", "failures", "errors", "skipped", "time", "timestamp")]
    assert counts == ["5", "0", "0", "0", "1.500", STAMP]


def test_a_failure_stands_at_its_stage_with_every_finding_and_its_place():
    (case,) = (case for case in suite(RACY).iter("testcase") if case.find("failure") is not None)
    failure = case.find("failure")
    assert failure is not None
    assert (case.get("name"), case.get("classname"), failure.get("type")) == ("runs", "reduce_v3", "race")
    assert (failure.text or "").startswith("reduce_v3.cu:10: race on shared partial[49]")
    assert "dst[3] was read before" in (failure.text or "")


def test_what_is_not_graded_is_skipped_with_its_reason():
    skipped = {case.get("name"): case.find("skipped") for case in suite(RACY).iter("testcase")}
    assert skipped["fast"] is not None
    assert skipped["fast"].get("message") == "no GPU was found"
    assert skipped["technique"] is not None
    assert skipped["correct"] is None


def test_totals_are_the_sums_of_the_suites():
    root = document(PASSED, RACY)
    assert [root.get(name) for name in ("tests", "failures", "skipped")] == ["10", "1", "2"]


def test_the_graders_own_trouble_is_an_error_even_where_nothing_was_graded():
    broken = replace(plainly(RACY, "error"), stages=stages(*["not_graded"] * 5))
    found = suite(broken)
    assert (found.get("errors"), found.get("failures")) == ("1", "0")


@pytest.mark.parametrize("word", VERDICTS)
def test_every_verdict_word_makes_a_document_that_names_it(word):
    properties = {one.get("name"): one.get("value") for one in suite(plainly(RACY, word)).iter("property")}
    assert (properties["verdict"], properties["seed"]) == (word, "42")


def test_speed_is_a_property():
    properties = {one.get("name"): one.get("value") for one in suite(PASSED).iter("property")}
    assert (properties["median_s"], properties["fraction_of_peak"]) == ("0.000900000", "0.7100")


def test_hostile_text_is_escaped_and_what_xml_cannot_hold_is_replaced():
    text = to_junit([HOSTILE], timestamp=STAMP)
    assert "\x1b" not in text
    assert "\x07" not in text
    printed = ElementTree.fromstring(text)[0].findtext("system-out")
    assert printed is not None
    assert "[bold]markup[/bold]" in printed
    evil = replace(PASSED, exercise='</testsuite><x a="', printed="]]>\x00\ud800&<>")
    assert document(evil)[0].get("name") == '</testsuite><x a="'
