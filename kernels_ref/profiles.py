"""Oracles for the kernels whose profile is read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def heights(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Half of the first field of each record of four."""
    return {"out": 0.5 * inputs["p"].astype(np.float64)[::4]}


def row_sums(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The sum of each row of 32."""
    return {"sums": inputs["x"].astype(np.float64).reshape(-1, 32).sum(axis=1)}


COOLING_STEPS, COOLING_RATE, ROOM = 48, 0.05, 20.0


def cooled(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The temperature after all steps, each of which takes away a part of the difference to the room."""
    kept = (1 - COOLING_RATE) ** COOLING_STEPS
    return {"out": ROOM + kept * (inputs["start"].astype(np.float64) - ROOM)}


def potential(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The sum over the charges of charge · 2^(-distance / length) / distance, at points of the plane z = 0."""
    points = inputs["points"].astype(np.float64).reshape(-1, 1, 2)
    charges = inputs["charges"].astype(np.float64).reshape(1, -1, 4)
    square = ((charges[..., :2] - points) ** 2).sum(axis=2) + charges[..., 2] ** 2 + 0.01
    distance = np.sqrt(square)
    return {"out": (charges[..., 3] * np.exp2(-distance / numbers["length"]) / distance).sum(axis=1)}


def above(inputs: Inputs, numbers: Numbers) -> Outputs:
    """How many floats of each row of 256 are larger than each of the levels 0, 0.25 … 1.75."""
    rows = inputs["x"].astype(np.float64).reshape(-1, 256, 1)
    return {"counts": (rows > 0.25 * np.arange(8)).sum(axis=1).astype(np.float64).reshape(-1)}


def squares(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Each matrix of 64 × 64 times itself."""
    matrices = inputs["a"].astype(np.float64).reshape(-1, 64, 64)
    return {"out": (matrices @ matrices).reshape(-1)}
