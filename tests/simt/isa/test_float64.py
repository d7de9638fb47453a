"""Double precision against exact arithmetic, in every rounding direction."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from exact import DOUBLE, EXACT, MODES, check, compute, flushed, same_bits, samples
from single import evaluate, evaluate_batch

ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "mad": 3, "rcp": 1, "sqrt": 1}
COUNT = 400
Doubles = npt.NDArray[np.float64]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", EXACT)
def test_arithmetic_is_rounded_once_in_every_direction(operation: str, mode: str) -> None:
    operands = [samples(np.float64, COUNT, 200 + i) for i in range(ARITY[operation])]
    if operation in ("fma", "mad"):
        with np.errstate(all="ignore"):
            operands[2][::3] = -operands[0][::3] * operands[1][::3]
    if operation == "mul":  # products below the smallest number, where an error term would itself underflow
        operands[1][::4] = np.float64(2.0**-1060) / operands[1][::4].clip(1e-3, 1e3)
    rows = zip(*(column.tolist() for column in operands), strict=True)
    wanted = np.array([compute(operation, mode, DOUBLE, row) for row in rows])
    check(f"{operation}.{mode}.f64", operands, wanted)


@pytest.mark.parametrize("operation", ["min", "max"])
def test_extremes_prefer_numbers_and_order_zeros(operation: str) -> None:
    a, b = samples(np.float64, COUNT, 210), samples(np.float64, COUNT, 211)
    a[:2], b[:2] = [0.0, -0.0], [-0.0, 0.0]
    wanted = np.fmax(a, b) if operation == "max" else np.fmin(a, b)
    wanted[:2] = 0.0 if operation == "max" else -0.0
    both_zero = (a == 0) & (b == 0)
    signs = np.signbit(a) & np.signbit(b) if operation == "max" else np.signbit(a) | np.signbit(b)
    wanted[both_zero] = np.where(signs, -0.0, 0.0)[both_zero]
    check(f"{operation}.f64", [a, b], wanted)


def test_signs_are_changed_without_touching_the_rest() -> None:
    a, b = samples(np.float64, COUNT, 220), samples(np.float64, COUNT, 221)
    check("neg.f64", [a], -a)
    check("abs.f64", [a], np.abs(a))
    check("copysign.f64", [a, b], np.copysign(b, a))


def test_testp_sorts_every_number_into_its_class() -> None:
    a = samples(np.float64, COUNT, 230)
    subnormal = (a != 0) & (np.abs(a) < np.finfo(np.float64).smallest_normal)
    classes = {"finite": np.isfinite(a), "infinite": np.isinf(a), "number": ~np.isnan(a), "notanumber": np.isnan(a),
               "normal": np.isfinite(a) & ~subnormal, "subnormal": subnormal}  # fmt: skip
    for test, wanted in classes.items():
        assert (evaluate_batch(f"testp.{test}.f64", a)[0].astype(bool) == wanted).all(), test


@pytest.mark.parametrize(("text", "power"), [("rcp.approx.ftz.f64", -1.0), ("rsqrt.approx.ftz.f64", -0.5)])
def test_gross_approximations_keep_twenty_bits_and_clear_the_lower_word(text: str, power: float) -> None:
    a = np.abs(samples(np.float64, COUNT, 240))
    (got,) = evaluate_batch(text, a)
    assert (got.view(np.uint64) & 0xFFFFFFFF == 0).all()
    with np.errstate(all="ignore"):
        near = flushed(flushed(a) ** power)
    usual = np.isfinite(near) & (near > 0) & np.isfinite(a)
    assert np.abs(got[usual] / near[usual] - 1).max() < 2.0**-19
    assert same_bits(got[~usual], near[~usual]).all()


def test_a_division_refined_from_the_gross_reciprocal_is_correct() -> None:
    """The two Newton steps and the residual that compilers put behind `rcp.approx.ftz.f64`."""
    rng = np.random.default_rng(250)
    a, b = rng.uniform(1, 2, 320), rng.uniform(1, 2, 320)
    (r,) = evaluate_batch("rcp.approx.ftz.f64", b)
    one = np.ones_like(a)
    for _ in range(2):
        (error,) = evaluate_batch("fma.rn.f64", -b, r, one)
        (error,) = evaluate_batch("fma.rn.f64", error, error, error)
        (r,) = evaluate_batch("fma.rn.f64", r, error, r)
    (q,) = evaluate_batch("mul.rn.f64", a, r)
    (rest,) = evaluate_batch("fma.rn.f64", -b, q, a)
    (q,) = evaluate_batch("fma.rn.f64", r, rest, q)
    assert (q == a / b).all()


def test_the_full_reciprocal_root_is_within_two_ulp() -> None:
    a = np.abs(samples(np.float64, COUNT, 260))
    with np.errstate(all="ignore"):
        near = 1 / np.sqrt(a)
    (got,) = evaluate_batch("rsqrt.approx.f64", a)
    usual = np.isfinite(near) & (near > 0)
    assert (np.abs(got[usual] - near[usual]) <= 2 * np.spacing(near[usual])).all()
    special = evaluate("rsqrt.approx.f64", ([0.0, -0.0, math.inf, -1.0],))[0][:4]
    assert same_bits(special, np.array([math.inf, -math.inf, 0.0, math.nan])).all()
