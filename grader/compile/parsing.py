"""The parsing child: the loops, conditions, calls and accesses of a CUDA C source, for the hints.

tree-sitter parses the source and continues after errors. It runs in a child with limits, because hostile text makes it
explode: 48 KiB of `T<(a)` repeated take 7 s and 2 GB. The parent gets flat records, not the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple
from typing import TYPE_CHECKING

from grader.frozen import dataclass
from grader.process.channel import ChannelClosed, attach

if TYPE_CHECKING:
    from tree_sitter import Node

QUOTED = 60  # characters of an expression; a longer one is left out
ASSEMBLY = 300  # characters of an assembly statement
MOST_PARTS = 20_000

# Blanked, because the grammar takes it for an error, or for the body of a loop.
_BLANKED = re.compile(r"^[ \t]*#[ \t]*pragma[^\n]*|__align__\s*\([^()\n]*\)", re.MULTILINE)
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_DECLARATORS = ("init_declarator", "pointer_declarator", "array_declarator")
_QUALIFIERS = ("type_qualifier", "storage_class_specifier")
_AXES = tuple(f"{name}.{axis}" for name in ("threadIdx", "blockIdx") for axis in "yz")
_LEAVES = ("return_statement", "continue_statement", "break_statement")


@dataclass(frozen=True)
class Part:
    """One construct of a source, with lines numbered from 1; parts are in the order of the text.

    ========== ===================================================================================
    kind       meaning; ``name`` and ``texts``
    ========== ===================================================================================
    kernel     a ``__global__`` function: ``name``; ``texts`` is the type that it returns
    function   any other function, or a lambda, which has no name; ``texts`` are its type and its parameters
    loop       ``for``, ``while`` or ``do``, with its body; ``texts`` is the condition
    if         an ``if``, ``c ? a : b`` or ``c && a``; ``texts`` is the condition
    then, else a branch of the enclosing ``if``; ``texts`` is ``;`` if it is an empty statement
    comparison is true in the ``then`` of the enclosing ``if``, after the enclosing ``guard`` or in the enclosing
               ``for``: ``name`` is the operator, ``texts`` are the sides
    guard      ``if (a || b) return;``, also with ``continue`` and ``break``; ``texts`` is the condition
    beyond     a statement that looks as if it were in an ``if`` without braces: it follows the only statement there,
               beside it or indented like it; ``texts`` are the condition, and the line of the ``if``
    empty      a ``for`` or ``while`` (``name``) whose body is a lone ``;``, above a line indented like a body
    local      declares the variable ``name``; ``texts`` are its type and its initial value ("" without one)
    array      declares the array ``name``; ``texts`` are its type and its qualifiers, such as ``__shared__``
    assigned   changes the variable ``name``; ``texts`` are the operator and the right side, if it has one
    stored     changes an element of the array ``name``; likewise
    axis       ``threadIdx.y`` and the like, but not ``.x``
    dropped    a statement that is only a call of ``name``
    call       calls ``name``; ``texts`` are template arguments, then arguments
    name       a statement that is only a name, such as ``__syncthreads;``
    element    ``a[i][j]``: ``name`` is ``a``, ``texts`` are the indices
    member     ``a[i].x``: likewise
    pointer    ``*p``, ``&p`` or ``p->x``, and ``p.x[i]``: ``name`` is ``p``
    asm        inline assembly; ``texts`` is its text
    return     a ``return;`` without a value
    error      lines that could not be parsed
    ========== ===================================================================================
    """

    kind: str
    line: int
    last: int
    inside: int  # number of the enclosing function, loop or branch; -1: none
    name: str = ""
    texts: tuple[str, ...] = ()


def main() -> None:
    """Load the grammar, apply the sandbox, then parse what the parent sends."""
    channel, sandbox = attach()
    from tree_sitter import Language, Parser
    from tree_sitter_cuda import language

    from grader.compile.lexical import without_comments

    parser = Parser(Language(language()))
    sandbox.apply()
    with suppress(ChannelClosed):
        while True:
            source = channel.receive(None)[0]["source"].decode()
            code = _BLANKED.sub(lambda match: " " * len(match[0]), without_comments(source)).encode()
            parts = _Reader(code).read(parser.parse(code).root_node)
            channel.send({"parts": [astuple(part) for part in parts] if len(parts) <= MOST_PARTS else None})


class _Reader:
    """Walks the tree without recursion: a hostile text may be nested very deeply."""

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._parts: list[Part] = []

    def read(self, root: Node) -> list[Part]:
        waiting = [(root, -1)]
        while waiting and len(self._parts) <= MOST_PARTS:
            node, inside = waiting.pop()
            waiting += reversed([*self._read(node, inside)])
        return self._parts

    def _add(self, kind: str, node: Node, inside: int, name: str = "", texts: tuple[str, ...] = ()) -> int:
        """Add a part; returns its number."""
        line, last = node.start_point.row + 1, node.end_point.row + 1
        self._parts.append(Part(kind, line, last, inside, name, texts))
        return len(self._parts) - 1

    def _text(self, node: Node | None, limit: int = QUOTED) -> str:
        """The text of a node on one line; "" if it is longer than ``limit`` characters."""
        if node is None or node.end_byte - node.start_byte > 4 * limit:
            return ""
        text = " ".join(self._code[node.start_byte : node.end_byte].decode(errors="replace").split())
        return text if len(text) <= limit else ""

    def _read(self, node: Node, inside: int) -> Iterator[tuple[Node, int]]:
        """Add the part of a node; yields the nodes in it, each with the number of its enclosing part."""
        kind = node.type
        if node.is_error or node.is_missing:
            self._add("error", node, inside)
            return
        if kind in ("if_statement", "conditional_expression"):
            self._guard(node, inside)
            self._beyond(node, inside)
            yield from self._branches(node, inside, "condition", "consequence", "alternative")
            return
        if kind == "binary_expression" and self._field(node, "operator") == "&&":
            yield from self._branches(node, inside, "left", "right")
            return
        if kind in ("function_definition", "lambda_expression"):
            is_kernel = any(child.type == "__global__" for child in node.children)
            inside = self._add("kernel" if is_kernel else "function", node, inside, *self._head(node))
        elif kind in _LOOPS:
            self._empty(node, inside)
            inside = self._add("loop", node, inside, texts=(self._condition(node),))
            condition = node.child_by_field_name("condition") if kind == "for_statement" else None
            if condition is not None:
                self._comparisons(condition, inside)
        elif kind == "call_expression":
            self._call(node, inside)
        elif kind == "subscript_expression":
            self._element(node, inside)
        elif kind == "pointer_expression" or (kind == "field_expression" and self._field(node, "operator") == "->"):
            self._add("pointer", node, inside, self._field(node, "argument"))
        elif kind == "field_expression" and self._text(node) in _AXES:
            self._add("axis", node, inside, self._text(node))
        elif kind == "declaration":
            self._locals(node, inside)
        elif kind in ("assignment_expression", "update_expression"):
            changed = node.child_by_field_name("left") or node.child_by_field_name("argument")
            operator, right = self._field(node, "operator"), node.child_by_field_name("right")
            texts = (operator, self._text(right)) if right is not None else (operator,)
            if changed is not None and changed.type == "identifier":
                self._add("assigned", node, inside, self._text(changed), texts)
            elif changed is not None and changed.type == "subscript_expression":
                self._add("stored", node, inside, self._text(self._subscripts(changed)[0]), texts)
        elif kind == "expression_statement" and node.children[0].type == "identifier":
            self._add("name", node, inside, self._text(node.children[0]))
        elif kind == "expression_statement" and node.children[0].type == "call_expression":
            self._add("dropped", node, inside, self._called(node.children[0])[0])
        elif kind == "return_statement" and not node.named_child_count:
            self._add("return", node, inside)
        elif kind == "gnu_asm_expression":
            code = node.child_by_field_name("assembly_code")
            self._add("asm", node, inside, texts=(self._text(code, ASSEMBLY),))
        for child in node.children:
            if child.is_named or child.is_missing:
                yield child, inside

    def _branches(self, node: Node, inside: int, field: str, *branches: str) -> Iterator[tuple[Node, int]]:
        condition = node.child_by_field_name(field)
        number = self._add("if", node, inside, texts=(self._condition(node, field),))
        if condition is not None:
            if node.type != "binary_expression":  # of `a && b && c` the comparisons are collected once, at the top
                self._comparisons(condition, number)
            yield condition, number
        for kind, branch in zip(("then", "else"), branches, strict=False):
            child = node.child_by_field_name(branch)
            if child is not None:
                yield child, self._add(kind, child, number, texts=(";",) if self._text(child) == ";" else ())

    def _head(self, node: Node) -> tuple[str, tuple[str, ...]]:
        """A function's name, the type that it returns, and its parameters."""
        named, stars, given = node.child_by_field_name("declarator"), "", ""
        while named is not None and named.type in ("pointer_declarator", "function_declarator"):
            stars += "*" * (named.type == "pointer_declarator")
            given = given or self._text(named.child_by_field_name("parameters"), 4 * QUOTED)
            named = named.child_by_field_name("declarator")
        name = self._text(named) if node.type == "function_definition" else ""
        return name, (self._field(node, "type") + stars, given)

    def _condition(self, node: Node, field: str = "condition") -> str:
        condition = node.child_by_field_name(field)
        return self._text((condition and condition.child_by_field_name("value")) or condition)  # without parentheses

    def _empty(self, node: Node, inside: int) -> None:
        body, below = node.child_by_field_name("body"), node.next_named_sibling
        if body is None or below is None or body.type != "expression_statement" or body.named_child_count:
            return
        if below.start_point.row > node.end_point.row and below.start_point.column > node.start_point.column:
            self._add("empty", node, inside, node.children[0].type)

    def _beyond(self, node: Node, inside: int) -> None:
        body, below = node.child_by_field_name("consequence"), node.next_named_sibling
        if body is None or below is None or node.type != "if_statement" or body.type == "compound_statement":
            return
        if (
            node.child_by_field_name("alternative")
            or body.start_point.row == node.end_point.row == node.start_point.row
        ):
            return
        beside = below.start_point.row == body.end_point.row
        like_it = below.start_point.column == body.start_point.column > node.start_point.column
        if beside or (like_it and body.start_point.row > node.start_point.row):
            self._add("beyond", below, inside, texts=(self._condition(node), str(node.start_point.row + 1)))

    def _guard(self, node: Node, inside: int) -> None:
        """Add an `if` whose only statement leaves, with the comparisons that are true after it."""
        leaves, condition = node.child_by_field_name("consequence"), node.child_by_field_name("condition")
        if leaves is not None and leaves.type == "compound_statement" and leaves.named_child_count == 1:
            leaves = leaves.named_children[0]
        if leaves is None or condition is None or leaves.type not in _LEAVES or node.child_by_field_name("alternative"):
            return
        number = self._add("guard", node, inside, texts=(self._condition(node),))
        self._comparisons(condition, number, negated=True)

    def _comparisons(self, condition: Node, inside: int, *, negated: bool = False) -> None:
        """Add the comparisons that `&&` joins in a condition; with ``negated``, the opposites of those `||` joins."""
        terms = [condition]
        while terms:
            term = terms.pop()
            operator = self._field(term, "operator")
            if term.type in ("condition_clause", "parenthesized_expression") or operator == ("||" if negated else "&&"):
                terms += term.named_children
            elif operator in _OPPOSITES:
                sides = (self._field(term, "left"), self._field(term, "right"))
                self._add("comparison", term, inside, _OPPOSITES[operator] if negated else operator, sides)

    def _locals(self, node: Node, inside: int) -> None:
        type_name = self._text(node.child_by_field_name("type"), 2 * QUOTED)
        is_kept = any(self._text(one) in ("static", "__shared__") for one in node.children)
        for declared in node.children_by_field_name("declarator"):
            named: Node | None = declared
            stars, is_array = "", False
            while named is not None and named.type in _DECLARATORS:
                stars += "*" * (named.type == "pointer_declarator")
                is_array |= named.type == "array_declarator"
                named = named.child_by_field_name("declarator")
            if named is None or named.type != "identifier":
                continue
            if is_array:
                qualifiers = (self._text(child) for child in node.children if child.type in _QUALIFIERS)
                self._add("array", declared, inside, self._text(named), (type_name + stars, " ".join(qualifiers)))
            else:
                texts = (type_name + stars, self._field(declared, "value"))
                if texts[1] or not is_kept:  # which starts as zero, or is not the thread's alone
                    self._add("local", declared, inside, self._text(named), texts)

    def _field(self, node: Node, name: str) -> str:
        return self._text(node.child_by_field_name(name))

    def _call(self, node: Node, inside: int) -> None:
        name, last = self._called(node)
        lists = [one for one in (last, node.child_by_field_name("arguments")) if one is not None]
        arguments = tuple(self._text(child) for one in lists for child in one.named_children[:8])
        self._add("call", node, inside, name, arguments)

    def _called(self, node: Node) -> tuple[str, Node | None]:
        """The name of what is called, and its template arguments."""
        called = last = node.child_by_field_name("function")
        while last is not None and last.type != "template_argument_list":
            last = last.named_children[-1] if last.named_child_count else None
        return self._text(called).removesuffix(self._text(last)).replace(" ", ""), last

    def _element(self, node: Node, inside: int) -> None:
        above = node.parent
        if above is not None and above.type == "subscript_expression" and above.children[0] == node:
            return  # the whole of `a[i][j]` was added already
        base, indices = self._subscripts(node)
        if base is not None and base.type == "field_expression":
            self._add("pointer", node, inside, self._field(base, "argument"))
            base = base.child_by_field_name("field")
        is_member = above is not None and above.type == "field_expression"
        self._add("member" if is_member else "element", node, inside, self._text(base), indices)

    def _subscripts(self, node: Node) -> tuple[Node | None, tuple[str, ...]]:
        """The array that an element is of, and its indices."""
        indices: list[str] = []
        base: Node | None = node
        while base is not None and base.type == "subscript_expression" and len(indices) < 8:
            indices.insert(0, self._text(base.child_by_field_name("indices"))[1:-1].strip())
            base = base.child_by_field_name("argument")
        return base, tuple(indices)
