"""Oracles for kernels that make few numbers out of many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def sum(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[0] = x[0] + … + x[n-1]``. Shapes: ``x`` is (n,), ``out`` is (1,)."""
    return {"out": np.sum(inputs["x"], dtype=np.float64, keepdims=True)}


def dot(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[0] = x[0]·y[0] + … + x[n-1]·y[n-1]``. Shapes: ``x`` and ``y`` are (n,), ``out`` is (1,)."""
    x, y = inputs["x"].astype(np.float64), inputs["y"].astype(np.float64)
    return {"out": np.array([np.dot(x, y)])}


def argmax(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The lowest index of the largest element; a NaN is larger than all numbers, as in NumPy."""
    return {"index": np.array([np.argmax(inputs["x"])], dtype=np.float64)}
