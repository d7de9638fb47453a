"""Oracles for stencils: each result is a weighted sum of neighbours. One is a rod that is heated at one end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def heated(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out`` = the temperatures after all steps: ``x`` and ``out`` are (n,), ``heat`` is (steps,).

    In each step every point takes ¼ of its left neighbour, ½ of itself and ¼ of its right neighbour, all of the step
    before. Left of point 0 is ``heat[step]``; the last point is its own right neighbour.
    """
    rod = np.empty(len(inputs["x"]) + 2)
    left, here, right = rod[:-2], rod[1:-1], rod[2:]
    here[:] = inputs["x"]
    around = np.empty_like(here)
    for heat in inputs["heat"].astype(np.float64):
        rod[0], rod[-1] = heat, rod[-2]
        np.add(left, right, out=around)
        around *= 0.5
        here += around
        here *= 0.5
    return {"out": here.copy()}


def weighted_line(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[i] = Σ weights[k] · x[i + k - radius]``, x is 0 outside; ``x`` and ``out`` are (n,), ``weights`` is odd."""
    weights, n = inputs["weights"].astype(np.float64), len(inputs["x"])
    around = np.pad(inputs["x"].astype(np.float64), len(weights) // 2)
    out = np.zeros(n)
    for k, weight in enumerate(weights):
        out += weight * around[k : k + n]
    return {"out": out}


def weighted_image(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[r, c] = Σ mask[i, j] · image[r + i - 3, c + j - 3]``, and the image is 0 outside of its rows and columns.

    ``image`` and ``out`` are (rows·cols,), ``mask`` is (49,): seven rows of seven.
    """
    rows, cols = int(numbers["rows"]), int(numbers["cols"])
    mask = inputs["mask"].astype(np.float64).reshape(7, 7)
    around = np.pad(inputs["image"].astype(np.float64).reshape(rows, cols), 3)
    out = np.zeros((rows, cols))
    for i in range(7):
        for j in range(7):
            out += mask[i, j] * around[i : i + rows, j : j + cols]
    return {"out": out.ravel()}
