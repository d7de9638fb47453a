"""Declarations of variables: `.align 4 .b8 name[16] = {1, 2, symbol};`."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from grader.simt.ptx.model import Immediate, Symbol, Variable
from grader.simt.ptx.operands import OperandReader
from grader.simt.ptx.tokens import SIZES

SPACES = ("global", "const", "shared", "local", "param")
LARGEST_ALIGN = 1 << 16
LARGEST_SIZE = 1 << 40


class VariableReader(OperandReader):
    """A reader that knows what a declaration looks like."""

    def qualifiers(self) -> tuple[int, str]:
        """Read `.align 4 .b8`; gives (alignment or 0, element type)."""
        align, element = 0, "b8"
        while self.peek().startswith("."):
            word = self.take()[1:]
            if word == "align":
                align = self._alignment()
            elif word in SIZES:
                element = word
        return align, element

    def variables(self, space: str) -> Iterator[Variable]:
        """Read one declaration statement up to its `;`, which may name several variables."""
        qualifiers = self.qualifiers()
        yield self.variable(space, qualifiers)
        while not self.accept(";"):
            self.expect(",")
            yield self.variable(space, qualifiers)

    def variable(self, space: str, qualifiers: tuple[int, str]) -> Variable:
        """Read `name[4][2] = {…}`."""
        align, element = qualifiers
        name, unit = self.word(), SIZES[element]
        count, is_array = 1, False
        while self.accept("["):
            count *= -1 if self.peek() == "]" else self.integer()
            is_array = True
            self.expect("]")
        initial: bytes = b""
        symbols: tuple[tuple[int, Symbol], ...] = ()
        if self.accept("="):
            initial, symbols = self._initial(unit, element)
        size = (unit * count if count >= 0 else len(initial) or -1) if is_array else unit
        if size > LARGEST_SIZE or len(initial) > max(size, 0):
            raise self.wrong(f"a variable of {size} bytes")
        return Variable(name, space, align or unit, size, element, initial, symbols)

    def _alignment(self) -> int:
        align = self.integer()
        if not 0 < align <= LARGEST_ALIGN or align & (align - 1):
            raise self.wrong("an alignment that is no power of two")
        return align

    def _initial(self, unit: int, element: str) -> tuple[bytes, tuple[tuple[int, Symbol], ...]]:
        """Initial values in braces (nested ones count as one list), or a single one."""
        out = bytearray()
        symbols: list[tuple[int, Symbol]] = []
        if self.peek() != "{":
            out += self._word(unit, element, 0, symbols)
            return bytes(out), tuple(symbols)
        depth = 0
        while True:
            if self.accept("{"):
                depth += 1
            elif self.accept("}"):
                depth -= 1
                if depth == 0:
                    return bytes(out), tuple(symbols)
            elif not self.accept(","):
                out += self._word(unit, element, len(out), symbols)

    def _word(self, unit: int, element: str, offset: int, symbols: list[tuple[int, Symbol]]) -> bytes:
        if self.kind == "number" or self.peek() == "-":
            return _packed(self.number(), unit, element)
        name = self.name()
        symbols.append((offset, Symbol(name, self.integer() if self.accept("+") else 0)))
        if unit != 8:
            raise self.wrong("an address in a variable that is too narrow for it")
        return bytes(unit)


def _packed(value: Immediate, unit: int, element: str) -> bytes:
    if element in ("f32", "f64") and value.kind == "int":
        return struct.pack("<f" if unit == 4 else "<d", value.value)
    return (value.value & ((1 << 8 * unit) - 1)).to_bytes(unit, "little")
