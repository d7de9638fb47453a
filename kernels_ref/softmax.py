"""Oracles for kernels that turn rows of numbers into shares of one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def rows(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = exp(x - m) / Σ exp(x - m)`` along each row, m its largest value. ``x`` and ``y`` are (rows·cols,)."""
    x = inputs["x"].astype(np.float64).reshape(int(numbers["rows"]), int(numbers["cols"]))
    with np.errstate(invalid="ignore"):  # NaN and infinity minus infinity are NaN, as on a GPU
        terms = np.exp(x - x.max(axis=1, keepdims=True))
    shares = terms / terms.sum(axis=1, keepdims=True)
    return {"y": shares.ravel()}


def log_rows(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = x - m - log Σ exp(x - m)`` along each row, m its largest value: the logarithms of the shares."""
    x = inputs["x"].astype(np.float64).reshape(int(numbers["rows"]), int(numbers["cols"]))
    below = x - x.max(axis=1, keepdims=True)
    return {"y": (below - np.log(np.exp(below).sum(axis=1, keepdims=True))).ravel()}
