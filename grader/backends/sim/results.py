"""The result of a simulated case as the answer to the parent: launches with their counters, and findings. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from grader.findings.kinds import RANKS, kind_of
from grader.findings.record import Dims, Finding
from grader.verdict import Place

if TYPE_CHECKING:
    from grader.simt.events import Event
    from grader.simt.simulate import Call, Outcome

PUBLIC_KINDS = {
    "left_barrier": "barrier_divergence", "left_grid": "barrier_divergence",
    "warp_barrier_divergence": "deadlock", "object_deadlock": "deadlock", "block_deadlock": "deadlock",
}  # fmt: skip
"""The simulator has finer kinds of events, which become the causes of findings."""

FINER = (
    "barrier_divergence", "left_barrier", "left_grid", "warp_barrier_divergence", "deadlock", "object_deadlock",
    "block_deadlock",
)  # fmt: skip
"""Events of threads that wait for ever, in the order in which they are reported."""

BYTES_OF_ANY_TYPE = ("wmma", "ldmatrix", "cp.async")
UNORDERED = ("race", "missing_async_wait", "same_value_write", "uninitialised_read")
ELEMENT_BYTES = 4  # if the PTX does not show the array's type

WHOLE_WARP = ("wmma", "mma", "ldmatrix", "movmatrix")
"""Instructions without a mask that all 32 lanes must execute."""

UNSET_COUNT = (1 << 20) - 1
"""The count of a barrier object that was not initialised: shared memory starts with all bits set."""


def describe(outcome: Outcome, file: str, itemsize: Mapping[str, int], *, with_launches: bool = True) -> dict[str, Any]:
    """The answer for a case. ``itemsize`` has the bytes per element of each buffer."""
    launches = with_launches and [
        {
            "kernel": call.kernel, "grid": call.grid, "block": call.block, "shared_bytes": call.shared_bytes,
            "counters": dict(counters.total),
            "lines": [{"line": line, "counters": dict(values)} for line, values in counters.lines.items()],
            "worst": [dict(vars(request)) for request in worst],
        }
        for call, counters, worst in zip(outcome.calls, outcome.counters, outcome.worst, strict=True)
    ]  # fmt: skip
    ordered = sorted(outcome.events, key=_rank)
    failure = kind_of(_kind(ordered[0])).word or None if ordered else None
    if failure is None and not outcome.complete:
        failure = "timeout"
    found = [finding(e, file, itemsize, known_as(e, outcome.calls), *_shape(e, outcome.calls)) for e in ordered]
    return {
        "launches": launches or [], "findings": [asdict(one) for one in found], "failure": failure,
        "printed": outcome.printed,
    }  # fmt: skip


def _kind(event: Event) -> str:
    return PUBLIC_KINDS.get(event.kind, event.kind)


def _rank(event: Event) -> tuple[int, int, bool]:
    """Sorts the event that decides the verdict first and warnings last; races with both threads before others."""
    kind = _kind(event)
    at = RANKS[kind] if kind_of(kind).severity == "error" else len(RANKS)
    return at, FINER.index(event.kind) if event.kind in FINER else 0, event.kind == "race" and len(event.accesses) < 2


def known_as(event: Event, calls: Sequence[Call]) -> tuple[str, ...]:
    """The names of the kernel's parameters that point to the event's array; () if unknown."""
    if event.call is None or event.space in ("shared", "local") or event.call >= len(calls):
        return ()
    call = calls[event.call]
    if len(call.parameters) != len(call.arguments):  # macros hide the signature
        return ()
    pairs = zip(call.parameters, call.arguments, strict=True)
    return tuple(dict.fromkeys(name for name, argument in pairs if name and argument == event.array))


def _shape(event: Event, calls: Sequence[Call]) -> tuple[Dims, Dims]:
    """The shapes of a block and of the grid in the event's launch; zeros if unknown."""
    if event.call is None or event.call >= len(calls):
        return (0, 0, 0), (0, 0, 0)
    return calls[event.call].block, calls[event.call].grid


def finding(
    event: Event,
    file: str,
    itemsize: Mapping[str, int],
    names: Sequence[str] = (),
    block: Dims = (0, 0, 0),
    grid: Dims = (0, 0, 0),
) -> Finding:
    """The record of one event; ``names`` are the kernel's names of the array, ``block`` and ``grid`` shapes."""
    # These instructions copy bytes: nothing tells the type of the elements.
    is_untyped = event.space == "shared" and event.kind in UNORDERED and event.instruction.startswith(BYTES_OF_ANY_TYPE)
    size = itemsize.get(event.array or "", 0 if is_untyped else event.width or ELEMENT_BYTES)
    known = event.offset is not None and event.array and size
    return Finding(
        kind=_kind(event),
        cause=_CAUSES[event.kind](event, size, math.prod(block)) if event.kind in _CAUSES else "",
        file=file,
        line=event.line,
        kernel=event.kernel,
        thread=event.thread,
        block=event.block,
        space=event.space,
        array=event.array,
        names=tuple(names),
        index=event.offset // size if known and event.offset is not None else None,
        address=event.offset if event.array else event.address,
        places=tuple(Place(a.kind, a.line, file, a.thread, a.block) for a in event.accesses),
        facts=_facts(event, size, math.prod(block)),
        count=event.count,
        launch=event.launch,
        axes=(_axes(block), _axes(grid)),
    )


def _axes(shape: Dims) -> int:
    return max((axis for axis, length in enumerate(shape, start=1) if length > 1), default=1)


def _facts(event: Event, size: int, block_threads: int) -> dict[str, Any]:
    """Further facts, without those that are 0 or empty; ``offset`` only if the array is known."""
    in_memory = event.array and event.space == "global"
    known = {
        "instruction": event.instruction, "width": event.width, "detail": event.detail,
        _TEXTS.get(event.kind, "grid_sync"): event.text,
        "dynamic": event.dynamic, "cooperative": event.cooperative, "launched_at": event.launched_at,
        "block_threads": block_threads, "element_bytes": size,
        "matrix": event.instruction.partition(".")[0] in WHOLE_WARP,
        "calls": _calls(event),
        "misaligned": event.width and (event.address or 0) % event.width != 0,
        "begins": in_memory and event.width and ((event.address or 0) - (event.offset or 0)) % event.width,
    }  # fmt: skip
    placed = {"array_bytes": event.array_bytes, "offset": event.offset if event.array is not None else None}
    return {name: value for name, value in known.items() if value} | {
        name: value for name, value in placed.items() if value is not None
    }


def _calls(event: Event) -> tuple[int, ...]:
    """The lines of the two calls, if a race's accesses are in different calls of a function; else ()."""
    calls = tuple(access.called_at for access in event.accesses)
    return calls if len(calls) == 2 and all(calls) and calls[0] != calls[1] else ()


_TEXTS = {"assert": "text", "launch_limit": "text"}
"""The fact that is in the event's text; for other kinds the text is set if the kernel uses `grid.sync()`."""


# --------------------------------------------------------------------------------------------------------------- causes


def _outside(event: Event, size: int, block_threads: int) -> str:
    if event.array_bytes is None or not event.array or event.offset is None:
        return ""
    if event.offset < 0:
        return "before_start"
    if event.dynamic:  # if there is an element for every thread, the index is wrong, not the launch line
        enough = event.array_bytes and event.array_bytes >= event.width * block_threads
        return "beyond_end" if enough else "beyond_launch_line"
    return "too_wide" if event.width > size else "beyond_end"


def _race(event: Event, *_: int) -> str:
    if len(event.accesses) == 1:
        return "several_readers"
    first, second = event.accesses
    if first.block != second.block:
        return "scope_of_the_block" if first.kind == second.kind == "atomic" else "between_blocks"
    return "within_block" if first.line != second.line else "one_line" if first.kind != second.kind else "one_index"


def _copy(event: Event, *_: int) -> str:
    copy, own = event.accesses
    if event.space != "shared":
        return "source"
    if own.kind == "copy":
        return "second_copy"
    return "own_copy" if (copy.thread, copy.block) == (own.thread, own.block) else "copy_of_another"


def _object(event: Event, *_: int) -> str:
    _arrived, expected = event.detail
    return "unset_object" if expected == UNSET_COUNT else "object"


def _budget(event: Event, *_: int) -> str:
    of_the_case, *_rest = event.detail
    return "case" if of_the_case else "block"


_CAUSES: Mapping[str, Callable[[Event, int, int], str]] = {
    "out_of_bounds": _outside,
    "race": _race,
    "missing_async_wait": _copy,
    "object_deadlock": _object,
    "instruction_budget": _budget,
    "launch_limit": lambda event, *_: "cooperative" if event.cooperative else "simulator",
    "barrier_divergence": lambda event, *_: "two_barriers",
    "left_barrier": lambda event, *_: "left",
    "left_grid": lambda event, *_: "left_grid",
    "warp_barrier_divergence": lambda event, *_: "lanes",
    "deadlock": lambda event, *_: "barrier",
    "block_deadlock": lambda event, *_: "grid_sync" if event.text else "memory",
}
