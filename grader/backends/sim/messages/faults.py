"""What ends a kernel at once: a bad address, a trap, a limit of the simulator, in words. Pure."""

from __future__ import annotations

from grader.backends.sim.messages.words import Said, Words


def null(w: Words) -> Said:
    hint = "check which pointer the launch line passes here"
    if w.event.text:  # a host file launched it, there
        hint = (
            f"check which pointer the launch at {w.event.text} passes here. The devicePointer of pointerGetAttributes "
            "is 0 for host memory that is not registered"
        )
    return f"{w.who} uses a null pointer at {w.here}", hint


def use_after_free(w: Words) -> Said:
    return (
        f"{w.who} uses {w.array} at {w.here}, which has been freed",
        "free memory only when every kernel that uses it has ended",
    )


def read_only(w: Words) -> Said:
    return f"{w.who} writes to constant memory ({w.array}) at {w.here}", "constant memory is written from the host only"


def misaligned(w: Words) -> Said:
    wide = w.event.width
    return (
        f"{w.who} makes a misaligned access of {wide} bytes to {w.array} at {w.here}",
        f"the address must be a multiple of {wide} bytes: look at the offset before the cast to a wider type",
    )


def budget(w: Words) -> Said:
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


def trap(w: Words) -> Said:
    return f"{w.who} stops the kernel with a trap at {w.here}", ""


def assertion(w: Words) -> Said:
    return f"assertion failed: {w.event.text} ({w.who}, {w.here})", ""


def print_limit(w: Words) -> Said:
    return f"printf at {w.here} wrote more than the limit of 64 kB", "print from one thread only: if (threadIdx.x == 0)"
