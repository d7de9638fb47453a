"""Oracles for normalisation: numbers that get mean 0 or mean square 1, by rows or by groups of channels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Array = npt.NDArray[np.float64]
Outputs = dict[str, Array]


def layer_norm(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = (x - mean) / √(variance + eps) · gamma + beta`` along each row; the variance is that of n, not n - 1."""
    x = inputs["x"].astype(np.float64).reshape(int(numbers["rows"]), int(numbers["cols"]))
    y = _standard(x, 1, numbers["eps"]) * inputs["gamma"].astype(np.float64) + inputs["beta"].astype(np.float64)
    return {"y": y.ravel()}


def rms_norm(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``h = x + residual`` and ``y = h / √(mean of h² + eps) · weight`` along each row."""
    rows, cols = int(numbers["rows"]), int(numbers["cols"])
    with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN, as on a GPU
        h = (inputs["x"].astype(np.float64) + inputs["residual"].astype(np.float64)).reshape(rows, cols)
        y = h / np.sqrt((h * h).mean(axis=1, keepdims=True) + numbers["eps"]) * inputs["weight"].astype(np.float64)
    return {"h": h.ravel(), "y": y.ravel()}


def group_norm_nhwc(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The layer norm of each group of ``width`` neighbouring channels over all pixels of a sample, channels last."""
    samples, pixels, groups, width = (int(numbers[name]) for name in ("samples", "pixels", "groups", "width"))
    x = inputs["x"].astype(np.float64).reshape(samples, pixels, groups, width)
    gamma, beta = (inputs[name].astype(np.float64).reshape(groups, width) for name in ("gamma", "beta"))
    return {"y": (_standard(x, (1, 3), numbers["eps"]) * gamma + beta).ravel()}


def _standard(x: Array, axis: int | tuple[int, ...], eps: float) -> Array:
    """``x`` with mean 0 and variance 1 along ``axis``."""
    with np.errstate(invalid="ignore"):
        apart = x - x.mean(axis=axis, keepdims=True)
        standard: Array = apart / np.sqrt((apart * apart).mean(axis=axis, keepdims=True) + eps)
    return standard
