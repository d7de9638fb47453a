"""A kernel's parameters as its file declares them: their names, and element types that cannot be an array's. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.launch.source import SourceText, read_source, signature

_QUALIFIER = re.compile(r"\b(?:const|volatile|restrict|__restrict__|__restrict|__grid_constant__|struct)\b")
_UNNAMED = re.compile(r"(?:int|float|double|char|short|long|unsigned|signed|bool|half|void)\d?")


@dataclass(frozen=True)
class Parameter:
    """One parameter: ``declared`` is ``const float* a``; ``element`` is ``float``, "" where it is no plain pointer."""

    declared: str
    name: str
    element: str


def parameters(text: SourceText, kernel: str) -> tuple[Parameter, ...]:
    """The kernel's parameters, () where they cannot be found."""
    return tuple(_parameter(declared) for declared in signature(text, kernel))


def parameter_names(source: str, kernel: str) -> tuple[str, ...]:
    """The names of the kernel's parameters, "" for one without a name; () where they cannot be found."""
    return tuple(one.name for one in parameters(_read(source), kernel))


@lru_cache(maxsize=4)
def _read(source: str) -> SourceText:
    return read_source(source, "")


def _parameter(declared: str) -> Parameter:
    plain = " ".join(_QUALIFIER.sub(" ", declared).split("=")[0].split())
    pointer = re.fullmatch(r"([\w: ]+?) ?(?:\* ?(\w*)|(?<= )(\w+) ?\[\w*\])", plain)
    if pointer:
        return Parameter(declared, pointer[2] or pointer[3] or "", pointer[1])
    last = re.search(r"(\w+)(?: ?\[[^\]]*\])*$", plain)
    named = last is not None and last.start() > 0 and not _UNNAMED.fullmatch(last[1])
    return Parameter(declared, last[1] if last and named else "", "")


# -------------------------------------------------------------------------------------------------------- element types

_SIGNED_OR_REAL: Mapping[str, tuple[str, ...]] = {
    "double": ("float64",),
    "float": ("float32",),
    "half": ("float16",), "__half": ("float16",),
    "short": ("int16", "uint16"), "int16_t": ("int16", "uint16"),
    "int": ("int32", "uint32"), "int32_t": ("int32", "uint32"), "signed int": ("int32", "uint32"),
    "long": ("int64", "uint64"), "long long": ("int64", "uint64"), "int64_t": ("int64", "uint64"),
}  # fmt: skip
"""What each plain type can hold. Types that are not here may be meant as they are: vectors and ``unsigned`` load
several elements or their bits at once, ``char`` and ``void`` view bytes, a name of the file's own can be anything."""

C_TYPES: Mapping[str, str] = {
    "float16": "half", "float32": "float", "float64": "double", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
    "uint64": "unsigned long long",
}  # fmt: skip


@dataclass(frozen=True)
class Misread:
    """A parameter whose element type cannot hold the elements of the array that the launch line passes."""

    kernel: str
    parameter: Parameter
    array: str
    dtype: str

    @property
    def should_be(self) -> str:
        """The declaration with the array's type: ``const float* a``."""
        wanted = C_TYPES.get(self.dtype, self.dtype)
        return re.sub(rf"\b{re.escape(self.parameter.element)}\b", wanted, self.parameter.declared, count=1)


def misread(
    text: SourceText, kernel: str, args: Sequence[str | int | float], dtypes: Mapping[str, str]
) -> tuple[Misread, ...]:
    """The parameters of ``kernel`` that misread what is passed; ``dtypes`` gives the dtype of each array by name."""
    declared = parameters(text, kernel)
    if len(declared) != len(args):
        return ()
    pairs = [(one, arg) for one, arg in zip(declared, args, strict=True) if isinstance(arg, str) and arg in dtypes]
    return tuple(
        Misread(kernel, one, arg, dtypes[arg])
        for one, arg in pairs
        if dtypes[arg] not in _SIGNED_OR_REAL.get(one.element, (dtypes[arg],))
    )
