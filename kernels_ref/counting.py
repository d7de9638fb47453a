"""Oracles for kernels that count, scatter or select."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def histogram(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``counts[k]``: how many of ``x``, (n,), are k, for k from 0 to 255."""
    return {"counts": np.bincount(inputs["x"].astype(np.int64), minlength=256).astype(np.float64)}


def sort_rows(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Each row of ``keys``, (rows, cols), in ascending order."""
    rows = inputs["keys"].reshape(-1, int(numbers["cols"]))
    return {"sorted": np.sort(rows, axis=1).astype(np.float64).reshape(-1)}


def digit_pass(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``keys`` and ``values``, (n,), by the four bits of the key from ``shift`` on; equal ones stay in order."""
    digits = inputs["keys"].astype(np.int64) >> int(numbers["shift"]) & 15
    order = np.argsort(digits, kind="stable")
    return {f"out_{name}": inputs[name].astype(np.float64)[order] for name in ("keys", "values")}


def index_add(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[r, :]``: the sum of those rows i of ``x``, (n, 64), whose ``index[i]`` is r."""
    out = np.zeros((int(numbers["rows"]), 64))
    with np.errstate(invalid="ignore"):  # infinity - infinity
        np.add.at(out, inputs["index"], inputs["x"].reshape(-1, 64).astype(np.float64))
    return {"out": out.reshape(-1)}


def topk(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Of each row of ``x`` the 8 largest, and their places; equal ones by place, a NaN above all numbers."""
    x = inputs["x"].astype(np.float64).reshape(-1, int(numbers["cols"]))
    places = np.lexsort((-x, ~np.isnan(x)), axis=1)[:, :8]
    values = np.take_along_axis(x, places, axis=1)
    return {"values": values.reshape(-1), "places": places.astype(np.float64).reshape(-1)}
