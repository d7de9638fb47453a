"""No module reads a sentence of ours: what it needs to know is in the record, as kind, cause, rule, places or facts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.paths import PACKAGE as ROOT

SENTENCES = ("message", "hint", "detail", "next_step")
"""Attributes of records that hold sentences."""

READING = (
    "count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "split", "splitlines", "startswith", "strip", "rstrip", "lstrip",
)  # fmt: skip
"""Methods of texts that look into them or cut them up."""

MATCHING = ("search", "match", "fullmatch", "findall", "finditer", "sub", "split")
"""Functions of `re`, and methods of its patterns."""

FOREIGN = {
    "render/html.py": "leaves out a stage's detail that a finding above says word for word",
}
"""Modules that may, and why."""


def sentences_read(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and attribute of every sentence that is searched, split, compared or matched."""
    for node in ast.walk(tree):
        looked_at: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            looked_at = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in READING:
                looked_at = [node.func.value]
            if node.func.attr in MATCHING:
                looked_at += node.args
        elif isinstance(node, ast.Subscript):
            looked_at = [node.value]
        yield from (
            (one.lineno, one.attr) for one in looked_at if isinstance(one, ast.Attribute) and one.attr in SENTENCES
        )


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_module_reads_no_sentence(path: Path) -> None:
    found = [*sentences_read(ast.parse(path.read_text(encoding="utf-8")))]
    if str(path.relative_to(ROOT)) in FOREIGN:
        assert found, "it reads none any more: take it out of the list"
    else:
        assert found == []


@pytest.mark.parametrize(
    "code",
    ["'barrier' in found.hint", "found.message.partition('; ')", "re.search('x', one.message)",
     "PLACE.findall(f.message)",
     "stage.detail == 'x'", "found.hint[:4]", "found.hint.startswith('put')"],
)  # fmt: skip
def test_reading_a_sentence_is_recognised(code: str) -> None:
    assert [*sentences_read(ast.parse(code))]
