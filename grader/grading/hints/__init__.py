"""What to do about a finding: one list of rules, of which the first that speaks is heard.

in_words(found, seen) -> Diagnostic        its sentence, the rule's hint, and the rule's name
"""

from __future__ import annotations

from dataclasses import replace

from grader.findings.record import Finding
from grader.findings.sentences import sentence
from grader.grading.hints import bounds, copies, faults, fragments, hostfile, outputs, races
from grader.grading.hints.rules import RULES_OF, Rule, Seen
from grader.verdict import Diagnostic

RULES: tuple[Rule, ...] = tuple(
    rule
    for module in (fragments, bounds, hostfile, races, copies, faults, outputs)
    for rule in RULES_OF[module.__name__.rpartition(".")[2]]
)
"""Every rule, in the order in which they are asked."""


def hint(found: Finding, seen: Seen) -> tuple[str, str]:
    """The hint, and the name of the rule that speaks; both "" where none does."""
    spoken = ((rule.speaks(found, seen), rule.name) for rule in RULES)
    return next((answer for answer in spoken if answer[0]), ("", ""))


UNEVEN_PASS = "bounds.uneven_pass"
"""The rule that says what a note on uneven passes would say again."""


def about_type(found: Diagnostic, seen: Seen) -> Diagnostic:
    """What a backend has put into words itself: with another hint where the type of a parameter explains it."""
    says = bounds.type_of_the_array(Finding(found.kind, array=found.array), seen)
    return replace(found, hint=says, rule="bounds.type_of_the_array") if says else found


AT_AN_ACCESS = (
    "out_of_bounds",
    "misaligned",
    "null",
    "race",
    "missing_fence",
    "same_value_write",
    "uninitialised_read",
)


def _placed(found: Finding, seen: Seen) -> Finding:
    """The finding in the lines that access its array."""
    names = (*found.names, found.array or "")
    if found.kind not in AT_AN_ACCESS or not found.array:
        return found

    def line(at: int | None) -> int | None:
        return at and seen.source.line_of_access(at, names)

    places = tuple(replace(place, line=line(place.line)) for place in found.places)
    return replace(found, line=line(found.line), places=places)


def in_words(found: Finding, seen: Seen) -> Diagnostic:
    """The finding in words."""
    found = _placed(found, seen)
    return found.diagnostic(sentence(found), *hint(found, seen))
