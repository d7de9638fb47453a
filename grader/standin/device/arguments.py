"""Arguments of a launch whose bytes are read as something else than they are. Pure.

A launch copies bytes: nobody converts a ``float`` of Python, which has 8 bytes, for a parameter of 4. The kernel then
sees another number, and nothing is refused. An argument that the kernel sees as it is meant is none of these: a Python
int for an ``int``, 0.0 for a ``float``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class Wanted:
    """What a parameter of a PTX type is, how it reads its bytes, and the NumPy type to pass."""

    words: str
    reads: str
    wrap: str


WANTED: Mapping[str, Wanted] = {
    "f32": Wanted("a float", "float32", "np.float32"), "f64": Wanted("a double", "float64", "np.float64"),
    "u8": Wanted("an integer", "uint8", "np.uint8"), "s8": Wanted("an integer", "int8", "np.int8"),
    "u16": Wanted("an integer", "uint16", "np.uint16"), "s16": Wanted("an integer", "int16", "np.int16"),
    "u32": Wanted("an integer", "uint32", "np.int32"), "s32": Wanted("an integer", "int32", "np.int32"),
    "u64": Wanted("an integer or an address", "uint64", "np.int64"),
    "s64": Wanted("an integer", "int64", "np.int64"),
}  # fmt: skip


@dataclass(frozen=True)
class Mistaken:
    """One argument that its parameter misreads: both in words, and what to pass."""

    given: str
    wanted: str
    seen: str
    wrap: str


def mistaken(element: str, size: int, kind: str, content: bytes) -> Mistaken | None:
    """How a parameter of PTX type ``element`` misreads an argument; None where it does not, or nobody can tell."""
    wanted = WANTED.get(element)
    if wanted is None or kind not in KINDS or len(content) < size:
        return None
    there = f"{wanted.words} of {size}"
    if kind == ARRAY:
        fits = size == POINTER_BYTES and element != "f64"
        return None if fits else Mistaken(f"an address of {POINTER_BYTES} bytes", there, "", "")
    value = _read(content, PYTHON.get(kind, kind))
    seen = _read(content[:size], wanted.reads)
    if _is_same(value, seen, size, integer="f" not in element):
        return None
    name = f"a {'Python' if kind in PYTHON else 'NumPy'} {kind}"
    return Mistaken(f"{name} of {len(content)} bytes", there, f"{_shown(seen)} instead of {_shown(value)}", wanted.wrap)


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
