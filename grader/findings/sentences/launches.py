"""Notes on a kernel's parameters and on launch lines, in words. Pure."""

from __future__ import annotations

from grader.findings.record import Finding


def parameter_type(found: Finding) -> str:
    """``k declares `const double *a` and `double *c`, but a and c hold float: probably this is the cause``."""
    declared, holds = found.facts["declared"], found.facts["holds"]
    return f"{found.kernel} declares {declared}, but {holds}: probably this is the cause"


def passes(found: Finding) -> str:
    """A pass has not as many blocks as its `by` leaves elements. Right where a block stores several."""
    disagree = disagreement(found.facts["line"], found.facts["blocks"], found.facts["leaves"])
    return f"{disagree}. A kernel in which each block stores one element needs one block for each of them"


def disagreement(line: int, blocks: int, leaves: int) -> str:
    starts = f"a pass starts {blocks} block{'s' * (blocks != 1)}, but `by` leaves {leaves}"
    return f"grid= and `by` in line {line} disagree: {starts}"
