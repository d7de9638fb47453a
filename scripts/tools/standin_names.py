"""The page docs/standin.md: everything that the stand-in for CuPy has, from the modules that a host file imports."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from inspect import isclass
from textwrap import fill
from types import FunctionType, ModuleType
from typing import Any

from grader.standin.client.namespaces import VERSION, Namespace, modules

HEAD = f"""\
# What the stand-in for CuPy has

Written by `scripts/docs` from the modules that a host file imports on a machine without a GPU. Names, the order of
arguments and errors are CuPy's ({VERSION}); [host exercises](host-exercises.md) says what it is for. What CuPy has
beside this ends in `unsupported`, with the name and the line of the host file: `cupy.fft needs a GPU`. A name that
CuPy has not either is an `AttributeError`, as with CuPy: `has no attribute 'Strem': did you mean Stream?`
"""

PAGES: Mapping[str, str] = {
    "cupy": "Arrays live on the current device, by rows (order `C`). They move, and a slice without gaps is a view of "
    "the same memory. They do not compute: sums and products are the kernel's work.",
    "cupy.cuda": "",
    "cupy.cuda.runtime": "",
    "cupy.cuda.driver": "",
    "cupyx": "",
    "cuda.bindings.runtime": "Each returns a tuple that begins with the error, as there.",
}
"""The modules that the page shows, with a remark; all others have a part of the names of `cupy.cuda`."""


FAMILIES: Mapping[str, str] = {"cudaDevAttr": "attributes of a device", "cudaError": "errors"}
MANY = 8
HOW: Any = {"width": 120, "break_long_words": False, "break_on_hyphens": False}


def standin_names() -> str:
    """Return the whole page."""
    known = modules()
    return "\n".join([HEAD, *(line for name in PAGES for line in _module(known[name], known))])


def _module(module: ModuleType, known: Mapping[str, ModuleType]) -> Iterator[str]:
    names = {name: one for name, one in vars(module).items() if not name.startswith("_")}
    yield f"## {module.__name__}\n"
    if PAGES[module.__name__]:
        yield fill(PAGES[module.__name__], **HOW) + "\n"
    yield from _classes(names)
    yield from _listed("Functions", [name for name, one in names.items() if _is_function(one)])
    yield from _listed("Numbers and types", [name for name, one in names.items() if _is_value(one)])
    inner = [one.__name__ for one in known.values() if one.__name__.startswith(f"{module.__name__}.")]
    yield from _listed("Modules", [name for name in inner if name.count(".") == module.__name__.count(".") + 1])


def _classes(names: Mapping[str, Any]) -> Iterator[str]:
    own = {name: one for name, one in names.items() if isclass(one) and one.__module__.startswith("grader.")}
    for name, one in sorted(own.items()):
        members = _members(one)
        yield fill(f"- **`{name}`**{': ' + ', '.join(members) if members else ''}", subsequent_indent="  ", **HOW)
    yield from [""] if own else ()


def _members(one: type) -> list[str]:
    """The public methods, properties and attributes; what it has of NumPy, or of its base errors, is left out."""
    classes = [base for base in one.__mro__ if base.__module__.startswith("grader.")]
    if issubclass(one, Exception):
        return ["`status`"] if "status" in _set_by(one) else []
    found = {name for base in classes for name in (*vars(base), *_set_by(base)) if not name.startswith("_")}
    return [*_shortened(found)]


def _set_by(one: type) -> set[str]:
    """The attributes that each object gets: ``self.ptr = …``, and the fields of a record."""
    try:
        source = inspect.getsource(one)
    except OSError:  # an enumeration that was made of a table
        source = ""
    return set(re.findall(r"\bself\.([a-z]\w*)(?:: [^=]+)? = ", source)) | set(vars(one).get("__annotations__", ()))


def _shortened(names: Collection[str]) -> Iterator[str]:
    """The names in order; those of a large family as its beginning and their number."""
    large = {
        beginning: family
        for beginning in FAMILIES
        if len(family := [name for name in names if name.startswith(beginning)]) > MANY
    }
    rest = set(names).difference(*large.values())
    yield from (f"`{name}`" for name in sorted(rest))
    yield from (f"`{beginning}…` ({len(family)} {FAMILIES[beginning]})" for beginning, family in large.items())


def _is_function(one: Any) -> bool:
    return isinstance(one, FunctionType)


def _is_value(one: Any) -> bool:
    ours = isclass(one) and one.__module__.startswith("grader.")
    return not ours and not _is_function(one) and not isinstance(one, Namespace)


def _listed(title: str, names: list[str]) -> Iterator[str]:
    if names:
        yield fill(f"{title}: {', '.join(_shortened(names))}.", **HOW) + "\n"
