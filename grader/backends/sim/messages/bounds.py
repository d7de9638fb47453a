"""An access outside of an array, in words: how far it reaches, and how much there is. Pure."""

from __future__ import annotations

from collections.abc import Callable

from grader.backends.sim.messages.words import Said, Words
from grader.simt.occupancy import MULTIPROCESSORS, SIMULATED

LARGEST_SHARED_BYTES = MULTIPROCESSORS[SIMULATED].shared_bytes_per_block


def out_of_bounds(w: Words) -> Said:
    e = w.event
    verb = {"write": "writes", "atomic": "updates"}.get(e.accesses[0].kind if e.accesses else "read", "reads")
    what, hint = w.array, "compare the index with the array's length before the access"
    if e.array_bytes is not None and e.array and e.offset is not None:
        what, hint = _way_of(w, e.offset, e.array_bytes)(w, e.offset, e.array_bytes)
    return f"{w.who} {verb} {what}, at {w.here}", hint


def _way_of(w: Words, offset: int, holds: int) -> Callable[[Words, int, int], Said]:
    if offset >= 0 and w.event.dynamic:
        return _beyond_dynamic if holds < w.event.width * w.block_threads or not holds else _beyond_own
    return _too_wide if offset >= 0 and w.event.width > w.size else _beyond


def _beyond(w: Words, offset: int, holds: int) -> Said:
    count, index = holds // w.size, offset // w.size
    said = f"{w.array}, but {w.name} has {_elements(count)}" + (f" (0 to {count - 1})" if count > 1 else "")
    if index < 0:
        return said, f"index {index} lies before the array: let the thread that computes it skip the access"
    if w.event.space == "shared" and w.counts_the_grid(index):
        return said, _grid_index(w)
    return said, f"compare the index with the array's length before the access: here {_holds(w.name, count)}"


def _beyond_own(w: Words, offset: int, holds: int) -> Said:
    """Beyond shared memory of the launch line's size, although that has an element for every thread."""
    said, _ = _beyond(w, offset, holds)
    index, count = offset // w.size, holds // w.size
    if w.counts_the_grid(index):
        return said, _grid_index(w)
    wide = f"is the index too large, or a condition that lets {w.thread(w.event.thread)} get there?"
    more = f"Only if a block does need more than {_elements(count)}, make shared= larger"
    return said, f"shared={holds} gives the block {_elements(count)}, 0 to {count - 1}: {wide} {more}"


def _grid_index(w: Words) -> str:
    """The index is blockIdx.x * blockDim.x + threadIdx.x, which shared memory does not go by."""
    return f"each block has a {w.name} of its own: index it with threadIdx.x, not with the index in the whole grid"


def _holds(name: str, count: int) -> str:
    return f"{name} has {_elements(count)}" + (f", 0 to {count - 1}" if count > 1 else ", number 0")


def _too_wide(w: Words, offset: int, holds: int) -> Said:
    """One access to several elements, of which at least one is not there."""
    wide, first, last = w.event.width, offset // w.size, (offset + w.event.width - 1) // w.size
    of = f" of {w.other_name}" if w.other_name else ""
    behind = first >= holds // w.size or first < 0
    are = f"{wide} bytes are {wide // w.size} elements"
    groups = f"{are}: access whole groups of them like this, what is left one by one"
    outside = f"{are}, and none of these is there: check where the first one lies before the access"
    ends = f" and ends after {holds} bytes" if holds == w.size else ""
    return (
        f"{wide} bytes at {w.element} (elements {first} {'to' if last > first + 1 else 'and'} {last}{of}), "
        f"but {w.name} has {_elements(holds // w.size)}{ends}",
        outside if behind else groups,
    )


def _beyond_dynamic(w: Words, offset: int, holds: int) -> Said:
    """Beyond the shared memory that the launch line asked for."""
    needed, wide = offset + w.event.width, w.event.width
    gives = f"the launch line's shared= gives {holds} bytes" if holds else "the launch line has no shared="
    room = f"shared= is the bytes of one block, and this access needs {needed} or more"
    index = f"no block can have {needed} bytes of shared memory: look at the index"
    hint = f"{room}: N elements of {wide} bytes are shared=N*{wide}" if needed <= LARGEST_SHARED_BYTES else index
    return f"{w.array}, bytes {offset} to {needed - 1}, but {gives}", hint


def _elements(count: int) -> str:
    return f"{count} element{'s' * (count != 1)}"
