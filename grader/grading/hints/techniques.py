"""Hints for right results without the technique of their step."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.grading.hints.indices import made_of
from grader.grading.hints.rules import Seen, finding, rule, table
from grader.grading.source_view import SourceView

_MISS = {
    "found": "occupancy is 0.25",
    "asked": "at least 0.5",
    "why": "Too few warps.",
    "hint": "use less shared memory",
}


@rule("technique", example=finding("technique", "missed", facts=_MISS | {"question": "`grade device`"}))
def what_limits_the_warps(found: Finding, seen: Seen) -> str:
    """The hint of the expectation, with the command that shows the limit."""
    question = found.facts.get("question")
    if not question:
        return ""
    return "; ".join(part for part in (found.facts["hint"].rstrip("."), f"{question} shows what limits it") if part)


_NOTE = {"note_hint": "wait less", "note": "It waits."}


@rule("technique", example=finding("technique", "missed", facts=_MISS | _NOTE))
def what_stands_in_the_way(found: Finding, seen: Seen) -> str:
    """The hint of the note on the cause (`Expect.note`)."""
    return str(found.facts.get("note_hint", ""))


_LOCAL = Seen(SourceView("__global__ void k(int n) {\nfloat v[8];\nfor (int i = 0; i < n; ++i)\nv[i] = 0;\n}"))


@rule("technique", example=finding("technique", "missed", facts=_MISS, counter="local_bytes"), seen=_LOCAL)
def loop_that_cannot_be_unrolled(found: Finding, seen: Seen) -> str:
    """A loop over an array of the thread's own ends at a number that is known only at run time."""
    function = seen.source.function(found.line or 0) if found.counter == "local_bytes" else None
    if function is None or not seen.source.is_clear(function.line, function.last):
        return ""
    arrays = seen.source.parts(function.line, function.last, "array")
    own = {one.name for one in arrays if "shared" not in " ".join(one.texts)}
    numbers = {*seen.source.parameters(function.name)}
    for access in seen.source.parts(function.line, function.last, "element"):
        loop = seen.source.loop(access.line) if access.name in own else None
        if loop is None:
            continue
        for comparison in seen.source.ends_of(loop):
            end = comparison.texts[1]
            at_run_time = bool(numbers & made_of(end, seen.source, loop.line)) or seen.source.is_changed(end)
            if comparison.name in ("<", "<=") and at_run_time:
                return (
                    f"the loop in line {loop.line} ends at `{end}`, which is known only at run time, so it cannot be "
                    f"unrolled, and {access.name} cannot be in registers: keep the bound constant and put the "
                    "condition inside"
                )
    return ""


@rule("technique", example=finding("technique", "missed", facts=_MISS))
def hint_of_the_expectation(found: Finding, seen: Seen) -> str:
    return str(found.facts.get("hint", ""))


_PADDING = {"found": "wmma instructions is 0.25", "asked": "at least 1", "why": "Too few.", "unneeded": 12, "of": 16,
            "counter": "wmma_instructions"}  # fmt: skip

_ELSEWHERE = {"found": "sector efficiency is 0.125", "asked": "at least 0.9", "why": "Too low.", "met": "1",
              "size": {"n": 9000}, "met_size": {"n": 10000}}  # fmt: skip

_BY_HOST = "let a kernel compute it, not NumPy"

table(
    "techniques",
    ("let_a_kernel_compute", "technique", "by_the_host",
     finding("technique", "by_the_host", facts={"computed": "2 MiB", "outputs": "`y`"}), _BY_HOST),
    ("let_an_output_need_it", "technique", "padding",
     finding("technique", "padding", facts=_PADDING),
     "with other values in place of what they load, store or compute, the outputs stay the same: make the outputs of "
     "these values, or leave the instructions out"),
    ("the_same_at_every_size", "technique", "elsewhere",
     finding("technique", "elsewhere", facts=_ELSEWHERE),
     "the kernel or its launch line works in another way at this size: use the technique at every size"),
    ("launch_a_kernel", "technique", "no_kernel", finding("technique", "no_kernel"), _BY_HOST),
)  # fmt: skip
