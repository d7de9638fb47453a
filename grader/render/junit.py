"""JUnit XML, for continuous integration: a suite for each exercise, a test case for each stage.

    testsuites > testsuite(name, tests, failures, errors, skipped, time) > testcase(name, classname, time)

A stage that did not pass is a failure, with the findings and their places; an error of the grader is an error; a stage
that was skipped or is not graded is skipped, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as xml

from grader.text import safe
from grader.verdict import Diagnostic, StageResult, Verdict

_FORBIDDEN = re.compile("[\ufffe\uffff]")
"""Characters that XML 1.0 cannot hold, not even escaped, and that are not made visible."""


def to_junit(verdicts: Sequence[Verdict], *, timestamp: str) -> str:
    """Return the document. ``timestamp`` is the run's start in ISO 8601."""
    root = xml.Element("testsuites", name="warpgrade")
    for verdict in verdicts:
        root.append(_suite(verdict, timestamp))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", _seconds(sum(verdict.elapsed_s for verdict in verdicts)))
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _suite(verdict: Verdict, timestamp: str) -> xml.Element:
    suite = xml.Element("testsuite", name=_text(verdict.exercise), timestamp=timestamp)
    properties = xml.SubElement(suite, "properties")
    for name, value in _properties(verdict).items():
        xml.SubElement(properties, "property", name=name, value=_text(value))
    first = next((stage for stage in verdict.stages if stage.status == "failed"), None)
    for stage in verdict.stages:
        suite.append(_case(verdict, stage, decisive=stage is first))
    if verdict.verdict == "error" and first is None:  # must not look like a run in which everything was skipped
        case = xml.SubElement(suite, "testcase", name="grader", classname=_text(verdict.exercise), time="0.000")
        message = verdict.diagnostics[0].message if verdict.diagnostics else "the grader failed"
        xml.SubElement(case, "error", type="error", message=_text(message))
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    suite.set("time", _seconds(verdict.elapsed_s))
    if verdict.printed:
        xml.SubElement(suite, "system-out").text = _text(verdict.printed)
    return suite


def _properties(verdict: Verdict) -> dict[str, str]:
    found = {
        "verdict": verdict.verdict, "score": f"{verdict.score:g}", "max_score": f"{verdict.max_score:g}",
        "backend": verdict.backend, "device": verdict.device or "",
        "seed": "" if verdict.seed is None else str(verdict.seed),
    }  # fmt: skip
    if verdict.measured is not None:
        part = verdict.measured.fraction_of_peak
        found |= {"median_s": f"{verdict.measured.median_s:.9f}", "line": verdict.measured.line}
        found |= {"fraction_of_peak": f"{part:.4f}"} if part is not None else {}
    return {name: value for name, value in found.items() if value}


def _case(verdict: Verdict, stage: StageResult, *, decisive: bool) -> xml.Element:
    """One stage; the verdict's findings belong to the first failed stage."""
    case = xml.Element("testcase", name=_text(stage.name), classname=_text(verdict.exercise), time="0.000")
    if stage.status == "failed":
        kind = verdict.verdict if decisive else "failed"
        tag = "error" if kind == "error" else "failure"
        failure = xml.SubElement(case, tag, type=_text(kind), message=_text(stage.detail))
        if decisive:
            failure.text = _text("\n".join(map(_finding, verdict.diagnostics)))
    elif stage.status in ("skipped", "not_graded"):
        xml.SubElement(case, "skipped", message=_text(stage.detail or stage.status.replace("_", " ")))
    return case


def _finding(found: Diagnostic) -> str:
    """``reduce_v3.cu:14: race on shared partial[49] … (hint)``, which editors and CI pages can link."""
    place = f"{found.file}:{found.line}: " if found.file and found.line else ""
    hint = f" ({found.hint})" if found.hint else ""
    return f"{place}{found.message}{hint}"


def _text(value: str) -> str:
    """Control characters and bidirectional marks made visible, as on a terminal: CI shows it to people."""
    return _FORBIDDEN.sub("\ufffd", safe(value.replace("\r\n", "\n"), lines=True))


def _seconds(value: float) -> str:
    return f"{value:.3f}"
