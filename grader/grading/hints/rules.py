"""What a rule of advice is: a function that looks at a finding and says what to do, with an example that is executed.

    @rule("race", example=race("one_line", …), cause="one_line")
    def one_line(found, seen): return "one line does both: …"

    table("faults", ("print_from_one_thread", "print_limit", "", finding("print_limit"), "print from one thread only"))

The rules are asked in the order in which they stand; the first that speaks is the one whose name the record carries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from grader.findings.record import Dims, Finding
from grader.grading.source_view import SourceView
from grader.launch import LaunchPlan
from grader.verdict import Place

if TYPE_CHECKING:
    from grader.launch.source import Misread


@dataclass(frozen=True)
class Seen:
    """What a rule may look at besides the finding: the source, the launches, parameters of a wrong type."""

    source: SourceView = field(default_factory=SourceView)
    plan: LaunchPlan = field(default_factory=lambda: LaunchPlan(()))
    misread: Sequence[Misread] = ()
    host: bool = False  # of a host exercise, whose file may be at fault as well as the kernel
    given_kernel: bool = False  # the `.cu` is the course's own, which has nothing left to write in it


NOTHING_SEEN = Seen()
Look = Callable[[Finding, Seen], str]
"""What a rule does: the hint, "" where it has nothing to say."""


@dataclass(frozen=True)
class Rule:
    """``name`` is its module's and its function's: ``races.one_line``; ``example`` is a finding for which it speaks.

    Without ``kinds`` it looks at all findings, with ``causes`` at those of these causes alone.
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
    """Register rules that always say the same.

    A row is name, kinds and causes (with blanks between them; "": any), example, hint, and perhaps a condition.
    """
    for name, kinds, causes, example, hint, *when in rows:
        look = partial(_says, hint, when[0] if when else lambda found: True)
        own = Rule(f"{module}.{name}", tuple(kinds.split()), tuple(causes.split()), look, example)
        RULES_OF.setdefault(module, []).append(own)


def _says(hint: str, when: Callable[[Finding], object], found: Finding, seen: Seen) -> str:
    return hint if when(found) else ""


RULES_OF: dict[str, list[Rule]] = {}
"""The rules of each module, in the order in which they stand there."""


# ------------------------------------------------------------------------------------------------------- for examples


def kernel(*body: str) -> Seen:
    """The source of a kernel whose body begins in line 4."""
    return Seen(SourceView("\n".join(["", "", "__global__ void k(float* src) {", *body, "}"])))


def finding(
    kind: str, cause: str = "", *places: Place, line: int = 4, facts: dict[str, Any] | None = None, **fields: Any
) -> Finding:
    """A finding in ``k.cu`` as a backend makes it: of thread 5 of block 0."""
    known: dict[str, Any] = {"file": "k.cu", "kernel": "k", "thread": (5, 0, 0), "block": (0, 0, 0)}
    return Finding(kind, cause, line=line, places=places, facts=facts or {}, **(known | fields))


def access(role: str, thread: int, line: int, block: int = 0) -> Place:
    dims: tuple[Dims, Dims] = ((thread, 0, 0), (block, 0, 0))
    return Place(role, line, "k.cu", *dims)


def stray(cause: str, index: int, count: int, *, role: str = "write", line: int = 4, **more: Any) -> Finding:
    """An access beyond an array ``x`` of ``count`` floats."""
    facts = {"width": 4, "element_bytes": 4, "array_bytes": 4 * count, "offset": 4 * index} | more.pop("facts", {})
    fields: dict[str, Any] = {"space": "global", "array": "x", "index": index} | more
    fields.setdefault("names", ("src",) if fields["space"] == "global" else ())
    own = Place(role, line, "k.cu", (5, 0, 0), fields.get("block", (0, 0, 0)))
    return finding("out_of_bounds", cause, own, line=line, facts=facts, **fields)


def race(cause: str, *places: Place, space: str = "shared", **more: Any) -> Finding:
    """Two accesses to element 3 of ``part``, or of a global array."""
    kind = more.pop("kind", "race")
    array = "part" if space == "shared" else "x"
    facts = {"element_bytes": 4, "offset": 12} | more.pop("facts", {})
    fields: dict[str, Any] = {"index": 3, "array": array, "line": places[-1].line} | more
    return finding(kind, cause, *places, space=space, facts=facts, **fields)
