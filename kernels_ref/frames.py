"""Oracles for kernels that go through a recording frame by frame."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]

_BATCH = 4096  # frames converted at a time: 32 MiB of float64 at 1024 samples a frame


def energy(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[f]`` = the sum of the squares of frame f's samples. ``x`` is (frames·length,), ``out`` (frames,)."""
    frames = inputs["x"].reshape(int(numbers["frames"]), -1)
    starts = range(0, len(frames), _BATCH)
    parts = [_row_energy(frames[start : start + _BATCH].astype(np.float64)) for start in starts]
    return {"out": np.concatenate(parts)}


def _row_energy(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    result: npt.NDArray[np.float64] = np.einsum("ij,ij->i", rows, rows)
    return result


def peak(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[f]`` = the largest |sample| of frame f. ``x`` is (frames·length,), ``out`` (frames,)."""
    frames = inputs["x"].reshape(int(numbers["frames"]), -1)
    largest = np.maximum(frames.max(axis=1), -frames.min(axis=1))  # no copy of 256 MiB for the absolute values
    return {"out": largest.astype(np.float64)}
