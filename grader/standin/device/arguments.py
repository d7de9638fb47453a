"""The arguments of a launch: which of them their parameters misread, and all of them in words. Pure.

A launch copies bytes: nobody converts a ``float`` of Python, which has 8 bytes, for a parameter of 4. The kernel then
sees another number, and nothing is refused. An argument that the kernel sees as it is meant is not reported: a Python
int for an ``int``, 0.0 for a ``float``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from grader.standin.device.memory import Space
from grader.standin.device.operations import KernelLaunch, StreamOperation
from grader.standin.protocol import HOST_BASE
from grader.text import bytes_words, counted

ARRAY = "array"
"""The kind of an argument that is an array, or a place in memory: an address. Others are named as `KINDS` has them."""

POINTER_BYTES = 8

PYTHON: Mapping[str, str] = {"int": "int64", "float": "float64", "bool": "bool"}
"""What CuPy makes of Python's own numbers."""

KINDS = frozenset(
    (ARRAY, *PYTHON, "bool_", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
     "uint32", "uint64")
)  # fmt: skip
"""Kinds of arguments that are held against their parameters."""


READS: Mapping[str, str] = {
    "f32": "float32", "f64": "float64", "u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16", "u32": "uint32",
    "s32": "int32", "u64": "uint64", "s64": "int64",
}  # fmt: skip
"""How a parameter of a PTX type reads its bytes, in NumPy's words."""


@dataclass(frozen=True)
class ArgumentMismatch:
    """One argument that its parameter misreads. ``seen`` is what the kernel reads for ``value``; "" of an address."""

    given: str  # as `KINDS` has it
    given_bytes: int
    element: str  # the parameter's PTX type
    element_bytes: int
    seen: str = ""
    value: str = ""

    @property
    def facts(self) -> dict[str, Any]:
        return asdict(self) | {"is_python": self.given in PYTHON}


def mismatch(element: str, size: int, kind: str, content: bytes) -> ArgumentMismatch | None:
    """How a parameter of PTX type ``element`` misreads an argument; None where it does not, or nobody can tell."""
    if element not in READS or kind not in KINDS or len(content) < size:
        return None
    if kind == ARRAY:
        fits = size == POINTER_BYTES and element != "f64"
        return None if fits else ArgumentMismatch(kind, POINTER_BYTES, element, size)
    value = _read(content, PYTHON.get(kind, kind))
    seen = _read(content[:size], READS[element])
    if _is_same(value, seen, size, integer="f" not in element):
        return None
    return ArgumentMismatch(kind, len(content), element, size, _shown(seen), _shown(value))


def _shown(number: float | int) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)


def _read(content: bytes, dtype: str) -> float | int:
    value: float | int = np.frombuffer(content, dtype, 1)[0].item()
    return value


def _is_same(value: float | int, seen: float | int, size: int, *, integer: bool) -> bool:
    if not integer:
        return value == seen or (value != value and seen != seen)
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        return False
    bits = 8 * size
    return -(1 << (bits - 1)) <= value < 1 << bits and (int(value) - int(seen)) % (1 << bits) == 0


FLOATS = {"f32": "<f4", "f64": "<f8"}
ADDRESSES = ("u64", "s64", "b64")
MOST_TOLD = 12
SMALL = 1 << 32
"""Integers from here on are told in hexadecimal: they are addresses, most likely."""


@dataclass(frozen=True)
class KernelParameter:
    """A kernel's parameter: its name, where that is known, and its PTX type."""

    name: str
    element: str


def launched(space: Space, op: StreamOperation, parameters: Sequence[KernelParameter], place: str) -> str:
    """Return where a kernel was launched, and with what."""
    work = op.job.work
    assert isinstance(work, KernelLaunch)
    given = [
        f"{parameter.name or f'argument {i + 1}'} = {_value(space, parameter.element, content)}"
        for i, (parameter, content) in enumerate(zip(parameters, work.arguments, strict=False))
    ]
    shown = [*given[:MOST_TOLD], *(["…"] if len(given) > MOST_TOLD else [])]
    return f"{place} with {', '.join(shown)}" if given else place


def parameters_of(elements: Sequence[str], names: Sequence[str]) -> list[KernelParameter]:
    """Return types and names together; without the names where there are not as many of them."""
    known = names if len(names) == len(elements) else ()
    return [KernelParameter(name, element) for element, name in zip_longest(elements, known, fillvalue="")]


def _value(space: Space, element: str, content: bytes) -> str:
    if element in FLOATS:
        return f"{np.frombuffer(content, FLOATS[element], 1)[0]:g}"
    number = int.from_bytes(content, "little", signed=True)
    if element in ADDRESSES and len(content) == POINTER_BYTES:
        return _memory(space, number) or (str(number) if abs(number) < SMALL else f"{number % (1 << 64):#x}")
    return str(number) if len(content) <= POINTER_BYTES else bytes_words(len(content))


def _memory(space: Space, address: int) -> str:
    """``the device copy of x (1024 elements)``: the memory at an address, and how much is left there; "" for none."""
    region, array = space.at(address), space.array_at(address)
    if array is not None:
        start, end = HOST_BASE + array.offset, HOST_BASE + array.offset + array.size
    elif region is not None:
        start, end = region.start, region.end
    else:
        return f"{space.name(address)}, which is freed" if space.freed(address) is not None else ""
    size = _element_bytes(space, address)
    far = address - start
    element = f"element {far // size}" if size and far % size == 0 else f"byte {far}"
    place = f" from {element} on" if far else ""
    return f"{space.name(address)}{place} ({_amount(end - address, size)})"


def _element_bytes(space: Space, address: int) -> int:
    """Of the exercise's array that lies there, or is copied there; 0 where it is none of these."""
    name = space.copied_name(address)
    return next((np.dtype(array.dtype).itemsize for array in space.arrays if array.name == name), 0)


def _amount(count: int, size: int) -> str:
    return counted(count // size, "element") if size and count % size == 0 else bytes_words(count)
