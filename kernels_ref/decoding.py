"""Oracles for attention of one new token for each sequence, against a cache of keys and values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]
Halves = npt.NDArray[np.generic]

HEAD = 128


def flash(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = softmax(q · kᵀ / √128) · v``, head by head, over the first ``lengths[s]`` rows; zeros without any.

    Shapes: ``q`` and ``out`` (seqs, kv_heads, group, 128), ``k`` and ``v`` (seqs, kv_heads, tokens, 128).
    """
    seqs, kv_heads, tokens = (int(numbers[name]) for name in ("seqs", "kv_heads", "tokens"))
    k, v = (inputs[name].reshape(seqs, kv_heads, tokens, HEAD) for name in ("k", "v"))
    lengths = inputs["lengths"].astype(np.int64)
    return _attend(inputs["q"], [(k[s, :, :n], v[s, :, :n]) for s, n in enumerate(lengths)], numbers)


def _attend(q: Halves, caches: list[tuple[Halves, Halves]], numbers: Numbers) -> Outputs:
    """Each sequence's queries with its keys and values, both (kv_heads, length, 128)."""
    queries = q.astype(np.float64).reshape(len(caches), int(numbers["kv_heads"]), int(numbers["group"]), HEAD)
    out = np.zeros_like(queries)
    for s, (k, v) in enumerate(caches):
        if k.shape[1] == 0:
            continue
        scores = queries[s] @ k.astype(np.float64).transpose(0, 2, 1) / np.sqrt(HEAD)
        terms = np.exp(scores - scores.max(axis=2, keepdims=True))
        out[s] = terms @ v.astype(np.float64) / terms.sum(axis=2, keepdims=True)
    return {"out": out.ravel()}
