"""A right answer that does not do what its step is about, in words. Pure."""

from __future__ import annotations

from grader.findings.record import Finding


def technique(found: Finding) -> str:
    facts = found.facts
    if found.cause == "no_kernel":
        return "run() launched no kernel: the host computed the answer by itself"
    if found.cause == "by_the_host":
        return f"the host computed {facts['computed']} of {facts['outputs']} by itself: no kernel wrote these values"
    worst = f"Line {facts['worst_line']} stands out with {facts['worst']}." if "worst" in facts else ""
    parts = (f"{facts['found']}; this step asks for {facts['asked']}.", worst, facts["why"], facts.get("note", ""))
    return " ".join(part for part in parts if part)
