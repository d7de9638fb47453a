"""Phrases of sentences: the array, the thread and the place of a kernel's finding. Pure."""

from __future__ import annotations

from typing import Any

from grader.findings.record import Dims, Finding
from grader.text import index_words, subscripts
from grader.verdict import Place

VERBS = {"read": "read", "write": "written", "atomic": "updated atomically", "copy": "copied"}


class Words:
    """Phrases for one finding."""

    def __init__(self, found: Finding) -> None:
        self.found = found
        self.name = " or ".join(found.names) or found.array or ""  # in the student's kernel

    def fact(self, name: str) -> Any:
        return self.found.facts.get(name)

    @property
    def array(self) -> str:
        """``shared partial[49]``, ``src[3] (array x)``, or the address if no array is near."""
        found = self.found
        if found.array is None or self.fact("offset") is None:
            where = f"address {found.address:#x}" if found.address is not None else "memory"
            return f"{found.space} {where}" if found.space else where
        return self.element + (f" ({self.other_name})" if self.other_name else "")

    @property
    def element(self) -> str:
        """``shared partial[49]`` or ``src[3]``, of a known array."""
        space, index = self.found.space, self.found.index
        where = f" (byte {self.fact('offset')})" if index is None else subscripts(index, self.found.indices)
        return f"{'' if space in (None, 'global') else f'{space} '}{self.name}{where}"

    @property
    def other_name(self) -> str:
        """``array x``, if the kernel has another name for it; ``memory allocated at line 12`` if it has no name; else
        "".
        """
        name = self.found.array
        if name is None or self.name == name:
            return ""
        return name[1:-1] if name.startswith("(") else f"array {name}"

    def thread(self, thread: Dims | None, block: Dims | None = None) -> str:
        """``thread 5 of block 2``, with as many numbers as the launch has dimensions."""
        of_block, of_grid = self.found.axes
        out = f"thread {index_words(thread or (0, 0, 0), of_block)}"
        return out if block is None else f"{out} of block {index_words(block, of_grid)}"

    @property
    def who(self) -> str:
        return self.thread(self.found.thread, self.found.block or (0, 0, 0))

    def at(self, line: int | None) -> str:
        return f"{self.found.file}:{line}" if line else f"{self.found.file}"

    @property
    def here(self) -> str:
        return self.at(self.found.line)

    def access(self, place: Place, *, with_block: bool) -> str:
        verb = VERBS[place.role]
        return f"{verb} by {self.thread(place.thread, place.block if with_block else None)} at {self.at(place.line)}"


def lanes(mask: int) -> str:
    named = [i for i in range(32) if mask >> i & 1]
    if named == list(range(named[0], named[-1] + 1)) and len(named) > 2:
        return f"lanes {named[0]} to {named[-1]}"
    return ("lane " if len(named) == 1 else "lanes ") + ", ".join(map(str, named))


def elements(count: int) -> str:
    return f"{count} element{'s' * (count != 1)}"
