"""Arguments of a launch: the bytes that CuPy makes of each, what it is, and advice on what CuPy does not take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grader.standin.client.arrays import TYPES, ndarray
from grader.standin.client.errors import advised
from grader.standin.client.hostmemory import HOST
from grader.standin.client.memory import MemoryPointer
from grader.standin.client.pinned import PinnedMemoryPointer


def argument_bytes(one: Any) -> bytes:
    """The bytes of one argument of a launch, as CuPy hands it over: a Python int has 8, a float 8, None is null."""
    if one is None:
        return _pointer(0)
    if isinstance(one, ndarray):
        return _pointer(one.data.ptr)
    if isinstance(one, MemoryPointer):
        return _pointer(one.ptr)
    if isinstance(one, np.ndarray) and not isinstance(one, PinnedMemoryPointer):
        return _by_value(one)
    if isinstance(one, np.generic) and (one.dtype.char in TYPES or one.dtype.kind == "V"):
        content = one.tobytes()
        return _pointer(int(one)) if one.dtype.kind == "u" and len(content) == 8 else content
    if type(one) is int and one >= 0:
        return _pointer(one)
    for kind, converted in _PYTHON_TYPES.items():
        if isinstance(one, kind):
            return bytes(np.array(one, converted).tobytes())
    raise advised(TypeError(f"Unsupported type {type(one)}"), _ADVICE.get(type(one), ""))


def _by_value(one: np.ndarray[Any, Any]) -> bytes:
    """An array of the host, which CuPy takes for a number if it has one element."""
    if one.size == 1:
        return one.tobytes()
    raise TypeError(
        f"You are trying to pass a numpy.ndarray of shape {one.shape} as a kernel parameter"
    )  # as CuPy says


_ADVICE: Mapping[type, str] = {
    list: "copy the list to an array of the device and pass that",
    tuple: "arguments are one flat tuple",
    PinnedMemoryPointer: "a kernel that is to use pinned memory gets its address: pass `mem.ptr`",
}
"""What to do about arguments that CuPy does not take either."""


def argument_kind(one: Any) -> str:
    """What an argument is, in a word: ``array`` for an address, the name of a NumPy type, or of Python's own."""
    if one is None or isinstance(one, ndarray | MemoryPointer):
        return "array"
    return str(one.dtype.name) if isinstance(one, np.generic | np.ndarray) else type(one).__name__


_PYTHON_TYPES = {bool: "?", int: "q", float: "d", complex: "D"}


def _pointer(address: int) -> bytes:
    """An address, or any other number of 8 bytes: one inside of the shared file is told as the machine knows it."""
    return HOST.to_machine(address).to_bytes(8, "little")
