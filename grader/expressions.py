"""Arithmetic expressions of a file, evaluated without running code: launch lines, array sizes, work and tolerances.

    cdiv(n, 256)     (rows + 7) / 8     min(2*sm_count, cdiv(n, BLOCK))     256 * sizeof(float)     1 << 20

The syntax is that of C: ``/`` and ``%`` on two integers truncate toward zero; ``256u``, ``0x100``, ``0.5f`` and
``sizeof(float)`` are allowed. ``//`` floors and ``**`` is a power, as in Python. Python parses the text; the tables
below have the allowed nodes of the tree, and every intermediate value is bounded.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache

from grader.c_types import SIZEOF
from grader.frozen import dataclass

Number = int | float

MAX_LENGTH = 500
"""The maximum number of characters of one expression."""

MAX_VALUE = 2**62
"""Every intermediate value must be smaller in magnitude, so that sizes, counts and addresses fit into 64 bits."""


class ExpressionError(ValueError):
    """Raised when a text is not an expression, or its value is out of bounds.

    ``text`` is the whole expression, ``position`` the 0-based column of the error in it, ``hint`` a correction ("" if
    none is known).
    """

    def __init__(self, message: str, *, text: str, position: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.text = text
        self.position = position
        self.hint = hint


def evaluate(
    text: str,
    names: Mapping[str, Number],
    *,
    refused: Mapping[str, str] | None = None,
    suggest: bool = True,
    functions: Mapping[str, Callable[..., Number]] | None = None,
    exact_division: bool = False,
) -> Number:
    """The value of ``text``: an int, or a float if one is involved.

    ``refused`` has names that exist but cannot be used here, each with its reason ("is an array, not a number").
    ``suggest`` adds a similar name to the error for an unknown one, which takes a while with many names.
    ``functions`` are known besides those of this module. With ``exact_division``, ``/`` divides as on paper: 3/4 is
    0.75.
    Raises ExpressionError.
    """
    text = text.strip()
    scope = _Scope(text, names, refused or {}, suggest, {**_FUNCTIONS, **(functions or {})}, exact_division)
    try:
        return _value(_parse(text), scope)
    except RecursionError:
        raise ExpressionError(f"{_quoted(text)} is nested too deeply", text=text) from None


def evaluate_integer(
    text: str, names: Mapping[str, Number], *, refused: Mapping[str, str] | None = None, suggest: bool = True
) -> int:
    """The value of ``text``, which must be an integer. Raises ExpressionError."""
    value = evaluate(text, names, refused=refused, suggest=suggest)
    if isinstance(value, float):
        raise ExpressionError(
            f"{_quoted(text)} is {value:g}, which is not an integer", text=text, hint="cdiv(a, b) divides and rounds up"
        )
    return value


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``"did you mean 'n'?"``, or "" if no name is similar."""
    names = list(known)
    folded = {name.casefold(): name for name in names}
    similar = get_close_matches(word, names, n=1) or [
        folded[key] for key in get_close_matches(word.casefold(), folded, n=1)
    ]
    return f"did you mean {similar[0]!r}?" if similar else ""


def cdiv(a: Number, b: Number) -> int:
    """``a / b`` rounded up, for integers: how many blocks of ``b`` cover ``a``."""
    if isinstance(a, float) or isinstance(b, float):
        raise ValueError("cdiv divides integers")
    if b == 0:
        raise ZeroDivisionError
    return -(-a // b)


# ------------------------------------------------------------------------------------------------- reading the text

_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([A-Za-z_][\w ]*?)\s*\)")
_INTEGER_SUFFIX = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)(?:[uU][lL]{0,2}|[lL]{1,2}[uU]?)(?![\w.])")
_FLOAT_SUFFIX = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)[fF](?!\w)")


@lru_cache(1024)  # of a file: for each case of an exercise they are the same
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression of {len(text)} characters; at most {MAX_LENGTH} are allowed", text=text)
    if not text:
        raise ExpressionError("an expression is missing", text=text)
    if not text.isascii():
        raise ExpressionError(f"{_quoted(text)} is not an expression: it has a non-ASCII character", text=text)
    try:
        with warnings.catch_warnings(action="ignore"):  # Python would print a warning about "1or" to stderr
            tree = ast.parse(_to_python(text), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        position = max(0, (getattr(error, "offset", None) or 1) - 1)
        raise ExpressionError(f"{_quoted(text)} is not an expression", text=text, position=position) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and not _is_arithmetic(node):
            raise ExpressionError(
                f"{_place(node, text)} is {_WORDS.get(type(node), 'not arithmetic')}",
                text=text,
                position=node.col_offset,
                hint="a launch line can use + - * / % << >> & |, parentheses, cdiv, min and max",
            )
    return tree


def _is_arithmetic(node: ast.expr) -> bool:
    """Whether a node of the tree is allowed: numbers, names, operators, and calls of plain names."""
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.Call(func=ast.Name(), keywords=[]) | ast.Name() | ast.UnaryOp() | ast.BinOp():
            return True
    return False


def _to_python(text: str) -> str:
    """Replace C's syntax by Python's of the same length, so that positions do not change."""

    def size(match: re.Match[str]) -> str:
        size_bytes = SIZEOF.get(" ".join(match[1].split()))
        return match[0] if size_bytes is None else str(size_bytes).ljust(len(match[0]))

    text = _SIZEOF.sub(size, text)
    for suffixed in (_INTEGER_SUFFIX, _FLOAT_SUFFIX):
        text = suffixed.sub(lambda match: str(match[1]).ljust(len(match[0])), text)
    return text


# ------------------------------------------------------------------------------------------ operators and functions


def _divide(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b)
        return quotient if (a < 0) == (b < 0) else -quotient
    return a / b


def _remainder(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a - b * int(_divide(a, b))
    return math.fmod(a, b)


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if abs(base) > 1 and exponent * (abs(base).bit_length() - 1) > 62:
            raise OverflowError
        return int(base**exponent)
    value = float(base) ** exponent
    if isinstance(value, complex):
        raise ValueError("a negative number has no such power")
    return float(value)


def _on_integers(operation: Callable[[int, int], int], refusal: str) -> Callable[[Number, Number], int]:
    def integral(a: Number, b: Number) -> int:
        if isinstance(a, float) or isinstance(b, float):
            raise ValueError(refusal)
        return operation(a, b)

    return integral


def _bitwise(operation: Callable[[int, int], int]) -> Callable[[Number, Number], int]:
    return _on_integers(operation, "only integers have bits to combine")


def _shift(direction: Callable[[int, int], int]) -> Callable[[Number, Number], int]:
    def shift(value: int, count: int) -> int:
        if not 0 <= count <= 62:
            raise ValueError(f"a shift by {count}; 0 to 62 are possible")
        return direction(value, count)

    return _on_integers(shift, "only integers can be shifted")


def _extreme(pick: Callable[[list[Number]], Number], name: str) -> Callable[..., Number]:
    def extreme(*values: Number) -> Number:
        if not values:
            raise ValueError(f"{name} needs a value")
        return pick(list(values))

    return extreme


_OPERATORS: Mapping[type[ast.AST], Callable[..., Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _remainder,
    ast.Pow: _power,
    ast.LShift: _shift(operator.lshift),
    ast.RShift: _shift(operator.rshift),
    ast.BitAnd: _bitwise(operator.and_),
    ast.BitOr: _bitwise(operator.or_),
    ast.BitXor: _bitwise(operator.xor),
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}

_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "cdiv": cdiv,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
    "sqrt": math.sqrt,
    "log2": math.log2,
}

_WORDS: Mapping[type[ast.AST], str] = {
    ast.Compare: "a comparison, not a number",
    ast.BoolOp: "a condition, not a number",
    ast.IfExp: "a condition, not a number",
    ast.Constant: "not a number",
    ast.Attribute: "a member, which numbers do not have",
    ast.Subscript: "an element of an array, which only the kernel can read",
    ast.Tuple: "several values instead of one",
}


@dataclass(frozen=True)
class _Scope:
    """The text and the names of an expression, for evaluation and error messages."""

    text: str
    names: Mapping[str, Number]
    refused: Mapping[str, str]
    suggest: bool
    functions: Mapping[str, Callable[..., Number]]
    exact_division: bool

    def error(self, message: str, node: ast.expr, hint: str = "") -> ExpressionError:
        return ExpressionError(message, text=self.text, position=node.col_offset, hint=hint)

    def unknown_name(self, name: str, node: ast.expr) -> ExpressionError:
        if name in self.refused:
            return self.error(f"{_place(node, self.text)} {self.refused[name]}", node)
        known = sorted(self.names)
        existing = f"the names here are {', '.join(known)}" if known else "there are no names here"
        return self.error(
            f"there is no {_place(node, self.text)}; {existing}",
            node,
            did_you_mean(name, known) if self.suggest else "",
        )

    def unknown_function(self, name: str, node: ast.expr) -> ExpressionError:
        if name == "sizeof":
            return self.error(f"{_place(node, self.text)} is not a type that sizeof knows here", node)
        message = f"{_place(node, self.text)} calls {name!r}; the functions are {', '.join(self.functions)}"
        return self.error(message, node, did_you_mean(name, self.functions))


_REASONS: Mapping[type[Exception], str] = {
    KeyError: "uses an operator that is not for numbers",
    ZeroDivisionError: "divides by zero",
    OverflowError: "leaves the range of ±2^62",
    TypeError: "has the wrong number or kind of arguments",
}
_EXPECTED: tuple[type[Exception], ...] = (ValueError, *_REASONS)


def _value(node: ast.expr, scope: _Scope) -> Number:
    """The value of one node. Raises ExpressionError, which names the innermost invalid node."""
    try:
        value = _compute(node, scope)
    except ExpressionError:
        raise
    except _EXPECTED as error:
        reason = next((text for kind, text in _REASONS.items() if isinstance(error, kind)), f"has no value: {error}")
        raise scope.error(f"{_place(node, scope.text)} {reason}", node) from None
    if not -MAX_VALUE < value < MAX_VALUE:  # also false for nan
        raise scope.error(f"{_place(node, scope.text)} leaves the range of ±2^62", node)
    return value


def _compute(node: ast.expr, scope: _Scope) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in scope.names:
            return scope.names[name]
        case ast.Name(id=name) if name in scope.functions:
            raise scope.error(f"{_place(node, scope.text)} is a function without its arguments", node)
        case ast.Name(id=name):
            raise scope.unknown_name(name, node)
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, scope))
        case ast.BinOp(left=left, op=ast.Div(), right=right) if scope.exact_division:
            return _value(left, scope) / _value(right, scope)
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, scope), _value(right, scope))
        case ast.Call(func=ast.Name(id=name), args=args) if name in scope.functions:
            return scope.functions[name](*(_value(argument, scope) for argument in args))
        case ast.Call(func=ast.Name(id=name)):
            raise scope.unknown_function(name, node)
    raise AssertionError(f"{type(node).__name__} passed _is_arithmetic")


def _place(node: ast.expr, text: str) -> str:
    part = text[node.col_offset : node.end_col_offset]
    return _quoted(text) if part == text else f"{_quoted(part)} in {_quoted(text)}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:60]}…")
