"""Calls of the stand-in as messages between processes: JSON, with byte strings beside it. Pure, both ways.

    {"is": "call", "name": "copy", "arguments": [12, 4096, {"blob": "b0"}, 64, 0, false], "b0": b"…"}

A channel carries byte strings at the top level of a message only, so an argument that is one, or a list of them, is
told by name. Nothing is nested deeper than that.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from grader.standin.protocol import CALLS, DeviceCalls

Check = Callable[[Any], bool]


def pack(name: str, arguments: Sequence[Any]) -> dict[str, Any]:
    """One call as a message."""
    blobs: dict[str, bytes] = {}

    def packed(value: Any) -> Any:
        if isinstance(value, bytes):
            blobs[f"b{len(blobs)}"] = value
            return {"blob": f"b{len(blobs) - 1}"}
        return [packed(one) for one in value] if isinstance(value, list | tuple) else value

    return {"is": "call", "name": name, "arguments": [packed(one) for one in arguments], **blobs}


def relayed(message: Mapping[str, Any]) -> dict[str, Any]:
    """A call as the parent hands it on: what is called, and byte strings, but no word that the simulator acts on."""
    blobs = {name: value for name, value in message.items() if isinstance(value, bytes)}
    call = {name: message.get(name) for name in ("name", "arguments")}
    return {"do": "call", "call": call} | {f"blob:{name}": value for name, value in blobs.items()}


def unpack(message: Mapping[str, Any]) -> dict[str, Any]:
    """The call that `relayed` made of a message: ``name`` and ``arguments``, as `protocol.answer` takes them.

    What is no call, by its name or by the kinds of its arguments, has None for both.
    """
    call = message["call"]
    name, told = call["name"], call["arguments"]

    def unpacked(value: Any) -> Any:
        is_blob = isinstance(value, dict) and [*value] == ["blob"]
        return message.get(f"blob:{value['blob']}") if is_blob else value

    if not isinstance(told, list):
        return {"name": None, "arguments": None}
    arguments = [[unpacked(one) for one in value] if isinstance(value, list) else unpacked(value) for value in told]
    return {"name": name, "arguments": arguments} if _fits(name, arguments) else {"name": None, "arguments": None}


def _fits(name: Any, arguments: list[Any]) -> bool:
    """Whether there is such a call, with arguments of these kinds."""
    if not isinstance(name, str) or name not in CALLS:
        return False
    checks = _checks(name)
    return len(checks) == len(arguments) and all(check(one) for check, one in zip(checks, arguments, strict=True))


@cache
def _checks(name: str) -> tuple[Check, ...]:
    """A check for each argument, by its annotation in the protocol."""
    parameters = list(inspect.signature(getattr(DeviceCalls, name)).parameters.values())[1:]
    return tuple(_KINDS[str(parameter.annotation)] for parameter in parameters)


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < MOST


MOST = 1 << 63
"""No number is as large: addresses and sizes are taken for 64-bit integers."""


_KINDS: Mapping[str, Check] = {
    "int": _whole,
    "bool": lambda value: type(value) is bool,
    "str": lambda value: isinstance(value, str),
    "int | bytes": lambda value: _whole(value) or isinstance(value, bytes),
    "Sequence[str]": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "Sequence[int]": lambda value: isinstance(value, list) and all(map(_whole, value)),
    "Sequence[bytes]": lambda value: isinstance(value, list) and all(isinstance(one, bytes) for one in value),
    "Mapping[str, float]": lambda value: (
        isinstance(value, dict) and all(type(n) in (int, float) and -MOST < n < MOST for n in value.values())
    ),
}
