"""Half precision and vector types, as C++ writes them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simt.kernels import Array, body
from tests.simt.programs import Program, cases, check

N = 128
RNG = np.random.default_rng(6)
SMALL = np.clip(np.concatenate([[0.0, -0.0, 1.0, 2.5, -7.7], RNG.normal(scale=4, size=N - 5)]), -8, 8).astype(
    np.float32
)
H = SMALL.astype(np.float16)
BITS = RNG.integers(0, 2**64, N, np.uint64)
HALVES = [
    Program(
        "half arithmetic",
        body(
            "half v = a[i], w = b[i]; o[i] = __hadd(v, w); o[i + n] = __hmul(v, w); o[i + 2 * n] = __hfma(v, w, v); o[i + 3 * n] = v - w; o[i + 4 * n] = v > w ? -v : w;",
            "half* a, half* b, half* o, int n",
            "#include <cuda_fp16.h>\n",
        ),
        {"a": H, "b": H[::-1].copy(), "o": np.zeros(5 * N, np.float16)},
        lambda x: {
            "o": np.concatenate(
                [
                    x["a"] + x["b"],
                    x["a"] * x["b"],
                    (x["a"].astype(np.float64) * x["b"] + x["a"]).astype(np.float16),
                    x["a"] - x["b"],
                    np.where(x["a"] > x["b"], -x["a"], x["b"]),
                ]
            )
        },
        (N,),
        block=N,
    ),
    Program(
        "half2 arithmetic and conversions",
        body(
            "half2 v = a[i], w = b[i]; half2 s = __hfma2(v, w, __float2half2_rn(0.5f)); float2 f = __half22float2(s); o[i] = __floats2half2_rn(f.x + __low2float(v), f.y - __high2float(w)); o[i + n] = __hmax2(v, w); o[i + 2 * n] = __lowhigh2highlow(v);",
            "half2* a, half2* b, half2* o, int n",
            "#include <cuda_fp16.h>\n",
        ),
        {"a": H, "b": H[::-1].copy(), "o": np.zeros(3 * N, np.float16)},
        lambda x: {
            "o": np.concatenate(
                [_half2(x["a"], x["b"]), np.maximum(x["a"], x["b"]), x["a"].reshape(-1, 2)[:, ::-1].ravel()]
            )
        },
        (N // 2,),
        block=N // 2,
    ),
    Program(
        "integers of one bit beyond the range of half",  # LLVM takes them for exact in half
        body(
            "unsigned long long v = a[i] & 1ull << 63; o[i] = __ull2half_rz(v); o[i + n] = __ull2half_rn(v); o[i + 2 * n] = __ll2half_ru(v); o[i + 3 * n] = __ll2half_rd(v); o[i + 4 * n] = __uint2half_rd((unsigned)a[i] & 65536u);",
            "unsigned long long* a, half* o, int n",
            "#include <cuda_fp16.h>\n",
        ),
        {"a": BITS, "o": np.zeros(5 * N, np.float16)},
        lambda x: {
            "o": np.concatenate(
                [np.where(x["a"] >> 63 > 0, of, 0.0) for of in (65504.0, np.inf, -65504.0, -np.inf)]
                + [np.where(x["a"] & 65536 > 0, 65504.0, 0.0)]
            ).astype(np.float16)
        },
        (N,),
        block=N,
    ),
    Program(
        "half special functions",
        body(
            "half v = a[i]; o[i] = hsqrt(v); o[i + n] = hexp(v); o[i + 2 * n] = __float2half(__half2float(v) * 3.0f); o[i + 3 * n] = hrcp(v); o[i + 4 * n] = hfloor(v);",
            "half* a, half* o, int n",
            "#include <cuda_fp16.h>\n",
        ),
        {"a": np.abs(H) + np.float16(0.25), "o": np.zeros(5 * N, np.float16)},
        lambda x: {
            "o": np.concatenate(
                [
                    np.sqrt(x["a"].astype(np.float64)),
                    np.exp(x["a"].astype(np.float64)),
                    x["a"].astype(np.float32) * 3,
                    1 / x["a"].astype(np.float64),
                    np.floor(x["a"]),
                ]
            ).astype(np.float16)
        },
        (N,),
        block=N,
        ulp=1,
    ),
    Program(
        "bfloat16 arithmetic",
        body(
            "__nv_bfloat16 v = __float2bfloat16(a[i]), w = __float2bfloat16(b[i]); o[i] = __bfloat162float(__hadd(v, w)); o[i + n] = __bfloat162float(v * w); o[i + 2 * n] = __bfloat162float(__hfma(v, w, v)); o[i + 3 * n] = (float)(v < w);",
            "float* a, float* b, float* o, int n",
            "#include <cuda_bf16.h>\n",
        ),
        {"a": SMALL, "b": SMALL[::-1].copy(), "o": np.zeros(4 * N, np.float32)},
        lambda x: {"o": _bf16(x["a"], x["b"])},
        (N,),
        block=N,
    ),
]


def _half2(a: Array, b: Array) -> Array:
    s = (a.astype(np.float64) * b + 0.5).astype(np.float16).astype(np.float32).reshape(-1, 2)
    low, high = a.reshape(-1, 2)[:, 0].astype(np.float32), b.reshape(-1, 2)[:, 1].astype(np.float32)
    return np.stack([s[:, 0] + low, s[:, 1] - high], 1).astype(np.float16).ravel()


def _round_bf16(v: Array) -> Array:
    """Nearest even, from exact doubles that are no double-rounding trap here."""
    bits = v.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


def _bf16(a: Array, b: Array) -> Array:
    v, w = _round_bf16(a).astype(np.float64), _round_bf16(b).astype(np.float64)
    return np.concatenate([_round_bf16(v + w), _round_bf16(v * w), _round_bf16(v * w + v), (v < w).astype(np.float32)])


@cases(HALVES)
def test_half_precision_gives_what_its_reference_says(program: Program) -> None:
    check(program)


@pytest.mark.parametrize(
    ("kind", "dtype", "lanes"),
    [("float2", "f4", 2), ("float3", "f4", 3), ("float4", "f4", 4), ("int2", "i4", 2), ("int4", "i4", 4), ("uchar4", "u1", 4), ("short2", "i2", 2),
     ("double2", "f8", 2), ("char3", "i1", 3), ("longlong2", "i8", 2), ("ushort4", "u2", 4), ("ulonglong4", "u8", 4)],
)  # fmt: skip
def test_vector_types_move_and_compute_by_member(kind: str, dtype: str, lanes: int) -> None:
    members = "xyzw"[:lanes]
    statements = (
        f"{kind} v = a[i]; " + " ".join(f"v.{m} = v.{m} + {k + 1};" for k, m in enumerate(members)) + " o[i] = v;"
    )
    start = (np.arange(64 * lanes) % 100).astype(dtype)
    step = np.resize(np.arange(1, lanes + 1), 64 * lanes)
    check(Program(kind, body(statements, f"{kind}* a, {kind}* o"), {"a": start, "o": np.zeros_like(start)},
                  lambda _: {"o": (start + step).astype(dtype)}, block=64))  # fmt: skip
