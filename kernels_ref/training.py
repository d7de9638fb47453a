"""Oracles for GPUs that train one model together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def descent(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out`` = the parameters after all rounds, once for each GPU; ``x`` and ``out`` are (gpus·n,), GPU by GPU.

    They begin at 0. In each round every GPU's gradient is ``weight[gpu] * (x[gpu] - p)``, and
    ``p += rate[round] / 16 · (the sum of all gradients)``. So p stays a multiple of ``sum(weight · x)``, and the same
    multiple for all of its elements.
    """
    weight = inputs["weight"].astype(np.float64)
    multiple = 0.0
    for rate in inputs["rate"].astype(np.float64):
        multiple += rate / 16.0 * (1.0 - multiple * weight.sum())
    x = inputs["x"].reshape(len(weight), -1)
    total = np.zeros(x.shape[1])
    for one, row in zip(weight, x, strict=True):
        total += one * row.astype(np.float64)
    return {"out": np.tile(multiple * total, len(weight))}
