"""Special functions against extended precision, over all of their range."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from exact import flushed, samples, ulps
from single import evaluate, evaluate_batch

COUNT = 20_000
Singles = npt.NDArray[np.float32]
Wide = npt.NDArray[Any]

FUNCTIONS: dict[str, Callable[[Wide], Wide]] = {"ex2": np.exp2, "lg2": np.log2, "tanh": np.tanh}


def nearest(function: Callable[[Wide], Wide], x: Singles) -> Singles:
    with np.errstate(all="ignore"):
        return function(x.astype(np.longdouble)).astype(np.float32)


def hardware_turns(x: Singles) -> Wide:
    """x/2π in single precision rounded toward zero: `FMUL.RZ` by 0x3e22f983."""
    factor = np.array([0x3E22F983], np.uint32).view(np.float32).astype(np.float64)
    exact = x.astype(np.float64) * factor
    near = exact.astype(np.float32)
    return np.where(np.abs(near) > np.abs(exact), np.nextafter(near, np.float32(0)), near).astype(np.longdouble)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_within_one_ulp_of_the_correctly_rounded_ones(name: str) -> None:
    rng = np.random.default_rng(5)
    ordinary = rng.uniform(-150, 130, COUNT).astype(np.float32)
    about_one = (1 + rng.uniform(-1, 1, COUNT) * 2.0 ** -rng.integers(0, 24, COUNT)).astype(np.float32)
    for x in (samples(np.float32, COUNT, 6), ordinary, about_one, about_one - 1):
        (got,) = evaluate_batch(f"{name}.approx.f32", x)
        assert ulps(got, nearest(FUNCTIONS[name], x)) <= 1


@pytest.mark.parametrize(("name", "ahead"), [("sin", 0.0), ("cos", 0.25)])
def test_waves_are_exact_after_the_hardwares_own_reduction(name: str, ahead: float) -> None:
    rng = np.random.default_rng(7)
    for x in (rng.uniform(-7, 7, COUNT), rng.uniform(-4000, 4000, COUNT), rng.normal(size=COUNT) * 1e-6):
        angles = x.astype(np.float32)
        turns = hardware_turns(angles)
        quarters = np.rint(4 * turns)  # so that the reference's own π costs nothing near a zero
        rest = 2 * np.arctan(np.longdouble(1)) * 4 * (turns - quarters / 4)
        phase = (quarters + 4 * ahead) % 4
        wanted = np.select(
            [phase == 0, phase == 1, phase == 2], [np.sin(rest), np.cos(rest), -np.sin(rest)], -np.cos(rest)
        )
        (got,) = evaluate_batch(f"{name}.approx.f32", angles)
        assert ulps(got, wanted.astype(np.float32)) <= 1


@pytest.mark.parametrize(("name", "function"), [("sin", np.sin), ("cos", np.cos)])
@pytest.mark.parametrize(("bound", "error"), [(2 * math.pi, 2.0**-20.5), (100 * math.pi, 2.0**-14.7)])
def test_waves_keep_the_manuals_absolute_error(
    name: str, function: Callable[[Wide], Wide], bound: float, error: float
) -> None:
    x = np.random.default_rng(8).uniform(-bound, bound, COUNT).astype(np.float32)
    (got,) = evaluate_batch(f"{name}.approx.f32", x)
    assert np.abs(got - function(x.astype(np.longdouble))).max() < error


def test_waves_of_huge_angles_are_those_of_whole_turns() -> None:
    x = np.array([1e9, -1e20, 3e38], np.float32)
    assert (evaluate_batch("sin.approx.f32", x)[0] == 0).all()
    assert (evaluate_batch("cos.approx.f32", x)[0] == 1).all()


EDGES = [-math.inf, -0.0, 0.0, math.inf]
NAN = 0x7FFFFFFF
SPECIAL_VALUES: dict[str, tuple[list[float], list[float]]] = {
    "ex2.approx.f32": ([*EDGES, -150.0, 127.99999], [0.0, 1.0, 1.0, math.inf, 0.0, 0x7F7FFFA7]),
    "lg2.approx.f32": ([*EDGES, 1.0, 2.0**-149], [NAN, -math.inf, -math.inf, math.inf, 0.0, -149.0]),
    "sin.approx.f32": (EDGES, [NAN, -0.0, 0.0, NAN]),
    "cos.approx.f32": (EDGES, [NAN, 1.0, 1.0, NAN]),
    "tanh.approx.f32": ([*EDGES, 2.0**-149], [-1.0, -0.0, 0.0, 1.0, 2.0**-149]),
}


@pytest.mark.parametrize("text", SPECIAL_VALUES)
def test_special_values_are_the_manuals(text: str) -> None:
    source, result = SPECIAL_VALUES[text]
    (got,) = evaluate(text, (source,))
    wanted = np.concatenate(
        [np.array([v], np.uint32 if isinstance(v, int) else np.float32).view(np.uint32) for v in result]
    )
    assert got.view(np.uint32)[: len(result)].tolist() == wanted.tolist()
    (got,) = evaluate(text, ([math.nan, 0xFFC12345],))
    assert set(got.view(np.uint32).tolist()) == {0x7FFFFFFF}


@pytest.mark.parametrize("name", ["ex2", "lg2", "sin", "cos"])
def test_ftz_flushes_what_goes_in_and_what_comes_out(name: str) -> None:
    x = samples(np.float32, COUNT, 9)
    (plain,) = evaluate_batch(f"{name}.approx.f32", flushed(x))
    (got,) = evaluate_batch(f"{name}.approx.ftz.f32", x)
    assert got.tobytes() == flushed(plain).tobytes()


def test_lanes_that_do_not_execute_hold_no_trap() -> None:
    garbage = [0x7F800001, math.inf, -math.inf, 3e38, -1.0]
    for name in ("ex2", "lg2", "sin", "cos", "tanh"):
        (got,) = evaluate(f"{name}.approx.f32", ([1.0, *garbage],), mask=1)
        assert np.isfinite(got[0])
        assert (got[1:] == 0).all()
