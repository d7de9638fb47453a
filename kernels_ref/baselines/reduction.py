"""Library calls that make few numbers out of many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def sum(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's ``x.sum()``, which calls CUB where it can."""
    import cupy

    return partial(cupy.sum, arrays["x"], out=arrays["out"].reshape(()))


def cupy_sum(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's own reduction kernel, without CUB."""
    import cupy
    from cupy import _core

    x, out = arrays["x"], arrays["out"].reshape(())

    def run() -> None:
        accelerators = _core.get_routine_accelerators()
        _core.set_routine_accelerators([])
        try:
            cupy.sum(x, out=out)
        finally:
            _core.set_routine_accelerators(accelerators)

    return run


def dot(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's ``x.dot(y)`` of halves: cuBLAS, which gives a half."""
    import cupy

    return partial(cupy.dot, arrays["x"], arrays["y"])


def argmax(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's ``x.argmax()``, which calls CUB where it can."""
    import cupy

    return partial(cupy.argmax, arrays["x"])
