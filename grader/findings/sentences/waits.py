"""Threads, warps and blocks that wait for others which never come, in words. Pure."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.findings.sentences.words import Words, lanes

UNKNOWN = -1  # no block is known that the awaited change depends on


def barrier_divergence(found: Finding) -> str:
    w = Words(found)
    first, second = found.places
    if found.cause == "left":
        return (
            f"barrier divergence: the barrier at {w.here} stands in a branch; {w.thread(second.thread)} waits there, "
            f"{w.thread(first.thread)} of the same warp never comes, so the kernel never ends"
        )
    return (
        f"barrier divergence: threads of one block wait at different barriers, {w.thread(first.thread)} at "
        f"{w.at(first.line)} and {w.thread(second.thread)} at {w.at(second.line)}, so the kernel never ends"
    )


def deadlock(found: Finding) -> str:
    says = {"lanes": missing_lanes, "barrier": _at_barrier, "memory": _for_memory, "grid_sync": _at_grid_sync}
    return says.get(found.cause, _at_object)(found)


def _at_barrier(found: Finding) -> str:
    w = Words(found)
    barrier, arrived, expected = found.facts["detail"]
    of = f"; {arrived} of {expected} threads have come to barrier {barrier}" if expected else ""
    return f"deadlock: {w.who} waits at {w.here} for threads that never come{of}; so the kernel never ends"


def _at_object(found: Finding) -> str:
    w = Words(found)
    waits = f"deadlock: {w.who} waits at {w.here} for"
    if found.cause == "unset_object":
        return f"{waits} the barrier object {w.name}, which nothing has initialised"
    arrived, expected = found.facts["detail"]
    came = f"{arrived} of the {expected} arrivals that it expects have come, and no more do"
    return f"{waits} a phase of the barrier object {w.name} that never ends; {came}"


def _at_grid_sync(found: Finding) -> str:
    w = Words(found)
    return f"deadlock: {w.who} waits in grid.sync() at {w.here} for blocks that never come to it"


def _for_memory(found: Finding) -> str:
    """A thread waits for a change of memory, and so does every block that is resident."""
    w = Words(found)
    resident, blocks, other = found.facts["detail"]
    waits = f"deadlock: {w.who} waits at {w.here} for a change of {w.array}"
    if blocks <= resident or other == UNKNOWN:
        only = f"; only {resident} of the {blocks} blocks can be resident at once, and" if blocks > resident else ";"
        return f"{waits}{only} nobody who could write it is running"
    at_once = f"but only {resident} of the launch's {blocks} blocks can be resident at once"
    return f"{waits}, which depends on block {other}; {at_once}"


def missing_lanes(found: Finding) -> str:
    w = Words(found)
    missing = found.facts["detail"][0] & 0xFFFFFFFF
    opcode = found.facts["instruction"].partition(".")[0]
    if found.facts.get("matrix"):
        return (
            f"{opcode} at {w.here} needs all 32 lanes of the warp, but {lanes(missing)} "
            f"{'does' if missing.bit_count() == 1 else 'do'} not take part, seen by {w.who}"
        )
    return f"the mask at {w.here} names lanes that never arrive ({lanes(missing)}), seen by {w.who}"


def inactive_lane(found: Finding) -> str:
    w = Words(found)
    lane = found.facts["detail"][0]
    return f"{w.who} reads lane {lane} at {w.here}, which does not take part: the value is undefined"


def bad_mask(found: Finding) -> str:
    w = Words(found)
    return f"{w.who} executes {found.facts['instruction']} at {w.here} with a mask that does not name it"
