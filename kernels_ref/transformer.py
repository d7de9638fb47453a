"""Oracles for what stands between the matrix products of a transformer: rotations, activations, dropout."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Reals = npt.NDArray[np.float64]
Outputs = dict[str, Reals]


def rope(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Pair i of each head, (x[i], x[i + dim/2]), turned by ``position · base^(-2i / dim)``.

    ``x`` and ``y`` are (tokens·heads·dim,), ``positions`` is (tokens,).
    """
    x, cosine, sine = _rope(inputs, numbers)
    left, right = np.split(x, 2, axis=2)
    return {"y": np.concatenate((left * cosine - right * sine, right * cosine + left * sine), axis=2).ravel()}


def rope_neighbours(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Like `rope`, but pair i of a head is (x[2i], x[2i + 1])."""
    x, cosine, sine = _rope(inputs, numbers)
    left, right = x[:, :, 0::2], x[:, :, 1::2]
    return {"y": np.stack((left * cosine - right * sine, right * cosine + left * sine), axis=3).ravel()}


def _rope(inputs: Inputs, numbers: Numbers) -> tuple[Reals, Reals, Reals]:
    """``x`` by token, head and element; cosines and sines of the angles by token, 1 and pair."""
    tokens, heads, dim = (int(numbers[name]) for name in ("tokens", "heads", "dim"))
    positions = inputs["positions"].astype(np.float64)
    angles = positions[:, None, None] * numbers["base"] ** (-np.arange(0, dim, 2) / dim)
    return inputs["x"].astype(np.float64).reshape(tokens, heads, dim), np.cos(angles), np.sin(angles)


def gelu_bias_dropout(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = dropout(gelu(x + bias))``, with GELU's tanh form, and the bits of the elements that are kept.

    ``x`` and ``y`` are (rows·cols,), ``bias`` is (cols,), ``mask`` (rows·cols/32,): bit k of word j is element 32j + k.
    """
    p = float(np.float32(numbers["p"]))  # the kernel's parameter is a float
    x = inputs["x"].astype(np.float64).reshape(-1, int(numbers["cols"])) + inputs["bias"].astype(np.float64)
    gelu = x / (1.0 + np.exp(-2.0 * np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
    kept = philox(x.size, int(numbers["seed"]), int(numbers["offset"])) >= p * 2.0**32
    mask = np.packbits(kept.reshape(-1, 32), axis=1, bitorder="little").view("<u4")
    return {"y": np.where(kept, gelu.ravel(), 0.0) / (1.0 - p), "mask": mask.ravel().astype(np.float64)}


def philox(count: int, seed: int, offset: int) -> npt.NDArray[np.uint64]:
    """``count`` words of Philox4x32-10: four for each counter (index, 0, offset, 0), with the key (seed, 0)."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    index = np.arange(-(-count // 4), dtype=np.uint64)
    c0, c1, c2, c3 = index, np.zeros_like(index), np.full_like(index, offset), np.zeros_like(index)
    key0, key1 = seed, 0
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> half) ^ c1 ^ np.uint64(key0), p1 & low, (p0 >> half) ^ c3 ^ np.uint64(key1), p0 & low
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack((c0, c1, c2, c3), axis=1).ravel()[:count]
