"""The types of arrays and parameters, with their names in CUDA C, NumPy and PTX: one table for all."""

from __future__ import annotations

from collections.abc import Mapping

_NAMES: Mapping[str, tuple[str, ...]] = {
    "float16": ("half", "__half"),
    "float32": ("float",),
    "float64": ("double",),
    "int8": ("signed char", "char", "int8_t"),
    "uint8": ("unsigned char", "bool", "uint8_t"),
    "int16": ("short", "int16_t"),
    "uint16": ("unsigned short", "uint16_t"),
    "int32": ("int", "signed int", "int32_t"),
    "uint32": ("unsigned int", "unsigned", "uint32_t"),
    "int64": ("long long", "long", "int64_t"),
    "uint64": ("unsigned long long", "unsigned long", "uint64_t", "size_t"),
}
"""Names in CUDA C of each dtype on 64-bit Linux, the usual one first."""

_VECTORS: Mapping[str, tuple[str, int]] = {
    "half2": ("float16", 2), "__half2": ("float16", 2), "float2": ("float32", 2), "float4": ("float32", 4),
    "double2": ("float64", 2), "int2": ("int32", 2), "int4": ("int32", 4), "uint2": ("uint32", 2),
    "uint4": ("uint32", 4),
}  # fmt: skip

DTYPE_BYTES: Mapping[str, int] = {dtype: int("".join(filter(str.isdigit, dtype))) // 8 for dtype in _NAMES}

C_NAMES: Mapping[str, str] = {dtype: names[0] for dtype, names in _NAMES.items()}
"""The usual name in CUDA C of each dtype."""

ELEMENTS: Mapping[str, tuple[str, int]] = {
    **{name: (dtype, 1) for dtype, names in _NAMES.items() for name in names},
    **_VECTORS,
    **{dtype: (dtype, 1) for dtype in _NAMES},
}
"""The element types of arrays, in CUDA C and as exercises name them: the dtype, and its number per element."""

SIZEOF: Mapping[str, int] = {
    name: DTYPE_BYTES[dtype] * count for name, (dtype, count) in ELEMENTS.items() if name not in _NAMES
} | {"__nv_bfloat16": 2}
"""Bytes of the types that ``sizeof`` accepts."""

HOLDS: Mapping[str, tuple[str, ...]] = {
    name: (dtype, f"u{dtype}") if dtype.startswith("int") else (dtype,)
    for dtype in ("float16", "float32", "float64", "int16", "int32", "int64")
    for name in _NAMES[dtype]
}
"""The dtypes that a parameter of each plain type can point to.

Other types may be intended: vectors and ``unsigned`` load several elements or their bits at once, ``char`` and ``void``
access bytes, and a type that the file defines can be anything.
"""

PTX_DTYPES: Mapping[str, str] = {
    f"{kind}{8 * size}": dtype
    for dtype, size in DTYPE_BYTES.items()
    for kind in (("f",) if dtype.startswith("f") else ("u", "b") if dtype.startswith("u") else ("s",))
}
"""The dtype of each PTX type; PTX does not keep the sign of a C parameter."""
