"""What to do about a wrong output, where it shows more than that: old inputs, an input that was written to."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.grading.hints.rules import Example, Seen, finding, rule

_ALONE = {"size": {"n": 9}, "wrong": 1, "count": 1, "value": "unwritten", "expected": "5.0"}
_OLD = {
    "size": {"n": 9},
    "wrong": 9,
    "count": 9,
    "got": "1.0",
    "expected": "5.0",
    "since": "what was in x in the run before",
}


@rule(
    "wrong",
    example=Example(
        finding("wrong", array="y", index=0, facts=_ALONE), "\n\n__global__ void k(float* y) {\nif (t == 0) return;\n}"
    ),
)
def return_before_the_store(found: Finding, seen: Seen) -> str:
    """The one output was never written: a thread may have left before the store."""
    unwritten = found.cause == "nan" or found.facts.get("value") in ("unwritten", "unwritten_or_scratch")
    left = seen.source.first_return()
    if seen.host or not unwritten or found.facts.get("count") != 1 or left is None:
        return ""  # a host file may have left it where it was
    return f"does the thread that should write {found.array}[{found.index}] return before it does, in line {left}?"


@rule("wrong", example=Example(finding("wrong", array="y", index=0, facts=_OLD), host=True))
def inputs_of_each_run(found: Finding, seen: Seen) -> str:
    if "since" not in found.facts:
        return ""
    return "there are new values before each run, in the same place: run() has to take them from there, every time"


@rule("wrong", example=Example(finding("wrong", "overwritten_in_host_memory", array="x"), host=True))
def who_writes_to_host_memory(found: Finding, seen: Seen) -> str:
    """A host file's kernels work on copies, most often: the host file is likelier."""
    if found.cause != "overwritten_in_host_memory":
        return ""
    return (
        "look for what writes there: a copy from the GPU, a line of the host file, or a kernel that works on host "
        "memory itself"
    )


@rule("wrong", example=Example(finding("wrong", "overwritten", array="x")))
def const_inputs(found: Finding, seen: Seen) -> str:
    if found.cause != "overwritten":
        return ""
    return "declare inputs as const pointers; the compiler then finds the line that writes"
