"""Oracles for kernels that are about where data lies in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def regroup(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The same ``32·rows`` floats in three other orders, for ``bank_conflicts``; every array is (32·rows,).

    ``planes``: pairs taken apart, ``planes[16*rows*s + p] = x[2*p + s]``; ``merged``: eight planes interleaved,
    ``merged[8*f + p] = x[4*rows*p + f]``; ``columns``: rows of 32 transposed, ``columns[rows*c + r] = x[32*r + c]``.
    """
    x = inputs["x"].astype(np.float64)
    return {
        "planes": x.reshape(-1, 2).T.ravel(),
        "merged": x.reshape(8, -1).T.ravel(),
        "columns": x.reshape(-1, 32).T.ravel(),
    }


def transpose(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[c*rows + r] = x[r*cols + c]``. ``x`` is (rows·cols,), ``out`` (cols·rows,)."""
    x = inputs["x"].astype(np.float64).reshape(int(numbers["rows"]), int(numbers["cols"]))
    return {"out": x.T.ravel()}


def split_fields(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Records of four fields, taken apart: ``planes[f*n + i] = particles[4*i + f]``; both arrays are (4·n,)."""
    return {"planes": inputs["particles"].astype(np.float64).reshape(-1, 4).T.ravel()}


def join_fields(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The way back: ``particles[4*i + f] = planes[f*n + i]``; both arrays are (4·n,)."""
    return {"particles": inputs["planes"].astype(np.float64).reshape(4, -1).T.ravel()}
