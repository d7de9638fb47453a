"""Library calls for matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]

# cublasOperation_t, cublasComputeType_t and cublasGemmAlgo_t, as cuBLAS's manual numbers them
_NOT_TRANSPOSED, _COMPUTE_32F, _DEFAULT_TENSOR_OP = 0, 68, 99


def matmul(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx``: ``C = A · B``, fp16 in, fp32 accumulation, fp32 out. Needs the cuBLAS library."""
    import numpy as np
    from cupy.cuda import cublas, device, runtime

    m, n, k = (int(numbers[name]) for name in ("m", "n", "k"))
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    a, b, c = (arrays[name].data.ptr for name in ("A", "B", "C"))

    def run() -> None:
        # cuBLAS is column-major: its product of B and A, in that order, is the row-major product of A and B.
        cublas.gemmEx(
            device.get_cublas_handle(), _NOT_TRANSPOSED, _NOT_TRANSPOSED, n, m, k, one.ctypes.data,
            b, runtime.CUDA_R_16F, n, a, runtime.CUDA_R_16F, k, zero.ctypes.data,
            c, runtime.CUDA_R_32F, n, _COMPUTE_32F, _DEFAULT_TENSOR_OP,
        )  # fmt: skip

    return run
