"""Repeating a case under other `Conditions`, on which its result must not depend.

- **Undefined values.** A shuffle reads a lane that has ended: CUDA allows a mask with such lanes, and tutorials use
  them. If all runs end alike, bit for bit, the value is not used. Or uninitialised memory is read: then every run must
  be right.
- **The order** of warps, blocks and stores, if accesses have no order (`docs/design/024-other-orders.md`).
- **Module variables**, with the values that another case has left in them, in those orders, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.backends.conditions import USUAL, Conditions
from grader.errors import SubmissionError
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.grading.causes import order_dependent, unordered_pair

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import CaseRun, Execution, Session
    from grader.grading.records import Case
    from grader.launch import LaunchPlan

OTHER_BYTES = (0x7B, 0xFB, 0)
"""Bytes for uninitialised memory: large, very negative and zero, as integers and as floats; the first run has NaN."""


@dataclass(frozen=True)
class Ran:
    """A case that ran, with its findings. ``wrong`` is the finding on a wrong output."""

    case: Case
    plan: LaunchPlan
    execution: Execution
    word: str | None
    wrong: Finding | None

    @property
    def is_right(self) -> bool:
        return self.word is None and self.wrong is None

    def found(self, kind: str) -> bool:
        return any(found.kind == kind for found in self.execution.findings)


Again = Callable[[Conditions], Ran]


def without_unused_lanes(session: Session, run: CaseRun, execution: Execution) -> Execution:
    """The execution, with a warning instead of the error if no output depends on inactive lanes."""
    errors = {found.kind for found in execution.findings if found.severity == "error"}
    if errors != {"inactive_lane"}:
        return execution
    for byte in OTHER_BYTES:
        conditions = replace(run.conditions, undefined=byte)
        if not ends_alike(execution, session.run(replace(run, counters=False, conditions=conditions)), conditions):
            return execution
    return replace(_renamed(execution, "inactive_lane", "unused_lane"), failure=None)


def with_other_values(ran: Ran, again: Again) -> Ran:
    """A right case that reads uninitialised memory, repeated with other values in it: the wrong run, if there is one.

    Otherwise no output depends on the values, and the finding becomes a warning.
    """
    if not ran.is_right or not ran.found("uninitialised_read"):
        return ran
    runs = (again(Conditions(undefined=byte)) for byte in OTHER_BYTES)
    unused = replace(ran, execution=_renamed(ran.execution, "uninitialised_read", "unused_read"))
    return next((other for other in runs if not other.is_right), unused)


def in_other_orders(ran: Ran, again: Again, orders: Sequence[str], file: str, *, explains: bool = True) -> Ran:
    """A right case in these orders: the wrong run, if there is one. A run that exceeds time or memory is ignored.

    With ``explains`` that run is repeated, to find two accesses without an order.
    """
    for order in orders if ran.is_right else ():
        other = again(Conditions(order=order))
        if other.wrong is not None or other.word not in (None, "timeout", "limit"):
            execution, pair = ran.execution, None
            if explains:
                with suppress(SubmissionError):
                    pair = unordered_pair(again(Conditions(order=order, explained=True)).execution.findings)
            found = order_dependent(file, execution.unordered, other.wrong, other.execution.findings, pair)
            return replace(ran, word="race", execution=replace(execution, findings=(found, *execution.findings)))
    return ran


def after_another_case(before: Again, again: Again, file: str, conditions: Conditions = USUAL) -> Ran:
    """A case with the module variables that the case ``before`` leaves, and a note on that."""
    before(USUAL)
    ran = again(replace(conditions, keeps_state=True))
    note = Finding("second_launch", file=file)
    return replace(ran, execution=replace(ran.execution, findings=(*ran.execution.findings, note)))


def _renamed(execution: Execution, kind: str, other: str) -> Execution:
    findings = (replace(found, kind=other) if found.kind == kind else found for found in execution.findings)
    return replace(execution, findings=tuple(findings))


def ends_alike(one: Execution, other: Execution, conditions: Conditions = USUAL) -> bool:
    """Whether both end with the same findings, and all outputs are the same bit for bit."""
    word = conditions.poison_word
    return _found(one) == _found(other) and all(
        _same(values, other.outputs[name], word) for name, values in one.outputs.items()
    )


def _same(one: npt.NDArray[np.generic], other: npt.NDArray[np.generic], word: int) -> bool:
    """Whether both are equal bit for bit, except for elements that neither run has written: in ``other`` these are
    ``word``.
    """
    from grader.inputs import is_poison

    written = ~(is_poison(one) & is_poison(other, word))
    return one[written].tobytes() == other[written].tobytes()


def _found(execution: Execution) -> tuple[object, ...]:
    places = {(found.kind, found.line) for found in execution.findings}
    return execution.failure, places, execution.inputs_changed
