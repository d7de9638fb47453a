"""Oracles for kernels that are about how warps execute, and how they wait for less."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]

RUN = 8
"""Words that a sensor sends before it is the other one's turn."""
POLYNOMIAL = 0xEDB88320
"""Of CRC-32, lowest bit first, as Ethernet and zlib use it."""
GROUP = 32
"""Messages of a group: as many as a warp has lanes."""
ROWS = 256
"""Distances are added up for so many points at a time, so that the table of all pairs is never in memory."""


def decode(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Runs of 8 words of two sensors in turn, for ``divergence``; ``x`` and ``out`` are (n,), 32-bit words.

    Where ``i // 8`` is even, ``out[i]`` is what 20 steps of xorshift32 make of ``x[i]``, else 32 steps of a CRC-32;
    ``rounds`` times.
    """
    words = inputs["x"].astype(np.uint32)
    of_b = np.arange(len(words)) // RUN % 2 == 1
    for _ in range(int(numbers["rounds"])):
        words = np.where(of_b, _crc_steps(words), _xorshift_steps(words))
    return {"out": words.astype(np.float64)}


def _xorshift_steps(x: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """G. Marsaglia's generator with the shifts 13, 17 and 5 ("Xorshift RNGs", 2003)."""
    for _ in range(20):
        x = x ^ x << np.uint32(13)
        x = x ^ x >> np.uint32(17)
        x = x ^ x << np.uint32(5)
    return x


def _crc_steps(x: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """32 steps of the register of a CRC-32, with no bits shifted in: ``zlib.crc32`` without its two inversions."""
    for _ in range(32):
        x = x >> np.uint32(1) ^ np.uint32(POLYNOMIAL) * (x & np.uint32(1))
    return x


def distances(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out[i] = Σ |x[i] - y[j]|`` over all j, for ``occupancy``. ``x`` and ``out`` are (n,), ``y`` is (m,)."""
    x, y = (inputs[name].astype(np.float64) for name in ("x", "y"))
    parts = [np.abs(x[at : at + ROWS, None] - y).sum(axis=1) for at in range(0, len(x), ROWS)]
    return {"out": np.concatenate(parts)}


def hares(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Hares on each island after ``steps`` steps of ``h``, for ``ilp_unroll``; ``hares``, ``foxes``, ``out`` are (n,).

    A. Lotka's and V. Volterra's equations with all rates 1; of a step's two halves the foxes' one uses the new hares.
    """
    x, y = (inputs[name].astype(np.float64) for name in ("hares", "foxes"))
    h = numbers["h"]
    for _ in range(int(numbers["steps"])):
        x = x + h * x * (1 - y)
        y = y + h * y * (x - 1)
    return {"out": x}


def slew(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Each row's signal, moving by at most ``rate`` from one sample to the next, from 0, for ``async_copy``.

    ``x`` and ``y`` are (rows * cols,).
    """
    x, rate = inputs["x"].astype(np.float64).reshape(-1, int(numbers["cols"])), numbers["rate"]
    y, last = np.empty_like(x), np.zeros(len(x))
    for t in range(x.shape[1]):
        y[:, t] = last = np.clip(x[:, t], last - rate, last + rate)
    return {"y": y.ravel()}


def messages(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Messages of each sensor and changes of its readings, for ``warp_primitives``; ``counts`` is (bins,), others (n,).

    ``changes[i]`` is ``readings[i]`` minus the reading of the last message before i of the same sensor and in the same
    group of 32, and ``readings[i]`` itself if there is none. A sensor below 0 is no message, and gives a change of 0.
    """
    places = np.flatnonzero(inputs["sensors"] >= 0)
    sensors, bins = inputs["sensors"].astype(np.int64)[places], int(numbers["bins"])
    places = places[np.argsort(places // GROUP * bins + sensors, kind="stable")]
    sensors = inputs["sensors"].astype(np.int64)[places]
    follows = np.zeros(len(places), dtype=bool)
    follows[1:] = (sensors[1:] == sensors[:-1]) & (places[1:] // GROUP == places[:-1] // GROUP)
    readings, changes = inputs["readings"].astype(np.float64), np.zeros(len(inputs["sensors"]))
    changes[places] = readings[places]
    changes[places[follows]] -= readings[places[np.flatnonzero(follows) - 1]]
    return {"counts": np.bincount(sensors, minlength=bins).astype(np.float64), "changes": changes}


def stars(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = 1 - exp(-Σ light / (1 + sharp · r²))`` of m stars, for ``fast_math``; ``out`` is (rows * cols,).

    Pixel (row, col) lies at (col · pitch, row · pitch), and r is its distance to a star at (x, y).
    """
    rows, cols, pitch = int(numbers["rows"]), int(numbers["cols"]), numbers["pitch"]
    across, down = np.arange(cols) * pitch, np.arange(rows)[:, None] * pitch
    total = np.zeros((rows, cols))
    for x, y, light in zip(*(inputs[name].astype(np.float64) for name in ("x", "y", "light")), strict=True):
        total += light / (1 + numbers["sharp"] * ((across - x) ** 2 + (down - y) ** 2))
    return {"out": 1 - np.exp(-total.ravel())}
