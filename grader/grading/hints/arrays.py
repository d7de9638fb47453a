"""The array of an access: name, length, the launches that pass it, and row and column of an index into it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations

from grader.compile.parsing import Part
from grader.expressions import ExpressionError, evaluate_integer
from grader.findings.record import Finding
from grader.grading.hints.indices import (
    BUILT_IN,
    MOST_STEPS,
    Bound,
    Matrix,
    as_matrix,
    bounds,
    made_of,
    of_the_access,
    one_index,
    words,
)
from grader.grading.hints.rules import Seen
from grader.grading.source_view import END
from grader.launch import Launch

MOST_NUMBERS = 16  # of a kernel's parameters


def array_name(found: Finding) -> str:
    """What the kernel calls it."""
    return (found.names[-1] if found.names else found.array) or "the array"


def array_length(found: Finding) -> int:
    """Its number of elements."""
    return int(found.facts["array_bytes"] // found.facts["element_bytes"])


def launches_with(found: Finding, seen: Seen) -> list[Launch]:
    """The launches of the finding's kernel that pass the array; [] if no line is known."""
    if found.line is None:
        return []
    return [one for one in seen.plan.launches if one.kernel == found.kernel and found.array in one.args]


def scratch_length(found: Finding, seen: Seen) -> int | None:
    """The number of elements of the array, if it is a scratch array; else None."""
    return next((scratch.count for scratch in seen.plan.scratch if scratch.name == found.array), None)


def accesses_of(found: Finding, seen: Seen) -> list[Part]:
    """The accesses in the finding's line, if its thread and an index from 0 on are known; else []."""
    known = found.thread is not None and found.index is not None and found.index >= 0
    return of_the_access(found, seen.source) if known else []


def indexed(found: Finding, seen: Seen) -> tuple[str, dict[str, Bound]]:
    """The index of the accesses, "" if they have none or several, and the upper bounds at the first one."""
    accesses = accesses_of(found, seen)
    return one_index(accesses), bounds(seen.source, accesses[0]) if accesses else {}


def index_at_fault(accesses: Sequence[Part], found: Finding, seen: Seen) -> str:
    """The index that all accesses have, or the only one that may have the finding's value for its thread; else ""."""
    if same := one_index(accesses):
        return same
    if any(len(one.texts) != 1 or one.kind != "element" for one in accesses):
        return ""
    values = {one.texts[0]: index_of(one.texts[0], found, seen) for one in accesses}
    possible = [text for text, value in values.items() if value in (None, found.index)]
    return possible[0] if len(possible) == 1 else ""


MOST_CODE = 400
"""Characters of an index that is computed: each name in it costs a search of the whole."""

_DIMS = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*([xyz])\b")


def index_of(text: str, found: Finding, seen: Seen) -> int | None:
    """The value of an index for the finding's thread; None where a variable changes, or something is not known."""
    launches = [one for one in seen.plan.launches if one.kernel == found.kernel]
    if found.thread is None or found.block is None or len({(one.grid, one.block) for one in launches}) != 1:
        return None
    dims = dict(zip(BUILT_IN, (found.thread, found.block, launches[0].block, launches[0].grid), strict=True))
    known: dict[str, int | None] = {}

    def value(code: str, steps: int) -> int | None:
        if len(code) > MOST_CODE:
            return None
        code = _DIMS.sub(lambda match: str(dims[match[1]]["xyz".index(match[2])]), code)
        for name in sorted(words(code)):
            if name not in known:
                known[name] = None  # for itself
                known[name] = number_of(name, steps)
            code = re.sub(rf"\b{name}\b", f"({known[name]})", code)
            if known[name] is None:
                return None
        try:
            return evaluate_integer(code, {}, suggest=False)
        except ExpressionError:
            return None

    def number_of(name: str, steps: int) -> int | None:
        local = seen.source.local(name, found.line or 0)
        if local is None:
            return value_of(name, found, seen)
        is_fixed = local.texts[1] and steps and not seen.source.is_changed(name) and not seen.source.loop(local.line)
        return value(local.texts[1], steps - 1) if is_fixed else None

    return value(text, MOST_STEPS)


def matrix_of(found: Finding, seen: Seen, index: str, known: dict[str, Bound]) -> Matrix | None:
    """The index as row and column of a matrix; None if the factor is a stride, not the length of a row.

    It is a stride if it is made from the threads of a grid or a block, or if the column is bounded by the length of the
    whole array. For a parameter of a device function nothing is known.
    """
    matrix = as_matrix(index, known, _lengths(found, seen))
    if matrix is None:
        return None
    line, column = found.line or 0, known.get(matrix.column)
    function, declared = seen.source.function(line), {one.name for one in seen.source.parts(1, END, "local")}
    given = function is not None and function.kind == "function" and words(matrix.length) - declared
    longer = (
        column is not None
        and column.more != matrix.length
        and value_of(column.more, found, seen) == array_length(found)
    )
    steps = made_of(matrix.length, seen.source, line) & {"blockDim", "gridDim"}
    return None if steps or given or longer else matrix


def _lengths(found: Finding, seen: Seen) -> set[str]:
    """The kernel's numbers that another one multiplies to the array's length."""
    names = seen.source.parameters(found.kernel or "") if found.space == "global" else ()
    values = {name: value for name in names if (value := value_of(name, found, seen)) is not None}
    pairs = permutations(values, 2) if len(values) <= MOST_NUMBERS else ()
    return {first for first, second in pairs if values[first] * values[second] == array_length(found)}


def is_whole(matrix: Matrix, known: dict[str, Bound], found: Finding, seen: Seen) -> bool:
    """Whether the product of the bounds of row and column is the array's length."""
    column, row = known.get(matrix.column), known.get(matrix.row)
    rows, columns = (value_of(bound.more, found, seen) if bound else None for bound in (row, column))
    if column is None or column.more != matrix.length or rows is None or columns is None:
        return False
    return rows * columns == array_length(found)


def value_of(name: str, found: Finding, seen: Seen) -> int | None:
    """The value of a number, or of a kernel's integer parameter; None if unknown."""
    if name.isdigit():
        return int(name)
    for launch in seen.plan.launches:
        names = seen.source.parameters(launch.kernel)
        if launch.kernel == found.kernel and name in names and len(names) == len(launch.args):
            value = launch.args[names.index(name)]
            return value if isinstance(value, int) else None
    return None
