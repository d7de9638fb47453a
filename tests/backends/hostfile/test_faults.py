"""What a host file's process says is believed only where it cannot help the host file."""

from __future__ import annotations

import pytest

from grader.backends.hostfile.case import FAULTS, LONGEST, MOST, error_of
from grader.findings.kinds import word_of_kind


def told(**answer):
    return error_of({"fault": "crash", "message": "m", **answer}, "x_host.py")


def finding(**said):
    (found,) = told(diagnostics=[{"kind": "crash", "message": "m", **said}]).diagnostics
    return found


@pytest.mark.parametrize("word", FAULTS)
def test_words_of_its_own_failures_are_taken(word):
    assert told(fault=word).verdict == word


@pytest.mark.parametrize("word", ["pass", "inconclusive", "slow", "error", "technique", "", 7, None, ["pass"], {}])
def test_any_other_word_is_a_crash(word):
    assert told(fault=word).verdict == "crash"


def test_a_finding_has_its_place_in_the_host_file():
    found = finding(file="x_host.py", line=12, hint="do this")
    assert (found.file, found.line, found.hint) == ("x_host.py", 12, "do this")


def test_a_place_in_another_file_is_left_out():
    found = finding(file="/etc/passwd", line=1)
    assert (found.file, found.line) == (None, None)


@pytest.mark.parametrize("line", [-5, 0, True, "12", 1.5, None])
def test_a_line_that_is_none_is_left_out(line):
    assert finding(file="x_host.py", line=line).line is None


@pytest.mark.parametrize("kind", ["pass", "race", "wrong", "", [1], None])
def test_a_kind_that_is_no_failure_of_its_own_is_a_crash(kind):
    assert finding(kind=kind).kind == "crash"


@pytest.mark.parametrize("kind", ["cuda_error", "outside", "misaligned", "invalid"])
def test_kinds_of_its_own_failures_are_taken(kind):
    assert finding(kind=kind).kind == kind
    assert word_of_kind(kind) in FAULTS


@pytest.mark.parametrize("diagnostics", [7, None, [1, 2], {}, "text"])
def test_findings_that_are_none_leave_the_message(diagnostics):
    (found,) = told(diagnostics=diagnostics, message="what happened").diagnostics
    assert (found.kind, found.message) == ("crash", "what happened")


def test_messages_and_findings_have_an_end():
    error = told(message="x" * 10**6, diagnostics=[{}] * 10**4)
    assert (len(error.message), len(error.diagnostics)) == (LONGEST, MOST)
