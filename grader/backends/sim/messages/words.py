"""What every message is made of: the array, the thread and the place of an event, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.simt.events import Event, Place

Said = tuple[str, str]
"""A message and its hint."""

_VERBS = {"read": "read", "write": "written", "atomic": "updated atomically", "copy": "copied"}


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
        """``array x``, where the kernel calls it something else; ``memory allocated at line 12`` where it has none."""
        name = self.event.array
        if name is None or self.name == name:
            return ""
        return name[1:-1] if name.startswith("(") else f"array {name}"

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


def lanes(mask: int) -> str:
    named = [i for i in range(32) if mask >> i & 1]
    if named == list(range(named[0], named[-1] + 1)) and len(named) > 2:
        return f"lanes {named[0]} to {named[-1]}"
    return ("lane " if len(named) == 1 else "lanes ") + ", ".join(map(str, named))
