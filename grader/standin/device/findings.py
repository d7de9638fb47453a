"""Findings of the host file as records: what happened, its cause, and the operations that it is about. Pure.

Each function makes the record of one kind. Its sentence is in `grader.findings.sentences.hostfile`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.findings.kinds import RANKS
from grader.findings.record import Finding
from grader.standin.device.gpu import ArgumentMismatch
from grader.standin.device.managed import PageFault
from grader.standin.device.memory import Space
from grader.standin.device.operations import AwaitedEvent, Conflict, Copy, Occurrences, StreamOperation
from grader.standin.device.spans import common, span
from grader.verdict import Place

MOST_FINDINGS = 20
EARLIER_RUN, IN_SETUP = "earlier_run", "setup"
"""When an operation was queued that is not of this run (`Place.when`)."""


@dataclass(frozen=True)
class Records:
    """What records are made of. ``file`` is the host file's name."""

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
        """A finding that accuses an operation; ``address`` is the memory that it is about."""
        known = {} if address is None else {"memory": self.space.name(address)}
        return Finding(
            kind, cause, self.file, op.job.line or None, kernel, count=count,
            array=None if address is None else self.space.copied_name(address) or None,
            places=(self.place(op, role), *others), facts=known | {"operation": described(op)} | facts,
        )  # fmt: skip

    def at(self, kind: str, line: int, cause: str = "", **facts: Any) -> Finding:
        """A finding about a line; 0 where the line is not known."""
        return Finding(kind, cause, self.file, line or None, facts=facts)


def described(op: StreamOperation) -> dict[str, Any]:
    """What sentences need to name an operation."""
    return {"kind": op.job.kind, "name": op.job.name, "in_graph": op.in_graph}


# ------------------------------------------------------------------------------------------------------ what is wrong


_CLASHES = {
    ("writes", "reads"): "read_before_written", ("reads", "writes"): "overwritten_before_read",
    ("writes", "writes"): "both_write",
}  # fmt: skip


def missing_wait(records: Records, conflict: Conflict, when: str = "", wait: AwaitedEvent | None = None) -> Finding:
    """Two operations that nothing orders; ``when`` the first was queued, if not in this run.

    ``wait`` was to put them in order, and does not.
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
    """run() returned too early; ``late`` are the operations on the host's memory that were still queued."""
    writers = [op for op in late if op.footprint is not None and len(records.space.of_host(op.footprint.changed))]
    first, cause = (writers or late)[0], "writes" if writers else "reads"
    return records.about("unfinished", cause, first, count=len(late), others=len(late) - 1)


def host_conflict(records: Records, op: StreamOperation, address: int, *, of_setup: bool) -> Finding:
    """Memory of the host that a queued operation uses has changed meanwhile; ``of_setup`` one of setup()'s."""
    reads = op.footprint is not None and common(op.footprint.reads, span(address, 1)) is not None
    cause = "left_by_setup" if of_setup else "changed_before_read" if reads else "changed_before_written"
    return records.about("host_conflict", cause, op, address=address)


def use_after_free(records: Records, op: StreamOperation, address: int) -> Finding:
    """An operation uses memory that is gone."""
    freed = records.space.freed(address)
    cause = "dropped" if freed is not None and freed.was_dropped else "freed"
    gone_at = freed.freed_at if freed is not None else None
    return records.about("use_after_free", cause, op, address=address, gone_at=gone_at or 0)


def unpinned(records: Records, op: StreamOperation, address: int) -> Finding:
    """A copy was queued for pinned memory, which was unpinned before it was done."""
    region = records.space.unpinned(address)
    gone_at = region.freed_at if region is not None else None
    return records.about("use_after_free", "unpinned", op, address=address, gone_at=gone_at or 0)


def out_of_reach(records: Records, op: StreamOperation, address: int, owner: int | None = None) -> Finding:
    """A kernel used memory that exists, and that it may not use: of the device ``owner``, or the host's."""
    cause = "ordinary_memory" if owner is None else "other_device"
    facts: dict[str, Any] = {} if owner is None else {"owner": owner}
    return records.about("cuda_error", cause, op, address=address, kernel=op.job.name, **facts)


def argument_type(records: Records, line: int, kernel: str, number: int, name: str, found: ArgumentMismatch) -> Finding:
    """A launch passes bytes that the parameter reads as something else."""
    cause = "misread" if found.seen else "address"
    facts = {"number": number, "name": name, **found.facts}
    return replace(records.at("argument_type", line, cause, **facts), kernel=kernel)


# ------------------------------------------------------------------- what is no mistake by itself, and says why


def read_too_early(records: Records, op: StreamOperation, written: int, result: str) -> Finding:
    """Beside a wrong result: the host wrote managed memory while a kernel with results for it was still queued."""
    found = records.about("read_too_early", "", op, address=written, kernel=op.job.name, result=result)
    return replace(found, array=None)


def not_captured(records: Records, op: StreamOperation, begun: int) -> Finding:
    """Beside a wrong result or a race: it was put into another stream than the one that was being captured."""
    return records.about("not_captured", "", op, captured=op.beside, begun=begun)


def unwritten_copy(records: Records, op: StreamOperation, start: int, size: int) -> Finding:
    """Beside a wrong result: a copy brought the host what was in fresh memory."""
    region, known = records.space.at(start), bool(records.space.copied_name(start))
    facts: dict[str, Any] = {"bytes": size, "allocated_at": region.line if region is not None else 0, "has_name": known}
    return replace(records.about("unwritten_copy", "", op, address=start, **facts), array=None)


def brought_elsewhere(records: Records, op: StreamOperation, output: str) -> Finding:
    """Beside an output that was never written: a copy of just as many bytes went to other memory of the host."""
    return replace(records.about("brought_elsewhere", "", op, bytes=op.size), array=output)


def page_faults(records: Records, op: StreamOperation, fault: PageFault, parameter: str) -> Finding:
    """Beside a count of page faults: the kernel and the memory that had the most."""
    region, why = fault.region, fault.why
    return records.about(
        "page_faults", why.cause, op, kernel=op.job.name, parameter=parameter, bytes=region.size,
        allocated_at=region.line, why=why.facts,
    )  # fmt: skip


def l2_window(records: Records, line: int, cause: str, facts: Mapping[str, Any]) -> Finding:
    """An access-policy window keeps less than it was to."""
    return records.at("l2_window", line, cause, **facts)


class Findings:
    """What was found, alike ones as one: of one kind, at the same lines."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Finding] = {}
        self._consequences: set[tuple[object, ...]] = set()

    def add(self, finding: Finding, *lines: int, consequence: bool = False) -> None:
        """``lines`` are further ones that it is about; a ``consequence`` is told after its likely causes."""
        key = (finding.kind, finding.line, *lines)
        if consequence and key not in self._found:
            self._consequences.add(key)
        known = self._found.get(key)
        self._found[key] = finding if known is None else replace(known, count=known.count + finding.count)

    def carry(self, earlier: Findings) -> None:
        """Findings of an earlier run that this one did not have again."""
        for key, finding in earlier._found.items():
            if key not in self._found and key in earlier._consequences:
                self._consequences.add(key)
            self._found.setdefault(key, finding)

    def all(self) -> tuple[Finding, ...]:
        """The cause first; those of one kind in the order in which they came."""
        keys = sorted(self._found, key=lambda key: (key in self._consequences, RANKS[self._found[key].kind]))
        return tuple(self._found[key] for key in keys[:MOST_FINDINGS])
