"""Findings in words, for tests that run a backend or the simulator without a whole grading."""

from __future__ import annotations

from grader.backends.base import Execution
from grader.findings.record import Finding
from grader.grading.hints import hint, in_words
from grader.grading.hints.rules import Seen
from grader.grading.source_view import SourceView
from grader.launch import LaunchPlan
from grader.verdict import Diagnostic


def rule_of(found: Finding) -> str:
    """The rule that says what to do about a finding, where nothing is known of the source."""
    return hint(found, Seen())[1]


def all_said(execution: Execution, source: str = "", plan: LaunchPlan | None = None) -> tuple[Diagnostic, ...]:
    """Everything that a backend found, as a grading tells it."""
    seen = Seen(SourceView(source), plan or LaunchPlan(()))
    return (*execution.diagnostics, *(in_words(one, seen) for one in execution.findings))
