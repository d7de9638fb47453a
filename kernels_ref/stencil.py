"""Oracles for a rod that is heated at one end."""

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
