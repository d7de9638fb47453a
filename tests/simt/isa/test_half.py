"""Half precision and bf16 against exact arithmetic, rounded once; single and in pairs."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import compute
from formats16 import FORMATS, Lanes, agree, encoded, flushed, meaning, operands
from single import evaluate_batch

KINDS = ("f16", "bf16")
ARITY = {"add": 2, "sub": 2, "mul": 2, "fma": 3}


def sources(operation: str, kind: str, seed: int, count: int = 640) -> list[Lanes]:
    """Samples, and for sums many that nearly cancel or lie close to a tie."""
    found = [operands(kind, seed + i, count) for i in range(ARITY[operation])]
    if operation == "fma":
        with np.errstate(all="ignore"):
            products = [x * y for x, y in zip(*(meaning(s[::3], kind) for s in found[:2]), strict=True)]
        found[2][::3] = encoded([-round_to(x, kind) for x in products], kind)
        ties = near_ties(kind, seed, count // 4)
        for column, values in zip(found, ties, strict=True):
            column[1 : 1 + 4 * len(values) : 4][: len(values)] = values
    return found


def round_to(value: float, kind: str) -> float:
    return FORMATS[kind].rounded(Fraction(value), "rn") if math.isfinite(value) and value else value


def near_ties(kind: str, seed: int, count: int) -> list[Lanes]:
    """Factors whose product is the middle between two numbers, or close to it, and a tiny third operand."""
    rng = np.random.default_rng(seed)
    places = FORMATS[kind].precision
    a = 1 + 2.0 ** -rng.integers(1, places, count)
    b = 1 + rng.choice([-1, 1], count) * 2.0 ** -rng.integers(1, places, count)
    c = rng.choice([-1, 1], count) * 2.0 ** -rng.integers(places - 1, 25, count)
    return [encoded(column.tolist(), kind) for column in (a, b, c)]


def expected(operation: str, kind: str, columns: list[Lanes], *, ftz: bool = False) -> list[float]:
    rows = [meaning(column, kind) for column in columns]
    if ftz:
        rows = [[flushed(x, kind) for x in row] for row in rows]
    results = [compute(operation, "rn", FORMATS[kind], row) for row in zip(*rows, strict=True)]
    return [flushed(x, kind) for x in results] if ftz else results


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", ARITY)
def test_results_are_rounded_once(operation: str, kind: str) -> None:
    columns = sources(operation, kind, 1)
    want = encoded(expected(operation, kind, columns), kind)
    for pair in ("", "x2"):
        text = f"{operation}.rn.{kind}{pair}"
        agree(text, evaluate_batch(text, *columns)[0], want, *columns)


@pytest.mark.parametrize("operation", ARITY)
def test_ftz_flushes_what_goes_in_and_what_comes_out(operation: str) -> None:
    columns = sources(operation, "f16", 2)
    want = encoded(expected(operation, "f16", columns, ftz=True), "f16")
    text = f"{operation}.rn.ftz.f16"
    agree(text, evaluate_batch(text, *columns)[0], want, *columns)


@pytest.mark.parametrize("operation", ARITY)
def test_sat_clamps_to_one_and_makes_nan_zero(operation: str) -> None:
    columns = sources(operation, "f16", 3)
    results = expected(operation, "f16", columns)
    want = encoded([0.0 if math.isnan(x) or x <= 0 else min(x, 1.0) for x in results], "f16")
    text = f"{operation}.rn.sat.f16"
    agree(text, evaluate_batch(text, *columns)[0], want, *columns)


@pytest.mark.parametrize("kind", KINDS)
def test_relu_makes_negative_results_zero_and_keeps_nan(kind: str) -> None:
    columns = sources("fma", kind, 4)
    results = expected("fma", kind, columns)
    want = encoded([0.0 if math.copysign(1, x) < 0 and not math.isnan(x) else x for x in results], kind)
    text = f"fma.rn.relu.{kind}"
    agree(text, evaluate_batch(text, *columns)[0], want, *columns)


@pytest.mark.parametrize("kind", KINDS)
def test_signs_change_one_bit(kind: str) -> None:
    a = operands(kind, 5)
    bits = a.view(np.uint16)
    assert (evaluate_batch(f"neg.{kind}", a)[0].view(np.uint16) == bits ^ 0x8000).all()
    assert (evaluate_batch(f"abs.{kind}x2", a)[0].view(np.uint16) == bits & 0x7FFF).all()


def ordered(kind: str, seed: int) -> tuple[Lanes, Lanes]:
    """Operands with equal ones, zeros of both signs and NaN among them."""
    a, b = operands(kind, seed), operands(kind, seed + 1)
    b[::5] = a[::5]
    a[1::9], b[1::9] = encoded([0.0], kind), encoded([-0.0], kind)
    a[2::9], b[2::9] = encoded([-0.0], kind), encoded([0.0], kind)
    a[3::9] = encoded([math.nan], kind)
    return a, b


def extremum(name: str, x: float, y: float, *, propagate: bool, magnitudes: bool) -> float:
    """The manual's pseudocode, with -0 below +0."""
    sign = math.copysign(1, x) * math.copysign(1, y)
    if magnitudes:
        x, y = abs(x), abs(y)
    if math.isnan(x) or math.isnan(y):
        result = math.nan if propagate or (math.isnan(x) and math.isnan(y)) else y if math.isnan(x) else x
    else:
        pick = min if name == "min" else max
        result = pick(x, y, key=lambda v: (v, math.copysign(1, v)))
    return math.copysign(result, sign) if magnitudes and not math.isnan(result) else result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("propagate", [False, True])
@pytest.mark.parametrize("magnitudes", [False, True])
def test_numbers_win_over_nan_unless_asked_otherwise(kind: str, name: str, propagate: bool, magnitudes: bool) -> None:
    a, b = ordered(kind, 6)
    text = f"{name}{'.NaN' * propagate}{'.xorsign.abs' * magnitudes}.{kind}"
    rows = zip(meaning(a, kind), meaning(b, kind), strict=True)
    want = encoded([extremum(name, x, y, propagate=propagate, magnitudes=magnitudes) for x, y in rows], kind)
    if magnitudes:  # the sign bit of a NaN operand counts, which a Python float does not keep
        signs = (a.view(np.uint16) ^ b.view(np.uint16)) & 0x8000
        number = want.view(np.uint16) != 0x7FFF
        want = np.where(number, want.view(np.uint16) & 0x7FFF | signs, 0x7FFF).astype(np.uint16).view(want.dtype)
    agree(text, evaluate_batch(text, a, b)[0], want, a, b)


def test_ftz_flushes_before_and_after_an_extremum() -> None:
    a, b = ordered("f16", 8)
    rows = zip(*([flushed(x, "f16") for x in meaning(side, "f16")] for side in (a, b)), strict=True)
    want = encoded([extremum("max", x, y, propagate=False, magnitudes=False) for x, y in rows], "f16")
    agree("max.ftz", evaluate_batch("max.ftz.f16", a, b)[0], want, a, b)


def every_value(kind: str) -> Lanes:
    bits = np.arange(65536, dtype=np.uint16)
    return bits if kind == "bf16" else bits.view(np.float16)


@pytest.mark.parametrize(("kind", "bound"), [("f16", 2.0**-10.987), ("bf16", 2.0**-8)])
def test_tanh_is_as_close_as_the_manual_says_for_every_value(kind: str, bound: float) -> None:
    a = every_value(kind)
    values, got = (np.array(meaning(x, kind)) for x in (a, evaluate_batch(f"tanh.approx.{kind}x2", a)[0]))
    assert (np.isnan(got) == np.isnan(values)).all()
    number = ~np.isnan(values)
    assert (np.abs(got[number] - np.tanh(values[number])) <= bound).all()
    assert (np.signbit(got[number]) == np.signbit(values[number])).all()


@pytest.mark.parametrize(("kind", "bound", "least"), [("f16", 2.0**-9.9, 2.0**-14), ("bf16.ftz", 2.0**-7, 2.0**-126)])
def test_exponentials_are_as_close_as_the_manual_says_for_every_value(kind: str, bound: float, least: float) -> None:
    kind, _, modifier = kind.partition(".")
    a = every_value(kind)
    (raw,) = evaluate_batch(f"ex2.approx.{modifier + '.' * bool(modifier)}{kind}x2", a)
    values, got = (np.array(meaning(x, kind)) for x in (a, raw))
    number = ~np.isnan(values)
    assert (np.isnan(got) == ~number).all()
    with np.errstate(over="ignore"):
        want = np.exp2(values[number])
    usual = (want >= least) & (want < float(FORMATS[kind].largest))
    assert (np.abs(got[number][usual] / want[usual] - 1) <= bound).all()
    assert np.isinf(got[number][want > 2 * float(FORMATS[kind].largest)]).all()
    assert (got[number][want < least / 2**20] == 0).all()
