"""Conversions against exact arithmetic: every pair of types, every direction of rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from formats16 import FORMATS, agree, encoded, flushed, meaning, operands, rounded
from single import DTYPE, evaluate_batch
from whole import bounds, check, integers

INTS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
FLOATS = tuple(FORMATS)
MODES = ("rn", "rz", "rm", "rp")
WHOLE = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
LARGEST = {kind: float(format_.largest) for kind, format_ in FORMATS.items()}


def saturated(value: float) -> float:
    return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)


@pytest.mark.parametrize("target", INTS)
@pytest.mark.parametrize("source", INTS)
def test_integers_wrap_or_saturate(target: str, source: str) -> None:
    a = integers(source, 1)
    low, high = bounds(target)
    check(f"cvt.{target}.{source}", lambda a: a, a)
    check(f"cvt.sat.{target}.{source}", lambda a: min(max(a, low), high), a)


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", INTS)
def test_integers_become_floats_with_one_rounding(target: str, source: str) -> None:
    a = integers(source, 2)
    for mode in MODES:
        text = f"cvt.{mode}.{target}.{source}"
        want = encoded([rounded(Fraction(x), target, mode) for x in a.tolist()], target)
        agree(text, evaluate_batch(text, a)[0], want, a)


def near_integers(kind: str, target: str, seed: int) -> np.ndarray:
    """Samples of the format, with numbers around the halves and around the target's ends among them."""
    a = operands(kind, seed)
    rng = np.random.default_rng(seed)
    low, high = bounds(target)
    ends = [float(x) for x in (low, high, low - 1, high + 1)]
    halves = [*(rng.integers(-300, 300, 60) / 2), *ends, *(1.5 * x for x in ends)]
    a[: len(halves)] = encoded([rounded(float(x), kind, "rn") for x in halves], kind)
    return a


@pytest.mark.parametrize("target", INTS)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_become_the_nearest_integer_in_range(target: str, source: str) -> None:
    a = near_integers(source, target, 3)
    low, high = bounds(target)
    nan = 1 << (8 * np.dtype(DTYPE[target]).itemsize - 1) if source == "f64" or target.endswith("64") else 0

    def converted(value: float, mode: str) -> int:
        if math.isnan(value):
            return nan if target[0] == "u" or nan == 0 else nan - (nan << 1)
        if math.isinf(value):
            return high if value > 0 else low
        return min(max(WHOLE[mode](value), low), high)

    for mode in WHOLE:
        (got,) = evaluate_batch(f"cvt.{mode}.{target}.{source}", a)
        want = [converted(x, mode) for x in meaning(a, source)]
        agree(mode, got, np.array(want, got.dtype), a)


def test_ftz_takes_subnormal_sources_for_zero() -> None:
    a = operands("f32", 4)
    values = [flushed(x, "f32") for x in meaning(a, "f32")]
    want = [
        0 if math.isnan(x) else int(min(max(math.ceil(min(max(x, -1e10), 1e10)), -(2**31)), 2**31 - 1)) for x in values
    ]
    agree("rpi", evaluate_batch("cvt.rpi.ftz.s32.f32", a)[0], np.array(want, np.int32), a)
    agree("f64", evaluate_batch("cvt.ftz.f64.f32", a)[0], encoded(values, "f64"), a)
    agree(
        "f16", evaluate_batch("cvt.rp.ftz.f16.f32", a)[0], encoded([rounded(x, "f16", "rp") for x in values], "f16"), a
    )


@pytest.mark.parametrize("target", FLOATS)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_become_other_floats_with_one_rounding(target: str, source: str) -> None:
    a = operands(source, 5)
    if FORMATS[source].precision > FORMATS[target].precision:
        a[::3] = near_ties(source, target, 6, len(a[::3]))
    for mode in MODES:
        text = f"cvt.{mode}.{target}.{source}"
        want = encoded([rounded(x, target, mode) for x in meaning(a, source)], target)
        agree(text, evaluate_batch(text, a)[0], want, a)


def near_ties(source: str, target: str, seed: int, count: int) -> np.ndarray:
    """Numbers of ``source`` at, just above and just below the middle between two numbers of ``target``."""
    rng = np.random.default_rng(seed)
    places = FORMATS[target].precision
    ties = (rng.integers(1 << (places - 1), 1 << places, count) + 0.5) * 2.0 ** rng.integers(-16, 5, count)
    nudged = ties * (1 + rng.integers(-1, 2, count) * 2.0 ** -(FORMATS[source].precision - 1))
    return encoded([rounded(float(x), source, "rn") for x in np.copysign(nudged, rng.normal(size=count))], source)


@pytest.mark.parametrize("kind", FLOATS)
def test_integer_rounding_keeps_the_format_and_the_sign_of_zero(kind: str) -> None:
    a = near_integers(kind, "s8", 7)

    def whole(value: float, mode: str) -> float:
        return math.copysign(float(WHOLE[mode](value)), value) if math.isfinite(value) else value

    for mode in WHOLE:
        text = f"cvt.{mode}.{kind}.{kind}"
        agree(text, evaluate_batch(text, a)[0], encoded([whole(x, mode) for x in meaning(a, kind)], kind), a)


@pytest.mark.parametrize(
    ("target", "source"), [("f32", "f32"), ("f32", "f64"), ("f16", "f32"), ("f64", "f64"), ("f16", "f16")]
)
def test_sat_clamps_to_one_and_makes_nan_zero(target: str, source: str) -> None:
    a = operands(source, 8)
    want = encoded([saturated(rounded(x, target, "rn")) for x in meaning(a, source)], target)
    agree("sat", evaluate_batch(f"cvt.rn.sat.{target}.{source}", a)[0], want, a)


def test_ftz_flushes_a_single_precision_result() -> None:
    with np.errstate(invalid="ignore"):
        a = operands("f32", 9).astype(np.float64) * (1 + 2.0**-40)
    want = encoded([flushed(rounded(x, "f32", "rz"), "f32") for x in a.tolist()], "f32")
    agree("ftz", evaluate_batch("cvt.rz.ftz.f32.f64", a)[0], want, a)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("mode", ["rn", "rz"])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("finite", [False, True])
def test_pairs_take_the_upper_half_from_the_first_source(kind: str, mode: str, relu: bool, finite: bool) -> None:
    def converted(value: float) -> float:
        result = rounded(value, kind, mode)
        if finite and math.isinf(result):
            result = math.copysign(LARGEST[kind], result)
        return 0.0 if relu and not math.isnan(result) and math.copysign(1, result) < 0 else result

    a, b = operands("f32", 10), operands("f32", 11)
    modifiers = mode + ".relu" * relu + ".satfinite" * finite
    high, low = (encoded([converted(x) for x in s.tolist()], kind) for s in (a, b))
    agree(modifiers, evaluate_batch(f"cvt.{modifiers}.{kind}.f32", a)[0], high, a)
    (pairs,) = evaluate_batch(f"cvt.{modifiers}.{kind}x2.f32", a, b)
    agree(modifiers, pairs[1::2], high, a)
    agree(modifiers, pairs[0::2], low, b)


def test_tf32_keeps_ten_bits_of_the_mantissa() -> None:
    a = operands("f32", 12)
    a[::2] = (1 + (2 * np.arange(160) + 1) * 2.0**-11) * np.where(np.arange(160) % 2, 1, -1)  # ties

    def cut(value: float, mode: str) -> float:
        if not math.isfinite(value) or value == 0:
            return value
        step = Fraction(2) ** max(math.frexp(value)[1] - 11, -136)
        scaled = abs(Fraction(value)) / step
        count = (
            math.floor(scaled + Fraction(1, 2))
            if mode == "rna"
            else round(scaled)
            if mode == "rn"
            else math.floor(scaled)
        )
        size = count * step
        return math.copysign(math.inf if size >= 2**128 else float(size), value)

    for mode in ("rna", "rn", "rz"):
        want = encoded([cut(x, mode) for x in a.tolist()], "f32").view(np.uint32)
        agree(mode, evaluate_batch(f"cvt.{mode}.tf32.f32", a)[0], want, a)


@pytest.mark.parametrize("kind", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_packing_saturates_each_part(kind: str) -> None:
    bits = int(kind[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)

    def packed(a: int, b: int, c: int = 0) -> int:
        parts = [min(max(x, low), high) % (1 << bits) for x in (b, a)]
        return (parts[0] | parts[1] << bits | c << (2 * bits)) % (1 << 32)

    a, b, c = integers("s32", 13), integers("s32", 14), integers("u32", 15)
    if bits == 16:
        check(f"cvt.pack.sat.{kind}.s32", packed, a, b)
    else:
        check(f"cvt.pack.sat.{kind}.s32.b32", packed, a, b, c)
