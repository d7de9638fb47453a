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


def matvec(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = A · x``, row-major. Shapes: ``A`` is (m·k,), ``x`` (k,), ``y`` (m,)."""
    m, k = (int(numbers[name]) for name in ("m", "k"))
    return {"y": inputs["A"].astype(np.float64).reshape(m, k) @ inputs["x"].astype(np.float64)}


def matmul_i8(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``C = A · B`` of integers, ``B`` column by column. Shapes: ``A`` is (m·k,), ``B`` (n·k,), ``C`` (m·n,)."""
    m, n, k = (int(numbers[name]) for name in ("m", "n", "k"))
    a = inputs["A"].astype(np.float64).reshape(m, k)
    b = inputs["B"].astype(np.float64).reshape(n, k)  # a row of this is a column of B
    return {"C": (a @ b.T).ravel()}  # exact: all sums are integers far below 2^53
