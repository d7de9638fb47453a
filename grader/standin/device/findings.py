"""Findings of the host file as records: what happened, the cause, and the operations involved. Pure functions.

Each function makes the record of one kind. The sentences are in `grader.findings.sentences.hostfile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from grader.findings.kinds import RANKS
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.standin.device.gpu import ArgumentMismatch
from grader.standin.device.managed import PageFault
from grader.standin.device.memory import Space
from grader.standin.device.operations import AwaitedEvent, Conflict, Copy, Occurrences, StreamOperation
from grader.standin.device.spans import common, span
from grader.verdict import Place

MOST_FINDINGS = 20
EARLIER_RUN, IN_SETUP = "earlier_run", "setup"
"""When an operation was queued, if not in this run (`Place.when`)."""


@dataclass(frozen=True)
class Records:
    """Makes records. ``file`` is the host file's name."""

    file: str
    space: Space
    occurrences: Occurrences = field(default_factory=Occurrences)

    def place(self, op: StreamOperation, role: str = "accused", when: str = "") -> Place:
        """Where the host file queued an operation."""
        return Place(
            role, op.job.line or None, self.file, stream=op.stream, device=op.job.device,
            occurrence=self.occurrences.of(op), when=when,
        )  # fmt: skip

    def about(
        self, kind: str, cause: str, op: StreamOperation, *others: Place, address: int | None = None,
        kernel: str | None = None, role: str = "accused", count: int = 1, **facts: Any,
    ) -> Finding:  # fmt: skip
        """A finding about an operation; ``address`` is in the memory concerned."""
        memory = {} if address is None else {"memory": self.space.name(address)}
        return Finding(
            kind, cause, self.file, op.job.line or None, kernel, count=count,
            array=None if address is None else self.space.copied_name(address) or None,
            places=(self.place(op, role), *others), facts=memory | {"operation": described(op)} | facts,
        )  # fmt: skip

    def at(self, kind: str, line: int, cause: str = "", **facts: Any) -> Finding:
        """A finding about a line; 0 if the line is not known."""
        return Finding(kind, cause, self.file, line or None, facts=facts)


def described(op: StreamOperation) -> dict[str, Any]:
    """The facts from which a sentence names an operation."""
    return {"kind": op.job.kind, "name": op.job.name, "in_graph": op.in_graph}


# ---------------------------------------------------------------------------------------------------------- mistakes


_CLASHES = {
    ("writes", "reads"): "read_before_written", ("reads", "writes"): "overwritten_before_read",
    ("writes", "writes"): "both_write",
}  # fmt: skip


def missing_wait(records: Records, conflict: Conflict, when: str = "", wait: AwaitedEvent | None = None) -> Finding:
    """Two operations that nothing orders. ``when`` says when the first was queued, if not in this run.

    ``wait`` is a wait that looks meant for this order, but does not establish it.
    """
    first, second = conflict.first, conflict.second
    cause = _CLASHES[conflict.did, conflict.does]
    roles = ("either", "either") if cause == "both_write" else ("accused", "other")
    beside = next((op for op in (first, second) if op.beside), None)
    facts: dict[str, Any] = {}
    if beside is not None:
        facts["beside"] = {
            "operation": described(beside), "captured": beside.beside, "line": beside.job.line,
            "stream": [beside.stream, beside.job.device],
        }  # fmt: skip
    if wait is not None:
        facts["wait"] = {
            "line": wait.line, "recorded": wait.recorded, "stream": [wait.stream, wait.device],
            "too_early": wait.chain == first.chain,
        }  # fmt: skip
    if first.job.kind == "to_device" and isinstance(first.job.work, Copy) and first.job.work.pageable:
        facts["pageable"] = True
    return records.about(
        "missing_wait", cause, second, records.place(first, roles[1], when), address=conflict.address, role=roles[0],
        kernel=second.job.name if second.job.kind == "kernel" else None, first=described(first), **facts,
    )  # fmt: skip


def unfinished(records: Records, late: Sequence[StreamOperation]) -> Finding:
    """run() returned too early; ``late`` are the operations on the host's memory that were still pending."""
    writers = [op for op in late if op.footprint is not None and len(records.space.of_host(op.footprint.changed))]
    first, cause = (writers or late)[0], "writes" if writers else "reads"
    return records.about("unfinished", cause, first, count=len(late), others=len(late) - 1)


def host_conflict(records: Records, op: StreamOperation, address: int, *, of_setup: bool) -> Finding:
    """The host changed memory while an operation on it was in flight; ``of_setup``: setup() queued the operation."""
    reads = op.footprint is not None and common(op.footprint.reads, span(address, 1)) is not None
    cause = "left_by_setup" if of_setup else "changed_before_read" if reads else "changed_before_written"
    return records.about("host_conflict", cause, op, address=address)


def use_after_free(records: Records, op: StreamOperation, address: int) -> Finding:
    """An operation uses freed memory."""
    freed = records.space.freed(address)
    cause = "dropped" if freed is not None and freed.was_dropped else "freed"
    freed_at = freed.freed_at if freed is not None else None
    return records.about("use_after_free", cause, op, address=address, gone_at=freed_at or 0)


def unpinned(records: Records, op: StreamOperation, address: int) -> Finding:
    """Memory of a copy was unpinned while the copy was in flight."""
    region = records.space.unpinned(address)
    unpinned_at = region.freed_at if region is not None else None
    return records.about("use_after_free", "unpinned", op, address=address, gone_at=unpinned_at or 0)


def out_of_reach(records: Records, op: StreamOperation, address: int, owner: int | None = None) -> Finding:
    """A kernel accessed memory that exists but that it must not access: of the device ``owner``, or of the host."""
    cause = "ordinary_memory" if owner is None else "other_device"
    facts: dict[str, Any] = {} if owner is None else {"owner": owner}
    return records.about("cuda_error", cause, op, address=address, kernel=op.job.name, **facts)


def argument_type(
    records: Records, line: int, kernel: str, number: int, name: str, misread: ArgumentMismatch
) -> Finding:
    """An argument's type does not fit the parameter, which misreads its bytes."""
    cause = "misread" if misread.seen else "address"
    facts = {"number": number, "name": name, **misread.facts}
    return replace(records.at("argument_type", line, cause, **facts), kernel=kernel)


# ------------------------------------------------------------------ not mistakes by themselves, but explanations


def read_too_early(records: Records, op: StreamOperation, written: int, result: str) -> Finding:
    """For a wrong result: the host wrote managed memory while a kernel that writes ``result`` was in flight."""
    finding = records.about("read_too_early", "", op, address=written, kernel=op.job.name, result=result)
    return replace(finding, array=None)


def not_captured(records: Records, op: StreamOperation, begun: int) -> Finding:
    """For a wrong result or a race: an operation was queued on another stream than the captured one."""
    return records.about("not_captured", "", op, captured=op.beside, begun=begun)


def unwritten_copy(records: Records, op: StreamOperation, start: int, size: int) -> Finding:
    """For a wrong result: a copy brought the host memory that was never written."""
    region, known = records.space.at(start), bool(records.space.copied_name(start))
    facts: dict[str, Any] = {"bytes": size, "allocated_at": region.line if region is not None else 0, "has_name": known}
    return replace(records.about("unwritten_copy", "", op, address=start, **facts), array=None)


def brought_elsewhere(records: Records, op: StreamOperation, output: str) -> Finding:
    """For an output that was never written: a copy of the same size went to other host memory."""
    return replace(records.about("brought_elsewhere", "", op, bytes=op.size), array=output)


def page_faults(records: Records, op: StreamOperation, fault: PageFault, parameter: str) -> Finding:
    """For a count of page faults: the kernel and the memory with the most."""
    region, why = fault.region, fault.why
    return records.about(
        "page_faults", why.cause, op, kernel=op.job.name, parameter=parameter, bytes=region.size,
        allocated_at=region.line, why=why.facts,
    )  # fmt: skip


def l2_window(records: Records, line: int, cause: str, facts: Mapping[str, Any]) -> Finding:
    """An access-policy window keeps less in the L2 cache than it covers."""
    return records.at("l2_window", line, cause, **facts)


class Findings:
    """The findings of a run; those of one kind at the same lines are merged."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Finding] = {}
        self._consequences: set[tuple[object, ...]] = set()

    def add(self, finding: Finding, *lines: int, consequence: bool = False) -> None:
        """Add a finding. ``lines`` are further lines involved; a ``consequence`` is listed after likely causes."""
        key = (finding.kind, finding.line, *lines)
        if consequence and key not in self._found:
            self._consequences.add(key)
        known = self._found.get(key)
        self._found[key] = finding if known is None else replace(known, count=known.count + finding.count)

    def carry(self, earlier: Findings) -> None:
        """Add the findings of an earlier run that this run did not repeat."""
        for key, finding in earlier._found.items():
            if key not in self._found and key in earlier._consequences:
                self._consequences.add(key)
            self._found.setdefault(key, finding)

    def all(self) -> tuple[Finding, ...]:
        """Causes before consequences, then by rank of the kind, then in order of appearance; at most MOST_FINDINGS."""
        keys = sorted(self._found, key=lambda key: (key in self._consequences, RANKS[self._found[key].kind]))
        return tuple(self._found[key] for key in keys[:MOST_FINDINGS])
