"""The records of a PTX module. They are frozen, and do not depend on the meaning of opcodes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Line:
    """A position in the source: file index in the PTX `.file` table, line, column (1-based; 0: unknown)."""

    file: int
    line: int
    column: int = 0
    called_at: int = 0  # the line of the innermost call of its function, if that was inlined; 0: none, or unknown


@dataclass(frozen=True, slots=True)
class Register:
    """`%r1`, `%tid.x`, `!%p1` (negated)."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. ``kind`` is ``int``, ``f32`` or ``f64``; for floats ``value`` is the bit pattern."""

    value: int
    kind: str = "int"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable's, function's or label's name, with a byte offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`; ``base`` is None for an absolute address."""

    base: Register | Symbol | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, c, d}`, the two halves of `%r1|%p1`, or a call's parenthesised list."""

    items: tuple[Operand, ...]


Operand = Register | Immediate | Symbol | Address | Vector


def items(operand: Operand) -> tuple[Operand, ...]:
    """The parts of a vector; of any other operand the operand itself."""
    return operand.items if isinstance(operand, Vector) else (operand,)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One statement: ``@guard opcode.modifiers operands``. ``opcode`` is the part before the first dot."""

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None = None
    line: Line | None = None

    @property
    def name(self) -> str:
        """The mnemonic with its modifiers, e.g. ``ld.global.f32``."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared array or scalar: ``size`` in bytes, -1 for an `extern` array, whose size the launch decides.

    ``initial`` are the initial bytes, ``symbols`` initial values that are addresses: (byte offset, Symbol).
    """

    name: str
    space: str
    align: int
    size: int
    element: str = "b8"
    initial: bytes = b""
    symbols: tuple[tuple[int, Symbol], ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """An entry or a device function. ``body`` is None for a declaration."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    returns: tuple[Variable, ...] = ()
    registers: dict[str, str] = field(default_factory=dict)  # name -> type; ranges as "%r<5>" expanded lazily
    variables: tuple[Variable, ...] = ()  # .local, .shared and call-scoped .param variables
    body: tuple[Instruction | Label, ...] | None = None
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)  # `.branchtargets` by their label

    def register_type(self, name: str) -> str | None:
        """The declared type of a register (``b32``, ``pred``, …), or None for an undeclared name."""
        exact = self.registers.get(name)
        return exact if exact is not None else self.registers.get(name.rstrip("0123456789") + "<")


@dataclass(frozen=True, slots=True)
class Module:
    functions: dict[str, Function]
    variables: dict[str, Variable]  # module scope: .global, .const, .shared
    used: frozenset[str]  # variables that functions use, directly or through initial values of other variables
