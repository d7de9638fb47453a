"""Arithmetic as C++ defines it: integers of every width, floats, doubles."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    unary(
        "copysign of a computed NaN, which is positive on a GPU",
        "float",
        "copysignf(1.0f, v - v) + copysignf(2.0f, __fmul_rn(v, 0.0f) + v)",
        np.full(N, np.inf, np.float32),
        lambda a: np.full(len(a), 3.0),
    ),
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
