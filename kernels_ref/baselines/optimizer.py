"""Optimizers as few CuPy kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def adamw(arrays: Arrays, numbers: Numbers) -> Run:
    """One CuPy kernel for the step, into ``p_new``, ``m_new`` and ``v_new``."""
    import cupy

    scalars = ("lr", "decay", "beta1", "beta2", "eps", "correction1", "correction2")
    fused = cupy.ElementwiseKernel(
        f"float32 p, float32 g, float32 m, float32 v, {', '.join(f'float32 {name}' for name in scalars)}",
        "float32 p_new, float32 m_new, float32 v_new",
        "m_new = beta1 * m + (1.0f - beta1) * g; v_new = beta2 * v + (1.0f - beta2) * g * g;"
        "p_new = p - lr * (decay * p + m_new / correction1 / (sqrtf(v_new / correction2) + eps))",
        "adamw",
    )
    given = [arrays[name] for name in ("p", "g", "m", "v")] + [cupy.float32(numbers[name]) for name in scalars]
    return partial(fused, *given, *(arrays[name] for name in ("p_new", "m_new", "v_new")))


def grad_norm_clip(arrays: Arrays, numbers: Numbers) -> Run:
    """A CuPy reduction in float64 for ``norm``, and a kernel that scales into ``out``."""
    import cupy

    square_root = cupy.ReductionKernel(
        "float32 g",
        "float32 norm",
        "(double)g * g",
        "a + b",
        "norm = sqrt(a)",
        "0",
        "square_root",
        reduce_type="double",
    )
    scale = cupy.ElementwiseKernel(
        "float32 g, raw float32 norm, float32 max_norm",
        "float32 out",
        "float scale = max_norm / (norm[0] + 1e-6f); out = scale > 1.0f ? g : g * scale",
        "scale",
    )
    g, out, norm = (arrays[name] for name in ("g", "out", "norm"))
    limit = cupy.float32(numbers["max_norm"])

    def run() -> None:
        square_root(g, norm.reshape(()))
        scale(g, norm, limit, out)

    return run
