"""Functions of ``kernels_ref``, found by the names that an ``exercise.py`` gives: ``"reduction:sum"``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.catalog.courses import Course, built_in_course, existing, line_in, words_of
from grader.errors import Unsupported, UsageError, WarpgradeError


def resolve_reference(reference: str, course: Course, *, folder: str = "") -> Callable[..., Any]:
    """The function that ``"module:function"`` names in the course's ``kernels_ref``, or in the built-in one.

    ``folder`` is a folder inside it, e.g. ``"baselines"``. A course without a module of that name gets the built-in
    one, so that a teacher's exercise can use the oracles that exist. Raises UsageError (``bad_exercise``) where the
    module or the function is missing or broken, Unsupported where the module needs a package that is not installed.
    """
    module_name, _, function = reference.partition(":")
    module = _reference_module(_reference_file(reference, module_name, course, folder))
    found = getattr(module, function, None) if function and not function.startswith("_") else None
    if not callable(found):
        raise _no_function(reference, module, function)
    return found  # type: ignore[no-any-return]  # callable() has just said so


def _reference_file(reference: str, module: str, course: Course, folder: str) -> Path:
    parts = module.split(".")
    roots = dict.fromkeys((course.kernels_ref, built_in_course().kernels_ref))
    if all(part.isidentifier() for part in parts):
        for root in roots:
            if path := existing(root / folder / Path(*parts).with_suffix(".py")):
                return path
    places = " or ".join(str(root / folder) for root in roots)
    raise UsageError(f"the reference {reference!r} names no module in {places}", code="bad_exercise")


@cache
def _reference_module(path: Path) -> ModuleType:
    """The module at ``path``, loaded once, under a name that no other course's module has."""
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"_warpgrade_reference_{abs(hash(path)):x}_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be loaded", code="bad_exercise")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and typing look a module up by its name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _broken_reference(path, error) from error
    return module


def _broken_reference(path: Path, error: Exception) -> WarpgradeError:
    if isinstance(error, ModuleNotFoundError):
        hint = f"install the package that provides {error.name}; `grade doctor` shows what is missing"
        return Unsupported(f"{path} needs the module {error.name}, which is not installed", hint=hint)
    line = line_in(path, error)
    return UsageError(f"{path}{f':{line}' if line else ''}: {words_of(error)}", code="bad_exercise")


def _no_function(reference: str, module: ModuleType, function: str) -> UsageError:
    from grader.expressions import did_you_mean

    public = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    message = f"the reference {reference!r} names no function of {module.__file__}"
    return UsageError(message, code="bad_exercise", hint=did_you_mean(function, public))
