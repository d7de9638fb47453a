"""Hints for reads of memory that nothing has written."""

from __future__ import annotations

import math

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.grading.hints.indices import made_of, of_the_access, one_index, plain
from grader.grading.hints.rules import Seen, access, finding, kernel, race, rule, table
from grader.grading.source_view import END, SourceView
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


_CALLED_BY_SOME = SourceView(
    "__device__ float sum(float v) {\npart[threadIdx.x] = v;\n__syncthreads();\nreturn part[9];\n}\n"
    "__global__ void k(float* src) {\nif (threadIdx.x < 8) src[0] = sum(1);\n}"
)


@rule("uninitialised_read", example=race("", access("read", 5, 4), kind="uninitialised_read"),
      seen=Seen(_CALLED_BY_SOME))  # fmt: skip
def call_by_some_threads(found: Finding, seen: Seen) -> str:
    """The read is in a function with a barrier, to which each thread brings an element, and some do not call it."""
    function = seen.source.function(found.line or 0)
    if found.space != "shared" or function is None or function.kind != "function" or not function.name:
        return ""
    waits = [one for one in seen.source.barriers(function.line, function.last) if one.name == "__syncthreads"]
    calls = [one for one in seen.source.parts(1, END, "call") if one.name == function.name]
    some = [
        (one.line, condition)
        for one in calls
        for condition in seen.source.conditions(one)
        if "threadIdx" in made_of(condition, seen.source, one.line)
    ]
    if not waits or not some:
        return ""
    line, condition = some[0]
    return (
        f"line {line} calls {function.name} only where `{condition}`, and it waits at a barrier for what each thread "
        "brings: let all threads of the block make the call, with a value that changes nothing if they have none"
    )


_SMALL_BLOCK = LaunchPlan((Launch(kernel="k", args=("x",), grid=(1, 1, 1), block=(64, 1, 1), line=1),))


@rule("uninitialised_read", example=race("", access("read", 5, 6), kind="uninitialised_read", index=64),
      seen=Seen(kernel("part[threadIdx.x] = 1;", "", "x = part[64];").source, _SMALL_BLOCK))  # fmt: skip
def element_beyond_the_threads(found: Finding, seen: Seen) -> str:
    """An element of shared memory whose number no thread of the block has, where each writes the one of its number."""
    launches = [one for one in seen.plan.launches if one.kernel == found.kernel]
    threads = max((math.prod(one.block) for one in launches), default=0)
    if found.space != "shared" or found.index is None or not 0 < threads <= found.index:
        return ""
    if not _each_stores_its_own(found, seen):
        return ""
    has = f"the launch in line {launches[0].line} starts blocks of {threads} threads"
    return f"{has}, and this is element {found.index}: which thread should write it?"


_OWN_NUMBERS = ("threadIdx.x", "threadIdx.y * blockDim.x + threadIdx.x", "blockDim.x * threadIdx.y + threadIdx.x")


def _each_stores_its_own(found: Finding, seen: Seen) -> bool:
    """Whether each store (`=`) to the array is to the element with the thread's number, as far as the source shows."""
    stores = [one for one in seen.source.parts(1, END, "stored") if one.name == found.array and one.texts[0] == "="]
    lines = [one.line for one in stores]
    for line in lines:
        accesses = [one.texts for one in seen.source.elements(line) if one.name == found.array]
        written = accesses[:1] if lines.count(line) == 1 else accesses  # in the order of the text: the target is first
        if not written or not all(len(one) == 1 and _is_own_number(one[0], line, seen) for one in written):
            return False
    return bool(lines)


def _is_own_number(index: str, line: int, seen: Seen) -> bool:
    local = seen.source.local(index, line)
    return plain(local.texts[1] if local else index) in _OWN_NUMBERS and not seen.source.is_changed(index)


@rule("uninitialised_read", example=race("", access("read", 5, 4), kind="uninitialised_read", space="global"),
      seen=kernel("x[t] += 1;"))  # fmt: skip
def adds_to_what_is_there(found: Finding, seen: Seen) -> str:
    """`+=` on an array that the kernel gets with garbage values."""
    name, line = found.names[-1] if found.names else found.array, found.line or 0
    stored = [one.texts[0] for one in seen.source.parts(line, line, "stored") if one.name == name]
    if found.space != "global" or not stored or "=" in stored:
        return ""
    if loop := _adds_up_in(found, seen):
        return (
            f"in the loop in line {loop.line} each thread adds up in `{name}` itself, which starts with garbage values:"
            " add up in a variable that starts at 0, and store it once, after the loop"
        )
    return (
        f"is `=` meant for the `{stored[0]}`? Else a `// zero {found.array}` line sets the array to 0 before the launch"
    )


def _adds_up_in(found: Finding, seen: Seen) -> Part | None:
    """The loop in which a thread changes the same element in each iteration, if that is clear; else None."""
    line = found.line or 0
    loop, index = seen.source.loop(line), one_index(of_the_access(found, seen.source))
    if loop is None or not index or not seen.source.is_clear(loop.line, loop.last):
        return None
    changed = {one.name for one in seen.source.parts(loop.line, loop.last, "local", "assigned")}
    return None if changed & made_of(index, seen.source, line) else loop


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
