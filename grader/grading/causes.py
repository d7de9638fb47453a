"""Likely causes of errors: parameters of another type, uneven passes, an answer that depends on the order of warps and
blocks, the inputs of a wrong element, and inputs that a host file copied too early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from grader.c_types import C_NAMES
from grader.findings.record import Finding
from grader.launch.source import Misread, misread
from grader.text import listed

if TYPE_CHECKING:
    from grader.exercise import Exercise
    from grader.grading.cases import CaseBook
    from grader.grading.records import Arrays, Case, CompiledSubmission
    from grader.launch import Launch, LaunchPlan

INPUTS_SHOWN = 4


# ------------------------------------------------------------------------------------------------------ parameter types


def misreads(exercise: Exercise, submission: CompiledSubmission, plan: LaunchPlan) -> tuple[Misread, ...]:
    """Parameters whose element type is not that of the plan's array: ``double*`` for an array of ``float``."""
    dtypes: dict[str, str] = {array.name: array.dtype for array in exercise.arrays}
    dtypes |= {scratch.name: scratch.dtype for scratch in plan.scratch}
    text = submission.script.text
    found = (each for launch in plan.launches for each in misread(text, launch.kernel, launch.args, dtypes))
    return tuple(dict.fromkeys(found))


def note_on(reads: Sequence[Misread]) -> Finding:
    """A note on parameters whose element type is not that of their array."""
    kernel = reads[0].kernel
    own = [read for read in reads if read.kernel == kernel]
    declared = listed(dict.fromkeys(f"`{read.parameter.declared}`" for read in own))
    holds = {
        dtype: listed(dict.fromkeys(read.array for read in own if read.dtype == dtype))
        for dtype in dict.fromkeys(read.dtype for read in own)
    }
    arrays = listed(f"{names} hold{'' if ' ' in names else 's'} {C_NAMES[dtype]}" for dtype, names in holds.items())
    return Finding("parameter_type", kernel=kernel, facts={"declared": declared, "holds": arrays})


# ------------------------------------------------------------------------------------------------------------- passes


def uneven_passes(plan: LaunchPlan) -> tuple[Finding, ...]:
    """A note if a pass has another number of blocks than its ``by`` leaves elements; else ()."""
    for uneven in filter(disagrees, plan.launches):
        facts = {"line": uneven.line, "blocks": math.prod(uneven.grid), "leaves": uneven.leaves}
        return (Finding("passes", kernel=uneven.kernel, facts=facts),)
    return ()


def disagrees(launch: Launch) -> bool:
    """Whether a pass has another number of blocks than its ``by`` leaves elements."""
    return launch.leaves is not None and math.prod(launch.grid) != launch.leaves


# -------------------------------------------------------------------------------------------------------- other orders


def unordered_pair(findings: Sequence[Finding]) -> Finding | None:
    """The finding on two accesses without an order, not both atomic, if all such findings are on one array; else None.

    On several arrays some may be as they should be: a flag on which a block waits.
    """
    pairs = [one for one in findings if len(one.places) == 2 and {place.role for place in one.places} != {"atomic"}]
    return pairs[0] if len({(one.space, one.array) for one in pairs}) == 1 else None


def order_dependent(
    file: str, unordered: Sequence[tuple[str, int]], wrong: Finding | None, findings: Sequence[Finding],
    pair: Finding | None = None,
) -> Finding:  # fmt: skip
    """The finding for a case that is right in the usual order of warps and blocks, but not in another order.

    ``unordered`` are the kernels' fences, and volatile and atomic accesses, by role and line; ``pair`` is the finding
    on two of them that nothing orders, if it is known.
    """
    accesses = tuple((role, line) for role, line in dict.fromkeys(unordered) if role != "fence" and line)
    facts: dict[str, object] = {"accesses": accesses}
    if wrong is None:
        facts["kind"] = next((found.kind for found in findings if found.severity == "error"), "race")
    else:
        facts |= {name: wrong.facts[name] for name in ("got", "expected", "size", "value") if name in wrong.facts}
    found = Finding(
        "order_dependent", "atomic" if all(role == "atomic" for role, _ in accesses) else "volatile",
        file=file, line=accesses[0][1] if accesses else None,
        array=wrong.array if wrong else None, index=wrong.index if wrong else None, facts=facts,
    )  # fmt: skip
    if pair is None:
        return found
    facts["pair_in"] = next(iter(pair.names), pair.array)
    return replace(found, line=pair.line, kernel=pair.kernel, places=pair.places, axes=pair.axes)


# ------------------------------------------------------------------------------------------------- inputs of an element


def inputs_there(exercise: Exercise, case: Case, book: CaseBook, output: str, index: int) -> str:
    """``a[37] = 3, b[37] = 5`` if the element depends only on these; "" if it does not, or that is unknown."""
    from grader.compare import digits

    if not book.is_elementwise(case, output, index):
        return ""
    inputs = book.data(case).inputs
    values = [f"{name}[{index}] = {digits(values[index])}" for name, values in inputs.items()]
    scalars = [f"{name} = {value:g}" for name, value in exercise.scalars.items()]
    return ", ".join([*values, *scalars]) if len(values) <= INPUTS_SHOWN else ""


# ----------------------------------------------------------------------------------------------- inputs of another time

OF_SETUP, OF_THE_RUN_BEFORE = 1, 2
WARM_UPS = {OF_SETUP: "when setup was called", OF_THE_RUN_BEFORE: "in the run before"}
"""The time at which the arrays had the warm-up inputs of each number (`grader.backends.hostfile.case`)."""

LEAST_VALUES = 4
"""Distinct results that must agree, unless they are real numbers: small integers may agree by chance."""


def with_time(found: Finding, exercise: Exercise, case: Case, book: CaseBook, outputs: Arrays) -> Finding:
    """A host file's wrong output, with the time of the inputs for which it would be right, if there is one.

    `setup` and the first run have warm-up inputs, so that results from these can be recognised.
    """
    import numpy as np

    from grader.backends.hostfile.case import warm_up_inputs
    from grader.compare import compare

    tells = all(case.values != "exact" or len(np.unique(values)) >= LEAST_VALUES for values in outputs.values())
    if not exercise.host or not tells:
        return found
    now = book.data(case).inputs
    for number, then in WARM_UPS.items():
        before = warm_up_inputs(exercise, now, number)
        # First all inputs of that time, then fewer of them.
        for names in (names for count in range(len(now), 0, -1) for names in combinations(now, count)):
            mixed = {**now, **{name: before[name] for name in names}}
            expected = book.answer(case, mixed)
            if expected is not None and compare(exercise, case.size, case.values, outputs, expected, mixed) is None:
                return since(found, f"what was in {' and '.join(names)} {then}", number)
    return found


def without_values(found: Finding, *, unset: bool = False) -> Finding:
    """A wrong output without a guess at the computation of its values: after a race it would be misleading.

    ``unset``: uninitialised memory was read, so that the values may depend on it.
    """
    found = replace(found, cause="") if found.cause in ("near", "multiple") else found
    if not unset or found.facts.get("value") != "unwritten":
        return found
    return replace(found, thread=None, block=None, facts={**found.facts, "value": "unwritten_or_computed"})


def since(found: Finding, words: str, warm_up: int) -> Finding:
    """``found`` with the time of its inputs, without a guess about precision: old inputs may give similar results."""
    return replace(without_values(found), facts={**found.facts, "since": words, "warm_up": warm_up})
