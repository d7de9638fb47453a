"""Undefined values, a fault only if an output depends on them: the case runs again with other values in their place.

- A shuffle reads a lane which has left. CUDA lets a mask name such lanes, and tutorials do; what they give is
  undefined. Where every run ends alike, bit for bit, the value was not used.
- Memory is read that nothing has written. Every run must be right; outputs that nobody writes differ with the garbage.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.backends.base import CaseRun, Execution, Session

OTHER_BYTES = (0x7B, 0xFB, 0)
"""Repeated: large, very negative and zero, as an integer and as a floating-point number; the first run has NaN."""


def without_unused_lanes(session: Session, run: CaseRun, execution: Execution) -> Execution:
    """The execution, with a warning in place of the error where no output depends on the lanes that are not there."""
    errors = {found.kind for found in execution.findings if found.severity == "error"}
    if errors != {"inactive_lane"}:
        return execution
    for byte in OTHER_BYTES:
        if not _ends_alike(execution, session.run(replace(run, counters=False, undefined=byte * 0x01010101))):
            return execution
    return replace(_renamed(execution, "inactive_lane", "unused_lane"), failure=None)


def unused_reads(execution: Execution) -> Execution:
    """The execution, where no output depends on the memory that was read before anything wrote it."""
    return _renamed(execution, "uninitialised_read", "unused_read")


def _renamed(execution: Execution, kind: str, other: str) -> Execution:
    findings = (replace(found, kind=other) if found.kind == kind else found for found in execution.findings)
    return replace(execution, findings=tuple(findings))


def _ends_alike(one: Execution, other: Execution) -> bool:
    return _found(one) == _found(other) and all(
        values.tobytes() == other.outputs[name].tobytes() for name, values in one.outputs.items()
    )


def _found(execution: Execution) -> tuple[object, ...]:
    places = {(found.kind, found.line) for found in execution.findings}
    return execution.failure, places, execution.inputs_changed
