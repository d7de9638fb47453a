"""Rules for hints: functions from a finding to a hint, each with an example that is executed as a test.

    @rule("race", example=race("one_line", …), cause="one_line")
    def one_line(found, seen): return "one line does both: …"

    table("faults", ("print_from_one_thread", "print_limit", "", finding("print_limit"), "print from one thread only"))

Rules are tried in their order; the diagnostic has the name of the first one that has a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

from grader.findings.record import Dims, Finding
from grader.frozen import dataclass
from grader.grading.source_view import SourceView
from grader.launch import LaunchPlan
from grader.verdict import Place

if TYPE_CHECKING:
    from grader.launch.source import Misread


@dataclass(frozen=True)
class Seen:
    """The data for rules besides the finding: the source, the launches, parameters of a wrong type."""

    source: SourceView = field(default_factory=SourceView)
    plan: LaunchPlan = field(default_factory=lambda: LaunchPlan(()))
    misread: Sequence[Misread] = ()
    host: bool = False  # a host exercise: the error may be in the host file
    given_kernel: bool = False  # the kernel is given by the course, and right
    given_launches: bool = False  # so are launch lines and definitions


NOTHING_SEEN = Seen()
Look = Callable[[Finding, Seen], str]
"""The function of a rule: it returns the hint, or "" if it has none."""


@dataclass(frozen=True)
class Rule:
    """``name`` is that of its module and its function: ``races.one_line``; ``example`` is a finding with this hint.

    A rule is for findings of its ``kinds`` and ``causes``; () means all.
    """

    name: str
    kinds: tuple[str, ...]
    causes: tuple[str, ...]
    look: Look
    example: Finding
    seen: Seen = NOTHING_SEEN  # of the example

    def speaks(self, found: Finding, seen: Seen) -> str:
        of_kind, of_cause = found.kind in self.kinds or not self.kinds, found.cause in self.causes or not self.causes
        return self.look(found, seen) if of_kind and of_cause else ""


def rule(*kinds: str, example: Finding, seen: Seen = NOTHING_SEEN, cause: str = "") -> Callable[[Look], Look]:
    """Register the decorated function in its module's list `RULES_OF`."""

    def register(look: Look) -> Look:
        module = look.__module__.rpartition(".")[2]
        own = Rule(f"{module}.{look.__name__}", kinds, tuple(cause.split()), look, example, seen)
        RULES_OF.setdefault(module, []).append(own)
        return look

    return register


Row = tuple[str, str, str, Finding, str] | tuple[str, str, str, Finding, str, Callable[[Finding], object]]


def table(module: str, *rows: Row) -> None:
    """Register rules with a constant hint.

    A row is name, kinds and causes (separated by blanks; "": all), example, hint, and optionally a condition.
    """
    for name, kinds, causes, example, hint, *when in rows:
        look = partial(_says, hint, when[0] if when else lambda found: True)
        own = Rule(f"{module}.{name}", tuple(kinds.split()), tuple(causes.split()), look, example)
        RULES_OF.setdefault(module, []).append(own)


def _says(hint: str, when: Callable[[Finding], object], found: Finding, seen: Seen) -> str:
    return hint if when(found) else ""


RULES_OF: dict[str, list[Rule]] = {}
"""The rules of each module, in their order there."""


# ------------------------------------------------------------------------------------------------------- for examples


def kernel(*body: str) -> Seen:
    """Data with the source of a kernel whose body begins in line 4."""
    return Seen(SourceView("\n".join(["", "", "__global__ void k(float* src) {", *body, "}"])))


def finding(
    kind: str, cause: str = "", *places: Place, line: int = 4, facts: dict[str, Any] | None = None, **fields: Any
) -> Finding:
    """A finding on thread 5 of block 0 in ``k.cu``."""
    known: dict[str, Any] = {"file": "k.cu", "kernel": "k", "thread": (5, 0, 0), "block": (0, 0, 0)}
    return Finding(kind, cause, line=line, places=places, facts=facts or {}, **(known | fields))


def access(role: str, thread: int, line: int, block: int = 0) -> Place:
    dims: tuple[Dims, Dims] = ((thread, 0, 0), (block, 0, 0))
    return Place(role, line, "k.cu", *dims)


def stray(cause: str, index: int, count: int, *, role: str = "write", line: int = 4, **more: Any) -> Finding:
    """A finding on an access outside an array ``x`` of ``count`` floats."""
    facts = {"width": 4, "element_bytes": 4, "array_bytes": 4 * count, "offset": 4 * index} | more.pop("facts", {})
    fields: dict[str, Any] = {"space": "global", "array": "x", "index": index} | more
    fields.setdefault("names", ("src",) if fields["space"] == "global" else ())
    own = Place(role, line, "k.cu", (5, 0, 0), fields.get("block", (0, 0, 0)))
    return finding("out_of_bounds", cause, own, line=line, facts=facts, **fields)


def race(cause: str, *places: Place, space: str = "shared", **more: Any) -> Finding:
    """A finding on two accesses to element 3 of ``part``, or of a global array."""
    kind = more.pop("kind", "race")
    array = "part" if space == "shared" else "x"
    facts = {"element_bytes": 4, "offset": 12} | more.pop("facts", {})
    fields: dict[str, Any] = {"index": 3, "array": array, "line": places[-1].line} | more
    return finding(kind, cause, *places, space=space, facts=facts, **fields)
