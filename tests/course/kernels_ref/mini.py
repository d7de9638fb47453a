"""Oracles of the tests' course: called with (inputs, numbers), they return float64 arrays by output name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def scale(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y[i] = factor · x[i]``. Shapes: ``x`` and ``y`` are (n,)."""
    return {"y": numbers["factor"] * inputs["x"].astype(np.float64)}


def total(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[0] = x[0] + … + x[n-1]``. Shapes: ``x`` is (n,), ``out`` is (1,)."""
    return {"out": np.sum(inputs["x"], dtype=np.float64, keepdims=True)}
