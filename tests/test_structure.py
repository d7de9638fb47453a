"""The modules of grader as a graph of imports, those inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1] / "grader"

Graph = Mapping[str, frozenset[str]]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_of(tree: ast.AST, modules: frozenset[str]) -> Iterator[str]:
    """Every module that is imported at run time: what stands under ``if TYPE_CHECKING`` is not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (module if module in modules else node.module for module in inner)
        yield from imports_of(node, modules)


def graph_of(sources: Mapping[str, str]) -> Graph:
    """What each module imports of the others; a module's import of a package that it lies in does not count."""
    modules = frozenset(sources)
    found = {module: frozenset(imports_of(ast.parse(text), modules)) & modules for module, text in sources.items()}
    return {
        module: frozenset(other for other in imported if not f"{module}.".startswith(f"{other}."))
        for module, imported in found.items()
    }


def cycle_in(graph: Graph) -> list[str]:
    """One cycle, from a module back to itself; [] where there is none."""
    done: set[str] = set()
    path: list[str] = []

    def visit(module: str) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        path.append(module)
        found = next((cycle for other in sorted(graph[module]) if (cycle := visit(other))), [])
        path.pop()
        done.add(module)
        return found

    return next((cycle for module in sorted(graph) if (cycle := visit(module))), [])


def test_no_modules_import_one_another_in_a_circle():
    graph = graph_of({name_of(path): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")})
    assert len(graph) > 200
    assert " -> ".join(cycle_in(graph)) == ""


def test_a_circle_through_an_import_inside_a_function_is_found():
    lazy = "def f():\n    from grader.a import x\n"
    assert cycle_in(graph_of({"grader.a": "from grader.b import y", "grader.b": lazy})) == [
        "grader.a",
        "grader.b",
        "grader.a",
    ]


def test_an_import_for_types_alone_is_no_part_of_a_circle():
    typed = "if TYPE_CHECKING:\n    from grader.a import x\n"
    assert cycle_in(graph_of({"grader.a": "from grader.b import y", "grader.b": typed})) == []
