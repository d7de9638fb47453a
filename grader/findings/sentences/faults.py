"""Sentences of invalid accesses, of faults that end a kernel, and of threads that wait for ever. Pure."""

from __future__ import annotations

from grader.findings.sentences.words import Words, elements, lanes

UNKNOWN = -1  # the block that should change the memory is unknown

PLAIN = {
    "null": "{w.who} uses a null pointer at {w.here}",
    "use_after_free": "{w.who} uses {w.array} at {w.here}, which has been freed",
    "read_only": "{w.who} writes to constant memory ({w.array}) at {w.here}",
    "misaligned": "{w.who} makes a misaligned access of {facts[width]} bytes to {w.array} at {w.here}",
    "trap": "{w.who} stops the kernel with a trap at {w.here}",
    "assert": "assertion failed: {facts[text]} ({w.who}, {w.here})",
    "print_limit": "printf at {w.here} wrote more than the limit of 64 kB",
    "not_cooperative": "grid.sync() needs a cooperative launch: {w.who} stops the kernel at {w.here}",
    "inactive_lane": "{w.who} reads lane {facts[detail][0]} at {w.here}, which does not take part: the value is "
    "undefined",
    "unused_lane": "{w.who} reads lane {facts[detail][0]} at {w.here}, which does not take part: the value is "
    "undefined, but no output depends on it",
    "bad_mask": "{w.who} executes {facts[instruction]} at {w.here} with a mask that does not include its own lane",
    "second_launch": "this is a second launch, after a first one that was right: `__device__` variables keep their "
    "values between launches",
    "uninitialised_read": "{w.who} reads {w.array} at {w.here} before it was written",
    "unused_read": "{w.who} reads {w.array} at {w.here}, which was never written: no output depends on it, but only "
    "what was written may be read",
    "unassembled": "registers, and limits of a GPU that only ptxas knows, were not checked: {facts[why]}",
}
"""Sentences of kinds that need only the thread, the place and a fact."""


def out_of_bounds(w: Words) -> str:
    role = w.found.places[0].role if w.found.places else "read"
    copied_to = role == "copy" and w.found.space == "shared"  # copies come from global memory
    verb = "copies to" if copied_to else {"write": "writes", "atomic": "updates"}.get(role, "reads")
    what = {"too_wide": _too_wide, "beyond_launch_line": _beyond_launch_line, "": _nowhere}.get(w.found.cause, _beyond)
    return f"{w.who} {verb} {what(w)}, at {w.here}"


def _nowhere(w: Words) -> str:
    return w.array


def _beyond(w: Words) -> str:
    count = w.fact("array_bytes") // w.fact("element_bytes")
    if shape := w.fact("shape"):
        return f"{w.array}, but {w.name} has {' × '.join(map(str, shape))} elements"
    return f"{w.array}, but {w.name} has {elements(count)}" + (f" (0 to {count - 1})" if count > 1 else "")


def _too_wide(w: Words) -> str:
    """One access to several elements, of which at least one is outside."""
    wide, size, holds, offset = w.fact("width"), w.fact("element_bytes"), w.fact("array_bytes"), w.fact("offset")
    first, last = offset // size, (offset + wide - 1) // size
    of = f" of {w.other_name}" if w.other_name else ""
    ends = f" and ends after {holds} bytes" if holds == size else ""
    return (
        f"{wide} bytes at {w.element} (elements {first} {'to' if last > first + 1 else 'and'} {last}{of}), "
        f"but {w.name} has {elements(holds // size)}{ends}"
    )


def _beyond_launch_line(w: Words) -> str:
    """Past the shared memory of the launch line."""
    holds, offset = w.fact("array_bytes"), w.fact("offset")
    gives = f"the launch line's shared= gives {holds} bytes" if holds else "the launch line has no shared="
    return f"{w.array}, bytes {offset} to {offset + w.fact('width') - 1}, but {gives}"


def instruction_budget(w: Words) -> str:
    if w.found.cause == "case":
        where = f" ({w.who} was at {w.here})" if w.found.line else ""
        return f"{w.found.kernel} used up the simulator's budget of instructions for one case{where}"
    return (
        f"endless or far too long: {w.who} is still in the loop at {w.here} when its block has "
        "run as many instructions as the simulator allows a block (its instruction budget)"
    )


def launch_limit(w: Words) -> str:
    """A launch that the simulator does not run, or that CUDA would refuse."""
    text = w.fact("text")
    if w.found.cause == "cooperative":
        return f"{text}: {w.found.kernel} cannot start"
    return f"the simulator does not run this launch of {w.found.kernel}: {text}"


def launch(w: Words) -> str:
    """A launch that CUDA refuses, because one block needs more than a multiprocessor has."""
    if w.found.cause == "registers":
        needs = f"{w.fact('registers')} registers for each of {w.fact('threads')} threads, {w.fact('in_all')} in total"
        return f"{w.found.kernel} cannot start: it needs {needs}, and a multiprocessor has {w.fact('most')}"
    whose, kind = ("a thread", "local") if w.found.cause == "local" else ("a block", "shared")
    needs = f"{whose} needs {w.fact('bytes')} bytes of {kind} memory"
    return f"{w.found.kernel} cannot start: {needs}, and can have at most {w.fact('most')}"


# ------------------------------------------------------------------------------------------------------- endless waits


def barrier_divergence(w: Words) -> str:
    first, second = w.found.places
    if w.found.cause == "left_grid":
        return (
            f"barrier divergence: {w.thread(second.thread)} waits in grid.sync() at {w.here}, which every thread of "
            f"the grid must reach, but {w.thread(first.thread)} of its block has ended before"
        )
    if w.found.cause == "left":
        return (
            f"barrier divergence: only a part of a warp comes to the barrier at {w.here}; {w.thread(second.thread)} "
            f"waits there, {w.thread(first.thread)} of the same warp never reaches it, so the kernel never ends"
        )
    if first.line == second.line:
        return (
            f"barrier divergence: {w.thread(first.thread)} and {w.thread(second.thread)} of one block come to the "
            f"barrier at {w.here} in different branches or iterations, so the kernel never ends"
        )
    return (
        f"barrier divergence: threads of one block wait at different barriers, {w.thread(first.thread)} at "
        f"{w.at(first.line)} and {w.thread(second.thread)} at {w.at(second.line)}, so the kernel never ends"
    )


def deadlock(w: Words) -> str:
    if w.found.cause == "lanes":
        return missing_lanes(w)
    says = {"barrier": _at_barrier, "memory": _for_memory, "grid_sync": _at_grid_sync, "unset_object": _at_unset_object}
    return f"deadlock: {w.who} waits {says.get(w.found.cause, _at_object)(w)}"


def _at_barrier(w: Words) -> str:
    barrier, arrived, expected = w.fact("detail")
    of = f"; {arrived} of {expected} threads have reached barrier {barrier}" if expected else ""
    return f"at {w.here} for threads that never arrive{of}; so the kernel never ends"


def _at_unset_object(w: Words) -> str:
    return f"at {w.here} for the barrier object {w.name}, which was never initialised"


def _at_object(w: Words) -> str:
    arrived, expected = w.fact("detail")
    came = f"it expects {expected} arrivals, and gets only {arrived}"
    return f"at {w.here} for a phase of the barrier object {w.name} that never ends; {came}"


def _at_grid_sync(w: Words) -> str:
    return f"in grid.sync() at {w.here} for blocks that never reach it"


def _for_memory(w: Words) -> str:
    """A thread waits for a change of memory, and so do all resident blocks."""
    resident, blocks, other = w.fact("detail")
    waits = f"at {w.here} for a change of {w.array}"
    if blocks <= resident or other == UNKNOWN:
        only = f"; only {resident} of the {blocks} blocks can be resident at once, and" if blocks > resident else ";"
        return f"{waits}{only} no running thread could write it"
    at_once = f"but only {resident} of the launch's {blocks} blocks can be resident at once"
    return f"{waits}, which depends on block {other}; {at_once}"


def missing_lanes(w: Words) -> str:
    missing = w.fact("detail")[0] & 0xFFFFFFFF
    if w.fact("matrix"):
        opcode = w.fact("instruction").partition(".")[0]
        return (
            f"{opcode} at {w.here} needs all 32 lanes of the warp, but {lanes(missing)} "
            f"{'does' if missing.bit_count() == 1 else 'do'} not take part, seen by {w.who}"
        )
    return f"the mask at {w.here} names lanes that never arrive ({lanes(missing)}), seen by {w.who}"
