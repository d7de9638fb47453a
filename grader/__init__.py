"""warpgrade: learn CUDA C by having it graded."""

from grader.exercise import Array, Exercise, Expect, Size, Target, Tolerance, Values, Work

__version__ = "0.1.0"

__all__ = ["Array", "Exercise", "Expect", "Size", "Target", "Tolerance", "Values", "Work"]
