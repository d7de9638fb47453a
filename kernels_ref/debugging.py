"""Oracles for the kernels of which each has a bug to be found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Array = npt.NDArray[np.float64]
Outputs = dict[str, Array]


def _rows(inputs: Inputs, count: float) -> Array:
    return inputs["x"].astype(np.float64).reshape(int(count), -1)


def frame_energy(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The sum of the squares of each frame."""
    return {"energy": (_rows(inputs, numbers["frames"]) ** 2).sum(axis=1)}


def peak_level(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The largest absolute value."""
    return {"out": np.abs(inputs["x"].astype(np.float64)).max(keepdims=True)}


def row_length(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The Euclidean norm of each row."""
    return {"out": np.sqrt((_rows(inputs, numbers["rows"]) ** 2).sum(axis=1))}


def grey_histogram(inputs: Inputs, numbers: Numbers) -> Outputs:
    """How often each value from 0 to 255 occurs."""
    return {"bins": np.bincount(inputs["image"].astype(np.int64), minlength=256).astype(np.float64)}


def unit_vectors(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Each row over its Euclidean norm; a row of zeros stays as it is."""
    x = _rows(inputs, numbers["rows"])
    length = np.sqrt((x * x).sum(axis=1, keepdims=True))
    return {"y": (x / np.where(length > 0, length, 1.0)).ravel()}


def delta_rows(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The difference of each element and the one before it in its row (0 before the first), and each row's largest."""
    delta = np.diff(_rows(inputs, numbers["rows"]), axis=1, prepend=0.0)
    return {"delta": delta.ravel(), "widest": np.abs(delta).max(axis=1)}


def channel_stats(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Mean and variance (of n, not n - 1) of each channel."""
    x = _rows(inputs, numbers["channels"])
    return {"mean": x.mean(axis=1), "variance": x.var(axis=1)}


def stretch_rows(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Each row moved and scaled to 0 … 1; a row of one value becomes 0."""
    x = _rows(inputs, numbers["rows"])
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    return {"y": ((x - low) / np.where(high > low, high - low, 1.0)).ravel()}
