"""PTX text to tokens, and a reader over them. Whatever the text holds, reading ends, or raises PtxSyntaxError."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/
    |(?P<unclosed>/\*)
    |(?P<string>"[^"\n]*")
    |(?P<number>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
        |\d+\.\d*(?:[eE][-+]?\d+)?|\d+U?)
    |(?P<word>[.%$_a-zA-Z][\w$.%]*(?:::[\w.:]+)?)
    |(?P<mark>[-+@!|(){}\[\],;:<>=~&^*/?])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
SIZES = {"pred": 1, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "bf16": 2, "b32": 4, "u32": 4,
         "s32": 4, "f32": 4, "f16x2": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8, "b128": 16}  # fmt: skip
"""Bytes of every type that a variable or register may have."""
LARGEST = 1 << 64
DIGITS = 80  # of a number; the longest that PTX needs has 66 (a binary literal)

Token = tuple[str, str]


class PtxSyntaxError(ValueError):
    """Raised when the text is not PTX as this parser knows it; the message quotes the statement."""


def type_size(name: str) -> int:
    """Bytes of a PTX scalar type such as ``u32``."""
    return SIZES[name]


def tokens(text: str) -> list[Token]:
    """(kind, text) pairs. Kinds: word, number, string, mark."""
    found = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup == "unclosed":
            raise PtxSyntaxError(f"cannot read {text[position : position + 40]!r}")
        position = match.end()
        if match.group().startswith("."):  # `.reg.b16` says what `.reg .b16` says
            found += [("word", "." + part) for part in match.group()[1:].split(".")]
        elif match.lastgroup is not None:
            found.append((match.lastgroup, match.group()))
    return found


class Reader:
    """A place in a list of tokens. Every step past the end raises, so that no loop over it can run for ever."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0

    @property
    def ended(self) -> bool:
        return self.at >= len(self.tokens)

    @property
    def kind(self) -> str:
        """The kind of the next token; "" at the end."""
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def peek(self, ahead: int = 0) -> str:
        """The next token's text; "" at the end."""
        return self.tokens[self.at + ahead][1] if self.at + ahead < len(self.tokens) else ""

    def take(self) -> str:
        if self.ended:
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


def integer(text: str) -> int | None:
    """The value of an integer literal; None where it is none, or does not fit 64 bits."""
    digits = text.rstrip("U")
    if len(digits) > DIGITS:
        return None
    octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError:
        return None
    return value if value < LARGEST else None
