"""Library calls for matrix products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]

# cublasOperation_t, cublasComputeType_t, cublasGemmAlgo_t and cudaDataType, as the manuals number them
_NOT_TRANSPOSED, _TRANSPOSED = 0, 1
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _COMPUTE_32I = 68, 77, 72
_DEFAULT, _DEFAULT_TENSOR_OP = -1, 99
_FLOAT32, _FLOAT16, _INT8, _INT32 = 0, 2, 3, 10

# cuBLAS is column-major: what is row-major here it reads as the transpose. So the row-major product of A and B is its
# product of B and A, in that order.


def matmul(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx``: ``C = A · B``, fp16 in, fp32 accumulation, fp32 out. Needs the cuBLAS library."""
    return _row_major(arrays, numbers, _FLOAT16, _COMPUTE_32F, _DEFAULT_TENSOR_OP)


def sgemm(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` in fp32: ``C = A · B``, inputs, multiplications and sums in fp32, no TF32."""
    return _row_major(arrays, numbers, _FLOAT32, _COMPUTE_32F, _DEFAULT)


def sgemm_tf32(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` with inputs rounded to TF32: the tensor cores' product of floats, 11 bits of each input."""
    return _row_major(arrays, numbers, _FLOAT32, _COMPUTE_32F_FAST_TF32, _DEFAULT_TENSOR_OP)


def matvec(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` with a vector for B: ``y = A · x``, fp16 in, fp32 accumulation, fp32 out."""
    m, k = (int(numbers[name]) for name in ("m", "k"))
    # A, of k rows as cuBLAS reads it, transposed back, times x, a matrix of one column.
    left, right = (arrays["A"], _TRANSPOSED, k), (arrays["x"], _NOT_TRANSPOSED, k)
    return _gemm_ex(left, right, arrays["y"], (m, 1, k), (_FLOAT16, _FLOAT32), _COMPUTE_32F, _DEFAULT_TENSOR_OP)


def igemm(arrays: Arrays, numbers: Numbers) -> Run:
    """cuBLAS's ``gemmEx`` of int8, on the tensor cores: ``C = A · B`` with B column by column, sums in int32."""
    m, n, k = (int(numbers[name]) for name in ("m", "n", "k"))
    # B is column-major as it is, of k rows, and has to be transposed; A is read as its transpose already.
    left, right = (arrays["B"], _TRANSPOSED, k), (arrays["A"], _NOT_TRANSPOSED, k)
    return _gemm_ex(left, right, arrays["C"], (n, m, k), (_INT8, _INT32), _COMPUTE_32I, _DEFAULT_TENSOR_OP)


def _row_major(arrays: Arrays, numbers: Numbers, inputs: int, compute: int, algorithm: int) -> Run:
    """``C = A · B``, all row-major, C in fp32."""
    m, n, k = (int(numbers[name]) for name in ("m", "n", "k"))
    left, right = (arrays["B"], _NOT_TRANSPOSED, n), (arrays["A"], _NOT_TRANSPOSED, k)
    return _gemm_ex(left, right, arrays["C"], (n, m, k), (inputs, _FLOAT32), compute, algorithm)


Operand = tuple[Any, int, int]
"""An array, whether it is transposed, and its leading dimension."""


def _gemm_ex(
    left: Operand, right: Operand, result: Any, shape: tuple[int, int, int], types: tuple[int, int], compute: int,
    algorithm: int,
) -> Run:  # fmt: skip
    """``result = left · right``, as cuBLAS has it. ``shape``: rows, columns, inner; ``types``: inputs' and result's."""
    import numpy as np
    from cupy.cuda import cublas, device

    scalar = np.int32 if compute == _COMPUTE_32I else np.float32
    one, zero = np.ones(1, scalar), np.zeros(1, scalar)
    (a, a_transposed, a_leading), (b, b_transposed, b_leading) = left, right
    inputs, output = types

    def run() -> None:
        cublas.gemmEx(
            device.get_cublas_handle(), a_transposed, b_transposed, *shape, one.ctypes.data,
            a.data.ptr, inputs, a_leading, b.data.ptr, inputs, b_leading, zero.ctypes.data,
            result.data.ptr, output, shape[0], compute, algorithm,
        )  # fmt: skip

    return run
