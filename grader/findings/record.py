"""The record of one finding: kind, cause, places and facts as data. Its words are made once, at the end of its case.

    Finding("race", "between_blocks", places=(Place("write", …), Place("read", …)), facts={…})

Backends make findings; sentence and hint are made from the record. A message that has no further use as data (of the
compiler, or about a wrong launch line) is a `Diagnostic` from the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from grader.findings.kinds import Severity, kind_of
from grader.frozen import dataclass
from grader.verdict import Access, Diagnostic, Place

Dims = tuple[int, int, int]


@dataclass(frozen=True)
class Finding:
    """One finding. ``cause`` is finer than the kind; ``facts`` are further plain values for sentence and hints."""

    kind: str
    cause: str = ""
    file: str | None = None
    line: int | None = None
    kernel: str | None = None
    thread: Dims | None = None
    block: Dims | None = None
    space: str | None = None
    array: str | None = None
    names: tuple[str, ...] = ()  # the kernel's parameters that point to the array
    index: int | None = None
    indices: tuple[int, ...] = ()  # of the same element, for each dimension of its declaration; () if there is only one
    address: int | None = None
    places: tuple[Place, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    count: int = 1
    counter: str | None = None
    launch: str = ""
    axes: tuple[int, int] = (1, 1)  # of the launch's blocks, and of its grid

    @property
    def severity(self) -> Severity:
        return kind_of(self.kind).severity

    def diagnostic(self, message: str, hint: str = "", rule: str = "") -> Diagnostic:
        """The public record, with message and hint."""
        accesses = (Access(p.role, p.thread, p.block, p.line) for p in self.places if p.thread and p.block)
        return Diagnostic(
            kind=self.kind, message=message, severity=self.severity, file=self.file, line=self.line,
            kernel=self.kernel, thread=self.thread, block=self.block, space=self.space, array=self.array,
            index=self.index, indices=self.indices, address=self.address, accesses=tuple(accesses),
            count=self.count, hint=hint, counter=self.counter, launch=self.launch, cause=self.cause, rule=rule,
            places=self.places, names=self.names, axes=self.axes,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(data: Mapping[str, Any]) -> Finding:
    """A finding from the JSON of `Finding.to_json`, with tuples for lists."""
    places = tuple(Place(**_tupled(place)) for place in data["places"])
    facts = {name: tuple(value) if isinstance(value, list) else value for name, value in data["facts"].items()}
    return Finding(**(_tupled(data) | {"places": places, "facts": facts}))


def _tupled(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
