"""Threads of a block or a warp that wait for others which never come, in words. Pure."""

from __future__ import annotations

from grader.backends.sim.messages.words import Said, Words, lanes

WHOLE_WARP = ("wmma", "mma", "ldmatrix", "movmatrix")
"""Instructions without a mask: each lane holds a part of the matrix."""

UNSET_COUNT = (1 << 20) - 1
"""What a barrier object expects that nothing has initialised: shared memory starts with all bits set."""


def two_barriers(w: Words) -> Said:
    first, second = w.event.accesses
    return (
        f"barrier divergence: threads of one block wait at different barriers, {w.thread(first.thread)} at "
        f"{w.at(first.line)} and {w.thread(second.thread)} at {w.at(second.line)}, so the kernel never ends",
        _together(w),
    )


def left_barrier(w: Words) -> Said:
    gone, waiting = w.event.accesses
    return (
        f"barrier divergence: the barrier at {w.here} stands in a branch; {w.thread(waiting.thread)} waits there, "
        f"{w.thread(gone.thread)} of the same warp never comes, so the kernel never ends",
        _together(w),
    )


def _together(w: Words) -> str:
    return f"every thread must reach the same {w.barrier}: move it out of the if, or of the loop that some leave early"


def deadlock(w: Words) -> Said:
    barrier, arrived, expected = w.event.detail
    of = f"; {arrived} of {expected} threads have come to barrier {barrier}" if expected else ""
    of += "; so the kernel never ends"
    return (
        f"deadlock: {w.who} waits at {w.here} for threads that never come{of}",
        "every thread that the barrier counts must reach it",
    )


def object_deadlock(w: Words) -> Said:
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


def missing_lanes(w: Words) -> Said:
    missing = w.event.detail[0] & 0xFFFFFFFF
    opcode = w.event.instruction.partition(".")[0]
    if opcode in WHOLE_WARP:
        return (
            f"{opcode} at {w.here} needs all 32 lanes of the warp, but {lanes(missing)} "
            f"{'does' if missing.bit_count() == 1 else 'do'} not take part, seen by {w.who}",
            "let whole warps execute it: no return and no branch before it, blocks of a multiple of 32 threads",
        )
    return (
        f"the mask at {w.here} names lanes that never arrive ({lanes(missing)}), seen by {w.who}",
        "name only the lanes that execute it, or move it out of the branch",
    )


def inactive_lane(w: Words) -> Said:
    return (
        f"{w.who} reads lane {w.event.detail[0]} at {w.here}, which does not take part: the value is undefined",
        "let all lanes of the warp execute the shuffle, and ignore what you do not need",
    )


def bad_mask(w: Words) -> Said:
    return (
        f"{w.who} executes {w.event.instruction} at {w.here} with a mask that does not name it",
        "add the lane to the mask",
    )
