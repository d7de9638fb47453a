"""Oracles for kernels that treat each element by itself."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def add(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``c = a + b``, element by element. Shapes: ``a``, ``b`` and ``c`` are (n,)."""
    return {"c": np.add(inputs["a"], inputs["b"], dtype=np.float64)}
