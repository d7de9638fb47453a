"""Two accesses that nothing orders, and reads of what nothing wrote, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.backends.sim.messages.words import Said, Words

if TYPE_CHECKING:
    from grader.simt.events import Place

SAME_LINE = "one line does both: in a loop, end its body with __syncthreads(); else let one thread do it, or atomicAdd"

SAME_LINE_GLOBAL = (
    "one line does both: if the element is meant for all of them, use atomicAdd; if threads read what others write, "
    "write to another array than the one that is read"
)

WITHIN_BLOCK = "put a __syncthreads() between the two accesses"

WITHIN_LAUNCH = (
    "if no other block touches these elements, put a __syncthreads() between the two accesses; else write to another "
    "array than the one that is read, or use a second launch"
)

WITHIN_GRID = "put a grid.sync() between the two accesses, or a __syncthreads() if other blocks never touch them"

ALL_BLOCKS = (
    "put a cooperative_groups::this_grid().sync() between the two accesses: it orders all blocks, __syncthreads() only "
    "its own"
)


def race(w: Words) -> Said:
    if len(w.event.accesses) == 1:
        return _race_with_some(w)
    first, second = w.event.accesses
    blocks = first.block != second.block
    what = f"race on {w.array}: {w.access(first, with_block=blocks)}, {w.access(second, with_block=blocks)}"
    if blocks:
        return what + ", in different blocks of one launch", _between_blocks(w)
    if first.line == second.line and first.kind == second.kind:
        return (
            what + ", no barrier between",
            "give every thread an element of its own: two of them compute the same index",
        )
    if first.line == second.line:
        return what + ", no barrier between", SAME_LINE if w.event.space == "shared" else SAME_LINE_GLOBAL
    if "copy" in (first.kind, second.kind) and w.event.space == "shared":
        return what + ", no barrier between", _between_copy_and_read(first, second)
    return what + ", no barrier between", _within_block(w)


def _race_with_some(w: Words) -> Said:
    """The cell had several readers; of those only the writer itself is known by its number."""
    (own,) = w.event.accesses
    said = f"race on {w.array}: {w.access(own, with_block=False)}, and read by another thread with no barrier between"
    return said, SAME_LINE if w.event.space == "shared" else SAME_LINE_GLOBAL


def _within_block(w: Words) -> str:
    """Shared memory is the block's alone; whoever races in global memory most likely does so with other blocks too."""
    if _one_for_two(w):
        return _one_for_two(w)
    if w.event.text:
        return WITHIN_GRID
    if w.event.space == "shared" or "copy" in (place.kind for place in w.event.accesses):
        return WITHIN_BLOCK
    return ALL_BLOCKS if w.event.cooperative else WITHIN_LAUNCH


def _one_for_two(w: Words) -> str:
    """What to do where two parameters of the kernel are one array; "" elsewhere."""
    first, both, second = w.name.partition(" or ")
    same = f"the kernel's {first} and {second} are the same memory here: pass two arrays that take turns"
    return same if both and " or " not in second else ""


def _between_blocks(w: Words) -> str:
    first, second = w.event.accesses
    if first.kind == second.kind == "write" and first.line == second.line and w.index == 0:
        meant = f"did each block mean {w.name}[blockIdx.x]? "
        return f"{meant}If the element is meant for all of them: use an atomic, or a second launch"
    if _one_for_two(w):
        return _one_for_two(w)
    if w.event.text:
        return "put a grid.sync() between the two accesses: it orders all blocks, __syncthreads() only its own"
    if w.event.cooperative:
        return ALL_BLOCKS
    if "read" in (first.kind, second.kind):
        return (
            "blocks run in any order: write to another array than the one that is read, or use a second launch; where "
            "all blocks change one element, an atomic"
        )
    return "blocks run in any order: use an atomic, or a second launch"


def _between_copy_and_read(first: Place, second: Place) -> str:
    copy, other = (first, second) if first.kind == "copy" else (second, first)
    if (copy.line or 0) > (other.line or 0):
        return (
            "the copy overwrites what other threads may still need: put a __syncthreads() between their last use and "
            "the copy"
        )
    return (
        "a wait is for the thread's own copies only: put a __syncthreads() after it. In a loop the copy of the next "
        "round must not start, either, before every thread is done with what it overwrites"
    )


_WAIT = (
    "__pipeline_wait_prior(0) (cp.async.wait_group 0; a larger number leaves that many of the newest groups under way)"
)


WAIT_ITSELF = f"before the access: {_WAIT}, then __syncthreads()"

WAIT_ALL = (
    f"every thread must wait for its own copies, {_WAIT}, and a __syncthreads() must follow before others read them"
)


def missing_async_wait(w: Words) -> Said:
    """A copy was under way: the first access started it, the second came before its wait."""
    copy, own = w.event.accesses
    blocks = copy.block != own.block
    itself = (copy.thread, copy.block) == (own.thread, own.block)
    starter = "it" if itself else w.thread(copy.thread, copy.block if blocks else None)
    started = f"{starter} started {'itself ' if itself else ''}at {w.at(copy.line)}"
    if w.event.space != "shared":
        return (
            f"race on {w.array}: {w.access(own, with_block=blocks)}, while the asynchronous copy that {started} may "
            "still read it",
            "wait for the copy before its source changes: __pipeline_wait_prior(0), then __syncthreads()",
        )
    if own.kind == "copy":
        return (
            f"race on {w.array}: a second asynchronous copy into it, by {w.thread(own.thread)} at {w.at(own.line)}, "
            f"while the one that {started} is still under way",
            "wait for the first copy, and let all threads read what it brought, before the next one overwrites it",
        )
    return (
        f"race on {w.array}: {w.access(own, with_block=blocks)}, while the asynchronous copy that {started} is still "
        f"under way: {starter} has not waited for it",
        WAIT_ITSELF if itself else WAIT_ALL,
    )


FENCE = "if an atomic tells the other block that the value is there, put a __threadfence() before that atomic"

OWN_BARRIER = (
    "let all blocks wait with cooperative_groups::this_grid().sync(). A barrier of your own needs a __threadfence() "
    "before its atomic and behind its wait, and a counter that begins anew in each launch"
)


def missing_fence(w: Words) -> Said:
    first, second = w.event.accesses
    return (
        f"race on {w.array}: {w.access(first, with_block=True)}, {w.access(second, with_block=True)}, "
        "in different blocks",
        OWN_BARRIER if w.event.cooperative else FENCE,
    )


def same_value(w: Words) -> Said:
    first, second = w.event.accesses
    blocks = (first.block, second.block) if first.block != second.block else (None, None)
    return (
        f"two threads write the same value to {w.array}: {w.thread(first.thread, blocks[0])} at {w.at(first.line)}, "
        f"{w.thread(second.thread, blocks[1])} at {w.at(second.line)}",
        "harmless here, but one writer is enough",
    )


def uninitialised(w: Words) -> Said:
    return f"{w.who} reads {w.array} at {w.here} before anything wrote it", "write every element before it is read"
