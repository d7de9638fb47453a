"""Findings of the host file in words. A message says fact, place, evidence; a hint what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from grader.standin.machine.conflicts import Conflict
from grader.standin.machine.memory import Space
from grader.standin.machine.operations import Operation
from grader.verdict import Diagnostic

MOST_FINDINGS = 20
ORDER = ("use_after_free", "missing_wait", "host_conflict", "cuda_error", "unfinished")
"""Which kind is the cause of which: the first is told first."""


@dataclass(frozen=True)
class Words:
    """Pieces of messages. ``file`` is the host file's name."""

    file: str
    space: Space

    def at(self, line: int) -> str:
        """``(streams_host.py:41)``, with a space before it; "" where the line is not known."""
        return f" ({self.file}:{line})" if line else ""

    def doer(self, op: Operation) -> str:
        """``kernel smooth on stream 2 (streams_host.py:41)``."""
        return f"{_noun(op)} on {stream(op)}{self.at(op.job.where)}"


def stream(op: Operation) -> str:
    """``stream 2``, ``the default stream``; with the device where that is not the first."""
    name = f"stream {op.stream}" if op.stream else "the default stream"
    device = op.job.device if op.task is not None else 0
    return f"{name} of device {device}" if device else name


def _noun(op: Operation) -> str:
    if op.job.kind == "kernel":
        return f"kernel {op.job.name}" + (" of a graph" if op.in_graph else "")
    return {"fill": "the fill", "prefetch": "the prefetch"}.get(op.job.kind, "the copy")


def missing_wait(words: Words, conflict: Conflict, *, earlier: bool = False) -> Diagnostic:
    """Two operations that nothing orders; ``earlier``: the first is of an earlier run, or of setup."""
    first, second = conflict.first, conflict.second
    what = words.space.name(conflict.address)
    before = words.doer(first) + (", of an earlier run," if earlier else "")
    message = _CLASHES[conflict.did, conflict.does](words.doer(second), before, what, _noun(first))
    array = words.space.copied_name(conflict.address) or None
    return Diagnostic(
        "missing_wait", f"{message}; {_missing(first, second)}", file=words.file, line=second.job.where or None,
        kernel=second.job.name if second.job.kind == "kernel" else None, array=array, hint=_wait_hint(conflict),
    )  # fmt: skip


def _fills(second: str, first: str, what: str, noun: str) -> str:
    verb = "writes" if noun.startswith("kernel") else "fills"
    return f"{second} reads {what} before {first} that {verb} it"


def _reads(second: str, first: str, what: str, noun: str) -> str:
    return f"{second} overwrites {what} before {first} has read it"


def _both(second: str, first: str, what: str, noun: str) -> str:
    return f"{second} writes {what}, which {first} writes too: either may come last"


_CLASHES: dict[tuple[str, str], Callable[[str, str, str, str], str]] = {
    ("writes", "reads"): _fills, ("reads", "writes"): _reads, ("writes", "writes"): _both,
}  # fmt: skip


def _missing(first: Operation, second: Operation) -> str:
    if first.chain == second.chain:
        return "nothing orders them"
    if first.job.device != second.job.device:
        return "streams of different devices wait for each other only by events"
    return "no event between them"


def _wait_hint(conflict: Conflict) -> str:
    first, second = conflict.first, conflict.second
    line = f" (line {first.job.where})" if first.job.where else ""
    on, other = stream(first), stream(second)
    behind = "the launch of the graph" if first.in_graph and not second.in_graph else f"{_noun(first)}{line}"
    event = f"record an event on {on} behind {behind} and let {other} wait for it first"
    hint = f"{event} (`stream.wait_event(event)`); or put both on one stream"
    if conflict.does == "writes":
        hint += ", or give each a buffer of its own"
    if 0 in (first.stream, second.stream):
        hint += ". A stream made with non_blocking=True does not wait for the default stream, nor that one for it"
    return hint


def unfinished(words: Words, late: list[Operation]) -> Diagnostic:
    """run() returned too early; ``late`` are the operations on the host's memory that were still queued."""
    writers = [op for op in late if op.footprint is not None and len(words.space.of_host(op.footprint.changed))]
    first = (writers or late)[0]
    others = len(late) - 1
    more = f", and {others} more operation{'s' * (others > 1)} on the host's memory" if others else ""
    name = f" of {first.job.name}" if first.job.kind in ("to_device", "to_host", "prefetch") and first.job.name else ""
    where = f"{_noun(first)}{name} on {stream(first)}{words.at(first.job.where)}"
    uses = "writes" if writers else "reads"
    return Diagnostic(
        "unfinished",
        f"run() returned while {where} was still queued{more}; it {uses} the host's memory, and nothing waited for it",
        file=words.file, line=first.job.where or None, count=len(late),
        hint="wait at the end of run(), once: `stream.synchronize()` for each stream that still has work, or for an "
        "event behind all of it",
    )  # fmt: skip


def host_conflict(words: Words, op: Operation, address: int) -> Diagnostic:
    """The source of a queued copy has changed."""
    return Diagnostic(
        "host_conflict",
        f"the host changed {words.space.name(address)} before {words.doer(op)} had read it: it was queued, and nothing "
        "waited for it",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None,
        hint="memory of the host is read when the operation is done, not when it is queued: wait for it before you "
        "write there again (an event behind it, `event.synchronize()`), or take another buffer",
    )  # fmt: skip


def use_after_free(words: Words, op: Operation, address: int) -> Diagnostic:
    """An operation uses memory that is gone."""
    freed = words.space.freed(address)
    line = freed.freed_at if freed is not None else None
    at = f" on line {line}" if line else ""
    return Diagnostic(
        "use_after_free", f"{words.doer(op)} uses {words.space.name(address)}, which was freed{at}",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None,
        hint="freeing waits for nothing: wait for the work that uses the memory first. A graph keeps the addresses "
        "with which it was captured",
    )  # fmt: skip


def out_of_reach(words: Words, op: Operation, address: int, why: str, hint: str) -> Diagnostic:
    """A kernel used memory that exists, and that it may not use."""
    return Diagnostic(
        "cuda_error",
        f"cudaErrorIllegalAddress: {words.doer(op)} uses {words.space.name(address)}, {why}",
        file=words.file, line=op.job.where or None, kernel=op.job.name,
        array=words.space.copied_name(address) or None, hint=hint,
    )  # fmt: skip


class Findings:
    """What was found, alike ones as one: of one kind, at the same lines."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Diagnostic] = {}
        self._consequences: set[tuple[object, ...]] = set()

    def add(self, finding: Diagnostic, *lines: int, consequence: bool = False) -> None:
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

    def all(self) -> tuple[Diagnostic, ...]:
        """The cause first; those of one kind in the order in which they came."""
        keys = sorted(self._found, key=lambda key: (key in self._consequences, ORDER.index(self._found[key].kind)))
        return tuple(self._found[key] for key in keys[:MOST_FINDINGS])
