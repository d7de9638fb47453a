"""The instruction set, with a module for each chapter of the PTX manual. Importing this package registers all forms."""

from grader.simt.isa import (
    atomics,
    comparison,
    control,
    convert,
    floating,
    half,
    integer,
    logic,
    matrix,
    movement,
    special,
    sync,
    video,
)
from grader.simt.isa.registry import FORMS, Example, Form

__all__ = ["FORMS", "Example", "Form", "atomics", "comparison", "control", "convert", "floating", "half", "integer",
           "logic", "matrix", "movement", "special", "sync", "video"]  # fmt: skip
