"""Oracles for kernels that turn rows of numbers into shares of one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def rows(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = exp(x - m) / Σ exp(x - m)`` along each row, m its largest value. ``x`` and ``y`` are (rows·cols,)."""
    x = inputs["x"].astype(np.float64).reshape(int(numbers["rows"]), int(numbers["cols"]))
    with np.errstate(invalid="ignore"):  # NaN and infinity minus infinity are NaN, as on a GPU
        terms = np.exp(x - x.max(axis=1, keepdims=True))
    shares = terms / terms.sum(axis=1, keepdims=True)
    return {"y": shares.ravel()}


def log_rows(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``y = x - m - log Σ exp(x - m)`` along each row, m its largest value: the logarithms of the shares."""
    x = inputs["x"].astype(np.float64).reshape(int(numbers["rows"]), int(numbers["cols"]))
    below = x - x.max(axis=1, keepdims=True)
    return {"y": (below - np.log(np.exp(below).sum(axis=1, keepdims=True))).ravel()}


def cross_entropy(inputs: Inputs, numbers: Numbers) -> Outputs:
    """``loss = m + log Σ exp(x - m) - x[label]`` for each row of logits; 0 where the label is negative.

    ``logits`` is (rows·cols,), ``labels`` and ``loss`` are (rows,).
    """
    logits = inputs["logits"].astype(np.float64).reshape(-1, int(numbers["cols"]))
    labels = inputs["labels"].astype(np.int64)
    largest = logits.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # NaN and infinity minus infinity are NaN, as on a GPU
        sums = np.exp(logits - largest).sum(axis=1)
        losses = np.log(sums) + (largest[:, 0] - logits[np.arange(len(labels)), np.maximum(labels, 0)])
    return {"loss": np.where(labels < 0, 0.0, losses)}


def topk(inputs: Inputs, numbers: Numbers) -> Outputs:
    """Of each row of 64 the 8 largest, equal ones by place: their softmax, and their places."""
    logits = inputs["logits"].astype(np.float64).reshape(-1, 64)
    experts = np.argsort(-logits, axis=1, kind="stable")[:, :8]
    chosen = np.take_along_axis(logits, experts, axis=1)
    weights = np.exp(chosen - chosen[:, :1])
    weights /= weights.sum(axis=1, keepdims=True)
    return {"weights": weights.ravel(), "experts": experts.astype(np.float64).ravel()}
