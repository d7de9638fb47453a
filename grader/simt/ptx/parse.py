"""A parser for the PTX that compilers emit and people write.

    text ──tokens──▶ statements ──▶ Module

Scopes: names that an inner `{ … }` declares (NVRTC does so around every call) get a suffix, so that a function's
names are unique. Lines: a `.loc` in a header that says `inlined_at` counts for the line it was inlined at.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from grader.simt.ptx.model import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Line,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/
    |(?P<string>"[^"\n]*")
    |(?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |\d+\.\d*(?:[eE][-+]?\d+)?|\d+U?)
    |(?P<word>[.%$_a-zA-Z][\w$.%:]*?(?=::|[^\w$.%:]|:(?!:)|$)(?:::[\w.:]+)*)
    |(?P<mark>[-+@!|(){}\[\],;:<>=~&^*/?])""",
    re.VERBOSE | re.DOTALL,
)
_SIZES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4,
          "s32": 4, "f32": 4, "f16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16}  # fmt: skip
_SPACES = ("global", "const", "shared", "local", "param")


class PtxSyntaxError(ValueError):
    """Raised when the text is not PTX as this parser knows it; the message quotes the statement."""


def parse(text: str, source_name: str | None = None) -> Module:
    """Parse a whole module. ``source_name`` names the file that `Line`s should point into (see `_Lines`)."""
    return _Parser(text, source_name).module()


def type_size(name: str) -> int:
    """Bytes of a PTX scalar type such as ``u32``."""
    return _SIZES[name]


def _tokens(text: str) -> list[tuple[str, str]]:
    """(kind, text) pairs; the text after the last function (debug sections) is tokenised too, and skipped later."""
    found = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise PtxSyntaxError(f"cannot read {text[position : position + 40]!r}")
        position = match.end()
        if match.group().startswith("."):  # `.reg.b16` says what `.reg .b16` says
            found += [("word", "." + part) for part in match.group()[1:].split(".")]
        elif match.lastgroup is not None:
            found.append((match.lastgroup, match.group()))
    return found


class _Lines:
    """Follows `.loc`: the place in the student's file that the coming instructions belong to."""

    def __init__(self, main: int | None) -> None:
        self.main = main
        self.current: Line | None = None
        self._parent: dict[Line, Line] = {}

    def loc(self, place: Line, inlined_at: Line | None) -> None:
        if inlined_at is not None:
            self._parent[place] = inlined_at
        seen = 0
        while self.main is not None and place.file != self.main and place in self._parent and seen < 64:
            place = self._parent[place]
            seen += 1
        if place.line and (self.main is None or place.file == self.main):
            self.current = place


class _Parser:
    def __init__(self, text: str, source_name: str | None) -> None:
        self.files = {int(n): name for n, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.MULTILINE)}
        main = next((i for i, name in self.files.items() if source_name and name.endswith(source_name)), None)
        self.main = main
        section = re.search(r"^\s*\.section\s", text, re.MULTILINE)
        self.tokens = _tokens(text[: section.start()] if section else text)
        self.at = 0
        self.version = ""
        self.target = ""
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}

    # -- tokens ---------------------------------------------------------------------------------------------------
    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, text: str) -> None:
        if self.take() != text:
            raise PtxSyntaxError(f"expected {text!r} near {self._near()}")

    def _near(self) -> str:
        return " ".join(t for _, t in self.tokens[max(0, self.at - 8) : self.at + 4])

    # -- module scope ---------------------------------------------------------------------------------------------
    def module(self) -> Module:
        while self.peek():
            self._declaration()
        return Module(self.version, self.target, self.functions, self.variables, self.files)

    def _declaration(self) -> None:
        word = self.take()
        if word == ".version":
            self.version = self.take()
        elif word == ".target":
            self.target = self.take()
            while self.peek() == ",":
                self.at += 2
        elif word in (".address_size",):
            self.take()
        elif word == ".file":
            self.at += 2
            while self.peek() == ",":
                self.at += 2
        elif word in (".entry", ".func"):
            self._function(is_entry=word == ".entry")
        elif word[1:] in _SPACES:
            for variable in self._variables(word[1:]):
                self.variables[variable.name] = variable
        elif word not in (".visible", ".weak", ".extern", ".common", ";", ".pragma") and not word.startswith('"'):
            raise PtxSyntaxError(f"unknown declaration near {self._near()}")

    def _function(self, *, is_entry: bool) -> None:
        returns = self._parameters() if self.peek() == "(" else ()
        name = self.take()
        parameters = self._parameters() if self.peek() == "(" else ()
        while self.peek() not in ("{", ";"):
            self.take()  # .maxntid 256, 1, 1 · .minnctapersm 2 · .noreturn
        if self.take() == ";":
            self.functions.setdefault(name, Function(name, is_entry, parameters, returns))
            return
        body = _Body(self)
        body.run()
        self.functions[name] = Function(
            name, is_entry, parameters, returns, body.registers, tuple(body.variables), tuple(body.items)
        )

    def _parameters(self) -> tuple[Variable, ...]:
        self.expect("(")
        found: list[Variable] = []
        while self.peek() != ")":
            if self.peek() in (".param", ".reg"):
                space = self.take()[1:]
                found.append(self._variable(space, self._qualifiers()))
            else:
                self.take()
        self.take()
        return tuple(found)

    # -- variables ------------------------------------------------------------------------------------------------
    def _qualifiers(self) -> tuple[int, str]:
        """Read `.align 4 .b8`; gives (alignment or 0, element type)."""
        align, element = 0, "b8"
        while self.peek().startswith("."):
            word = self.take()[1:]
            if word == "align":
                align = int(self.take())
            elif word in _SIZES:
                element = word
            elif word == "ptr" and self.peek().lstrip(".") in (*_SPACES, "align"):
                continue
        return align, element

    def _variables(self, space: str) -> Iterator[Variable]:
        """Read one declaration statement up to its `;`, which may name several variables."""
        qualifiers = self._qualifiers()
        while True:
            yield self._variable(space, qualifiers)
            if self.take() != ",":
                return

    def _variable(self, space: str, qualifiers: tuple[int, str]) -> Variable:
        align, element = qualifiers
        name, unit = self.take(), _SIZES[element]
        count, extents = 1, False
        while self.peek() == "[":
            self.take()
            if self.peek() == "]":
                count = -1
            else:
                count *= int(self.take().rstrip("U"))
            extents = True
            self.expect("]")
        initial: bytes = b""
        symbols: tuple[tuple[int, Symbol], ...] = ()
        if self.peek() == "=":
            self.take()
            initial, symbols = self._initial(unit, element)
        size = unit * count if count >= 0 else (len(initial) or -1)
        return Variable(name, space, align or unit, size if extents else unit, element, initial, symbols)

    def _initial(self, unit: int, element: str) -> tuple[bytes, tuple[tuple[int, Symbol], ...]]:
        out = bytearray()
        symbols: list[tuple[int, Symbol]] = []
        braces = self.peek() == "{"
        depth = 0
        while True:
            token = self.peek()
            if token == "{":
                depth += 1
                self.take()
            elif token == "}":
                depth -= 1
                self.take()
            elif token == ",":
                self.take()
            else:
                out += self._initial_word(unit, element, len(out), symbols)
            if depth == 0 and (braces or self.peek() in (";", ",")):
                return bytes(out), tuple(symbols)

    def _initial_word(self, unit: int, element: str, offset: int, symbols: list[tuple[int, Symbol]]) -> bytes:
        kind, token = self.tokens[self.at]
        if kind == "number" or token == "-":
            value = self._operand()
            assert isinstance(value, Immediate)
            if element in ("f32", "f64") and value.kind == "int":
                return struct.pack("<f" if unit == 4 else "<d", value.value)
            return (value.value & ((1 << 8 * unit) - 1)).to_bytes(unit, "little")
        name = self.take()
        if self.peek() == "(":  # generic(symbol)
            self.take()
            name = self.take()
            self.expect(")")
        plus = 0
        if self.peek() == "+":
            self.take()
            plus = int(self.take(), 0)
        symbols.append((offset, Symbol(name, plus)))
        return bytes(unit)

    # -- operands -------------------------------------------------------------------------------------------------
    def _operand(self) -> Operand:
        kind, token = self.tokens[self.at]
        if token in ("{", "("):
            return self._list("}" if token == "{" else ")")
        if token == "[":
            return self._address()
        self.at += 1
        if token == "!":
            return Register(self.take(), negated=True)
        if token == "-":
            inner = self._operand()
            assert isinstance(inner, Immediate)
            return Immediate(-inner.value, inner.kind)
        if kind == "number":
            return _number(token)
        named = Register(token) if token.startswith("%") and not token[1:2].isdigit() else self._plus(token)
        if self.peek() == "|":
            self.take()
            return Vector((named, self._operand()))
        return named

    def _plus(self, name: str) -> Operand:
        if self.peek() == "+":
            self.take()
            return Symbol(name, int(self.take(), 0))
        return Symbol(name)

    def _list(self, end: str) -> Vector:
        self.take()
        items: list[Operand] = []
        while self.peek() != end:
            if self.peek() == ",":
                self.take()
            else:
                items.append(self._operand())
        self.take()
        return Vector(tuple(items))

    def _address(self) -> Operand:
        self.take()
        inner = self._operand()
        offset = 0
        coordinates: list[Operand] = []
        while self.peek() != "]":
            sign = self.take()
            if sign == ",":
                coordinates.append(self._operand())
                continue
            if sign not in "+-":
                raise PtxSyntaxError(f"cannot read the address near {self._near()}")
            number = self._operand()
            assert isinstance(number, Immediate)
            offset += -number.value if sign == "-" else number.value
        self.take()
        if coordinates:
            return Vector((inner, *coordinates))
        if isinstance(inner, Immediate):
            return Address(None, inner.value + offset)
        if isinstance(inner, Symbol):
            return Address(Symbol(inner.name), inner.offset + offset)
        assert isinstance(inner, Register)
        return Address(inner, offset)


def _number(token: str) -> Immediate:
    prefix = token[:2].lower()
    if prefix in ("0f", "0d"):
        return Immediate(int(token[2:], 16), "f32" if prefix == "0f" else "f64")
    text = token.rstrip("U")
    if "." in text:
        return Immediate(struct.unpack("<Q", struct.pack("<d", float(text)))[0], "f64")
    if len(text) > 1 and text[0] == "0" and text[1:].isdigit():
        return Immediate(int(text, 8))
    return Immediate(int(text, 0))


class _Body:
    """One function's body: statements in order, names of inner scopes made unique."""

    def __init__(self, parser: _Parser) -> None:
        self.p = parser
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.items: list[Instruction | Label] = []
        self.lines = _Lines(parser.main)
        self.scopes: list[dict[str, str]] = [{}]
        self.count = 0

    def run(self) -> None:
        while self.scopes:
            self._statement()

    def _statement(self) -> None:
        p = self.p
        token = p.peek()
        if token == "":
            raise PtxSyntaxError("the text ends inside a function")
        if token == "{":
            p.take()
            self.count += 1
            self.scopes.append({})
        elif token == "}":
            p.take()
            self.scopes.pop()
        elif token == ";":
            p.take()
        elif token.startswith("."):
            self._directive(p.take())
        elif p.at + 1 < len(p.tokens) and p.tokens[p.at + 1][1] == ":":
            self.items.append(Label(self._rename(p.take()) if len(self.scopes) == 1 else self._declare(p.take())))
            p.take()
        else:
            self._instruction()

    def _directive(self, word: str) -> None:
        p = self.p
        if word == ".loc":
            self._loc()
        elif word == ".reg":
            self._registers()
        elif word[1:] in _SPACES:
            for variable in p._variables(word[1:]):
                self.variables.append(
                    Variable(self._declare(variable.name), variable.space, variable.align, variable.size,
                             variable.element, variable.initial, variable.symbols)
                )  # fmt: skip
        else:  # .pragma "nounroll"; .branchtargets …; .callprototype …
            while p.take() != ";":
                pass

    def _loc(self) -> None:
        p = self.p
        place = Line(int(p.take()), int(p.take()), int(p.take()))
        inlined = None
        while p.peek() == ",":
            p.take()
            word = p.take()
            if word == "function_name":
                p._operand()
            elif word == "inlined_at":
                inlined = Line(int(p.take()), int(p.take()), int(p.take()))
        self.lines.loc(place, inlined)

    def _registers(self) -> None:
        p = self.p
        _, element = p._qualifiers()
        if element == "b8" and p.tokens[p.at - 1][1] == ".pred":
            element = "pred"
        while True:
            name = p.take()
            if p.peek() == "<":
                p.take()
                p.take()
                p.expect(">")
                self.registers[name + "<"] = element
            else:
                self.registers[self._declare(name)] = element
            if p.take() == ";":
                return

    def _declare(self, name: str) -> str:
        unique = name if len(self.scopes) == 1 else f"{name}@{self.count}"
        self.scopes[-1][name] = unique
        return unique

    def _rename(self, name: str) -> str:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), name)

    def _instruction(self) -> None:
        p = self.p
        guard = None
        if p.peek() == "@":
            p.take()
            operand = self._resolve(p._operand())
            if not isinstance(operand, Register):
                raise PtxSyntaxError(f"a guard that is no register near {p._near()}")
            guard = operand
        opcode, *modifiers = p.take().split(".")
        operands: list[Operand] = []
        while p.peek() != ";":
            if p.peek() == ",":
                p.take()
            else:
                operands.append(self._resolve(p._operand()))
        p.take()
        self.items.append(Instruction(opcode, tuple(modifiers), tuple(operands), guard, self.lines.current))

    def _resolve(self, operand: Operand) -> Operand:
        """Names of inner scopes made unique; a word that was declared as a register is one, also without a ``%``."""
        if isinstance(operand, Symbol) and self._rename(operand.name) in self.registers:
            return Register(self._rename(operand.name))
        if len(self.scopes) == 1 and not isinstance(operand, Vector | Address):
            return operand
        if isinstance(operand, Register):
            return Register(self._rename(operand.name), operand.negated)
        if isinstance(operand, Symbol):
            return Symbol(self._rename(operand.name), operand.offset)
        if isinstance(operand, Vector):
            return Vector(tuple(self._resolve(item) for item in operand.items))
        if isinstance(operand, Address) and operand.base is not None:
            base = self._resolve(operand.base)
            assert isinstance(base, Register | Symbol)
            return Address(base, operand.offset)
        return operand
