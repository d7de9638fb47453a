"""An access that may not be, and what ends a kernel at once, in words. Pure."""

from __future__ import annotations

from grader.findings.record import Finding
from grader.findings.sentences.words import Words, elements


def out_of_bounds(found: Finding) -> str:
    w = Words(found)
    verb = {"write": "writes", "atomic": "updates"}.get(found.places[0].role if found.places else "read", "reads")
    what = {"too_wide": _too_wide, "beyond_launch_line": _beyond_launch_line, "": _nowhere}.get(found.cause, _beyond)
    return f"{w.who} {verb} {what(w)}, at {w.here}"


def _nowhere(w: Words) -> str:
    return w.array


def _beyond(w: Words) -> str:
    count = w.fact("array_bytes") // w.fact("element_bytes")
    return f"{w.array}, but {w.name} has {elements(count)}" + (f" (0 to {count - 1})" if count > 1 else "")


def _too_wide(w: Words) -> str:
    """One access to several elements, of which at least one is not there."""
    wide, size, holds, offset = w.fact("width"), w.fact("element_bytes"), w.fact("array_bytes"), w.fact("offset")
    first, last = offset // size, (offset + wide - 1) // size
    of = f" of {w.other_name}" if w.other_name else ""
    ends = f" and ends after {holds} bytes" if holds == size else ""
    return (
        f"{wide} bytes at {w.element} (elements {first} {'to' if last > first + 1 else 'and'} {last}{of}), "
        f"but {w.name} has {elements(holds // size)}{ends}"
    )


def _beyond_launch_line(w: Words) -> str:
    """Beyond the shared memory that the launch line asked for."""
    holds, offset = w.fact("array_bytes"), w.fact("offset")
    gives = f"the launch line's shared= gives {holds} bytes" if holds else "the launch line has no shared="
    return f"{w.array}, bytes {offset} to {offset + w.fact('width') - 1}, but {gives}"


def null(found: Finding) -> str:
    w = Words(found)
    return f"{w.who} uses a null pointer at {w.here}"


def use_after_free(found: Finding) -> str:
    w = Words(found)
    return f"{w.who} uses {w.array} at {w.here}, which has been freed"


def read_only(found: Finding) -> str:
    w = Words(found)
    return f"{w.who} writes to constant memory ({w.array}) at {w.here}"


def misaligned(found: Finding) -> str:
    w = Words(found)
    return f"{w.who} makes a misaligned access of {w.fact('width')} bytes to {w.array} at {w.here}"


def budget(found: Finding) -> str:
    w = Words(found)
    if found.cause == "case":
        where = f" ({w.who} was at {w.here})" if found.line else ""
        return f"{found.kernel} used up the simulator's budget of instructions for one case{where}"
    return (
        f"endless or far too long: {w.who} is still in the loop at {w.here} when its block has "
        "run as many instructions as the simulator allows a block (its instruction budget)"
    )


def trap(found: Finding) -> str:
    w = Words(found)
    return f"{w.who} stops the kernel with a trap at {w.here}"


def assertion(found: Finding) -> str:
    w = Words(found)
    return f"assertion failed: {w.fact('text')} ({w.who}, {w.here})"


def print_limit(found: Finding) -> str:
    return f"printf at {Words(found).here} wrote more than the limit of 64 kB"


def not_cooperative(found: Finding) -> str:
    """`grid.sync()` in a launch that does not keep all blocks resident."""
    w = Words(found)
    return f"grid.sync() needs a cooperative launch: {w.who} stops the kernel at {w.here}"


def launch_limit(found: Finding) -> str:
    """A launch that the simulator does not run, or CUDA would not."""
    text = found.facts["text"]
    if found.cause == "cooperative":
        return f"{text}: {found.kernel} cannot start"
    return f"the simulator does not run this launch of {found.kernel}: {text}"
