"""warpgrade: learn CUDA C by having it graded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.exercise import Array, Exercise, Expect, Size, Target, Tolerance, Values, Work

__version__ = "0.1.0"

__all__ = ["Array", "Exercise", "Expect", "Size", "Target", "Tolerance", "Values", "Work"]


def __getattr__(name: str) -> Any:
    """The words of an ``exercise.py``, imported when one asks for them: child processes never do."""
    if name in __all__:
        from grader import exercise

        return getattr(exercise, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
