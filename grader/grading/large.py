"""A case with arrays of more than 2^31 elements: its buffers, and the check of three of its blocks.

The arrays repeat a few rows, so that they need little memory (`docs/design/026-large-arrays.md`). Most blocks do not
run, and addresses share memory. So only three errors count: a size that a parameter cannot hold; a stray access; and a
wrong value among the written ones, if each block computes its values alone. Otherwise nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.backends.base import Buffer, CaseRun
from grader.findings.kinds import word_of_kind
from grader.grading.records import Case
from grader.launch import Launch, LaunchPlan, Zero

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from grader.backends.base import Execution
    from grader.errors import SubmissionError
    from grader.exercise import Exercise, Size
    from grader.findings.record import Finding
    from grader.grading.cases import CaseData

    Arrays = Mapping[str, npt.NDArray[np.generic]]

BUDGET = 50_000_000
"""The limit of instructions; a block that does all of the work exceeds it, and shows nothing."""

WHOLE_BYTES = 32 << 20
"""Arrays up to this size are allocated in full; larger ones repeat memory."""

MOST_REPEATS = 4096
"""An array repeats several periods, if it has more: each repeat is a row of the simulator's address table."""

STRAY = ("out_of_bounds", "null", "misaligned")


def large_case(exercise: Exercise) -> Case | None:
    large = exercise.large
    return None if large is None else Case(large.size, "exact" if exercise.exact else "real", period=large.period)


def large_run(exercise: Exercise, case: Case, data: CaseData, plan: LaunchPlan) -> CaseRun:
    """The request to run the launches that read nothing of what another one should have written."""
    import numpy as np

    from grader.inputs import element_bytes, element_count

    buffers = []
    repeats = _repeats(exercise, case)
    for array in exercise.arrays:
        count, made = element_count(array, case.size), data.inputs.get(array.name)
        is_long = repeats if array.role == "out" else count * element_bytes(array) > WHOLE_BYTES
        own = element_count(array, _repeated(case)) if is_long else count
        made = made if made is None else np.resize(made, own)
        buffers.append(Buffer(array.name, array.dtype, count, array.role, made, period=own % count))
    scratch = (Buffer(s.name, s.dtype, s.count, "scratch") for s in plan.scratch)
    plan = replace(plan, steps=tuple(_independent(plan, {array.name for array in exercise.inputs})))
    return CaseRun(plan, (*buffers, *scratch), counters=False, instructions=BUDGET, few=True)


def _independent(plan: LaunchPlan, inputs: Set[str]) -> Iterator[Launch | Zero]:
    written: set[str] = set()
    for step in plan.steps:
        own = {value for value in step.args if isinstance(value, str)} if isinstance(step, Launch) else set()
        if not own & written:
            yield step
        written |= own - inputs


def _repeats(exercise: Exercise, case: Case) -> bool:
    """Whether an output is so large that its rows share memory."""
    from grader.inputs import element_bytes, element_count

    return any(element_count(a, case.size) * element_bytes(a) > WHOLE_BYTES for a in exercise.outputs)


def _repeated(case: Case) -> Size:
    """The size of what the arrays repeat."""
    ((name, period),) = case.period.items()
    return {**case.size, name: period * -(-case.size[name] // (period * MOST_REPEATS))}


def fits(plan: LaunchPlan) -> bool:
    """Whether the plan's scratch arrays can be allocated."""
    from grader.c_types import DTYPE_BYTES

    return sum(DTYPE_BYTES[s.dtype] * s.count for s in plan.scratch) <= WHOLE_BYTES


def certain(execution: Execution) -> Execution:
    """The execution with only its stray accesses."""
    found = tuple(one for one in execution.findings if one.kind in STRAY)
    return replace(execution, findings=found, failure=word_of_kind(found[0].kind) if found else None)


def is_narrow(error: SubmissionError) -> bool:
    """Whether the only error of a launch is a size that its parameter cannot hold, an ``int`` for example."""
    from grader.launch.checks import NARROW

    return error.diagnostics[0].cause == NARROW


def are_final(exercise: Exercise, plan: LaunchPlan, execution: Execution) -> bool:
    """Whether each block computes its values alone, so that its written values are final."""
    alone = tuple(_independent(plan, {array.name for array in exercise.inputs})) == plan.steps
    if not alone or plan.scratch or execution.failure not in (None, "race"):
        return False
    return all(role == "fence" for role, _ in execution.unordered)


def wrong_value(exercise: Exercise, case: Case, data: CaseData, outputs: Arrays, plan: LaunchPlan) -> Finding | None:
    """The finding on the first wrong value among the written ones; None if there is none."""
    import numpy as np

    from grader.compare import compare
    from grader.inputs import element_count, is_poison

    repeats = _repeats(exercise, case)
    size = _repeated(case) if repeats else case.size
    expected = {name: np.resize(values, outputs[name].size) for name, values in data.expected.items()}
    written = {name: np.where(is_poison(got), expected[name].astype(got.dtype), got) for name, got in outputs.items()}
    found = compare(exercise, size, case.values, written, expected, data.inputs, plan=plan)
    if found is None:
        return None
    largest = max(element_count(array, case.size) for array in exercise.arrays)
    ran = int(np.count_nonzero(~is_poison(outputs[found.array or ""])))
    found = replace(found, facts={**found.facts, "size": dict(case.size), "elements": largest, "count": ran})
    # Elements that share their memory cannot be told apart.
    return replace(found, index=None, facts={**found.facts, "position": None, "place": {}}) if repeats else found
