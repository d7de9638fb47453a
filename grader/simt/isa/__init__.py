"""The instruction set: importing this package registers every form. One module for each chapter of the PTX manual."""

from grader.simt.isa import (
    atomics,
    control,
    integer,
    movement,
    sync,
)
from grader.simt.isa.registry import FORMS, Example, Form, Match, find, form

__all__ = ["FORMS", "Example", "Form", "Match", "atomics", "control", "find", "form", "integer", "movement", "sync"]
