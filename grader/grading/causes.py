"""Likely causes beside what was found: parameters of another type, uneven passes, the inputs of a wrong element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.findings.record import Finding
from grader.launch.parameters import C_TYPES, Misread, misread
from grader.text import listed

if TYPE_CHECKING:
    from grader.exercise import Exercise
    from grader.grading.cases import CaseBook
    from grader.grading.records import Case, CompiledSubmission
    from grader.launch import Launch, LaunchPlan

INPUTS_SHOWN = 4


# ------------------------------------------------------------------------------------------------------ parameter types


def misreads(exercise: Exercise, submission: CompiledSubmission, plan: LaunchPlan) -> tuple[Misread, ...]:
    """Parameters whose element type cannot hold what the plan passes: ``double*`` for an array of ``float``."""
    dtypes: dict[str, str] = {array.name: array.dtype for array in exercise.arrays}
    dtypes |= {scratch.name: scratch.dtype for scratch in plan.scratch}
    text = submission.script.text
    found = (one for launch in plan.launches for one in misread(text, launch.kernel, launch.args, dtypes))
    return tuple(dict.fromkeys(found))


def note_on(reads: Sequence[Misread]) -> Finding:
    """A note that says which parameters cannot hold what their arrays do."""
    kernel = reads[0].kernel
    own = [one for one in reads if one.kernel == kernel]
    declared = listed(dict.fromkeys(f"`{one.parameter.declared}`" for one in own))
    holds = {
        dtype: listed(dict.fromkeys(one.array for one in own if one.dtype == dtype))
        for dtype in dict.fromkeys(one.dtype for one in own)
    }
    arrays = listed(f"{names} hold{'' if ' ' in names else 's'} {C_TYPES[dtype]}" for dtype, names in holds.items())
    return Finding("parameter_type", kernel=kernel, facts={"declared": declared, "holds": arrays})


# ------------------------------------------------------------------------------------------------------------- passes


def uneven_passes(plan: LaunchPlan) -> tuple[Finding, ...]:
    """A note where a pass has not as many blocks as its ``by`` leaves elements."""
    uneven = next((launch for launch in plan.launches if disagrees(launch)), None)
    if uneven is None:
        return ()
    facts = {"line": uneven.line, "blocks": math.prod(uneven.grid), "leaves": uneven.leaves}
    return (Finding("passes", kernel=uneven.kernel, facts=facts),)


def disagrees(launch: Launch) -> bool:
    return launch.leaves is not None and math.prod(launch.grid) != launch.leaves


# ------------------------------------------------------------------------------------------------- inputs of an element


def inputs_there(exercise: Exercise, case: Case, book: CaseBook, output: str, index: int) -> str:
    """``a[37] = 3, b[37] = 5`` where the element is made of these alone, "" where that is not so or not known."""
    from grader.compare import digits

    if not book.is_elementwise(case, output, index):
        return ""
    inputs = book.data(case).inputs
    values = [f"{name}[{index}] = {digits(values[index])}" for name, values in inputs.items()]
    scalars = [f"{name} = {value:g}" for name, value in exercise.scalars.items()]
    return ", ".join([*values, *scalars]) if len(values) <= INPUTS_SHOWN else ""
