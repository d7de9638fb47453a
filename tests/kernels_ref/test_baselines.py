"""Library baselines: what exercises name exists, takes what it is called with, and says by its name what it does."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.catalog.courses import built_in_course, resolve_reference
from grader.catalog.exercises import load_catalog

COURSE = built_in_course()
BASELINES = COURSE.kernels_ref / "baselines"
LIBRARIES = {"pytorch": "torch"}
"""Modules named after a library instead of an oracle, and what they import."""
NAMED = sorted(
    {
        (one.name, reference)
        for one in load_catalog().exercises
        for reference in (one.exercise.baseline, *one.exercise.rivals)
        if reference
    }
)


def modules(folder: Path) -> dict[str, ast.Module]:
    return {path.stem: ast.parse(path.read_text()) for path in folder.glob("*.py") if path.stem != "__init__"}


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"))


ORACLES = modules(COURSE.kernels_ref)
EVERY = [(module, function) for module, tree in modules(BASELINES).items() for function in functions(tree)]


def test_there_are_baselines_and_exercises_that_name_them() -> None:
    assert len(EVERY) > len(LIBRARIES)
    assert NAMED


@pytest.mark.parametrize(("exercise", "reference"), NAMED)
def test_every_baseline_and_rival_of_an_exercise_is_a_function_of_arrays_and_numbers(
    exercise: str, reference: str
) -> None:
    found = resolve_reference(reference, COURSE, folder="baselines")
    assert list(inspect.signature(found).parameters) == ["arrays", "numbers"]


def test_a_module_is_named_after_an_oracle_or_after_its_library() -> None:
    assert {module for module, _ in EVERY} - set(ORACLES) == set(LIBRARIES)


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_a_librarys_own_module_holds_is_named_after_what_an_oracle_says(library: str) -> None:
    """So `softmax`, and `softmax_compiled` or `attention_flash` for several ways to compute the same."""
    said = {function.name for tree in ORACLES.values() for function in functions(tree)} | set(ORACLES)
    named = {function.name for module, function in EVERY if module == library}
    assert {name for name in named if not any(f"{name}_".startswith(f"{oracle}_") for oracle in said)} == set()


@pytest.mark.parametrize("reference", [f"{module}:{function.name}" for module, function in EVERY])
def test_a_baseline_says_which_call_it_is(reference: str) -> None:
    assert resolve_reference(reference, COURSE, folder="baselines").__doc__


@pytest.mark.parametrize("module", sorted({module for module, _ in EVERY}))
def test_a_module_imports_no_library_before_a_function_is_called(module: str) -> None:
    """A machine without the library has to be able to read it."""
    imported = [
        ast.unparse(node) for node in modules(BASELINES)[module].body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert not [line for line in imported if any(name in line for name in ("cupy", *LIBRARIES.values()))]
