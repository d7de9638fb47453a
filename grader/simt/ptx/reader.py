"""PTX text to tokens, and a reader of tokens: operands and declarations of variables.

For any text, reading ends, or raises PtxSyntaxError.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable, Iterator

from grader.simt.ptx.model import Address, Immediate, Operand, Register, Symbol, Variable, Vector

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/
    |(?P<unclosed>/\*)
    |(?P<string>"[^"\n]*")
    |(?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\d+U?)
    |(?P<word>[.%$_a-zA-Z][\w$.%]*(?:::[\w.:]+)?)
    |(?P<mark>[-+@!|(){}\[\],;:<>=~&^*/?])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
SIZES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4,
         "s32": 4, "f32": 4, "f16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16}  # fmt: skip
"""Bytes of every type that a variable or register may have."""
SPACES = ("global", "const", "shared", "local", "param")
LARGEST = 1 << 64
LARGEST_ALIGN = 1 << 16
LARGEST_SIZE = 1 << 40
DIGITS = 80  # maximum per number; the longest one in valid PTX has 66 (a binary literal)
DEEPEST = 8
"""Maximum of nested lists; real PTX has two."""
WARP_SIZE = Immediate(32)

BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "|": (1, operator.or_), "^": (2, operator.xor), "&": (3, operator.and_), "==": (4, operator.eq),
    "!=": (4, operator.ne), "<": (5, operator.lt), "<=": (5, operator.le), ">": (5, operator.gt),
    ">=": (5, operator.ge), "<<": (6, lambda a, b: a << (b & 63)), ">>": (6, lambda a, b: a >> (b & 63)),
    "+": (7, operator.add), "-": (7, operator.sub), "*": (8, operator.mul),
    "/": (8, lambda a, b: abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)),
    "%": (8, operator.mod),
}  # fmt: skip
"""Operators of constant expressions: precedence and function. Remainders are unsigned, as in ptxas."""
UNARY: dict[str, Callable[[int], int]] = {"+": operator.pos, "-": operator.neg, "~": operator.inv, "!": operator.not_}

Token = tuple[str, str]


class PtxSyntaxError(ValueError):
    """Raised when the text is not PTX that this parser knows; the message quotes the statement."""


def type_size(name: str) -> int:
    """Bytes of a PTX scalar type such as ``u32``."""
    return SIZES[name]


def _tokens(text: str) -> list[Token]:
    """(kind, text) pairs. Kinds: word, number, string, mark."""
    found = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup == "unclosed":
            raise PtxSyntaxError(f"cannot read {text[position : position + 40]!r}")
        position = match.end()
        if match.lastgroup == "word" and match.group().startswith("."):  # `.reg.b16` means `.reg .b16`
            found += [("word", "." + part) for part in match.group()[1:].split(".")]
        elif match.lastgroup is not None:
            found.append((match.lastgroup, match.group()))
    return found


class Reader:
    """A position in a list of tokens. A step past the end raises, so that no loop over tokens is endless."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.named: set[str] = set()  # names in operands other than registers: variables, functions, labels
        self._depth = 0

    @property
    def kind(self) -> str:
        """The kind of the next token; "" at the end."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def peek(self, ahead: int = 0) -> str:
        """The next token's text; "" at the end."""
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else ""

    def take(self) -> str:
        if self.at >= len(self.tokens):
            raise PtxSyntaxError(f"the text ends after {self.near()}")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def expect(self, text: str) -> None:
        if self.peek() != text:
            raise self.wrong(f"expected {text!r}")
        self.at += 1

    def accept(self, text: str) -> bool:
        """Take the next token if it is this one."""
        found = self.peek() == text
        self.at += found
        return found

    def word(self) -> str:
        """A name, type or directive."""
        if self.kind != "word":
            raise self.wrong("expected a name")
        return self.take()

    def integer(self) -> int:
        """An unsigned integer below 2^64, in any of C's notations."""
        if self.kind != "number":
            raise self.wrong("expected a number")
        value = integer(self.peek())
        if value is None:
            raise self.wrong("expected a whole number below 2^64")
        self.at += 1
        return value

    def near(self) -> str:
        return " ".join(t for _, t in self.tokens[max(0, self.at - 8) : self.at + 4])[:200]

    def wrong(self, what: str) -> PtxSyntaxError:
        return PtxSyntaxError(f"{what} near {self.near()}")

    # -- operands ---------------------------------------------------------------------------------------------------
    def operand(self) -> Operand:
        if self._depth >= DEEPEST:
            raise self.wrong("an operand that is nested too deeply")
        self._depth += 1
        found = self._operand()
        self._depth -= 1
        return found

    def register(self) -> Register:
        """A register, with or without `!` before it."""
        negated = self.accept("!")
        return Register(self.word(), negated)

    def _operand(self) -> Operand:
        token = self.peek()
        if token == "(":
            inner = self._list(")")
            only = inner.items[0] if len(inner.items) == 1 else None
            return self._operation(only, 0) if isinstance(only, Immediate) else inner
        if token == "{":
            return self._list("}")
        if token == "[":
            return self._address()
        if token == "!" and self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] == "word":
            return self.register()
        return self.constant() if self._at_constant() else self._named(self.word())

    def _named(self, token: str) -> Operand:
        is_register = token.startswith("%") and not token[1:2].isdigit()
        first: Operand = Register(token) if is_register else Symbol(token)
        if not is_register:
            self.named.add(token)
        if self.accept("|"):
            return Vector((first, self.operand()))
        if not is_register and self.accept("+"):
            return Symbol(token, self._whole())
        if not is_register and self.accept("["):  # `name[4]` is `[name+4]`
            offset = self._whole()
            self.expect("]")
            return Address(Symbol(token), offset)
        return first

    # -- constant expressions: PTX manual, "Constants" --------------------------------------------------------------
    def _at_constant(self) -> bool:
        return self.kind == "number" or self.peek() in (*UNARY, "(", "WARP_SZ")

    def constant(self) -> Immediate:
        """A literal, or an expression of integer literals; floats are bit patterns, with at most a sign."""
        return self._operation(self._signed(), 0)

    def _whole(self) -> int:
        value = self.constant()
        if value.kind != "int":
            raise self.wrong("expected a whole number")
        return value.value

    def _operation(self, left: Immediate, bound: int) -> Immediate:
        """``left``, with the operators after it of a higher precedence than ``bound``, and their operands."""
        while True:
            pair = self.peek() + self.peek(1)
            sign = pair if pair in BINARY else self.peek()
            binds, apply = BINARY.get(sign, (0, operator.add))
            if binds <= bound:
                return left
            self.at += len(sign)
            right = self._operation(self._signed(), binds)
            if left.kind != "int" or right.kind != "int" or (sign in ("/", "%") and not right.value):
                raise self.wrong("cannot compute the constant")
            unsigned = sign == "%" or max(left.value, right.value) >= LARGEST >> 1
            value = apply(_wrapped(left.value, unsigned), _wrapped(right.value, unsigned))
            left = Immediate(_wrapped(int(value), unsigned))

    def _signed(self) -> Immediate:
        signs = []
        while self.peek() in UNARY:
            signs.append(self.take())
        value = self._literal()
        for sign in reversed(signs):
            if value.kind == "int":
                value = Immediate(int(UNARY[sign](value.value)))
            elif sign == "-":
                value = Immediate(value.value ^ (1 << (31 if value.kind == "f32" else 63)), value.kind)
        return value

    def _literal(self) -> Immediate:
        if self.accept("WARP_SZ"):
            return WARP_SIZE
        if self.peek() == "(":
            inner = self._list(")").items
            if len(inner) == 1 and isinstance(inner[0], Immediate):
                return inner[0]
        if self.kind != "number":
            raise self.wrong("expected a number")
        token = self.peek()
        prefix = token[:2].lower()
        if prefix in ("0f", "0d"):
            self.at += 1
            return Immediate(int(token[2:], 16), "f32" if prefix == "0f" else "f64")
        if "." in token or (prefix != "0x" and "e" in token.lower()):
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
                continue
            self.accept("+")  # a minus sign belongs to the number
            offset += self._whole()
        if coordinates:
            return Vector((inner, *coordinates))
        if isinstance(inner, Immediate):
            return Address(None, inner.value + offset)
        if isinstance(inner, Symbol):
            return Address(Symbol(inner.name), inner.offset + offset)
        if not isinstance(inner, Register):
            raise self.wrong("cannot read the address")
        return Address(inner, offset)

    # -- declarations of variables: `.align 4 .b8 name[16] = {1, 2, symbol};` ---------------------------------------
    def qualifiers(self) -> tuple[int, str]:
        """Read `.align 4 .b8`; returns (alignment or 0, element type)."""
        align, element = 0, "b8"
        while self.peek().startswith("."):
            word = self.take()[1:]
            if word == "align":
                align = self.integer()
                if not 0 < align <= LARGEST_ALIGN or align & (align - 1):
                    raise self.wrong("an alignment that is no power of two")
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
        if self._at_constant():
            value = self.constant()
            if element in ("f32", "f64") and value.kind == "int":
                return struct.pack("<f" if unit == 4 else "<d", value.value)
            return (value.value & ((1 << 8 * unit) - 1)).to_bytes(unit, "little")
        name = self.word()
        if self.accept("("):  # `generic(x)` counts as `x`
            name = self.word()
            self.expect(")")
        symbols.append((offset, Symbol(name, self._whole() if self.accept("+") else 0)))
        if unit != 8:
            raise self.wrong("an address in a variable that is too narrow for it")
        return bytes(unit)


def _wrapped(value: int, unsigned: bool) -> int:
    """``value`` wrapped to a signed or unsigned integer of 64 bits."""
    value %= LARGEST
    return value if unsigned or value < LARGEST >> 1 else value - LARGEST


def integer(text: str) -> int | None:
    """The value of an integer literal; None if it is not one, or does not fit 64 bits."""
    digits = text.rstrip("U")
    if len(digits) > DIGITS:
        return None
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError:
        return None
    return value if value < LARGEST else None
