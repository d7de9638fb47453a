"""Messages about blocks that wait for each other, and launches that must let them. Pure."""

from __future__ import annotations

from grader.backends.sim.messages.words import Said, Words

STARTED_ONLY = (
    "a block starts only when there is room for it, and nothing promises in which order: wait only for blocks that "
    "have started before, which is sure with block numbers from an atomicAdd; or launch no more blocks than fit, each "
    "of which does more"
)
UNKNOWN = -1


def block_deadlock(w: Words) -> Said:
    """A thread waits for a change of memory, and so does every block that is resident."""
    resident, blocks, other = w.event.detail
    if w.event.text:
        return (
            f"deadlock: {w.who} waits in grid.sync() at {w.here} for blocks that never come to it",
            "every block must reach the same grid.sync(), also one that has nothing left to do: no return before it",
        )
    waits = f"deadlock: {w.who} waits at {w.here} for a change of {w.array}"
    if blocks <= resident or other == UNKNOWN:
        only = f"; only {resident} of the {blocks} blocks can be resident at once, and" if blocks > resident else ";"
        return f"{waits}{only} nobody who could write it is running", _hint(resident, blocks)
    at_once = f"but only {resident} of the launch's {blocks} blocks can be resident at once"
    return f"{waits}, which depends on block {other}; {at_once}", STARTED_ONLY


def _hint(resident: int, blocks: int) -> str:
    if blocks > resident:
        return STARTED_ONLY
    return "look for who should write it: it may wait itself, may have ended before, or may never come to the line"


def not_cooperative(w: Words) -> Said:
    """`grid.sync()` in a launch that does not keep all blocks resident."""
    return (
        f"grid.sync() needs a cooperative launch: {w.who} stops the kernel at {w.here}",
        "write cooperative at the end of the launch line; in a host file, compile the module with "
        "enable_cooperative_groups=True",
    )


def launch_limit(w: Words) -> Said:
    """A launch that the simulator does not run, or CUDA would not."""
    if w.event.text.startswith("a cooperative launch"):
        return (
            f"{w.event.text}: {w.event.kernel} cannot start",
            "let each block do more: grid=… with at most sm_count times the blocks that one multiprocessor holds",
        )
    return (
        f"the simulator does not run this launch of {w.event.kernel}: {w.event.text}",
        "look at its grid and block: launch fewer blocks or threads, or let each use less memory",
    )
