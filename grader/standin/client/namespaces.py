"""The modules `cupy`, `cupyx` and `cuda.bindings`, assembled from the stand-in's modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from grader.standin.client import arrays, bindings, errors, kernels, memory, runtime, streams
from grader.standin.client.errors import OutsideImport, advice, is_known, is_module, no_attribute, place

VERSION = "14.2.0"
"""The version of CuPy whose names these are."""


class Namespace(ModuleType):
    """A module whose errors say of a missing name whether it needs a GPU, or CuPy does not have it either."""

    def __init__(self, name: str, contents: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.__path__ = []  # a package without further modules
        self.__dict__.update(contents)

    def __getattr__(self, name: str) -> Any:
        raise no_attribute(self.__name__, name, f"module {self.__name__!r}", dir(self))


class _Finder:
    """Raises errors for imports of modules that the stand-in does not have."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, last = name.rpartition(".")
        if name.partition(".")[0] not in ("cupy", "cupyx", "cuda"):
            return None
        if is_module(name) or is_known(package, last):
            raise OutsideImport(name)
        raise ImportError(f"there is no {name}{advice(package, last, dir(sys.modules.get(package)))}{place()}")


def _public(module: ModuleType, *names: str) -> dict[str, Any]:
    return {name: getattr(module, name) for name in names}


DTYPES = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_",
    "complex64", "complex128", "dtype",
)  # fmt: skip


def modules() -> dict[str, ModuleType]:
    """All modules of the stand-in by name."""
    of_memory = _public(
        memory, "BaseMemory", "Memory", "ManagedMemory", "UnownedMemory", "MemoryPointer", "MemoryPool",
        "alloc", "malloc_managed", "set_allocator", "get_allocator",
    )  # fmt: skip
    of_pinned = _public(memory, "PinnedMemory", "PinnedMemoryPointer", "PinnedMemoryPool", "alloc_pinned_memory")
    reexported = {
        "stream": _public(streams, "Stream", "ExternalStream", "Event", "get_current_stream", "get_elapsed_time"),
        "device": _public(streams, "Device", "get_device_id"),
        "graph": _public(streams, "Graph"),
        "function": _public(kernels, "Function"),
    }
    driver = _public(
        kernels, "occupancyMaxActiveBlocksPerMultiprocessor", "occupancyMaxPotentialBlockSize", "funcGetAttribute",
        "funcSetAttribute",
    )  # fmt: skip
    parts: dict[str, dict[str, Any]] = {
        "runtime": {
            **runtime.NUMBERS,
            **{f"cudaDevAttr{name}": number for name, number in runtime.DEVICE_ATTRIBUTES.items()},
            **runtime.FUNCTIONS,
            **_public(runtime, "PointerAttributes"),
            "is_hip": False,
            "CUDARuntimeError": errors.CUDARuntimeError,
        },
        "driver": {**kernels.NUMBERS, **driver, "CUDADriverError": errors.CUDADriverError},
        **reexported,
        "memory": {**of_memory, "OutOfMemoryError": errors.OutOfMemoryError},
        "pinned_memory": of_pinned,
    }
    submodules = {name: Namespace(f"cupy.cuda.{name}", contents) for name, contents in parts.items()}
    public = {name: member for contents in reexported.values() for name, member in contents.items()}
    more = {"using_allocator": memory.using_allocator, "is_available": lambda: True}
    cuda = Namespace("cupy.cuda", {**submodules, **public, **of_memory, **of_pinned, **more})
    of_arrays = _public(
        arrays, "ndarray", "empty", "zeros", "empty_like", "zeros_like", "array", "asarray", "asnumpy",
        "get_array_module",
    )  # fmt: skip
    top = {
        "cuda": cuda,
        "__version__": VERSION,
        **of_arrays,
        "get_default_memory_pool": lambda: memory.POOL,
        "get_default_pinned_memory_pool": lambda: memory.PINNED_POOL,
        **_public(kernels, "RawModule", "RawKernel"),
        **{name: getattr(np, name) for name in DTYPES},
    }
    pinned_arrays = _public(memory, "empty_pinned", "empty_like_pinned", "zeros_pinned", "zeros_like_pinned")
    of_bindings = Namespace("cuda.bindings.runtime", bindings.CONTENTS)
    package = Namespace("cuda.bindings", {"runtime": of_bindings})
    namespaces: list[ModuleType] = [
        Namespace("cupy", top), cuda, Namespace("cupyx", pinned_arrays), *submodules.values(),
        Namespace("cuda", {"bindings": package}), package, of_bindings,
    ]  # fmt: skip
    return {module.__name__: module for module in namespaces}


def install() -> None:
    """Install the modules in this process, in place of the real ones."""
    sys.modules.update(modules())
    sys.meta_path.insert(0, _Finder())
