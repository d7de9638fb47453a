"""Operands of PTX statements: registers, literals, names, `[addresses]`, `{vectors}`."""

from __future__ import annotations

import struct

from grader.simt.ptx.model import Address, Immediate, Operand, Register, Symbol, Vector
from grader.simt.ptx.tokens import Reader, Token, integer

DEEPEST = 8
"""Lists within lists that are read; real PTX has two."""


class OperandReader(Reader):
    """A reader that knows what an operand looks like."""

    depth = 0

    def __init__(self, found: list[Token]) -> None:
        super().__init__(found)
        self.named: set[str] = set()  # what operands name besides registers: variables, functions, labels

    def operand(self) -> Operand:
        if self.depth >= DEEPEST:
            raise self.wrong("an operand that is nested too deeply")
        self.depth += 1
        found = self._operand()
        self.depth -= 1
        return found

    def register(self) -> Register:
        """A register, `!` before it or not."""
        negated = self.accept("!")
        return Register(self.word(), negated)

    def name(self) -> str:
        """A symbol's name; a statement `generic(x)` counts as `x`."""
        name = self.word()
        if self.accept("("):
            name = self.word()
            self.expect(")")
        return name

    def _operand(self) -> Operand:
        token = self.peek()
        if token in ("{", "("):
            return self._list("}" if token == "{" else ")")
        if token == "[":
            return self._address()
        if token == "!":
            return self.register()
        if token == "-" or self.kind == "number":
            return self.number()
        return self._named(self.word())

    def _named(self, token: str) -> Operand:
        is_register = token.startswith("%") and not token[1:2].isdigit()
        first: Operand = Register(token) if is_register else Symbol(token)
        if not is_register:
            self.named.add(token)
        if self.accept("|"):
            return Vector((first, self.operand()))
        if not is_register and self.accept("+"):
            return Symbol(token, self.integer())
        return first

    def number(self) -> Immediate:
        """A literal with its sign; floats give their bit pattern."""
        if self.accept("-"):
            inner = self._literal()
            return _negative(inner)
        return self._literal()

    def _literal(self) -> Immediate:
        if self.kind != "number":
            raise self.wrong("expected a number")
        token = self.peek()
        prefix = token[:2].lower()
        if prefix in ("0f", "0d"):
            self.at += 1
            return Immediate(int(token[2:], 16), "f32" if prefix == "0f" else "f64")
        if "." in token:
            self.at += 1
            return Immediate(struct.unpack("<Q", struct.pack("<d", float(token[:400])))[0], "f64")
        if integer(token) is None:
            raise self.wrong("a number that is too large")
        return Immediate(self.integer())

    def _list(self, end: str) -> Vector:
        self.take()
        items: list[Operand] = []
        while not self.accept(end):
            if not self.accept(","):
                items.append(self.operand())
        return Vector(tuple(items))

    def _address(self) -> Operand:
        self.take()
        inner = self.operand()
        offset = 0
        coordinates: list[Operand] = []
        while not self.accept("]"):
            if self.accept(","):
                coordinates.append(self.operand())
            elif self.accept("+"):
                offset += self._offset()
            else:
                offset += self._offset()  # the sign is the number's own
        if coordinates:
            return Vector((inner, *coordinates))
        if isinstance(inner, Immediate):
            return Address(None, inner.value + offset)
        if isinstance(inner, Symbol):
            return Address(Symbol(inner.name), inner.offset + offset)
        if not isinstance(inner, Register):
            raise self.wrong("cannot read the address")
        return Address(inner, offset)

    def _offset(self) -> int:
        number = self.number()
        if number.kind != "int":
            raise self.wrong("expected a whole number")
        return number.value


def _negative(value: Immediate) -> Immediate:
    if value.kind == "int":
        return Immediate(-value.value)
    return Immediate(value.value ^ (1 << (31 if value.kind == "f32" else 63)), value.kind)
