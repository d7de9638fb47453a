"""The structure of grader: which module imports which, and a picture of its packages.

python scripts/tools/structure.py [FOLDER]      a Mermaid drawing and the totals of FOLDER (default: grader here)

An arrow stands for the imports of all modules of one package from another, those inside functions included; imports
for types alone do not count. An arrow that other arrows imply is left out, and one that closes a circle is dotted.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import grader

ROOT = Path(grader.__file__).resolve().parent
APART = ("backends", "simt", "standin")
"""Packages whose own packages are drawn as well."""

Graph = Mapping[str, frozenset[str]]


def sources(root: Path = ROOT) -> dict[str, str]:
    """The text of each module below a package's folder, by its dotted name."""
    files = (path for path in sorted(root.rglob("*.py")) if "_course" not in path.parts)  # which a wheel has inside
    return {_name(path, root): path.read_text(encoding="utf-8") for path in files}


def _name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")


def graph_of(texts: Mapping[str, str]) -> Graph:
    """What each module imports of the others; a module's import of a package that it lies in does not count."""
    modules = frozenset(texts)
    found = {module: frozenset(_imports(ast.parse(text), modules)) & modules for module, text in texts.items()}
    return {
        module: frozenset(other for other in imported if not f"{module}.".startswith(f"{other}."))
        for module, imported in found.items()
    }


def _imports(tree: ast.AST, modules: frozenset[str]) -> Iterator[str]:
    """Every module that is imported at run time: what stands under ``if TYPE_CHECKING`` is not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (module if module in modules else node.module for module in inner)
        yield from _imports(node, modules)


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


# ---------------------------------------------------------------------------------------------------------- the picture


ENTRIES = ("grader", "api", "notebook", "output")


def package_of(module: str) -> str:
    """The box that a module is drawn in: ``backends/gpu``, ``grading``; a file at the top is an entry or a record."""
    parts = module.split(".")[1:]
    if len(parts) > 2 and parts[0] in APART:
        return "/".join(parts[:2])
    if len(parts) > 1:
        return parts[0]
    return "api" if module.removeprefix("grader.") in ENTRIES else "records"


def drawing(root: Path = ROOT) -> str:
    """A Mermaid flowchart of the packages."""
    texts = sources(root)
    packages = {module: _box(module, texts) for module in texts}
    modules, lines = Counter(packages.values()), Counter[str]()
    for module, text in texts.items():
        lines[packages[module]] += text.count("\n")
    arrows = {
        (packages[module], packages[other])
        for module, imported in graph_of(texts).items()
        for other in imported
        if packages[module] != packages[other]
    }
    boxes = [f'    {_id(box)}["{box}<br>{modules[box]} modules, {lines[box]:,} lines"]' for box in sorted(modules)]
    links = [f"    {_id(a)} {'-.->' if _reaches(arrows, b, a) else '-->'} {_id(b)}" for a, b in _needed(arrows)]
    return "\n".join(["flowchart TD", *boxes, *links])


def _box(module: str, texts: Mapping[str, str]) -> str:
    is_package = any(other.startswith(f"{module}.") for other in texts)
    return package_of(f"{module}.__init__" if is_package and module != "grader" else module)


def _id(box: str) -> str:
    return box.replace("/", "_")


def _needed(arrows: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without the arrows that a longer way implies; those of a circle stay."""
    return sorted((a, b) for a, b in arrows if _reaches(arrows, b, a) or not _reaches(arrows - {(a, b)}, a, b))


def _reaches(arrows: set[tuple[str, str]], start: str, goal: str) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        reached = {b for a, b in arrows if a == here}
        if goal in reached:
            return True
        waiting += reached - seen
        seen |= reached
    return False


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT
    texts = sources(root)
    print(drawing(root))
    print(f"{len(texts)} modules, {sum(text.count(chr(10)) for text in texts.values()):,} lines", file=sys.stderr)


if __name__ == "__main__":
    main()
