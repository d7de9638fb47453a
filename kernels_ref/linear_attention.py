"""The oracle of attention without a softmax."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]
D = 64


def causal(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``o_t = Σ_{s ≤ t} (q_t · k_s) v_s`` in each head. All arrays are (heads·n·64,)."""
    shape = int(numbers["heads"]), int(numbers["n"]), D
    q, k, v = (inputs[name].astype(np.float64).reshape(shape) for name in "QKV")
    return {"O": (np.tril(q @ k.transpose(0, 2, 1)) @ v).ravel()}
