"""What a simulated case did, as the answer to the parent: launches with their counters, and findings. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from grader.backends.sim.messages import MESSAGES
from grader.backends.sim.messages.words import Words
from grader.findings.kinds import RANKS, kind_of
from grader.verdict import Access, Diagnostic

if TYPE_CHECKING:
    from grader.simt.events import Event
    from grader.simt.simulate import Call, Outcome

PUBLIC_KINDS = {
    "left_barrier": "barrier_divergence", "warp_barrier_divergence": "deadlock", "object_deadlock": "deadlock",
    "block_deadlock": "deadlock",
}  # fmt: skip
"""The simulator tells more kinds apart than a diagnostic does."""


BYTES_OF_ANY_TYPE = ("wmma", "ldmatrix", "cp.async")


UNORDERED = ("race", "missing_async_wait", "same_value_write", "uninitialised_read")


ELEMENT_BYTES = 4  # of an array whose type PTX does not tell


def describe(outcome: Outcome, file: str, itemsize: Mapping[str, int]) -> dict[str, Any]:
    """The answer for a whole case. ``itemsize`` gives the bytes of each buffer's elements."""
    launches = [
        {
            "kernel": call.kernel, "grid": call.grid, "block": call.block, "shared_bytes": call.shared_bytes,
            "counters": dict(counters.total),
            "lines": [{"line": line, "counters": dict(values)} for line, values in counters.lines.items()],
            "worst": [asdict(request) for request in worst],
        }
        for call, counters, worst in zip(outcome.calls, outcome.counters, outcome.worst, strict=True)
    ]  # fmt: skip
    ordered = sorted(outcome.events, key=_rank)
    failure = kind_of(public_kind(ordered[0])).word or None if ordered else None
    if failure is None and not outcome.complete:
        failure = "timeout"
    diagnostics = [diagnostic(e, file, itemsize, known_as(e, outcome.calls), _block(e, outcome.calls)) for e in ordered]
    return {
        "launches": launches, "diagnostics": [asdict(d) for d in diagnostics], "failure": failure,
        "printed": outcome.printed,
    }  # fmt: skip


def public_kind(event: Event) -> str:
    return PUBLIC_KINDS.get(event.kind, event.kind)


def _rank(event: Event) -> tuple[int, bool]:
    """The finding that settles the verdict first, warnings last; of races those that name both threads first."""
    kind = public_kind(event)
    at = RANKS[kind] if kind_of(kind).severity == "error" else len(RANKS)
    return at, event.kind == "race" and len(event.accesses) < 2


def known_as(event: Event, calls: Sequence[Call]) -> str:
    """What the kernel calls the event's array, "" where that is not known: ``src``, or ``src or dst`` for both."""
    if event.call is None or event.space in ("shared", "local") or event.call >= len(calls):
        return ""
    call = calls[event.call]
    if len(call.parameters) != len(call.arguments):  # macros hide the signature
        return ""
    pairs = zip(call.parameters, call.arguments, strict=True)
    return " or ".join(dict.fromkeys(name for name, argument in pairs if name and argument == event.array))


def _block(event: Event, calls: Sequence[Call]) -> tuple[int, int, int]:
    """The block's shape in the launch of the event; zeros where that is not known."""
    return calls[event.call].block if event.call is not None and event.call < len(calls) else (0, 0, 0)


def diagnostic(
    event: Event,
    file: str,
    itemsize: Mapping[str, int],
    known_as: str = "",
    block: tuple[int, int, int] = (0, 0, 0),
) -> Diagnostic:
    """One finding in words; ``known_as`` is what the kernel calls the array, ``block`` the shape of the blocks."""
    size = itemsize.get(event.array or "", 0 if _is_untyped(event) else event.width or ELEMENT_BYTES)
    words = Words(event, file, size, known_as, math.prod(block))
    message, hint = MESSAGES[event.kind](words)
    return Diagnostic(
        kind=public_kind(event),
        message=message,
        severity=kind_of(public_kind(event)).severity,
        file=file,
        line=event.line,
        kernel=event.kernel,
        thread=event.thread,
        block=event.block,
        space=event.space,
        array=event.array,
        index=words.index,
        address=event.offset if event.array else event.address,
        accesses=tuple(Access(a.kind, a.thread, a.block, a.line) for a in event.accesses),
        count=event.count,
        hint=hint,
        launch=event.launch,
    )


def _is_untyped(event: Event) -> bool:
    """Whether the instruction moves bytes of which nothing tells the element's type."""
    return event.space == "shared" and event.kind in UNORDERED and event.instruction.startswith(BYTES_OF_ANY_TYPE)
