"""Source lines: which place in the student's file an instruction belongs to."""

from __future__ import annotations

from grader.simt.ptx.model import Line

DEEPEST = 64
"""Levels of inlining that are followed."""


class Lines:
    """Follows `.loc`. A place in another file (a header) counts for the line that it was inlined at."""

    def __init__(self, main: int | None) -> None:
        self.main = main  # index of the student's file in the `.file` table; None: every file counts
        self.current: Line | None = None
        self._parent: dict[Line, Line] = {}

    def loc(self, place: Line, inlined_at: Line | None) -> None:
        """The instructions that follow come from ``place``, which may have been inlined somewhere."""
        if inlined_at is not None:
            self._parent[place] = inlined_at
        for _ in range(DEEPEST):
            if self.main is None or place.file == self.main or place not in self._parent:
                break
            place = self._parent[place]
        if place.line and (self.main is None or place.file == self.main):
            self.current = place
