"""Oracles for numbers in few bits: 4-bit weights, 8-bit keys."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]

GROUP = 128
"""Weights of a row that share a scale and a zero point."""

TOKENS, CHANNELS = 64, 128
"""Of a tile of keys whose channels have a scale each."""

ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""The weights of a word, from its lowest four bits upwards."""


def w4a16_gemv(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = W · x`` with ``scale · (q - zero)`` for each weight. ``W`` is (m·k/8,) words, ``scales`` (m·k/128,)."""
    m, k = (int(numbers[name]) for name in ("m", "k"))
    bits = np.empty((m * k // 8, 8))
    for place, weight in enumerate(ORDER):
        bits[:, weight] = inputs["W"] >> np.uint32(4 * place) & np.uint32(15)
    scale, zero = (inputs[name].astype(np.float64)[:, None] for name in ("scales", "zeros"))
    weights = scale * (bits.reshape(-1, GROUP) - zero)
    return {"y": weights.reshape(m, k) @ inputs["x"].astype(np.float64)}


def keys_int8(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Bytes ``rint(k · (127 / largest))`` in single precision, and ``largest / 127`` for each channel of 64 tokens."""
    tokens, heads = int(numbers["tokens"]), int(numbers["batch"] * numbers["heads"])
    groups = -(-tokens // TOKENS)
    keys = inputs["K"].astype(np.float32).reshape(heads, tokens, CHANNELS)
    padded = np.zeros((heads, groups * TOKENS, CHANNELS), np.float32)
    padded[:, :tokens] = keys
    largest = np.abs(padded.reshape(heads, groups, TOKENS, CHANNELS)).max(axis=2)
    with np.errstate(divide="ignore"):
        inverse = np.where(largest > 0, np.float32(127) / largest, np.float32(0))
    steps = np.rint(keys * np.repeat(inverse, TOKENS, axis=1)[:, :tokens])
    return {"q": steps.astype(np.float64).ravel(), "scales": largest.astype(np.float64).ravel() / 127}
