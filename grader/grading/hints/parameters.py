"""What to do about a kernel's parameter of another type than its array, which is the likely cause of all else."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.grading.hints.rules import Example, Seen, finding, rule
from grader.launch.source import Misread, Parameter
from grader.text import listed

_READS = (Misread("k", Parameter("const double* a", "a", "double"), "a", "float32"),)


@rule(example=Example(finding("wrong", "overwritten", array="a"), misread=_READS))
def type_of_the_array(found: Finding, seen: Seen) -> str:
    """Of a wrong output, and of what concerns a misread array."""
    arrays = [one.array for one in seen.misread]
    if not arrays or (found.kind not in ("wrong", "parameter_type") and found.array not in arrays):
        return ""
    return f"declare {listed(dict.fromkeys(f'`{one.should_be}`' for one in seen.misread))}, as the arrays are"
