"""Single precision against exact arithmetic, in every rounding direction."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from exact import EXACT, MODES, SINGLE, check, compute, flushed, samples, ulps
from single import evaluate, evaluate_batch

ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3, "mad": 3, "rcp": 1, "sqrt": 1}
COUNT = 700
Singles = npt.NDArray[np.float32]


def operands_of(operation: str, seed: int = 1) -> list[Singles]:
    found = [samples(np.float32, COUNT, seed + i) for i in range(ARITY[operation])]
    with np.errstate(all="ignore"):
        if operation in ("add", "sub"):  # many that nearly cancel
            found[1][::5] = -found[0][::5] * np.float32(1 + 2.0**-23)
        if operation in ("fma", "mad"):
            found[2][::3] = -found[0][::3] * found[1][::3]
    return found


def expected(operation: str, mode: str, operands: list[Singles]) -> Singles:
    rows = zip(*(column.tolist() for column in operands), strict=True)
    return np.array([compute(operation, mode, SINGLE, row) for row in rows]).astype(np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", EXACT)
def test_arithmetic_is_rounded_once_in_every_direction(operation: str, mode: str) -> None:
    operands = operands_of(operation)
    check(f"{operation}.{mode}.f32", operands, expected(operation, mode, operands))


@pytest.mark.parametrize(
    "text", ["add.rn.ftz.f32", "mul.rz.ftz.f32", "fma.rp.ftz.f32", "div.rm.ftz.f32", "sqrt.rn.ftz.f32"]
)
def test_ftz_flushes_what_goes_in_and_what_comes_out(text: str) -> None:
    operation, mode, *_ = text.split(".")
    operands = operands_of(operation, 20)
    wanted = flushed(expected(operation, mode, [flushed(column) for column in operands]))
    check(text, operands, wanted)


@pytest.mark.parametrize("text", ["add.sat.f32", "sub.rz.sat.f32", "mul.rn.sat.f32", "fma.rn.ftz.sat.f32"])
def test_sat_clamps_and_turns_nan_into_zero(text: str) -> None:
    operation, *modifiers = text.split(".")
    mode = "rz" if "rz" in modifiers else "rn"
    operands = operands_of(operation, 30)
    source = [flushed(column) for column in operands] if "ftz" in modifiers else operands
    exact = expected(operation, mode, source)
    exact = flushed(exact) if "ftz" in modifiers else exact
    wanted = np.where(np.isnan(exact) | (exact <= 0), np.float32(0), np.minimum(exact, np.float32(1)))
    check(text, operands, wanted)


@pytest.mark.parametrize("text", ["add.f32", "sub.f32", "mul.f32"])
def test_without_a_rounding_modifier_results_are_the_nearest(text: str) -> None:
    operands = operands_of(text.split(".")[0], 40)
    check(text, operands, expected(text.split(".")[0], "rn", operands))


@pytest.mark.parametrize(
    ("text", "operation"), [("div.full.f32", "div"), ("rcp.approx.f32", "rcp"), ("sqrt.approx.f32", "sqrt")]
)
def test_approximations_are_rounded_correctly(text: str, operation: str) -> None:
    operands = operands_of(operation, 50)
    check(text, operands, expected(operation, "rn", operands))


def test_an_approximate_division_loses_divisors_above_2_to_the_126() -> None:
    a, b = samples(np.float32, COUNT, 60), samples(np.float32, COUNT, 61)
    b[::4] = np.copysign(np.float32(2.0**126) * np.linspace(1, 3.9, len(b[::4]), dtype=np.float32), b[::4])
    wanted = expected("div", "rn", [a, b])
    lost = (np.abs(b) > 2.0**126) & np.isfinite(b)
    with np.errstate(all="ignore"):
        wanted[lost] = (a * np.copysign(np.float32(0), b))[lost]
    check("div.approx.f32", [a, b], wanted)


def test_the_reciprocal_root_is_within_one_ulp() -> None:
    a = samples(np.float32, 4000, 70)
    with np.errstate(all="ignore"):
        wanted = (1.0 / np.sqrt(a.astype(np.float64))).astype(np.float32)
    (got,) = evaluate_batch("rsqrt.approx.f32", a)
    assert ulps(got, wanted) <= 1
    tiny = (flushed(a) == 0) & (a != 0)
    check("rsqrt.approx.ftz.f32", [a], np.where(tiny, np.copysign(np.float32(math.inf), a), wanted))


def test_nan_results_of_divisions_and_roots_are_the_canonical_one() -> None:
    cases: dict[str, tuple[list[float], ...]] = {
        "div.rn.f32": ([0.0], [0.0]),
        "sqrt.rn.f32": ([-1.0],),
        "rcp.approx.f32": ([0x7FC00001],),
        "max.f32": ([0xFFC00000], [0x7F800001]),
        "min.NaN.f32": ([1.0], [0xFFFFFFFF]),
    }
    for text, sources in cases.items():
        assert evaluate(text, sources)[0].view(np.uint32)[0] == 0x7FFFFFFF, text


def _picked(a: float, b: float, *, largest: bool) -> float:
    """min or max by the manual's rules, on Python floats."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    key = sorted([a, b], key=lambda v: (v, math.copysign(1, v)))
    return key[1] if largest else key[0]


@pytest.mark.parametrize("operation", ["min", "max"])
def test_extremes_prefer_numbers_and_order_zeros(operation: str) -> None:
    a, b = samples(np.float32, COUNT, 80), samples(np.float32, COUNT, 81)
    a[:4], b[:4] = [0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, 0.0, -0.0]
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    wanted = np.array([_picked(x, y, largest=operation == "max") for x, y in pairs], np.float32)
    check(f"{operation}.f32", [a, b], wanted)
    either = np.isnan(a) | np.isnan(b)
    check(f"{operation}.NaN.f32", [a, b], np.where(either, np.float32(math.nan), wanted))


def test_xorsign_abs_compares_sizes_and_multiplies_signs() -> None:
    a, b = samples(np.float32, COUNT, 90), samples(np.float32, COUNT, 91)
    size = np.fmin(np.abs(a), np.abs(b))
    negative = np.signbit(a) != np.signbit(b)
    check("min.xorsign.abs.f32", [a, b], np.where(negative, -size, size))


def test_signs_are_changed_without_touching_the_rest() -> None:
    a, b = samples(np.float32, COUNT, 100), samples(np.float32, COUNT, 101)
    check("neg.f32", [a], -a)
    check("abs.f32", [a], np.abs(a))
    check("neg.ftz.f32", [a], -flushed(a))
    check("copysign.f32", [a, b], np.copysign(b, a))


def test_testp_sorts_every_number_into_its_class() -> None:
    a = samples(np.float32, COUNT, 110)
    subnormal = (a != 0) & (np.abs(a) < np.finfo(np.float32).smallest_normal)
    classes = {"finite": np.isfinite(a), "infinite": np.isinf(a), "number": ~np.isnan(a), "notanumber": np.isnan(a),
               "normal": np.isfinite(a) & ~subnormal, "subnormal": subnormal}  # fmt: skip
    for test, wanted in classes.items():
        assert (evaluate_batch(f"testp.{test}.f32", a)[0].astype(bool) == wanted).all(), test


def test_a_directed_instruction_leaves_the_rounding_mode_as_it_was() -> None:
    evaluate("add.rp.f32", ([1.0], [2.0**-30]))
    assert evaluate("add.f32", ([1.0], [2.0**-30]))[0][0] == 1.0
    assert np.float32(1.0) + np.float32(2.0**-30) == 1.0
