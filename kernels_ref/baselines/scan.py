"""Library calls for prefix sums and what is built on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def inclusive(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's ``cumsum``, which calls CUB where it can."""
    import cupy

    return partial(cupy.cumsum, arrays["x"], out=arrays["out"])


def positive(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's ``x[x > 0]``; it allocates its results."""
    x = arrays["x"]
    return lambda: x[x > 0]
