"""Oracles for attention: softmax(Q · Kᵀ / √d) · V for each head."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def forward(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``O = softmax(Q · Kᵀ / √d) · V``, head by head; Q and O are (heads, n_q, d), K and V (heads, n_k, d).

    With ``causal``, query i sees the keys j ≤ i + n_k - n_q, so the last query sees all; a query without keys gives 0.
    """
    heads, n_q, n_k, d = (int(numbers[name]) for name in ("heads", "n_q", "n_k", "d"))
    q = inputs["Q"].astype(np.float64).reshape(heads, n_q, d)
    k, v = (inputs[name].astype(np.float64).reshape(heads, n_k, d) for name in ("K", "V"))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d)
    if numbers.get("causal"):
        hidden = np.arange(n_k)[None, :] > np.arange(n_q)[:, None] + (n_k - n_q)
        scores = np.where(hidden, -np.inf, scores)
    largest = scores.max(axis=2, keepdims=True)
    terms = np.exp(scores - np.where(np.isneginf(largest), 0.0, largest))
    sums = terms.sum(axis=2, keepdims=True)
    return {"O": (terms @ v / np.where(sums == 0.0, 1.0, sums)).ravel()}
