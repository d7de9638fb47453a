"""Races between operations in words: which two, what nothing orders, and which wait was meant to. Pure."""

from __future__ import annotations

from collections.abc import Callable

from grader.standin.device.conflicts import Conflict
from grader.standin.device.operations import Copy, Operation, Waited
from grader.standin.device.words import SETUP_HINT, Words, noun_of, stream, stream_name
from grader.verdict import Diagnostic

EARLIER, IN_SETUP = ", of an earlier run", ", in setup()"
"""When an operation was queued that is none of this run."""


def missing_wait(words: Words, conflict: Conflict, when: str = "", wait: Waited | None = None) -> Diagnostic:
    """Two operations that nothing orders; ``when`` the first was queued, if not in this run (`EARLIER`, `IN_SETUP`).

    ``wait`` was to put them in order, and does not.
    """
    first, second = conflict.first, conflict.second
    what = words.space.name(conflict.address)
    before = words.doer(first) + (f"{when}," if when else "")
    message = _CLASHES[conflict.did, conflict.does](words.doer(second), before, what, noun_of(first))
    array = words.space.copied_name(conflict.address) or None
    return Diagnostic(
        "missing_wait", f"{message}; {_missing(first, second)}", file=words.file, line=second.job.where or None,
        kernel=second.job.name if second.job.kind == "kernel" else None, array=array,
        hint=_outside_hint(conflict) or (SETUP_HINT if when == IN_SETUP else _wait_hint(words, conflict, wait)),
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
    if first.job.device != second.job.device:
        return "streams of different devices wait for each other only by events"
    return "no event between them"


def _outside_hint(conflict: Conflict) -> str:
    """Where one of the two is not in the graph to which it was meant to belong; "" else."""
    op = next((op for op in (conflict.first, conflict.second) if op.beside), None)
    if op is None:
        return ""
    line = f" (line {op.job.where})" if op.job.where else ""
    verb = "was launched" if op.job.kind == "kernel" else "was queued"
    return (
        f"{noun_of(op)}{line} {verb} on {stream(op)} while stream {op.beside} was being captured, so it is not in the "
        f"graph: {captured_instead(op)}"
    )


def captured_instead(op: Operation) -> str:
    """What makes an operation part of the graph that was being captured while it went into another stream."""
    if op.job.kind in ("kernel", "fill"):
        return "put it inside `with stream:`, with the stream that is being captured"
    return "copy on the stream that is being captured, by a call that does not wait: memcpyAsync(…, stream.ptr)"


def _wait_hint(words: Words, conflict: Conflict, wait: Waited | None) -> str:
    first, second = conflict.first, conflict.second
    line = f" (line {first.job.where})" if first.job.where else ""
    event, other = f"an event on {stream(first)} behind {noun_of(first)}{line}", stream(second)
    # From outside, only a whole graph can be waited for, or wait; the streams inside of it are those of its capture.
    if first.in_graph and not second.in_graph:
        event = "an event behind the launch of the graph, on the stream of that launch,"
    if second.in_graph and not first.in_graph:
        other = "the stream that launches the graph"
    hint = f"record {event} and let {other} wait for it first (`stream.wait_event(event)`)"
    if wait is not None:
        hint = _mistaken(words, first, second, wait)
    on_one_device = first.job.device == second.job.device
    if on_one_device:
        hint += "; or put both on one stream"
    if conflict.does == "writes":
        hint += "; or give each a buffer of its own"
    if on_one_device and 0 in (first.stream, second.stream):
        hint += ". A stream made with non_blocking=True does not wait for the default stream, nor that one for it"
    if first.job.kind == "to_device" and isinstance(first.job.work, Copy) and first.job.work.pageable:
        hint += ". When a copy from memory that is not pinned returns, it has read there; the bytes may arrive later"
    return hint


def _mistaken(words: Words, first: Operation, second: Operation, wait: Waited) -> str:
    """There is a wait; what its event says, and which event it had to be."""
    there = f"{stream(second)} does wait for an event{_line(wait.where)}"
    recorded = f"but that was recorded on {stream_name(wait.stream, wait.device)}{_line(wait.recorded)}"
    noun = f"{noun_of(first)}{_line(first.job.where, words.turns.words(first))}"
    if wait.chain == first.chain:
        return f"{there}, {recorded} before {noun} was queued: wait for an event that was recorded behind it"
    return f"{there}, {recorded}, not on {stream(first)} behind {noun}: wait for one that is recorded there"


def _line(number: int, turn: str = "") -> str:
    return f" (line {number}{turn})" if number else ""
