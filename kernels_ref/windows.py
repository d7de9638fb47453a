"""Oracles for kernels that look at a part of an image, or beyond its edges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def shift(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[r*cols + c] = x[(r - down)*cols + c - right]``, 0 where that is outside; both arrays are (rows·cols,)."""
    rows, cols, down, right = (int(numbers[name]) for name in ("rows", "cols", "down", "right"))
    x = inputs["x"].astype(np.float64).reshape(rows, cols)
    out = np.zeros_like(x)
    out[down:, right:] = x[: max(rows - down, 0), : max(cols - right, 0)]
    return {"out": out.ravel()}
