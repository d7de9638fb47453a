"""Library calls for numbers in few bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]

ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""The weights of a word, from its lowest four bits upwards."""


def w4a16_gemv(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS with the same weights in halves, four times the bytes; they are unpacked before."""
    import cupy

    m, k = (int(numbers[name]) for name in ("m", "k"))
    weights = cupy.empty((m * k // 8, 8), cupy.float16)
    scales, zeros = (cupy.repeat(arrays[name], 16) for name in ("scales", "zeros"))
    for place, weight in enumerate(ORDER):
        bits = (arrays["W"] >> cupy.uint32(4 * place)) & cupy.uint32(15)
        weights[:, weight] = (bits.astype(cupy.float16) - zeros) * scales
    return partial(cupy.matmul, weights.reshape(m, k), arrays["x"])


def keys_int8(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's array operations: a kernel for each, and arrays of single precision between them."""
    import cupy

    groups = arrays["K"].reshape(-1, min(64, int(numbers["tokens"])), 128)  # whole tiles, as at the timed size

    def run() -> Any:
        largest = cupy.abs(groups).max(axis=1, keepdims=True).astype(cupy.float32)
        return cupy.rint(groups * (127 / cupy.maximum(largest, 1e-30))).astype(cupy.int8), largest / 127

    return run
