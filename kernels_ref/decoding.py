"""Oracles for attention of one new token for each sequence, against a cache of keys and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]
Halves = npt.NDArray[np.generic]

HEAD = 128
PAGE = 16


def flash(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``out = softmax(q · kᵀ / √128) · v``, head by head, over the first ``lengths[s]`` rows; zeros without any.

    Shapes: ``q`` and ``out`` (seqs, kv_heads, group, 128), ``k`` and ``v`` (seqs, kv_heads, tokens, 128).
    """
    seqs, kv_heads, tokens = (int(numbers[name]) for name in ("seqs", "kv_heads", "tokens"))
    k, v = (inputs[name].reshape(seqs, kv_heads, tokens, HEAD) for name in ("k", "v"))
    lengths = inputs["lengths"].astype(np.int64)
    return _attend(inputs["q"], [(k[s, :, :n], v[s, :, :n]) for s, n in enumerate(lengths)], numbers)


def paged(inputs: Inputs, numbers: Numbers) -> Outputs:
    """The same with ``k`` and ``v`` in pages, (pool, kv_heads, 16, 128); token i is in page ``table[s, i // 16]``.

    ``table`` is (seqs, cdiv(tokens, 16)). Where the pool repeats its first pages, ``pool`` is how many these are.
    """
    seqs, kv_heads, pool = (int(numbers[name]) for name in ("seqs", "kv_heads", "pool"))
    k, v = (inputs[name].reshape(pool, kv_heads, PAGE, HEAD) for name in ("k", "v"))
    table = inputs["table"].reshape(seqs, -1) % pool
    caches = []
    for s, n in enumerate(inputs["lengths"].astype(np.int64)):
        pages = table[s, : -(-n // PAGE)]
        rows = (cache[pages].transpose(1, 0, 2, 3).reshape(kv_heads, -1, HEAD)[:, :n] for cache in (k, v))
        caches.append(tuple(rows))
    return _attend(inputs["q"], caches, numbers)


def _attend(q: Halves, caches: Sequence[tuple[Halves, ...]], numbers: Numbers) -> Outputs:
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
