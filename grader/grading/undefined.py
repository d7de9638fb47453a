"""Undefined values: a shuffle that reads a lane which has left is a fault only if an output depends on what it gives.

CUDA lets a mask name lanes that have left, and tutorials do; what such a lane gives is undefined. So the case runs
again with other values in its place. Where every run ends alike, bit for bit, the value was not used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.backends.base import CaseRun, Execution, Session

OTHERS = (0x7B7B7B7B, 0xFBFBFBFB, 0)
"""Large, very negative and zero, as an integer and as a floating-point number of any width; the first run has NaN."""


def without_unused_lanes(session: Session, run: CaseRun, execution: Execution) -> Execution:
    """The execution, with a warning in place of the error where no output depends on the lanes that are not there."""
    errors = {found.kind for found in execution.findings if found.severity == "error"}
    if errors != {"inactive_lane"}:
        return execution
    for value in OTHERS:
        if not _ends_alike(execution, session.run(replace(run, counters=False, undefined=value))):
            return execution
    findings = tuple(
        replace(found, kind="unused_lane") if found.kind == "inactive_lane" else found for found in execution.findings
    )
    return replace(execution, failure=None, findings=findings)


def _ends_alike(one: Execution, other: Execution) -> bool:
    return _found(one) == _found(other) and all(
        values.tobytes() == other.outputs[name].tobytes() for name, values in one.outputs.items()
    )


def _found(execution: Execution) -> tuple[object, ...]:
    places = {(found.kind, found.line) for found in execution.findings}
    return execution.failure, places, execution.inputs_changed
