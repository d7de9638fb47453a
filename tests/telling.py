"""Findings in words, for tests that run a backend or the simulator without a whole grading."""

from __future__ import annotations

from collections.abc import Mapping

from grader.backends.base import Execution
from grader.backends.sim.results import finding
from grader.grading.hints import told
from grader.grading.hints.rules import Seen
from grader.grading.source_view import SourceView
from grader.launch import LaunchPlan
from grader.simt.events import Event
from grader.verdict import Diagnostic


def said(event: Event, file: str, itemsize: Mapping[str, int] | None = None) -> Diagnostic:
    """One event of the simulator."""
    return told(finding(event, file, itemsize or {}), Seen())


def all_said(execution: Execution, source: str = "", plan: LaunchPlan | None = None) -> tuple[Diagnostic, ...]:
    """Everything that a backend found, as a grading tells it."""
    seen = Seen(SourceView(source), plan or LaunchPlan(()))
    return (*execution.diagnostics, *(told(one, seen) for one in execution.findings))
