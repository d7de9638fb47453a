"""Library calls that treat each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def add(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's ``a + b``, into ``c``."""
    import cupy

    return partial(cupy.add, arrays["a"], arrays["b"], out=arrays["c"])
