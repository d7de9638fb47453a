"""The index of an access in the source: its terms, their bounds, and the names on which it depends. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from grader.compile.parsing import Part
from grader.findings.record import Finding
from grader.frozen import dataclass
from grader.grading.source_view import SourceView

_CAST = re.compile(r"\((?:(?:const|unsigned|signed|long|short|int|char|size_t|ptrdiff_t|u?int\d+_t)\s*)+\)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_ODD_NUMBER = re.compile(r"\b\d+[A-Za-z_]")  # 0x1F, 10u: not valid or not the same in Python
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CALL = re.compile(r"\w\s*\(")
FIELD = re.compile(r"\.\s*\w+")
BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim")
MOST_STEPS = 16  # from a variable to the variables in its initial value

NARROW: Mapping[str, int] = {
    "char": 127, "signed char": 127, "int8_t": 127, "unsigned char": 255, "uint8_t": 255,
    "short": 32767, "short int": 32767, "int16_t": 32767, "unsigned short": 65535, "uint16_t": 65535,
}  # fmt: skip
"""Types that are too short to count the threads of a grid, with their largest values."""


@dataclass(frozen=True)
class Bound:
    """``less < more`` (or ``less <= more``) is true at an access; ``by_leaving``: other threads return before it."""

    less: str
    more: str
    or_equal: bool
    by_leaving: bool


@dataclass(frozen=True)
class Matrix:
    """An index ``row * length + column``."""

    row: str
    length: str
    column: str


def plain(text: str) -> str:
    """An expression without casts, blanks and superfluous parentheses; if it is not arithmetic, only without blanks."""
    code = _tree(text)
    return ast.unparse(code) if code is not None else "".join(text.split())


def _tree(text: str) -> ast.expr | None:
    if _ODD_NUMBER.search(text):
        return None
    try:
        return ast.parse(_CAST.sub("", text).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def words(text: str) -> set[str]:
    """The names in an expression."""
    return set(_WORD.findall(_CAST.sub("", text)))


def of_the_access(found: Finding, source: SourceView) -> list[Part]:
    """The accesses in the finding's line to its array; to any array, if none has its name."""
    accesses, name = source.elements(found.line or 0), found.names[-1] if found.names else found.array
    return [one for one in accesses if one.name == name] or accesses


def one_index(accesses: Iterable[Part]) -> str:
    """The index that all accesses have, if they have only one dimension; else "". Not of members (``a[i].x``)."""
    indices = {access.texts if access.kind == "element" else () for access in accesses}
    one = indices.pop() if len(indices) == 1 else ()
    return one[0] if len(one) == 1 else ""


def bounds(source: SourceView, access: Part) -> dict[str, Bound]:
    """The upper bounds of expressions at an access, by expression: from conditions, loops and guards."""
    return {bound.less: bound for bound in all_bounds(source, access)}


def all_bounds(source: SourceView, access: Part) -> Iterator[Bound]:
    """All of them, also where an expression has several."""
    for one in source.comparisons_at(access):
        less, more = one.texts if one.name in ("<", "<=") else reversed(one.texts)
        if one.name in ("<", "<=", ">", ">=") and not plain(less).lstrip("-").isdigit():
            yield Bound(plain(less), plain(more), one.name in ("<=", ">="), source.is_of_guard(one))


def as_matrix(index: str, known: Mapping[str, Bound], lengths: Collection[str] = ()) -> Matrix | None:
    """The row, its length and the column of an index, if it is clear which factor is the row: it has a bound, or the
    other one is a bound, or one of the ``lengths`` that a row of the array may have.
    """
    terms = _terms(_tree(index))
    products = [term for term in terms if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult)]
    if len(products) != 1 or len(terms) < 2:
        return None
    [product] = products
    column = " + ".join(ast.unparse(term) for term in terms if term is not product)
    first, second = ast.unparse(product.left), ast.unparse(product.right)
    ends = {bound.more for bound in known.values()}
    for row, length in ((first, second), (second, first)):
        if row in known or (length in ends and length not in known) or (length in lengths and row not in lengths):
            return Matrix(row, length, column)
    return None


def _terms(code: ast.expr | None) -> list[ast.expr]:
    """What an expression adds up."""
    if isinstance(code, ast.BinOp) and isinstance(code.op, ast.Add):
        return [*_terms(code.left), *_terms(code.right)]
    return [code] if code is not None else []


def all_of_one(condition: str, index: str, joined_by: str) -> bool:
    """Whether a condition joins comparisons alone, of different variables, by `||` or by `&&`; one is in the index."""
    code = _tree(condition.replace("||", " or ").replace("&&", " and "))
    if not isinstance(code, ast.BoolOp) or isinstance(code.op, ast.Or) is not (joined_by == "||"):
        return False
    sides = [one.left for one in code.values if isinstance(one, ast.Compare) and isinstance(one.ops[0], _ORDERS)]
    compared = [words(ast.unparse(side)) for side in sides]
    differ = sum(map(len, compared)) == len(set[str]().union(*compared))
    return len(sides) == len(code.values) and differ and any(names & words(index) for names in compared)


def made_of(index: str, source: SourceView, line: int) -> set[str]:
    """The names in an expression, and in the initial values of its variables, and of theirs."""
    names, waiting = set[str](), words(index)
    for _ in range(MOST_STEPS):
        names |= waiting
        first_values = (local.texts[1] for name in waiting if (local := source.local(name, line)))
        waiting = {word for text in first_values for word in words(text)} - names
    return names


def origins(index: str, source: SourceView, line: int) -> set[str] | None:
    """The names that an index of a kernel depends on, through all variables: indices, dimensions, parameters.

    None where that is not certain: a call, a macro, a variable that is not the kernel's.
    """
    function = source.function(line)
    if function is None or function.kind != "kernel" or not source.is_clear(function.line, function.last):
        return None
    parameters, found, waiting = source.parameters(function.name), set[str](), [index]
    for _ in range(MOST_STEPS):
        texts, waiting = waiting, []
        if any(_CALL.search(_CAST.sub("", text)) for text in texts):
            return None
        for name in {word for text in texts for word in words(FIELD.sub("", text))} - found:
            found.add(name)
            values = source.values(name, function)
            if "" in values or (not values and name not in parameters and name not in BUILT_IN):
                return None
            waiting += values
        if not waiting:
            return found
    return None


def narrow(index: str, source: SourceView, line: int) -> tuple[str, str, int] | None:
    """A variable of the index whose type is too narrow for numbers of threads: its name, its type, its maximum."""
    for name in sorted(words(index)):
        local = source.local(name, line)
        type_name = local.texts[0] if local else ""
        if local and type_name in NARROW and {"threadIdx", "blockIdx"} & made_of(local.texts[1], source, line):
            return name, type_name, NARROW[type_name]
    return None
