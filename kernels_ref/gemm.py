"""Oracles for matrix products."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def matmul(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``C = A · B``, row-major. Shapes: ``A`` is (m·k,), ``B`` (k·n,), ``C`` (m·n,)."""
    m, n, k = (int(numbers[name]) for name in ("m", "n", "k"))
    a = inputs["A"].astype(np.float64).reshape(m, k)
    b = inputs["B"].astype(np.float64).reshape(k, n)
    return {"C": (a @ b).ravel()}
