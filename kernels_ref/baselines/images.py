"""Library calls on images and planes of pixels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def gray(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel over all pixels, into ``gray``: a view of rgba's four planes, whose rows are a pitch apart."""
    import cupy

    width, height, pad = (int(numbers[name]) for name in ("width", "height", "pad"))
    rows = arrays["rgba"].reshape(height, 4 * width + pad)
    pixels = cupy.lib.stride_tricks.as_strided(rows, (height, width, 4), (4 * width + pad, 4, 1))
    fused = cupy.ElementwiseKernel(
        "uint8 red, uint8 green, uint8 blue",
        "float32 gray",
        "gray = (77 * red + 150 * green + 29 * blue) / 256.0f",
        "gray",
    )
    return partial(fused, *(pixels[:, :, k] for k in range(3)), arrays["gray"].reshape(height, width))


def upsample_nearest_2d(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's copy of broadcast values into ``y``, and its sum over two axes into ``dx``."""
    import cupy

    rows, w = int(numbers["planes"] * numbers["h"]), int(numbers["w"])
    x, dx = (arrays[name].reshape(rows, w) for name in ("x", "dx"))
    y, dy = (arrays[name].reshape(rows, 2, w, 2) for name in ("y", "dy"))

    def run() -> None:
        cupy.copyto(y, x[:, None, :, None])
        cupy.sum(dy, axis=(1, 3), out=dx)

    return run


def max_pool(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's maximum over two axes of ``x``."""
    import cupy

    planes, h, w = (int(numbers[name]) for name in ("planes", "h", "w"))
    x = arrays["x"].reshape(planes, h, w)[:, : h // 2 * 2, : w // 2 * 2].reshape(planes, h // 2, 2, w // 2, 2)
    y = arrays["y"].reshape(planes, h // 2, w // 2)
    return lambda: cupy.max(x, axis=(2, 4), out=y)


def im2col(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's copy of ``x`` into a plane with a border of zeros, and of a strided view of that into ``y``."""
    import cupy

    planes, h, w = (int(numbers[name]) for name in ("planes", "h", "w"))
    padded = cupy.zeros((planes, h + 2, w + 2), cupy.float32)
    plane, row, column = padded.strides
    patches = cupy.lib.stride_tricks.as_strided(padded, (planes, 3, 3, h, w), (plane, row, column, row, column))
    x, y = arrays["x"].reshape(planes, h, w), arrays["y"].reshape(planes, 3, 3, h, w)

    def run() -> None:
        padded[:, 1:-1, 1:-1] = x
        cupy.copyto(y, patches)

    return run
