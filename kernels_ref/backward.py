"""Oracles for backward passes: the gradient of a loss before an operation, from the one behind it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def relu(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``dx = dy`` where bit i % 32 of word i / 32 of ``mask`` is 1, else 0; ``mask`` is (n/32,), the others (n,)."""
    kept = np.unpackbits(inputs["mask"].view(np.uint8), bitorder="little").astype(bool)
    return {"dx": np.where(kept, inputs["dy"].astype(np.float64), 0.0)}


def softmax(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``dx = y · (dy - Σ y · dy)`` for each row; ``y``, the result of softmax, ``dy`` and ``dx`` are (rows·cols,)."""
    cols = int(numbers["cols"])
    y, dy = (inputs[name].astype(np.float64).reshape(-1, cols) for name in ("y", "dy"))
    return {"dx": (y * (dy - (y * dy).sum(axis=1, keepdims=True))).ravel()}


def layer_norm(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``dx``, ``dgamma`` and ``dbeta`` of layer norm from ``x``, ``dy``, ``gamma``, ``mean`` and ``rstd``.

    With ``n = (x - mean) · rstd`` and ``g = dy · gamma``: ``dx = rstd · (g - mean of g - n · mean of g · n)``.
    """
    cols = int(numbers["cols"])
    x, dy = (inputs[name].astype(np.float64).reshape(-1, cols) for name in ("x", "dy"))
    mean, rstd = (inputs[name].astype(np.float64)[:, None] for name in ("mean", "rstd"))
    n, g = (x - mean) * rstd, dy * inputs["gamma"].astype(np.float64)
    dx = rstd * (g - g.mean(axis=1, keepdims=True) - n * (g * n).mean(axis=1, keepdims=True))
    return {"dx": dx.ravel(), "dgamma": (dy * n).sum(axis=0), "dbeta": dy.sum(axis=0)}
