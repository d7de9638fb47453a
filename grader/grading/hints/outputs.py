"""What to do about a wrong output that shows more than that, and about counters that miss what the step is about."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.grading.hints.rules import Seen, finding, kernel, rule, table

_ALONE = {"size": {"n": 9}, "wrong": 1, "count": 1, "value": "unwritten", "expected": "5.0"}


@rule("wrong", example=finding("wrong", array="y", index=0, facts=_ALONE), seen=kernel("if (t == 0) return;"))
def return_before_the_store(found: Finding, seen: Seen) -> str:
    """The one output was never written: a thread may have left before the store."""
    unwritten = found.cause == "nan" or found.facts.get("value") in ("unwritten", "unwritten_or_scratch")
    if seen.host or not unwritten or found.facts.get("count") != 1:
        return ""  # a host file may have left it where it was
    left = seen.source.first_return()
    who = f"does the thread that should write {found.array}[{found.index}] return before it does"
    return f"{who}, in line {left}?" if left else ""


_OLD = {"size": {"n": 9}, "wrong": 9, "count": 9, "got": "1.0", "expected": "5.0", "since": "what was in x before"}


@rule("wrong", example=finding("wrong", array="y", index=0, facts=_OLD), seen=Seen(host=True))
def inputs_of_each_run(found: Finding, seen: Seen) -> str:
    if "since" not in found.facts:
        return ""
    return "there are new values before each run, in the same place: run() has to take them from there, every time"


_MISS = {
    "found": "occupancy is 0.25",
    "asked": "at least 0.5",
    "why": "Too few warps.",
    "hint": "use less shared memory",
}


@rule("technique", example=finding("technique", "missed", facts=_MISS | {"question": "`grade device`"}))
def what_limits_the_warps(found: Finding, seen: Seen) -> str:
    """The command that shows it, after the expectation's own hint."""
    question = found.facts.get("question")
    if not question:
        return ""
    return "; ".join(part for part in (found.facts["hint"].rstrip("."), f"{question} shows what limits it") if part)


_NOTE = {"note_hint": "wait less", "note": "It waits."}


@rule("technique", example=finding("technique", "missed", facts=_MISS | _NOTE))
def what_stands_in_the_way(found: Finding, seen: Seen) -> str:
    """The advice of the note that says why it is missed (`Expect.note`)."""
    return str(found.facts.get("note_hint", ""))


@rule("technique", example=finding("technique", "missed", facts=_MISS))
def hint_of_the_expectation(found: Finding, seen: Seen) -> str:
    return str(found.facts.get("hint", ""))


_BY_HOST = "let a kernel compute it, not NumPy"

table(
    "outputs",
    ("who_writes_to_host_memory", "wrong", "overwritten_in_host_memory",
     finding("wrong", "overwritten_in_host_memory", array="x"),
     "look for what writes there: a copy from the GPU, a line of the host file, or a kernel that works on host memory "
     "itself"),
    ("const_inputs", "wrong", "overwritten", finding("wrong", "overwritten", array="x"),
     "declare inputs as const pointers; the compiler then finds the line that writes"),
    ("let_a_kernel_compute", "technique", "by_the_host",
     finding("technique", "by_the_host", facts={"computed": "2 MiB", "outputs": "`y`"}), _BY_HOST),
    ("launch_a_kernel", "technique", "no_kernel", finding("technique", "no_kernel"), _BY_HOST),
)  # fmt: skip
