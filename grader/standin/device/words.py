"""Findings of the host file in words. A message says fact, place, evidence; a hint what to do about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from grader.render.text import counted
from grader.standin.device.arguments import Mistaken
from grader.standin.device.memory import Space
from grader.standin.device.operations import Operation
from grader.standin.device.spans import common, span
from grader.standin.device.turns import Turns
from grader.verdict import Diagnostic

MOST_FINDINGS = 20
ORDER = (
    "use_after_free", "missing_wait", "host_conflict", "cuda_error", "unfinished", "refused",
    "argument_type", "still_capturing", "not_captured", "no_kernel_in_graph", "unwritten_copy",
    "brought_elsewhere", "read_too_early", "page_faults", "staged",
)  # fmt: skip
"""Which kind is the cause of which: the first is told first."""


@dataclass(frozen=True)
class Words:
    """Pieces of messages. ``file`` is the host file's name."""

    file: str
    space: Space
    turns: Turns = field(default_factory=Turns)

    def at(self, op: Operation) -> str:
        """``(streams_host.py:41)``, with a space before it; in a loop ``(streams_host.py:41, the 3rd time)``."""
        return f" ({self.file}:{op.job.where}{self.turns.words(op)})" if op.job.where else ""

    def doer(self, op: Operation) -> str:
        """``kernel smooth on stream 2 (streams_host.py:41)``."""
        return f"{noun_of(op)} on {stream(op)}{self.at(op)}"


def stream(op: Operation) -> str:
    """``stream 2``, ``the default stream``; with the device where that is not the first."""
    return stream_name(op.stream, op.job.device)


def stream_name(number: int, device: int) -> str:
    """The same for the stream that the host file made as that one; 0 is the default stream."""
    name = f"stream {number}" if number else "the default stream"
    return f"{name} of device {device}" if device else name


def noun_of(op: Operation) -> str:
    if op.job.kind == "kernel":
        return f"kernel {op.job.name}" + (" of a graph" if op.in_graph else "")
    return {"fill": "the fill", "prefetch": "the prefetch"}.get(op.job.kind, "the copy")


SETUP_HINT = (
    "wait at the end of setup() for what it has queued: `cupy.cuda.Device().synchronize()`. That time does not count"
)


def unfinished(words: Words, late: list[Operation]) -> Diagnostic:
    """run() returned too early; ``late`` are the operations on the host's memory that were still queued."""
    writers = [op for op in late if op.footprint is not None and len(words.space.of_host(op.footprint.changed))]
    first = (writers or late)[0]
    others = len(late) - 1
    more = f", nor for {counted(others, 'more operation')}" if others else ""
    name = f" of {first.job.name}" if first.job.kind in ("to_device", "to_host", "prefetch") and first.job.name else ""
    where = f"{noun_of(first)}{name} on {stream(first)}{words.at(first)}"
    uses = "writes" if writers else "reads"
    return Diagnostic(
        "unfinished",
        f"run() returned while {where} was still queued; it {uses} the host's memory, and nothing waited for it{more}",
        file=words.file, line=first.job.where or None, count=len(late),
        hint="wait at the end of run(), once: `stream.synchronize()` for each stream that still has work, or for an "
        "event behind all of it",
    )  # fmt: skip


def host_conflict(words: Words, op: Operation, address: int) -> Diagnostic:
    """Memory of the host that a queued operation uses has changed meanwhile."""
    reads = op.footprint is not None and common(op.footprint.reads, span(address, 1)) is not None
    done, hint = _READ if reads else _FILLED
    return Diagnostic(
        "host_conflict",
        f"the host changed {words.space.name(address)} before {words.doer(op)} had {done} it: it was queued, and "
        "nothing waited for it",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None, hint=hint,
    )  # fmt: skip


_READ = (
    "read",
    "memory of the host is read when the operation is done, not when it is queued: wait for it before you write there "
    "again (an event behind it, `event.synchronize()`), or take another buffer",
)
_FILLED = (
    "written",
    "memory of the host is written when the operation is done, not when it is queued, so that either may come last: "
    "wait for it before you write there (an event behind it, `event.synchronize()`), or take another buffer",
)


def left_by_setup(words: Words, op: Operation, address: int) -> Diagnostic:
    """Memory of the host that an operation of setup() uses has changed since."""
    return Diagnostic(
        "host_conflict",
        f"setup() returned while {words.doer(op)} was still queued; it uses {words.space.name(address)}, which got new "
        "values since then",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None, hint=SETUP_HINT,
    )  # fmt: skip


def use_after_free(words: Words, op: Operation, address: int) -> Diagnostic:
    """An operation uses memory that is gone."""
    freed = words.space.freed(address)
    line = freed.freed_at if freed is not None else None
    dropped = freed is not None and freed.was_dropped
    at = f" since line {line}" * dropped + f" on line {line}" * (not dropped) if line else ""
    gone = f"which nobody holds any more{at}" if dropped else f"which was freed{at}"
    return Diagnostic(
        "use_after_free", f"{words.doer(op)} uses {words.space.name(address)}, {gone}",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None,
        hint=(_KEEP_BESIDE if op.in_graph else _KEEP) if dropped else _WAIT_BEFORE_FREE,
    )  # fmt: skip


_WAIT_BEFORE_FREE = (
    "freeing need not wait for queued work, so wait for what uses the memory first. A graph keeps the addresses with "
    "which it was captured"
)
_KEEP = "keep the array as long as something uses its address: CuPy gives memory that nobody holds to the next array"
_KEEP_BESIDE = (
    "a graph keeps the addresses with which it was captured, but not the arrays: keep those beside the graph. CuPy "
    "gives memory that nobody holds to the next array"
)


def unpinned(words: Words, op: Operation, address: int) -> Diagnostic:
    """A copy was queued for pinned memory, which was unpinned before it was done."""
    region = words.space.unpinned(address)
    at = f" on line {region.freed_at}" if region is not None and region.freed_at else ""
    return Diagnostic(
        "use_after_free",
        f"{words.doer(op)} uses {words.space.name(address)}, which was unpinned{at} before the copy was done",
        file=words.file, line=op.job.where or None, array=words.space.copied_name(address) or None,
        hint="hostUnregister need not wait for queued copies: wait for them first, or leave the array pinned",
    )  # fmt: skip


def out_of_reach(words: Words, op: Operation, address: int, why: str, hint: str) -> Diagnostic:
    """A kernel used memory that exists, and that it may not use."""
    return Diagnostic(
        "cuda_error",
        f"cudaErrorIllegalAddress: {words.doer(op)} uses {words.space.name(address)}, {why}",
        file=words.file, line=op.job.where or None, kernel=op.job.name,
        array=words.space.copied_name(address) or None, hint=hint,
    )  # fmt: skip


def refused(words: Words, where: int, function: str, message: str) -> Diagnostic:
    """A call of cuda.bindings came back with an error, which nobody need have looked at."""
    return Diagnostic(
        "refused", f"{function} was refused: {message}; cuda.bindings returns errors and raises nothing",
        severity="warning", file=words.file, line=where or None,
    )  # fmt: skip


def l2_window(words: Words, message: str, where: int) -> Diagnostic:
    """An access-policy window keeps less than it was to."""
    return Diagnostic("l2_window", message, severity="warning", file=words.file, line=where or None)


def argument_type(words: Words, where: int, kernel: str, number: int, name: str, found: Mistaken) -> Diagnostic:
    """A launch passes bytes that the parameter reads as something else."""
    line = f" ({words.file}:{where})" if where else ""
    seen = f", so that the kernel sees {found.seen}" if found.seen else ""
    hint = (
        f"a launch copies bytes and converts nothing: pass {found.wrap}({name or '…'})"
        if found.wrap
        else "pass the arguments in the order of the kernel's parameters"
    )
    return Diagnostic(
        "argument_type",
        f"argument {number} of {kernel}{line} is {found.given}, and the parameter{f' {name}' if name else ''} is "
        f"{found.wanted}{seen}",
        severity="warning", file=words.file, line=where or None, kernel=kernel, hint=hint,
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
