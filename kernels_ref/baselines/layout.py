"""Library calls that move data without computing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def transpose(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's copy of ``x.T`` into ``out``."""
    import cupy

    rows, cols = int(numbers["rows"]), int(numbers["cols"])
    return partial(cupy.copyto, arrays["out"].reshape(cols, rows), arrays["x"].reshape(rows, cols).T)


def split_fields(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel that loads the four fields of a particle and stores each into its plane."""
    import cupy

    fields = cupy.ElementwiseKernel(
        "raw float32 particles",
        "float32 x, float32 y, float32 z, float32 mass",
        "x = particles[4 * i]; y = particles[4 * i + 1]; z = particles[4 * i + 2]; mass = particles[4 * i + 3]",
        "split_fields",
    )
    return partial(fields, arrays["particles"], *arrays["planes"].reshape(4, int(numbers["n"])))
