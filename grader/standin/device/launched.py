"""A launch of the host file in words: its line, and what it gives each parameter. Pure.

x_host.py:16 with x = the device copy of out (1 element), out = the device copy of x (1024 elements), frames = 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from grader.render.text import bytes_words, counted
from grader.standin.device.arguments import POINTER_BYTES
from grader.standin.device.memory import Space
from grader.standin.device.operations import Kernel, Operation
from grader.standin.device.words import Words
from grader.standin.protocol import HOST_BASE

FLOATS = {"f32": "<f4", "f64": "<f8"}
ADDRESSES = ("u64", "s64", "b64")
MOST_TOLD = 12
SMALL = 1 << 32
"""Integers from here on are told in hexadecimal: they are addresses, most likely."""


@dataclass(frozen=True)
class Parameter:
    """A kernel's parameter: its name, where that is known, and its PTX type."""

    name: str
    element: str


def launched(words: Words, op: Operation, parameters: Sequence[Parameter]) -> str:
    """Return where a kernel was launched, and with what."""
    place = words.at(op).strip(" ()") or words.file
    work = op.job.work
    assert isinstance(work, Kernel)
    given = [
        f"{parameter.name or f'argument {i + 1}'} = {_value(words.space, parameter.element, content)}"
        for i, (parameter, content) in enumerate(zip(parameters, work.arguments, strict=False))
    ]
    shown = [*given[:MOST_TOLD], *(["…"] if len(given) > MOST_TOLD else [])]
    return f"{place} with {', '.join(shown)}" if given else place


def parameters_of(elements: Sequence[str], names: Sequence[str]) -> list[Parameter]:
    """Return types and names together; without the names where there are not as many of them."""
    known = names if len(names) == len(elements) else ()
    return [Parameter(name, element) for element, name in zip_longest(elements, known, fillvalue="")]


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
