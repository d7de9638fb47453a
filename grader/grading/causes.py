"""Likely causes beside what was found: parameters of another type than the array, and the inputs of a wrong element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.launch.parameters import C_TYPES, Misread, misread
from grader.render.text import listed
from grader.verdict import Diagnostic

if TYPE_CHECKING:
    from grader.exercise import Exercise
    from grader.grading.cases import CaseBook
    from grader.grading.records import Case, CompiledSubmission
    from grader.launch import LaunchPlan

INPUTS_SHOWN = 4


# ------------------------------------------------------------------------------------------------------ parameter types


def misreads(exercise: Exercise, submission: CompiledSubmission, plan: LaunchPlan) -> tuple[Misread, ...]:
    """Parameters whose element type cannot hold what the plan passes: ``double*`` for an array of ``float``."""
    dtypes: dict[str, str] = {array.name: array.dtype for array in exercise.arrays}
    dtypes |= {scratch.name: scratch.dtype for scratch in plan.scratch}
    text = submission.script.text
    found = (one for launch in plan.launches for one in misread(text, launch.kernel, launch.args, dtypes))
    return tuple(dict.fromkeys(found))


def with_note(found: Sequence[Diagnostic], reads: Sequence[Misread]) -> tuple[Diagnostic, ...]:
    """The diagnostics of a case that failed: what concerns a misread array gets its hint, and a note says why."""
    if not reads:
        return tuple(found)
    arrays = {one.array for one in reads}
    hint = _declare(reads)
    hinted = (replace(one, hint=hint) if one.array in arrays else one for one in found)
    return (*hinted, Diagnostic("parameter_type", _said(reads), severity="note", kernel=reads[0].kernel, hint=hint))


def _said(reads: Sequence[Misread]) -> str:
    """``k declares `const double *a` and `double *c`, but a and c hold float: probably the cause``."""
    kernel = reads[0].kernel
    own = [one for one in reads if one.kernel == kernel]
    declared = listed(dict.fromkeys(f"`{one.parameter.declared}`" for one in own))
    holds = {
        dtype: listed(dict.fromkeys(one.array for one in own if one.dtype == dtype))
        for dtype in dict.fromkeys(one.dtype for one in own)
    }
    arrays = listed(f"{names} hold{'' if ' ' in names else 's'} {C_TYPES[dtype]}" for dtype, names in holds.items())
    return f"{kernel} declares {declared}, but {arrays}: probably this is the cause"


def _declare(reads: Sequence[Misread]) -> str:
    return f"declare {listed(dict.fromkeys(f'`{one.should_be}`' for one in reads))}, as the arrays are"


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
