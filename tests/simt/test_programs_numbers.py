"""Arithmetic as C++ defines it: integers of every width, floats, doubles, halves, vector types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.simt.kernels import Array, body
from tests.simt.programs import Program, cases, check

RNG = np.random.default_rng(5)
N = 128
F32 = np.concatenate([[0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 3.4e38, 0.5, 1.5, 2.5, -2.5, 1e10, -7.7, 16777217.0],
                      RNG.normal(scale=5, size=N - 16)]).astype(np.float32)  # fmt: skip
F64 = F32.astype(np.float64) * 1.0000001
I32 = np.concatenate([[0, 1, -1, 2**31 - 1, -(2**31), 7, -7, 100], RNG.integers(-(2**31), 2**31, N - 8)]).astype(
    np.int32
)
I64 = np.concatenate(
    [[0, 1, -1, 2**63 - 1, -(2**63), 7, -7, 1 << 40], RNG.integers(-(2**63), 2**63 - 1, N - 8)]
).astype(np.int64)
D32 = np.where(I32 == 0, 3, I32 % 1000 + 1).astype(np.int32)
D64 = np.where(I64 == 0, 3, I64 % 100000 + 1).astype(np.int64)


def cdiv(a: Array, b: Array) -> Array:
    """C's division: towards zero, modulo the width."""
    q = np.abs(a.astype(object)) // np.abs(b.astype(object))
    return wrap(np.where((a < 0) != (b < 0), -q, q), a.dtype)


def wrap(values: Array, dtype: np.dtype[np.generic]) -> Array:
    bits = dtype.itemsize * 8
    return np.array([(int(v) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for v in values]).astype(dtype)


def cmod(a: Array, b: Array) -> Array:
    return wrap(a.astype(object) - cdiv(a, b).astype(object) * b.astype(object), a.dtype)


def binary(name: str, kind: str, expression: str, a: Array, b: Array, want: Any, **more: Any) -> Program:
    return Program(
        name, body(f"{kind} v = a[i], w = b[i]; o[i] = {expression};", f"{kind}* a, {kind}* b, {kind}* o"),
        {"a": a, "b": b, "o": np.zeros(N, a.dtype)}, lambda x: {"o": want(x["a"], x["b"])}, block=N, **more,  # a table row
    )  # fmt: skip


def unary(name: str, kind: str, expression: str, a: Array, want: Any, ulp: int = 0, before: str = "") -> Program:
    return Program(
        name, body(f"{kind} v = a[i]; o[i] = {expression};", f"{kind}* a, {kind}* o", before),
        {"a": a, "o": np.zeros(N, a.dtype)}, lambda x: {"o": want(x["a"])}, block=N, ulp=ulp,
    )  # fmt: skip


def u(a: Array) -> Array:
    return a.view(a.dtype.str.replace("i", "u"))


def narrow(dtype: str, count: int = N) -> Array:
    return RNG.integers(0, 256, 8 * count).astype(np.uint8).view(dtype)[:count]


POS = np.abs(F32[~np.isnan(F32)])
POS = np.resize(np.where(np.isinf(POS), 2, POS) + np.float32(0.01), N).astype(np.float32)
SMALL = np.clip(np.nan_to_num(F32, posinf=3, neginf=-3), -8, 8).astype(np.float32)
SMALL64 = SMALL.astype(np.float64)

INTEGERS = [
    binary("int division", "int", "v / w", I32, D32, cdiv),
    binary("int modulo", "int", "v % w", I32, D32, cmod),
    binary("unsigned division", "unsigned", "v / w", I32, D32, lambda a, b: (u(a) // u(b)).view(np.int32)),
    binary("unsigned modulo", "unsigned", "v % w", I32, D32, lambda a, b: (u(a) % u(b)).view(np.int32)),
    binary("long long division", "long long", "v / w", I64, D64, cdiv),
    binary("long long modulo", "long long", "v % w", I64, D64, cmod),
    binary(
        "unsigned long long division",
        "unsigned long long",
        "v / w",
        I64,
        D64,
        lambda a, b: (u(a) // u(b)).view(np.int64),
    ),
    binary(
        "unsigned long long modulo", "unsigned long long", "v % w", I64, D64, lambda a, b: (u(a) % u(b)).view(np.int64)
    ),
    binary(
        "high halves of products",
        "long long",
        "__mul64hi(v, w)",
        I64,
        I64[::-1].copy(),
        lambda a, b: np.array([int(p) >> 64 for p in a.astype(object) * b.astype(object)], np.int64),
    ),
    binary(
        "shifts of 64 bits",
        "long long",
        "(v << (w & 63)) ^ (v >> (w & 31))",
        I64,
        I64[::-1].copy(),
        lambda a, b: (
            wrap(np.array([int(x) << (int(y) & 63) for x, y in zip(a, b, strict=True)], object), a.dtype)
            ^ (a >> (b & 31))
        ),
    ),
    binary(
        "signed chars",
        "signed char",
        "v * w / 3 + (v >> 2)",
        narrow("i1"),
        narrow("i1"),
        lambda a, b: (cdiv(a.astype(np.int32) * b, np.full(N, 3)) + (a >> 2)).astype(np.int8),
    ),
    binary(
        "unsigned chars",
        "unsigned char",
        "(v + w) / 2 - v * 3 % 7",
        narrow("u1"),
        narrow("u1"),
        lambda a, b: ((a.astype(np.int32) + b) // 2 - a.astype(np.int32) * 3 % 7).astype(np.uint8),
    ),
    binary(
        "shorts",
        "short",
        "v > w ? v - w : w * v",
        narrow("i2"),
        narrow("i2"),
        lambda a, b: np.where(a > b, a - b, b * a).astype(np.int16),
    ),
    binary(
        "unsigned shorts",
        "unsigned short",
        "v / (w | 1) + (v ^ w)",
        narrow("u2"),
        narrow("u2"),
        lambda a, b: a // (b | 1) + (a ^ b),
    ),
    binary(
        "bit intrinsics",
        "unsigned",
        "__popc(v) + 100 * __clz(v) + 10000 * __ffs(v) + (__brev(v) >> 28) * 1000000",
        u(I32),
        u(D32),
        lambda a, b: np.array(
            [
                bin(v).count("1")
                + 100 * (32 - int(v).bit_length())
                + 10000 * ((v & -v).bit_length())
                + 1000000 * int(f"{v:032b}"[::-1][:4], 2)
                for v in map(int, a)
            ],
            np.uint32,
        ),
    ),
    binary(
        "byte permutes and funnel shifts",
        "unsigned",
        "__byte_perm(v, w, 0x5410) + __funnelshift_l(v, w, 9)",
        u(I32),
        u(D32),
        lambda a, b: ((a & 0xFFFF) | (b << 16)) + ((b << 9) | (a >> 23)),
    ),
    binary(
        "sums of absolute differences and averages",
        "int",
        "__sad(v, w, 5) + __hadd(v, w) - __rhadd(v, w)",
        I32,
        D32,
        lambda a, b: wrap(
            np.array(
                [
                    abs(int(x) - int(y)) + 5 + ((int(x) + int(y)) >> 1) - ((int(x) + int(y) + 1) >> 1)
                    for x, y in zip(a, b, strict=True)
                ],
                object,
            ),
            a.dtype,
        ),
    ),
    binary(
        "min, max and abs of ints",
        "int",
        "max(min(v, w), -w) + abs(w)",
        I32,
        D32,
        lambda a, b: np.maximum(np.minimum(a, b), -b) + np.abs(b),
    ),
    binary(
        "dot products of bytes",
        "int",
        "__dp4a(v, w, 3)",
        I32,
        D32,
        lambda a, b: (
            (a.view(np.int8).reshape(-1, 4).astype(np.int32) * b.view(np.int8).reshape(-1, 4)).sum(1).astype(np.int32)
            + 3
        ),
    ),
]
FLOATS = [
    binary(
        "float sums, products and quotients",
        "float",
        "(v + w) * w / (v - 3.0f)",
        F32,
        F32[::-1].copy(),
        lambda a, b: (a + b) * b / (a - np.float32(3)),
    ),
    binary(
        "fused multiply-add",
        "float",
        "fmaf(v, w, v)",
        F32,
        F32[::-1].copy(),
        lambda a, b: (a.astype(np.float64) * b + a).astype(np.float32),
    ),
    binary(
        "minimum and maximum ignore NaN",
        "float",
        "fminf(v, w) - 2 * fmaxf(v, w)",
        F32,
        F32[::-1].copy(),
        lambda a, b: np.fmin(a, b) - 2 * np.fmax(a, b),
    ),
    binary("float modulo", "float", "fmodf(v, w)", SMALL, POS, np.fmod),
    binary(
        "copysign and fabs",
        "float",
        "copysignf(v, w) + fabsf(w)",
        F32,
        F32[::-1].copy(),
        lambda a, b: np.copysign(a, b) + np.abs(b),
    ),
    unary("square roots", "float", "sqrtf(v)", F32, np.sqrt),
    unary("reciprocal square roots", "float", "rsqrtf(v)", POS, lambda a: 1 / np.sqrt(a.astype(np.float64)), ulp=3),
    unary(
        "rounding functions",
        "float",
        "roundf(v) + 10 * truncf(v) + 100 * floorf(v) + 1000 * ceilf(v) + 1e4f * rintf(v)",
        SMALL,
        lambda a: (
            np.trunc(a + np.copysign(np.float32(0.5), a))
            + 10 * np.trunc(a)
            + 100 * np.floor(a)
            + 1000 * np.ceil(a)
            + np.float32(1e4) * np.rint(a)
        ),
        ulp=1,
    ),
    unary(
        "classification",
        "float",
        "isnan(v) + 2 * isinf(v) + 4 * isfinite(v) + 8 * signbit(v)",
        F32,
        lambda a: np.isnan(a) + 2.0 * np.isinf(a) + 4 * np.isfinite(a) + 8 * np.signbit(a),
    ),
    *[
        unary(f"float {name}", "float", f"{name}f(v)", data, lambda a, f=function: f(a.astype(np.float64)), ulp=ulp)
        for name, function, data, ulp in (
            ("exp", np.exp, SMALL, 3),
            ("log", np.log, POS, 3),
            ("log2", np.log2, POS, 3),
            ("log10", np.log10, POS, 4),
            ("exp2", np.exp2, SMALL, 3),
            ("sin", np.sin, SMALL, 4),
            ("cos", np.cos, SMALL, 4),
            ("tan", np.tan, SMALL, 6),
            ("tanh", np.tanh, SMALL, 4),
            ("atan", np.arctan, SMALL, 4),
            ("cbrt", np.cbrt, SMALL, 3),
            ("expm1", np.expm1, SMALL, 4),
            ("log1p", np.log1p, POS, 4),
            ("sinh", np.sinh, SMALL, 6),
        )
    ],
    binary("powf", "float", "powf(v, w)", POS, SMALL, lambda a, b: np.power(a.astype(np.float64), b), ulp=10),
    binary(
        "hypot and atan2",
        "float",
        "hypotf(v, w) + atan2f(v, w)",
        SMALL,
        POS,
        lambda a, b: np.hypot(a.astype(np.float64), b) + np.arctan2(a.astype(np.float64), b),
        ulp=8,
    ),
    unary(
        "fast exponentials, logarithms and quotients",
        "float",
        "__expf(v) + __fdividef(fabsf(v), 3.0f) + __logf(fabsf(v) + 2.0f) + __powf(2.0f, v)",
        SMALL,
        lambda a: (
            np.exp(a.astype(np.float64)) + np.abs(a) / 3.0 + np.log(np.abs(a) + 2.0) + np.exp2(a.astype(np.float64))
        ),
        ulp=40,
    ),
    unary(
        "fast sines",
        "float",
        "2.0f + __sinf(v) * __cosf(v)",
        SMALL,
        lambda a: 2 + np.sin(a.astype(np.float64)) * np.cos(a.astype(np.float64)),
        ulp=40,
    ),
    unary(
        "conversions to integers saturate",
        "float",
        "(float)(int)v + (float)(unsigned char)(int)fabsf(v) + __float2int_rn(v) + __float2uint_rz(v)",
        SMALL,
        lambda a: np.trunc(a) + np.trunc(np.abs(a)) + np.rint(a) + np.maximum(np.trunc(a), 0),
        ulp=1,
    ),
    unary(
        "a sigmoid and an error function",
        "float",
        "1.0f / (1.0f + expf(-v)) + 2.0f * (1.5f + erff(v * 0.70710678f))",
        SMALL,
        lambda a: 1 / (1 + np.exp(-a.astype(np.float64))) + 2 * (1.5 + _erf(a.astype(np.float64) * 0.70710678)),
        ulp=4,
    ),
    unary(
        "frexp, ldexp and modf",
        "float",
        "parts(v)",
        POS,
        lambda a: a.astype(np.float64) * 2 + np.frexp(a)[1],
        ulp=2,
        before="__device__ float parts(float v) { int e; float m = frexpf(v, &e), w, r = modff(v, &w); return ldexpf(m, e) + r + w + e; }\n",
    ),
]
DOUBLES = [
    binary(
        "double sums, products and quotients",
        "double",
        "(v + w) * w / (v - 3.0)",
        F64,
        F64[::-1].copy(),
        lambda a, b: (a + b) * b / (a - 3),
    ),
    unary("double square roots", "double", "sqrt(v)", F64, np.sqrt),
    *[
        unary(f"double {name}", "double", f"{name}(v)", data, function, ulp=4)
        for name, function, data in (
            ("exp", np.exp, SMALL64),
            ("log", np.log, POS.astype(np.float64)),
            ("sin", np.sin, SMALL64),
            ("cos", np.cos, SMALL64),
            ("tanh", np.tanh, SMALL64),
            ("atan", np.arctan, SMALL64),
            ("floor", np.floor, SMALL64),
            ("rint", np.rint, SMALL64),
            ("cbrt", np.cbrt, SMALL64),
        )
    ],
    binary("double powers", "double", "pow(v, w)", POS.astype(np.float64), SMALL64, np.power, ulp=4),
    binary(
        "double modulo and hypot",
        "double",
        "fmod(v, w) + hypot(v, w)",
        SMALL64,
        POS.astype(np.float64),
        lambda a, b: np.fmod(a, b) + np.hypot(a, b),
        ulp=4,
    ),
    unary(
        "double to long long and back",
        "double",
        "(double)(long long)v + (double)(unsigned)(int)fabs(v) + __double2int_rn(v)",
        SMALL64,
        lambda a: np.trunc(a) + np.trunc(np.abs(a)) + np.rint(a),
    ),
    binary(
        "double min, max and fma",
        "double",
        "fma(fmin(v, w), fmax(v, w), 1.0)",
        SMALL64,
        SMALL64[::-1].copy(),
        lambda a, b: _fma(np.fmin(a, b), np.fmax(a, b), 1.0),
    ),
    binary(
        "doubles as bits",
        "double",
        "__hiloint2double(__double2hiint(v), __double2loint(w))",
        SMALL64,
        SMALL64[::-1].copy(),
        lambda a, b: ((a.view(np.uint64) & 0xFFFFFFFF00000000) | (b.view(np.uint64) & 0xFFFFFFFF)).view(np.float64),
    ),
]


def _fma(a: Array, b: Array, c: float) -> Array:
    from fractions import Fraction

    return np.array([float(Fraction(float(x)) * Fraction(float(y)) + Fraction(c)) for x, y in zip(a, b, strict=True)])


def _erf(a: Array) -> Array:
    from math import erf

    return np.array([erf(v) for v in a])


@cases([*INTEGERS, *FLOATS, *DOUBLES])
def test_arithmetic_gives_what_its_reference_says(program: Program) -> None:
    check(program)


H = SMALL.astype(np.float16)
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
