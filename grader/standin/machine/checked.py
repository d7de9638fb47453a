"""Arguments of calls are hostile: each is held against the protocol's types before the call."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

from grader.standin.protocol import CALLS, Machine

MOST = 1 << 63
"""No number is as large."""

T = TypeVar("T")


def checked(machine: type[T]) -> type[T]:
    """Let all calls of the protocol check their arguments. They raise TypeError and OverflowError."""
    for name in CALLS:
        setattr(machine, name, _checked(getattr(machine, name), getattr(Machine, name)))
    return machine


def _checked(call: Callable[..., Any], declared: Callable[..., Any]) -> Callable[..., Any]:
    kinds = typing.get_type_hints(declared)
    names = [name for name in signature(declared).parameters if name != "self"]
    tests = [(name, _test(kinds[name])) for name in names]

    @wraps(call)
    def run(self: object, *arguments: object) -> object:
        if len(arguments) != len(tests):
            raise TypeError(f"{call.__name__} takes {len(tests)} arguments, and {len(arguments)} are given")
        for (name, test), value in zip(tests, arguments, strict=True):
            if not test(value):
                raise TypeError(f"{call.__name__}: {name} may not be {value!r:.80}")
        return call(self, *arguments)

    return run


def _test(kind: Any) -> Callable[[object], bool]:
    """Whether a value is of a type that the protocol uses."""
    if typing.get_origin(kind) is typing.Union or isinstance(kind, type(int | str)):
        tests = [_test(k) for k in typing.get_args(kind)]
        return lambda value: any(test(value) for test in tests)
    if typing.get_origin(kind) is Sequence:
        item = _test(typing.get_args(kind)[0])
        return lambda value: isinstance(value, (list, tuple)) and all(item(v) for v in value)
    if typing.get_origin(kind) is Mapping:
        item = _test(typing.get_args(kind)[1])
        return lambda value: isinstance(value, dict) and all(isinstance(k, str) and item(v) for k, v in value.items())
    return _TESTS[kind]


_TESTS: dict[type, Callable[[object], bool]] = {
    int: lambda value: isinstance(value, int) and abs(value) < MOST,
    float: lambda value: isinstance(value, (int, float)) and abs(value) < MOST,
    bool: lambda value: isinstance(value, (bool, int)),
    str: lambda value: isinstance(value, str),
    bytes: lambda value: isinstance(value, (bytes, bytearray)),
}
