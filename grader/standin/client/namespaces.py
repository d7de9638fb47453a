"""The modules `cupy`, `cupyx` and `cuda.bindings`, put together of the stand-in's parts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from grader.standin.client import (
    arrays,
    bindings,
    constants,
    errors,
    kernels,
    memory,
    pinned,
    runtime,
    streams,
)
from grader.standin.client.errors import no_attribute, no_module

VERSION = "14.2.0"
"""The CuPy whose names these are."""


class Namespace(ModuleType):
    """A module that says of what it has not whether that needs a GPU, or is no name of CuPy's."""

    def __init__(self, name: str, contents: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__path__ = []  # a package, in which nothing more is found
        self.__dict__.update(contents)

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self.__name__, name, f"module {self.__name__!r}", dir(self))


class _Finder:
    """Answers imports of what the real packages have and the stand-in has not."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] in ("cupy", "cupyx", "cuda"):
            raise no_module(name)
        return None


def _public(module: ModuleType, *names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names}


def _functions_of(module: ModuleType) -> dict[str, Any]:
    """The public functions and classes that a module defines itself."""
    own = {name: one for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__}
    return {name: one for name, one in own.items() if not name.startswith("_")}


DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_",
    "complex64", "complex128", "dtype",
)  # fmt: skip


def _runtime() -> Namespace:
    attributes = {f"cudaDevAttr{name}": number for name, number in constants.DEVICE_ATTRIBUTES.items()}
    functions = {name: one for name, one in _functions_of(runtime).items() if name not in _OWN_RUNTIME}
    contents = {**constants.RUNTIME, **attributes, **functions}
    return Namespace("cupy.cuda.runtime", {**contents, "is_hip": False, "CUDARuntimeError": errors.CUDARuntimeError})


_OWN_RUNTIME = ("invalid", "attributes_of", "native", "refuse_while_capturing")
"""What the stand-in's module has beside CuPy's names."""


def _driver() -> Namespace:
    names = (
        "occupancyMaxActiveBlocksPerMultiprocessor", "occupancyMaxPotentialBlockSize", "funcGetAttribute",
        "funcSetAttribute",
    )  # fmt: skip
    contents = {**constants.DRIVER, **_public(kernels, *names), "CUDADriverError": errors.CUDADriverError}
    return Namespace("cupy.cuda.driver", contents)


def modules() -> dict[str, ModuleType]:
    """All modules of the stand-in by name."""
    stream = Namespace(
        "cupy.cuda.stream",
        _public(streams, "Stream", "ExternalStream", "Event", "get_current_stream", "get_elapsed_time"),
    )
    device = Namespace("cupy.cuda.device", _public(streams, "Device", "get_device_id"))
    graph = Namespace("cupy.cuda.graph", _public(streams, "Graph"))
    function = Namespace("cupy.cuda.function", _public(kernels, "Function"))
    of_memory = _public(
        memory, "BaseMemory", "Memory", "ManagedMemory", "UnownedMemory", "MemoryPointer", "MemoryPool",
        "alloc", "malloc_managed", "set_allocator", "get_allocator",
    )  # fmt: skip
    of_pinned = _public(pinned, "PinnedMemory", "PinnedMemoryPointer", "PinnedMemoryPool", "alloc_pinned_memory")
    parts = {
        "runtime": _runtime(), "driver": _driver(), "stream": stream, "device": device, "graph": graph,
        "function": function,
        "memory": Namespace("cupy.cuda.memory", {**of_memory, "OutOfMemoryError": errors.OutOfMemoryError}),
        "pinned_memory": Namespace("cupy.cuda.pinned_memory", of_pinned),
    }  # fmt: skip
    shown = (stream, device, graph, function)
    public = {name: one for part in shown for name, one in vars(part).items() if not name.startswith("_")}
    more = {"using_allocator": memory.using_allocator, "is_available": lambda: True}
    cuda = Namespace("cupy.cuda", {**parts, **public, **of_memory, **of_pinned, **more})
    cupy = Namespace("cupy", {"cuda": cuda, "__version__": VERSION, **_top()})
    cupyx = Namespace(
        "cupyx", _public(pinned, "empty_pinned", "empty_like_pinned", "zeros_pinned", "zeros_like_pinned")
    )
    found: list[ModuleType] = [cupy, cuda, cupyx, *parts.values(), *_bindings()]
    return {module.__name__: module for module in found}


def _top() -> dict[str, Any]:
    made = _public(
        arrays, "ndarray", "empty", "zeros", "empty_like", "zeros_like", "array", "asarray", "asnumpy",
        "get_array_module",
    )  # fmt: skip
    pools = {
        "get_default_memory_pool": lambda: memory.POOL,
        "get_default_pinned_memory_pool": lambda: pinned.POOL,
    }
    return made | pools | _public(kernels, "RawModule", "RawKernel") | {name: getattr(np, name) for name in DTYPES}


def _bindings() -> list[ModuleType]:
    of_runtime = {name: one for name, one in vars(bindings).items() if name.startswith("cuda")}
    runtime_module = Namespace("cuda.bindings.runtime", of_runtime)
    package = Namespace("cuda.bindings", {"runtime": runtime_module})
    return [Namespace("cuda", {"bindings": package}), package, runtime_module]


def install() -> None:
    """Put the modules into this process, in front of the real ones."""
    sys.modules.update(modules())
    sys.meta_path.insert(0, _Finder())
