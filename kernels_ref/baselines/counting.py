"""Library calls that count, scatter or select."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def histogram(arrays: Arrays, numbers: Numbers) -> Run:
    """``cupy.bincount``; it allocates its result."""
    import cupy

    return partial(cupy.bincount, arrays["x"], minlength=256)


def digit_pass(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy has no pass by a digit: its stable sort of the digits gives an order, and two copies follow it."""
    import cupy

    keys, values, shift = arrays["keys"], arrays["values"], int(numbers["shift"])

    def run() -> Any:
        order = cupy.argsort((keys >> shift & 15).astype(cupy.uint8), kind="stable")
        return keys[order], values[order]

    return run


def index_add(arrays: Arrays, numbers: Numbers) -> Run:
    """``cupy.add.at`` on zeros: an atomic for each float."""
    import cupy

    x, out, index = arrays["x"].reshape(-1, 64), arrays["out"].reshape(-1, 64), arrays["index"]

    def run() -> None:
        out.fill(0)
        cupy.add.at(out, index, x)

    return run


def topk(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy has no top-k: it sorts each row, and takes the last eight of each."""
    import cupy

    x = arrays["x"].reshape(-1, int(numbers["cols"]))

    def run() -> Any:
        places = cupy.argsort(x, axis=1)[:, :-9:-1]
        return cupy.take_along_axis(x, places, axis=1), places

    return run
