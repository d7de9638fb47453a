"""Everything that the stand-in calls CuPy's is CuPy's: held against the package, which imports without a GPU."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import IntEnum
from pkgutil import resolve_name
from types import ModuleType

import pytest

pytest.importorskip("cupy")

from standin_names import _set_by

from grader.standin.client import bindings, namespaces

OURS = namespaces.modules()
UNTESTED = (
    BaseException,
    IntEnum,
    bindings.cudaAccessPolicyWindow,
    bindings.cudaStreamAttrValue,
    bindings.cudaDeviceProp,
)
"""Classes that nobody makes with arguments, or whose arguments the package keeps to itself."""
MADE_BY_THE_STAND_IN = ("RawModule", "RawKernel", "Function", "ndarray")


PAIRS = [
    (f"{module}.{name}", one, getattr(resolve_name(module), name, None))
    for module, ours in OURS.items()
    for name, one in vars(ours).items()
    if not name.startswith("_") and not isinstance(one, ModuleType)
]
CLASSES = [
    pair
    for pair in PAIRS
    if isinstance(pair[1], type) and pair[1].__module__.startswith("grader.") and not issubclass(pair[1], UNTESTED)
]
MEMBERS = [
    (f"{name}.{member}", inspect.getattr_static(ours, member), getattr(theirs, member, None))
    for name, ours, theirs in CLASSES
    for member in sorted({n for base in ours.__mro__ if base.__module__.startswith("grader.") for n in vars(base)})
    if not member.startswith("_")
]


def parameters(function: Callable[..., object]) -> list[str] | None:
    """The names of a function's parameters; of Cython's from the first line of its documentation."""
    try:
        found = [p.name for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return of_documentation(getattr(function, "__doc__", None) or "")
    return None if found in (["args", "kwargs"], ["self", "args", "kwargs"]) else [n for n in found if n != "self"]


def of_documentation(text: str) -> list[str] | None:
    match = re.match(r"(?:[\w.]+\.)?\w+\((.*)\)(?: -> .*)?$", text.split("\n")[0])
    if match is None:
        return None
    parts = [part.partition("=")[0].split() for part in match[1].split(",")]
    return [part[-1].lstrip("*") for part in parts if part and part[-1] not in ("self", "cls", "*")]


@pytest.mark.parametrize(("name", "ours", "theirs"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_a_name_of_the_stand_in_is_one_of_the_package(name, ours, theirs):
    assert theirs is not None, f"{name} is not in the package"
    assert callable(ours) == callable(theirs)
    if isinstance(ours, int) and not isinstance(ours, type):
        assert int(ours) == int(theirs)


@pytest.mark.parametrize(("name", "ours", "theirs"), MEMBERS, ids=[pair[0] for pair in MEMBERS])
def test_a_member_of_a_class_is_one_there(name, ours, theirs):
    assert theirs is not None, f"{name} is not in the package"


@pytest.mark.parametrize(("name", "ours", "theirs"), CLASSES, ids=[pair[0] for pair in CLASSES])
def test_what_an_object_sets_on_itself_is_one_of_its_attributes_there(name, ours, theirs):
    own = {one for base in ours.__mro__ if base.__module__.startswith("grader.") for one in _set_by(base)}
    assert {one for one in own if not hasattr(theirs, one)} <= INSTANCE_ONLY


INSTANCE_ONLY = {"ptr", "device_id", "size"}
"""What the package's classes in Python set on each object, too, so that the classes do not show it."""


FUNCTIONS = [
    (name, parameters(ours), parameters(theirs))
    for name, ours, theirs in [*PAIRS, *MEMBERS]
    if callable(ours) and not isinstance(ours, type | property)
]
MADE = [
    (name, parameters(ours), of_documentation((theirs.__doc__ or "").strip()) or parameters(theirs))
    for name, ours, theirs in CLASSES
    if ours.__name__ not in MADE_BY_THE_STAND_IN
]
TOLD = [one for one in [*FUNCTIONS, *MADE] if None not in one[1:] and one[2] != ["args", "kwargs"]]
"""What the package tells the parameters of: by a signature, or in the first line of the documentation."""


@pytest.mark.parametrize(("name", "ours", "theirs"), TOLD, ids=[one[0] for one in TOLD])
def test_parameters_have_the_names_and_the_order_of_the_package(name, ours, theirs):
    assert ours == theirs


def test_most_functions_can_be_compared():
    assert len(TOLD) > 150
