"""Hints for reads of memory that nothing has written."""

from __future__ import annotations

import math

from grader.findings.record import Finding
from grader.grading.hints.rules import Seen, access, finding, kernel, race, rule, table
from grader.launch import Launch, LaunchPlan


@rule("uninitialised_read", example=race("", access("read", 5, 6), kind="uninitialised_read"),
      seen=kernel("if (i >= n) return;", "part[t] = 1;", "x = part[t ^ 1];"))  # fmt: skip
def return_before_ones_own_store(found: Finding, seen: Seen) -> str:
    """Threads return before the line in which each thread stores its element of shared memory."""
    line, function = found.line or 0, seen.source.function(found.line or 0)
    if function is None or found.space != "shared":
        return ""
    called = seen.source.calls(function.name)[:1] if function.kind == "function" and function.name else []
    left = seen.source.first_return(1, called[0] - 1) if called else seen.source.first_return(function.line, line - 1)
    if left is None or not seen.source.is_clear(min(left, function.line), line):
        return ""
    first = function.line if called else left + 1
    stores = [one for one in seen.source.parts(first, line - 1, "element") if one.name == found.array]
    if not stores:
        return ""
    never = f"threads that return in line {left} never write their elements"
    return (
        f"{never}: let every thread of the block store something, 0 for a sum, and return only after the last barrier"
    )


_SMALL_BLOCK = LaunchPlan((Launch(kernel="k", args=("x",), grid=(1, 1, 1), block=(64, 1, 1), line=1),))


@rule("uninitialised_read", example=race("", access("read", 5, 6), kind="uninitialised_read", index=64),
      seen=Seen(plan=_SMALL_BLOCK))  # fmt: skip
def element_beyond_the_threads(found: Finding, seen: Seen) -> str:
    """An element of shared memory whose number no thread of the block has."""
    launches = [one for one in seen.plan.launches if one.kernel == found.kernel]
    threads = max((math.prod(one.block) for one in launches), default=0)
    if found.space != "shared" or found.index is None or not 0 < threads <= found.index:
        return ""
    has = f"the launch in line {launches[0].line} starts blocks of {threads} threads"
    return f"{has}, and this is element {found.index}: which thread should write it?"


@rule("uninitialised_read", example=race("", access("read", 5, 4), kind="uninitialised_read", space="global"),
      seen=kernel("x[t] += 1;"))  # fmt: skip
def adds_to_what_is_there(found: Finding, seen: Seen) -> str:
    """`+=` on an array that the kernel gets with garbage values."""
    name, line = found.names[-1] if found.names else found.array, found.line or 0
    stored = [one.texts[0] for one in seen.source.parts(line, line, "stored") if one.name == name]
    if found.space != "global" or not stored or "=" in stored:
        return ""
    return (
        f"is `=` meant for the `{stored[0]}`? Else a `// zero {found.array}` line sets the array to 0 before the launch"
    )


def _is_atomic(found: Finding) -> bool:
    return bool(found.facts.get("instruction", "").startswith(("atom.", "red.")))


table(
    "unwritten",
    ("zeros_before_it_is_added_to", "uninitialised_read", "",
     finding("uninitialised_read", space="global", array="sums", facts={"instruction": "atom.global.add.f32"}),
     "an atomic changes what is there, and outputs and scratch arrays start with garbage values: clear the array in "
     "a `// zero` line before the launch", lambda found: found.space == "global" and _is_atomic(found)),
    ("write_before_the_read", "uninitialised_read", "", race("", access("read", 5, 4), kind="uninitialised_read"),
     "write every element before it is read"),
)  # fmt: skip
