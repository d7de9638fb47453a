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


def add_relu(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel for ``max(a + b, 0)`` on halves, into ``c``: fused, one element a thread and round."""
    import cupy

    fused = cupy.ElementwiseKernel(
        "float16 a, float16 b", "float16 c", "c = fmaxf(float(a) + float(b), 0.0f)", "add_relu"
    )
    return partial(fused, arrays["a"], arrays["b"], arrays["c"])


def saxpy(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel for ``alpha * x + y``, into ``out``: fused, because cuBLAS would overwrite ``y``."""
    import cupy

    fused = cupy.ElementwiseKernel("float32 x, float32 y, float32 alpha", "float32 out", "out = alpha * x + y", "saxpy")
    return partial(fused, arrays["x"], arrays["y"], cupy.float32(numbers["alpha"]), arrays["out"])


def swiglu(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel for ``gate / (1 + exp(-gate)) * up``, into ``out``: fused, one element a thread and round."""
    import cupy

    fused = cupy.ElementwiseKernel(
        "float32 gate, float32 up", "float32 out", "out = gate / (1.0f + expf(-gate)) * up", "swiglu"
    )
    return partial(fused, arrays["gate"], arrays["up"], arrays["out"])


def calibrate(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel for ``gain * x + offset``, into ``out``."""
    import cupy

    fused = cupy.ElementwiseKernel(
        "float32 x, float32 gain, float32 offset", "float32 out", "out = gain * x + offset", "calibrate"
    )
    return partial(fused, arrays["x"], *(cupy.float32(numbers[name]) for name in ("gain", "offset")), arrays["out"])


def remove_drift(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel for ``x - slope * column``, into ``out``: rows are ignored but for the column."""
    import cupy

    fused = cupy.ElementwiseKernel(
        "float32 x, float32 slope, int32 cols", "float32 out", "out = x - slope * (i % cols)", "remove_drift"
    )
    slope, cols = cupy.float32(numbers["slope"]), cupy.int32(numbers["cols"])
    return partial(fused, arrays["x"], slope, cols, arrays["out"])


def strided_broadcast(arrays: Arrays, numbers: Numbers) -> Run:
    """``cupy.add`` of two strided views, into ``out``."""
    import cupy

    shape = tuple(int(numbers[f"n{axis}"]) for axis in range(4))

    def view(name: str) -> Any:
        strides = tuple(4 * int(numbers[f"{name}{axis}"]) for axis in range(4))
        return cupy.lib.stride_tricks.as_strided(arrays[name], shape, strides)

    return partial(cupy.add, view("a"), view("b"), arrays["out"].reshape(shape))
