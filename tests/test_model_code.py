"""What people copy: solutions and given code are CUDA C as any compiler takes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.catalog.exercises import load_catalog

FILES = [
    path
    for entry in load_catalog().exercises
    for path in (entry.stub, entry.solution, *entry.headers)
    if path is not None and path.is_file()
]
_FUNCTION = re.compile(
    r"^(?!#|extern|static_assert|using|return|struct|union|template)\w[\w:<>*& ]* [*&]?\w+\(.*$", re.MULTILINE
)


def unplaced(source: str) -> list[str]:
    """The functions at file scope that do not say whether they run on the GPU, by their first lines."""
    return [line for line in _FUNCTION.findall(source) if not re.search(r"__(?:device|global|host)__", line)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_function_says_where_it_runs(path: Path) -> None:
    assert unplaced(path.read_text(encoding="utf-8")) == []


def test_a_function_without_its_place_is_found() -> None:
    source = "unsigned address(const void* p) { return 0; }\n__device__ int f(int i)\n{\n    return g(i);\n}\n"
    assert unplaced(source) == ["unsigned address(const void* p) { return 0; }"]
