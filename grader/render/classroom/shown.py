"""What a student may see of a result. Pure.

    for_student(verdict, hidden="sizes", published=sizes) -> Verdict

Nobody sees the seed or a folder. A case is hidden if its size is not one that the exercise publishes. Of a hidden case
that failed, students see everything (``all``); its sizes, the kind of failure, the line and the hint (``sizes``); or
that it failed (``verdict``).
What was printed in a hidden case is shown with ``all`` only, because it may be inputs; with ``verdict`` nothing is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.findings.kinds import kind_of
from grader.frozen import dataclass
from grader.render.evidence import base
from grader.verdict import CaseResult, Diagnostic, StageResult, Verdict

Sizes = Collection[Mapping[str, int]]


@dataclass(frozen=True)
class ExerciseFacts:
    """What pages say about an exercise: its idea, and the sizes that its statement publishes."""

    idea: str = ""
    published: tuple[Mapping[str, int], ...] = ()


FAILED_HIDDEN = "A hidden case failed."


def for_student(verdict: Verdict, *, hidden: str, published: Sizes) -> Verdict:
    """The verdict as its student may see it."""
    seen = replace(
        verdict, seed=None, file=base(verdict.file) if verdict.file else None,
        next_step="" if verdict.passed else verdict.next_step,
    )  # fmt: skip
    if hidden == "all":
        return seen
    failing = seen.failing_case
    if hidden == "verdict" or seen.printed_case is None or _is_hidden(seen.printed_case, published):
        seen = replace(seen, printed="", printed_case=None)
    if failing is not None and _is_hidden(failing, published):
        seen = _without_evidence(seen, hidden)
    cases = (_case(case, hidden, published) for case in seen.cases)
    return replace(seen, cases=tuple(case for case in cases if case is not None))


def scrubbed(document: Any, private: Sequence[str]) -> Any:
    """A JSON value in which each of the ``private`` texts (folders of the teacher, secrets) is replaced by an …"""
    if isinstance(document, str):
        for text in private:
            document = document.replace(text, "…")
        return document
    if isinstance(document, Mapping):
        return {key: scrubbed(value, private) for key, value in document.items()}
    return [scrubbed(value, private) for value in document] if isinstance(document, list | tuple) else document


def _is_hidden(case: CaseResult, published: Sizes) -> bool:
    return dict(case.size) not in [dict(size) for size in published]


def _case(case: CaseResult, hidden: str, published: Sizes) -> CaseResult | None:
    if not _is_hidden(case, published):
        return case
    return None if hidden == "verdict" else replace(case, detail="")


def _without_evidence(verdict: Verdict, hidden: str) -> Verdict:
    """The verdict of a hidden case that failed, without values and places in memory; the timeline is of that case."""
    keeps_kind = hidden == "sizes"
    findings = tuple(map(_kind_alone, verdict.diagnostics)) if keeps_kind else ()
    failing = verdict.failing_case if keeps_kind else None
    return replace(
        verdict,
        diagnostics=findings or (Diagnostic(verdict.verdict, FAILED_HIDDEN),),
        stages=tuple(_stage(stage) for stage in verdict.stages),
        failing=replace(failing, detail="") if failing else None,
        next_step=verdict.next_step if keeps_kind else "",
        timeline=None,
        predictions=(),
        cases=tuple(case if case.status == "passed" else replace(case, detail="") for case in verdict.cases),
    )


def _stage(stage: StageResult) -> StageResult:
    return replace(stage, detail="a hidden case failed") if stage.status == "failed" else stage


def _kind_alone(found: Diagnostic) -> Diagnostic:
    """The finding without its evidence: its kind, line and hint."""
    meaning = kind_of(found.kind).meaning or found.kind.replace("_", " ")
    where = f" (line {found.line})" if found.line else ""
    return Diagnostic(
        found.kind, f"In a hidden case: {meaning}{where}.",
        severity=found.severity, file=found.file, line=found.line, source=found.source, hint=found.hint,
        cause=found.cause, rule=found.rule, counter=found.counter,
    )  # fmt: skip
