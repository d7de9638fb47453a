"""Library calls that look at a part of an image, or beyond its edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def shift(arrays: Arrays, numbers: Numbers) -> Run:
    """CuPy's copy of a part of ``x`` into a part of ``out``, and zeros into the two strips that are left."""
    rows, cols, down, right = (int(numbers[name]) for name in ("rows", "cols", "down", "right"))
    x, out = (arrays[name].reshape(rows, cols) for name in ("x", "out"))

    def run() -> None:
        out[down:, right:] = x[: max(rows - down, 0), : max(cols - right, 0)]
        out[:down] = 0
        out[down:, :right] = 0

    return run
