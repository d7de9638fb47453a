"""What a simulated case did, as the answer to the parent: records, and findings in words. Pure.

A message says fact, place, evidence: "race on shared partial[49]: written by thread 49 at reduce_v3.cu:14, read by
thread 17 at reduce_v3.cu:18, no barrier between".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from grader.backends.sim.bounds import Said, out_of_bounds
from grader.backends.sim.waits import block_deadlock, launch_limit, not_cooperative
from grader.verdict import Access, Diagnostic

if TYPE_CHECKING:
    from grader.simt.events import Event, Place
    from grader.simt.simulate import Call, Outcome

PUBLIC_KINDS = {
    "left_barrier": "barrier_divergence", "warp_barrier_divergence": "deadlock", "object_deadlock": "deadlock",
    "block_deadlock": "deadlock",
}  # fmt: skip
"""The simulator tells more kinds apart than a diagnostic does."""

WARNINGS = ("uninitialised_read", "same_value_write")
FAILURES = {
    "out_of_bounds": "out_of_bounds", "null": "out_of_bounds", "use_after_free": "crash", "read_only": "out_of_bounds",
    "misaligned": "crash", "trap": "crash", "not_cooperative": "crash", "assert": "crash", "bad_mask": "crash",
    "barrier_divergence": "timeout", "left_barrier": "timeout", "warp_barrier_divergence": "timeout",
    "deadlock": "timeout", "object_deadlock": "timeout", "block_deadlock": "timeout", "instruction_budget": "timeout",
    "missing_async_wait": "race", "race": "race", "missing_fence": "race",
    "inactive_lane": "race", "missing_lanes": "race",
    "print_limit": "limit", "launch_limit": "limit",
}  # fmt: skip
"""Which verdict word a finding ends in, the first that applies; findings that are not listed are warnings."""

SAME_LINE = "one line does both: in a loop, end its body with __syncthreads(); else let one thread do it, or atomicAdd"

WITHIN_BLOCK = "put a __syncthreads() between the two accesses"
WITHIN_GRID = "put a grid.sync() between the two accesses, or a __syncthreads() if other blocks never touch them"

WHOLE_WARP = ("wmma", "mma", "ldmatrix", "movmatrix")
"""Instructions without a mask: each lane holds a part of the matrix."""

UNSET_COUNT = (1 << 20) - 1
"""What a barrier object expects that nothing has initialised: shared memory starts with all bits set."""

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
    kinds = [e.kind for e in outcome.events]
    failure = next((word for kind, word in FAILURES.items() if kind in kinds), None)
    if failure is None and not outcome.complete:
        failure = "timeout"
    ordered = sorted(outcome.events, key=_rank)
    diagnostics = [diagnostic(e, file, itemsize, known_as(e, outcome.calls), _block(e, outcome.calls)) for e in ordered]
    return {
        "launches": launches, "diagnostics": [asdict(d) for d in diagnostics], "failure": failure,
        "printed": outcome.printed,
    }  # fmt: skip


def _rank(event: Event) -> tuple[int, bool]:
    """The finding that settles the verdict first; of races those that name both threads."""
    kinds = list(FAILURES)
    at = kinds.index(event.kind) if event.kind in kinds else len(kinds)
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
    message, hint = _MESSAGES[event.kind](words)
    return Diagnostic(
        kind=PUBLIC_KINDS.get(event.kind, event.kind),
        message=message,
        severity="warning" if event.kind in WARNINGS else "error",
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
    )


_VERBS = {"read": "read", "write": "written", "atomic": "updated atomically", "copy": "copied"}


def _is_untyped(event: Event) -> bool:
    """Whether the instruction moves bytes of which nothing tells the element's type."""
    return event.space == "shared" and event.kind in UNORDERED and event.instruction.startswith(BYTES_OF_ANY_TYPE)


class Words:
    """Pieces of messages about one event."""

    def __init__(self, event: Event, file: str, size: int, known_as: str = "", block_threads: int = 0) -> None:
        self.event, self.file, self.size, self.block_threads = event, file, size, block_threads
        self.name = known_as or event.array or ""  # as the student's kernel has it

    @property
    def index(self) -> int | None:
        if self.event.offset is None or not self.event.array or not self.size:
            return None
        return self.event.offset // self.size

    @property
    def array(self) -> str:
        """``shared partial[49]``, ``src[3] (array x)``, or the address where no array is near."""
        e = self.event
        if e.array is None or e.offset is None:
            where = f"address {e.address:#x}" if e.address is not None else "memory"
            return f"{e.space} {where}" if e.space else where
        return self.element + (f" ({self.other_name})" if self.other_name else "")

    @property
    def element(self) -> str:
        """``shared partial[49]`` or ``src[3]``, of an array that is known."""
        space = self.event.space
        where = f" (byte {self.event.offset})" if self.index is None else f"[{self.index}]"
        return f"{'' if space in (None, 'global') else f'{space} '}{self.name}{where}"

    @property
    def other_name(self) -> str:
        """``array x``, where the kernel calls it something else."""
        return f"array {self.event.array}" if self.name != self.event.array else ""

    def thread(self, thread: tuple[int, int, int], block: tuple[int, int, int] | None = None) -> str:
        """``thread 5 of block 2``; indices in 3-D only where needed."""
        out = f"thread {_indices(thread)}"
        return out if block is None else f"{out} of block {_indices(block)}"

    def counts_the_grid(self, index: int) -> bool:
        """Whether ``index`` is that of the event's thread in a whole 1-D grid."""
        (thread, *rest), (block, *others) = self.event.thread, self.event.block
        flat = not any((*rest, *others))
        return flat and block > 0 and self.block_threads > 0 and index == block * self.block_threads + thread

    @property
    def who(self) -> str:
        return self.thread(self.event.thread, self.event.block)

    def at(self, line: int | None) -> str:
        return f"{self.file}:{line}" if line else self.file

    @property
    def barrier(self) -> str:
        """What the barrier is in the source, as far as the instruction tells."""
        return "grid.sync()" if self.event.text and self.event.instruction.startswith("barrier") else "__syncthreads()"

    @property
    def here(self) -> str:
        return self.at(self.event.line)

    def access(self, place: Place, *, with_block: bool) -> str:
        verb = _VERBS[place.kind]
        return f"{verb} by {self.thread(place.thread, place.block if with_block else None)} at {self.at(place.line)}"


def _indices(dims: tuple[int, int, int]) -> str:
    if dims[1] == dims[2] == 0:
        return str(dims[0])
    return f"({dims[0]}, {dims[1]}, {dims[2]})" if dims[2] else f"({dims[0]}, {dims[1]})"


def _null(w: Words) -> Said:
    return f"{w.who} uses a null pointer at {w.here}", "check which pointer the launch line passes here"


def _use_after_free(w: Words) -> Said:
    return (
        f"{w.who} uses {w.array} at {w.here}, which has been freed",
        "free memory only when every kernel that uses it has ended",
    )


def _read_only(w: Words) -> Said:
    return f"{w.who} writes to constant memory ({w.array}) at {w.here}", "constant memory is written from the host only"


def _misaligned(w: Words) -> Said:
    wide = w.event.width
    return (
        f"{w.who} makes a misaligned access of {wide} bytes to {w.array} at {w.here}",
        f"the address must be a multiple of {wide} bytes: look at the offset before the cast to a wider type",
    )


def _race(w: Words) -> Said:
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
        return what + ", no barrier between", SAME_LINE
    if "copy" in (first.kind, second.kind) and w.event.space == "shared":
        return what + ", no barrier between", _between_copy_and_read(first, second)
    return what + ", no barrier between", WITHIN_GRID if w.event.text else WITHIN_BLOCK


def _race_with_some(w: Words) -> Said:
    """The cell had several readers; of those only the writer itself is known by its number."""
    (own,) = w.event.accesses
    said = f"race on {w.array}: {w.access(own, with_block=False)}, and read by another thread with no barrier between"
    return said, SAME_LINE


def _between_blocks(w: Words) -> str:
    first, second = w.event.accesses
    if first.kind == second.kind == "write" and first.line == second.line and w.index == 0:
        meant = f"did each block mean {w.name}[blockIdx.x]? "
        return f"{meant}If the element is meant for all of them: use an atomic, or a second launch"
    if w.event.text:
        return "put a grid.sync() between the two accesses: it orders all blocks, __syncthreads() only its own"
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


def _missing_async_wait(w: Words) -> Said:
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


_WAIT = (
    "__pipeline_wait_prior(0) (cp.async.wait_group 0; a larger number leaves that many of the newest groups under way)"
)
WAIT_ITSELF = f"before the access: {_WAIT}, then __syncthreads()"
WAIT_ALL = (
    f"every thread must wait for its own copies, {_WAIT}, and a __syncthreads() must follow before others read them"
)


def _missing_fence(w: Words) -> Said:
    first, second = w.event.accesses
    return (
        f"race on {w.array}: {w.access(first, with_block=True)}, {w.access(second, with_block=True)}, "
        "in different blocks",
        "if an atomic tells the other block that the value is there, put a __threadfence() before that atomic",
    )


def _same_value(w: Words) -> Said:
    first, second = w.event.accesses
    blocks = (first.block, second.block) if first.block != second.block else (None, None)
    return (
        f"two threads write the same value to {w.array}: {w.thread(first.thread, blocks[0])} at {w.at(first.line)}, "
        f"{w.thread(second.thread, blocks[1])} at {w.at(second.line)}",
        "harmless here, but one writer is enough",
    )


def _uninitialised(w: Words) -> Said:
    return f"{w.who} reads {w.array} at {w.here} before anything wrote it", "write every element before it is read"


def _two_barriers(w: Words) -> Said:
    first, second = w.event.accesses
    return (
        f"barrier divergence: threads of one block wait at different barriers, {w.thread(first.thread)} at "
        f"{w.at(first.line)} and {w.thread(second.thread)} at {w.at(second.line)}, so the kernel never ends",
        f"every thread of the block must reach the same {w.barrier}: move it out of the if",
    )


def _left_barrier(w: Words) -> Said:
    gone, waiting = w.event.accesses
    return (
        f"barrier divergence: the barrier at {w.here} stands in a branch; {w.thread(waiting.thread)} waits there, "
        f"{w.thread(gone.thread)} of the same warp never comes, so the kernel never ends",
        f"every thread of the block must reach the same {w.barrier}: move it out of the if",
    )


def _deadlock(w: Words) -> Said:
    barrier, arrived, expected = w.event.detail
    of = f"; {arrived} of {expected} threads have come to barrier {barrier}" if expected else ""
    of += "; so the kernel never ends"
    return (
        f"deadlock: {w.who} waits at {w.here} for threads that never come{of}",
        "every thread that the barrier counts must reach it",
    )


def _object_deadlock(w: Words) -> Said:
    arrived, expected = w.event.detail
    if expected == UNSET_COUNT:
        return (
            f"deadlock: {w.who} waits at {w.here} for the barrier object {w.name}, which nothing has initialised",
            "let one thread init() it, and put a __syncthreads() behind that",
        )
    came = f"{arrived} of the {expected} arrivals that it expects have come, and no more do"
    return (
        f"deadlock: {w.who} waits at {w.here} for a phase of the barrier object {w.name} that never ends; {came}",
        "the count that the object is initialised with must be the number of arrivals in each phase; a thread that "
        "leaves must arrive_and_drop() (in a pipeline: producer_commit(), consumer_release(), quit())",
    )


def _budget(w: Words) -> Said:
    if w.event.detail[0]:
        where = f" ({w.who} was at {w.here})" if w.event.line else ""
        return (
            f"{w.event.kernel} used up the simulator's budget of instructions for one case{where}",
            "do less work in each thread, or look for a loop that runs longer than it should",
        )
    return (
        f"endless or far too long: {w.who} is still in the loop at {w.here} when its block has "
        "run as many instructions as the simulator allows a block (its instruction budget)",
        "does the loop's condition ever become false? If so, the loop is only long: does every thread walk over the "
        "whole array?",
    )


def _missing_lanes(w: Words) -> Said:
    missing = w.event.detail[0] & 0xFFFFFFFF
    opcode = w.event.instruction.partition(".")[0]
    if opcode in WHOLE_WARP:
        return (
            f"{opcode} at {w.here} needs all 32 lanes of the warp, but {_lanes(missing)} "
            f"{'does' if missing.bit_count() == 1 else 'do'} not take part, seen by {w.who}",
            "let whole warps execute it: no return and no branch before it, blocks of a multiple of 32 threads",
        )
    return (
        f"the mask at {w.here} names lanes that never arrive ({_lanes(missing)}), seen by {w.who}",
        "name only the lanes that execute it, or move it out of the branch",
    )


def _inactive_lane(w: Words) -> Said:
    return (
        f"{w.who} reads lane {w.event.detail[0]} at {w.here}, which does not take part: the value is undefined",
        "let all lanes of the warp execute the shuffle, and ignore what you do not need",
    )


def _bad_mask(w: Words) -> Said:
    return (
        f"{w.who} executes {w.event.instruction} at {w.here} with a mask that does not name it",
        "add the lane to the mask",
    )


def _trap(w: Words) -> Said:
    return f"{w.who} stops the kernel with a trap at {w.here}", ""


def _assert(w: Words) -> Said:
    return f"assertion failed: {w.event.text} ({w.who}, {w.here})", ""


def _print_limit(w: Words) -> Said:
    return f"printf at {w.here} wrote more than the limit of 64 kB", "print from one thread only: if (threadIdx.x == 0)"


def _lanes(mask: int) -> str:
    named = [i for i in range(32) if mask >> i & 1]
    if named == list(range(named[0], named[-1] + 1)) and len(named) > 2:
        return f"lanes {named[0]} to {named[-1]}"
    return ("lane " if len(named) == 1 else "lanes ") + ", ".join(map(str, named))


_MESSAGES: dict[str, Callable[[Words], Said]] = {
    "out_of_bounds": out_of_bounds, "null": _null, "read_only": _read_only, "misaligned": _misaligned, "race": _race,
    "missing_fence": _missing_fence, "missing_async_wait": _missing_async_wait,
    "same_value_write": _same_value, "uninitialised_read": _uninitialised, "barrier_divergence": _two_barriers,
    "left_barrier": _left_barrier, "use_after_free": _use_after_free,
    "deadlock": _deadlock, "object_deadlock": _object_deadlock, "instruction_budget": _budget,
    "missing_lanes": _missing_lanes,
    "warp_barrier_divergence": _missing_lanes,
    "inactive_lane": _inactive_lane, "bad_mask": _bad_mask, "trap": _trap, "assert": _assert,
    "print_limit": _print_limit,
    "launch_limit": launch_limit, "block_deadlock": block_deadlock, "not_cooperative": not_cooperative,
}  # fmt: skip
