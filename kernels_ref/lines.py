"""Oracles for what a detector delivers line by line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]

STRIP = 64
"""The first samples of a line, which tell how strong the background is in it."""


def remove_background(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Each line without spikes, less ``profile`` times the line's strength: the product of both over the strip.

    ``x`` is (lines·width,), ``profile`` (width,), ``out`` (lines·width,).
    """
    profile = inputs["profile"].astype(np.float64)
    clean = without_spikes(inputs["x"].astype(np.float64).reshape(-1, len(profile)))
    strength = clean[:, :STRIP] @ profile[:STRIP]
    return {"out": (clean - strength[:, None] * profile).reshape(-1)}


def without_spikes(lines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Each sample, or the middle one of it and its neighbours in the line. (lines, width) to the same shape."""
    clean = lines.copy()
    neighbours = np.stack((lines[:, :-2], lines[:, 1:-1], lines[:, 2:]))
    clean[:, 1:-1] = np.median(neighbours, axis=0)
    return clean
