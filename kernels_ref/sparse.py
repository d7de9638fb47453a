"""Oracles for sparse matrices and ragged rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def spmv_csr(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y`` = A · x: row r has the values and columns from ``offsets[r]`` to ``offsets[r + 1] - 1``."""
    products = inputs["values"].astype(np.float64) * inputs["x"].astype(np.float64)[inputs["columns"].astype(np.int64)]
    rows = np.repeat(np.arange(int(numbers["rows"])), np.diff(inputs["offsets"].astype(np.int64)))
    return {"y": np.bincount(rows, weights=products, minlength=int(numbers["rows"]))}


def segmented_sum(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[s]`` is the sum of ``x`` from ``offsets[s]`` to ``offsets[s + 1] - 1``, and 0 of an empty segment."""
    count = int(numbers["segments"])
    segments = np.repeat(np.arange(count), np.diff(inputs["offsets"].astype(np.int64)))
    return {"out": np.bincount(segments, weights=inputs["x"].astype(np.float64), minlength=count)}
