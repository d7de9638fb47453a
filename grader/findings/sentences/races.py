"""Two accesses that nothing orders, and reads of what nothing wrote, in words. Pure."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.findings.sentences.words import Words


def race(found: Finding) -> str:
    w = Words(found)
    if found.cause == "several_readers":
        (own,) = found.places
        return (
            f"race on {w.array}: {w.access(own, with_block=False)}, and read by another thread with no barrier between"
        )
    first, second = found.places
    blocks = found.cause == "between_blocks"
    what = f"race on {w.array}: {w.access(first, with_block=blocks)}, {w.access(second, with_block=blocks)}"
    return what + (", in different blocks of one launch" if blocks else ", no barrier between")


def missing_async_wait(found: Finding) -> str:
    """A copy was in flight: the first access started it, the second came before its wait."""
    w = Words(found)
    copy, own = found.places
    blocks = copy.block != own.block
    itself = (copy.thread, copy.block) == (own.thread, own.block)
    starter = "it" if itself else w.thread(copy.thread, copy.block if blocks else None)
    started = f"{starter} started {'itself ' if itself else ''}at {w.at(copy.line)}"
    if found.cause == "second_copy":
        return (
            f"race on {w.array}: a second asynchronous copy into it, by {w.thread(own.thread)} at {w.at(own.line)}, "
            f"while the one that {started} is still in flight"
        )
    access = f"race on {w.array}: {w.access(own, with_block=blocks)}, while the asynchronous copy that {started}"
    if found.cause == "source":
        return f"{access} may still read it"
    return f"{access} is still in flight: {starter} has not waited for it"


def missing_fence(found: Finding) -> str:
    w = Words(found)
    first, second = found.places
    accesses = f"{w.access(first, with_block=True)}, {w.access(second, with_block=True)}"
    return f"race on {w.array}: {accesses}, in different blocks"


def same_value(found: Finding) -> str:
    w = Words(found)
    first, second = found.places
    blocks = (first.block, second.block) if first.block != second.block else (None, None)
    return (
        f"two threads write the same value to {w.array}: {w.thread(first.thread, blocks[0])} at {w.at(first.line)}, "
        f"{w.thread(second.thread, blocks[1])} at {w.at(second.line)}"
    )


def uninitialised(found: Finding) -> str:
    w = Words(found)
    return f"{w.who} reads {w.array} at {w.here} before anything wrote it"
