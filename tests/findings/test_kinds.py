"""The registry of kinds: every row leads to a word that there is."""

from __future__ import annotations

import pytest

from grader.findings.kinds import KINDS, MISREAD_SHOWS, RANKS, is_likely_cause, kind_of, word_of_kind
from grader.verdict import VERDICTS


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_kind_leads_to_verdicts_that_there_are(kind):
    assert kind.severity != "error" or kind.word in VERDICTS
    assert kind.severity == "error" or not kind.word
    assert {*(kind.beside or ()), *kind.first_beside, *MISREAD_SHOWS} <= {*VERDICTS}


def test_verdict_word_is_a_kind_of_its_own():
    assert word_of_kind("compile_error") == kind_of("compile_error").word == "compile_error"


def test_capture_that_was_left_open_is_a_likelier_cause_than_an_unwritten_copy():
    assert is_likely_cause("still_capturing")
    assert not is_likely_cause("staged")
    assert RANKS["still_capturing"] < RANKS["unwritten_copy"]
