"""Library calls for matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]

# cublasOperation_t, cublasComputeType_t and cublasGemmAlgo_t, as cuBLAS's manual numbers them
_NOT_TRANSPOSED, _TRANSPOSED, _COMPUTE_32F, _COMPUTE_32F_FAST_TF32 = 0, 1, 68, 77
_DEFAULT, _DEFAULT_TENSOR_OP = -1, 99


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


def sgemm(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` in fp32: ``C = A · B``, inputs, multiplications and sums in fp32, no TF32."""
    return _product_of_floats(arrays, numbers, _COMPUTE_32F, _DEFAULT)


def sgemm_tf32(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` with inputs rounded to TF32: the tensor cores' product of floats, 11 bits of each input."""
    return _product_of_floats(arrays, numbers, _COMPUTE_32F_FAST_TF32, _DEFAULT_TENSOR_OP)


def _product_of_floats(arrays: Arrays, numbers: Numbers, compute: int, algorithm: int) -> Run:
    import numpy as np
    from cupy.cuda import cublas, device, runtime

    m, n, k = (int(numbers[name]) for name in ("m", "n", "k"))
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    a, b, c = (arrays[name].data.ptr for name in ("A", "B", "C"))

    def run() -> None:
        # As above: the column-major product of B and A. The handle's own mode allows no TF32 unless ``compute`` does.
        cublas.gemmEx(
            device.get_cublas_handle(), _NOT_TRANSPOSED, _NOT_TRANSPOSED, n, m, k, one.ctypes.data,
            b, runtime.CUDA_R_32F, n, a, runtime.CUDA_R_32F, k, zero.ctypes.data,
            c, runtime.CUDA_R_32F, n, compute, algorithm,
        )  # fmt: skip

    return run


def matvec(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` with a vector for B: ``y = A · x``, fp16 in, fp32 accumulation, fp32 out."""
    import numpy as np
    from cupy.cuda import cublas, device, runtime

    m, k = (int(numbers[name]) for name in ("m", "k"))
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    a, x, y = (arrays[name].data.ptr for name in ("A", "x", "y"))

    def run() -> None:
        # Read as column-major, A is its own transpose, of k rows: transposed back, times x, a matrix of one column.
        cublas.gemmEx(
            device.get_cublas_handle(), _TRANSPOSED, _NOT_TRANSPOSED, m, 1, k, one.ctypes.data,
            a, runtime.CUDA_R_16F, k, x, runtime.CUDA_R_16F, k, zero.ctypes.data,
            y, runtime.CUDA_R_32F, m, _COMPUTE_32F, _DEFAULT_TENSOR_OP,
        )  # fmt: skip

    return run


# cublasComputeType_t and cudaDataType of integers, as the manuals number them
_COMPUTE_32I, _INT8, _INT32 = 72, 3, 10


def igemm(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` of int8, on the tensor cores: ``C = A · B`` with B column by column, sums in int32."""
    import numpy as np
    from cupy.cuda import cublas, device

    m, n, k = (int(numbers[name]) for name in ("m", "n", "k"))
    one, zero = np.ones(1, np.int32), np.zeros(1, np.int32)
    a, b, c = (arrays[name].data.ptr for name in ("A", "B", "C"))

    def run() -> None:
        # Read as column-major, C is its own transpose: B's, times A's. B is column-major as it is, of k rows, and A is
        # already its transpose, of k rows too.
        cublas.gemmEx(
            device.get_cublas_handle(), _TRANSPOSED, _NOT_TRANSPOSED, n, m, k, one.ctypes.data,
            b, _INT8, k, a, _INT8, k, zero.ctypes.data,
            c, _INT32, n, _COMPUTE_32I, _DEFAULT_TENSOR_OP,
        )  # fmt: skip

    return run
