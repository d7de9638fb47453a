"""warpgrade: learn CUDA C by having it graded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.api import grade
    from grader.exercise import (
        AlsoTimed,
        Array,
        Bound,
        BugLine,
        Exercise,
        Expect,
        Forecast,
        Large,
        Size,
        Target,
        Tolerance,
        Values,
        Variant,
        Work,
    )

__version__ = "0.1.0"

__all__ = [
    "AlsoTimed",
    "Array",
    "Bound",
    "BugLine",
    "Exercise",
    "Expect",
    "Forecast",
    "Large",
    "Size",
    "Target",
    "Tolerance",
    "Values",
    "Variant",
    "Work",
    "grade",
]


def __getattr__(name: str) -> Any:
    """Import the names of an ``exercise.py`` and `grade` when they are used: child processes do not need them."""
    if name == "grade":
        from grader.api import grade

        return grade
    if name == "load_ipython_extension":
        from grader.notebook import load_ipython_extension

        return load_ipython_extension
    if name in __all__:
        from grader import exercise

        return getattr(exercise, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
