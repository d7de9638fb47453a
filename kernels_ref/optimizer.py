"""Oracles for optimizers: steps of parameters along their gradients."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Inputs = Mapping[str, npt.NDArray[np.generic]]
Numbers = Mapping[str, float]
Outputs = dict[str, npt.NDArray[np.float64]]


def adamw(inputs: Inputs, numbers: Numbers) -> Outputs:
    """One step of AdamW (Loshchilov and Hutter, arXiv 1711.05101, algorithm 2); all arrays are (n,).

    ``correction1`` is ``1 - beta1^t`` in step t, ``correction2`` is ``1 - beta2^t``; ``decay`` is times ``lr``, as in
    PyTorch.
    """
    names = ("lr", "decay", "beta1", "beta2", "eps", "correction1", "correction2")
    lr, decay, beta1, beta2, eps, correction1, correction2 = (float(np.float32(numbers[name])) for name in names)
    p, g, m, v = (inputs[name].astype(np.float64) for name in ("p", "g", "m", "v"))
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    step = decay * p + m / correction1 / (np.sqrt(v / correction2) + eps)
    return {"p_new": p - lr * step, "m_new": m, "v_new": v}


def grad_norm_clip(inputs: Inputs, numbers: Numbers) -> Outputs:
    """A gradient ``g`` of (n,), scaled so that its norm is at most ``max_norm``; ``norm`` is that before, (1,).

    As PyTorch's ``clip_grad_norm_``: NaN makes everything NaN, and infinity a scale of 0.
    """
    g = inputs["g"].astype(np.float64)
    with np.errstate(invalid="ignore"):
        norm = np.sqrt(np.sum(g * g))
        scale = np.minimum(1.0, float(np.float32(numbers["max_norm"])) / (norm + 1e-6))
        return {"out": scale * g, "norm": norm.reshape(1)}
