"""What to do where the answer is right and the counters do not show what the step is about."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.grading.hints.rules import Example, Seen, finding, rule

_MISS = {
    "found": "occupancy is 0.25",
    "asked": "at least 0.5",
    "why": "Too few warps.",
    "hint": "use less shared memory",
}


@rule("technique", example=Example(finding("technique", "by_the_host", facts={"computed": "2 MiB", "outputs": "`y`"})))
def let_a_kernel_compute(found: Finding, seen: Seen) -> str:
    return "let a kernel compute it, not NumPy" if found.cause in ("no_kernel", "by_the_host") else ""


@rule("technique", example=Example(finding("technique", "missed", facts=_MISS | {"question": "`grade device`"})))
def what_limits_the_warps(found: Finding, seen: Seen) -> str:
    """The command that shows it, after the expectation's own hint."""
    question = found.facts.get("question")
    if not question:
        return ""
    return "; ".join(part for part in (found.facts["hint"].rstrip("."), f"{question} shows what limits it") if part)


@rule(
    "technique",
    example=Example(finding("technique", "missed", facts=_MISS | {"note_hint": "wait less", "note": "It waits."})),
)
def what_stands_in_the_way(found: Finding, seen: Seen) -> str:
    """The advice of the note that says why it is missed (`Expect.note`)."""
    return str(found.facts.get("note_hint", ""))


@rule("technique", example=Example(finding("technique", "missed", facts=_MISS)))
def hint_of_the_expectation(found: Finding, seen: Seen) -> str:
    return str(found.facts.get("hint", ""))
