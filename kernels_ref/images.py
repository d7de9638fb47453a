"""Oracles for kernels on images and planes of pixels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def gray(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``gray[y, x] = (77·red + 150·green + 29·blue) / 256``; a row of ``rgba`` is width pixels and ``pad`` bytes."""
    width, height, pad = (int(numbers[name]) for name in ("width", "height", "pad"))
    rows = inputs["rgba"].astype(np.float64).reshape(height, 4 * width + pad)
    pixels = rows[:, : 4 * width].reshape(height * width, 4)
    return {"gray": pixels @ np.array([77.0, 150.0, 29.0, 0.0]) / 256}


def upsample_nearest_2d(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Planes of twice the height and width, and the gradient's way back; ``x`` and ``dx`` are (planes·h·w,).

    ``y[p, r, c] = x[p, r // 2, c // 2]``, and ``dx`` is the sum of the four values of ``dy`` that came from its place.
    """
    rows, w = int(numbers["planes"] * numbers["h"]), int(numbers["w"])
    x = inputs["x"].astype(np.float64).reshape(rows, w)
    dy = inputs["dy"].astype(np.float64).reshape(rows, 2, w, 2)
    return {"y": x.repeat(2, axis=0).repeat(2, axis=1).ravel(), "dx": dy.sum(axis=(1, 3)).ravel()}


def max_pool(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The largest value, or NaN, of each 2 x 2 square of a plane.

    ``x`` is (planes·h·w,), and ``y`` (planes·(h//2)·(w//2),).
    """
    planes, h, w = (int(numbers[name]) for name in ("planes", "h", "w"))
    x = inputs["x"].astype(np.float64).reshape(planes, h, w)[:, : h // 2 * 2, : w // 2 * 2]
    return {"y": x.reshape(planes, h // 2, 2, w // 2, 2).max(axis=(2, 4)).ravel()}


def im2col(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The 3 x 3 patches of each plane with a border of zeros, as ``torch.nn.functional.unfold`` orders them.

    ``x`` is (planes·h·w,), and ``y`` (planes·9·h·w,).
    """
    planes, h, w = (int(numbers[name]) for name in ("planes", "h", "w"))
    x = np.zeros((planes, h + 2, w + 2))
    x[:, 1:-1, 1:-1] = inputs["x"].reshape(planes, h, w)
    taps = [x[:, i : i + h, j : j + w] for i in range(3) for j in range(3)]
    return {"y": np.stack(taps, axis=1).ravel()}
