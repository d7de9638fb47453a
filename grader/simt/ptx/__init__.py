"""PTX text to records. It has the grammar of statements and operands, but no opcodes."""

from grader.simt.ptx.model import (
    Address,
    Function,
    Immediate,
    Instruction,
    Line,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
    items,
)
from grader.simt.ptx.parse import parse
from grader.simt.ptx.reader import PtxSyntaxError

__all__ = [
    "Address",
    "Function",
    "Immediate",
    "Instruction",
    "Line",
    "Module",
    "Operand",
    "PtxSyntaxError",
    "Register",
    "Symbol",
    "Variable",
    "Vector",
    "items",
    "parse",
]
