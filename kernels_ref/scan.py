"""Oracles for prefix sums and what is built on them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]

TILE = 1024


def inclusive(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[i] = x[0] + … + x[i]``. Shapes: ``x`` and ``out`` are (n,)."""
    return {"out": np.cumsum(inputs["x"], dtype=np.float64)}


def tiles(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The exclusive prefix sum of each tile of 1024: ``out[i]`` is the sum of the elements before i in its tile."""
    x = inputs["x"].astype(np.float64)
    padded = np.zeros(-(-len(x) // TILE) * TILE)
    padded[: len(x)] = x
    rows = padded.reshape(-1, TILE)
    sums = np.zeros_like(rows)
    np.cumsum(rows[:, :-1], axis=1, out=sums[:, 1:])
    return {"out": sums.reshape(-1)[: len(x)]}


def positive(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The elements above 0 of ``x``, in their order, and how many there are. What follows them in ``out`` is unwritten.

    Unwritten elements hold NaN: outputs do before the launch. No NaN is above 0, so none is among those kept.
    """
    x = inputs["x"].astype(np.float64)
    kept = x[x > 0]
    out = np.full(len(x), np.nan)
    out[: len(kept)] = kept
    return {"out": out, "count": np.array([len(kept)], dtype=np.float64)}
