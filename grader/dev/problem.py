"""What a check of the course finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with an exercise. ``place`` is a file of it, e.g. ``wrong/copy.cu``."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"
