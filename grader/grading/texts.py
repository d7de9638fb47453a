"""The graded files as they were when grading began.

A file may be saved while it is graded. One reading serves all that is compiled, run and shown: a report never accuses
a line that was written later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from grader.errors import WarpgradeError


@dataclass(frozen=True)
class Texts:
    """Contents by path. A file that is not among them is read when somebody asks for it."""

    contents: Mapping[Path, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, *paths: Path | None) -> Self:
        """Read the files; one that cannot be read is left out, so that who needs it gets the error."""
        from grader.compile import read_submission

        contents: dict[Path, bytes] = {}
        for path in paths:
            try:
                contents |= {} if path is None else {path: read_submission(path)}
            except WarpgradeError:
                continue
        return cls(contents)

    def read(self, path: Path) -> bytes:
        """The content. Raises what `grader.compile.read_submission` raises."""
        from grader.compile import read_submission

        return self.contents[path] if path in self.contents else read_submission(path)

    def shown(self, path: Path) -> str:
        """The text for an excerpt; "" where it cannot be read, which the verdict says."""
        try:
            return self.read(path).decode("utf-8", "replace")
        except WarpgradeError:
            return ""


NOTHING_READ = Texts()
