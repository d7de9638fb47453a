"""A tensor map as the driver encodes it. Child side.

The driver wants the map on a boundary of 64 bytes, which cuda-bindings' own object does not lie on: so the function is
called at its address, with memory of ours.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from grader.launch import TensorMap

SIZE, ALIGN = 128, 64
CUDA_VERSION = 12000  # the first release that had the function

_TYPES = {
    "float16": "FLOAT16", "float32": "FLOAT32", "float64": "FLOAT64", "bfloat16": "BFLOAT16", "int8": "UINT8",
    "uint8": "UINT8", "int16": "UINT16", "uint16": "UINT16", "int32": "INT32", "uint32": "UINT32", "int64": "INT64",
    "uint64": "UINT64",
}  # fmt: skip
"""CUtensorMapDataType by dtype. TMA only copies: the sign of small integers, which it has no types for, is all one."""

_U32, _U64, _POINTER, _ENUM = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int
_ENCODE = ctypes.CFUNCTYPE(
    _ENUM, _POINTER, _ENUM, _U32, _POINTER, _POINTER, _POINTER, _POINTER, _POINTER, _ENUM, _ENUM, _ENUM, _ENUM
)


def encode(bindings: Any, function: int, wanted: TensorMap, address: int) -> tuple[Any, bytes]:
    """The driver's status, and the 128 bytes; ``function`` is the address of ``cuTensorMapEncodeTiled``."""
    memory = ctypes.create_string_buffer(SIZE + ALIGN)
    at = -(-ctypes.addressof(memory) // ALIGN) * ALIGN
    rank = len(wanted.shape)
    status = _ENCODE(function)(
        at, _of(bindings.CUtensorMapDataType, "DATA_TYPE", _TYPES[wanted.dtype]), rank, address,
        _innermost_first(_U64, wanted.shape), _innermost_first(_U64, wanted.strides),
        _innermost_first(_U32, wanted.box), _innermost_first(_U32, (1,) * rank),
        _of(bindings.CUtensorMapInterleave, "INTERLEAVE", "NONE"),
        _of(bindings.CUtensorMapSwizzle, "SWIZZLE", _bytes_or_none("", wanted.swizzle)),
        _of(bindings.CUtensorMapL2promotion, "L2_PROMOTION", _bytes_or_none("L2_", wanted.promotion)),
        _of(bindings.CUtensorMapFloatOOBfill, "FLOAT_OOB_FILL", "NONE"),  # what lies outside reads as zero
    )  # fmt: skip
    return bindings.CUresult(status), ctypes.string_at(at, SIZE)


def _innermost_first(kind: type[ctypes._SimpleCData[int]], values: Sequence[int]) -> Any:
    return (kind * max(1, len(values)))(*reversed(values))


def _of(enumeration: Any, group: str, name: str) -> int:
    return int(getattr(enumeration, f"CU_TENSOR_MAP_{group}_{name}"))


def _bytes_or_none(prefix: str, size: int) -> str:
    return f"{prefix}{size}B" if size else "NONE"
