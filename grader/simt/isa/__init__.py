"""The instruction set: importing this package registers every form. One module for each chapter of the PTX manual."""

from grader.simt.isa import (
    atomics,
    bits,
    compare,
    control,
    convert,
    extended,
    float32,
    float64,
    half,
    integer,
    logic,
    movement,
    special,
    sync,
)
from grader.simt.isa.registry import FORMS, Example, Form, Match, find, form

__all__ = [
    "Example",
    "FORMS",
    "Form",
    "Match",
    "atomics",
    "bits",
    "compare",
    "control",
    "convert",
    "extended",
    "find",
    "float32",
    "float64",
    "form",
    "half",
    "integer",
    "logic",
    "movement",
    "special",
    "sync",
]
