"""An access outside of an array, in words: how far it reaches, and how much there is. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.backends.sim.results import Words

CHECK_INDEX = "check the index against the size before the access"
LARGEST_SHARED_BYTES = 163 * 1024  # of one block of the simulated A100

Said = tuple[str, str]
"""A message and its hint."""


def out_of_bounds(w: Words) -> Said:
    e = w.event
    verb = {"write": "writes", "atomic": "updates"}.get(e.accesses[0].kind if e.accesses else "read", "reads")
    what, hint = w.array, CHECK_INDEX
    if e.array_bytes is not None and e.array and e.offset is not None:
        says = _beyond if e.offset < 0 else _beyond_dynamic if e.dynamic else _too_wide if e.width > w.size else _beyond
        what, hint = says(w, e.offset, e.array_bytes)
    return f"{w.who} {verb} {what}, at {w.here}", hint


def _beyond(w: Words, offset: int, holds: int) -> Said:
    count = holds // w.size
    said = f"{w.array}, but {w.name} has {_elements(count)}" + (f" (0 to {count - 1})" if count > 1 else "")
    return said, CHECK_INDEX


def _too_wide(w: Words, offset: int, holds: int) -> Said:
    """One access to several elements, of which at least one is not there."""
    wide, first, last = w.event.width, offset // w.size, (offset + w.event.width - 1) // w.size
    of = f" of {w.other_name}" if w.other_name else ""
    ends = f" and ends after {holds} bytes" if holds == w.size else ""
    return (
        f"{wide} bytes at {w.element} (elements {first} {'to' if last > first + 1 else 'and'} {last}{of}), "
        f"but {w.name} has {_elements(holds // w.size)}{ends}",
        f"{wide} bytes are {wide // w.size} elements: access whole groups of them like this, what is left one by one",
    )


def _beyond_dynamic(w: Words, offset: int, holds: int) -> Said:
    """Beyond the shared memory that the launch line asked for."""
    needed, wide = offset + w.event.width, w.event.width
    gives = f"the launch line's shared= gives {holds} bytes" if holds else "the launch line has no shared="
    room = f"shared= is the bytes of one block, and this access needs {needed} or more"
    hint = f"{room}: N elements of {wide} bytes are shared=N*{wide}" if needed <= LARGEST_SHARED_BYTES else CHECK_INDEX
    return f"{w.array}, bytes {offset} to {needed - 1}, but {gives}", hint


def _elements(count: int) -> str:
    return f"{count} element{'s' * (count != 1)}"
