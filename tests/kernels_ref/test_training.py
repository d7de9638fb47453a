"""The oracle of allreduce_ring against a loop over rounds, GPUs and elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import built_in_course, resolve_reference

Reals = npt.NDArray[Any]


def oracle(x: Reals, weight: Reals, rate: Reals) -> Reals:
    numbers = {"gpus": len(weight), "n": len(x) // len(weight), "rounds": len(rate)}
    found = resolve_reference("training:descent", built_in_course())({"x": x, "weight": weight, "rate": rate}, numbers)
    out: Reals = found["out"]
    return out


def trained(x: Reals, weight: Reals, rate: Reals) -> Reals:
    """What the statement says, word by word."""
    data = x.astype(np.float64).reshape(len(weight), -1)
    p = np.zeros(data.shape[1])
    for one in rate.astype(np.float64):
        gradients = [w * (mine - p) for w, mine in zip(weight.astype(np.float64), data, strict=True)]
        p = p + one / 16 * sum(gradients)
    return np.concatenate([p] * len(weight))


@pytest.mark.parametrize(("gpus", "n", "rounds"), [(2, 1, 1), (3, 5, 2), (4, 33, 4), (8, 3, 40)])
def test_descent_is_the_training_round_by_round(gpus: int, n: int, rounds: int) -> None:
    random = np.random.default_rng(20250401)
    x = random.uniform(-1, 1, gpus * n).astype(np.float32)
    weight, rate = (random.uniform(0.5, 1, count).astype(np.float32) for count in (gpus, rounds))
    out = oracle(x, weight, rate)
    assert out.dtype == np.float64
    np.testing.assert_allclose(out, trained(x, weight, rate), rtol=1e-12, atol=1e-15)


def test_small_integers_are_exact_in_floats_on_four_gpus_for_four_rounds() -> None:
    random = np.random.default_rng(20250402)
    x = random.integers(-8, 9, 4 * 500).astype(np.float32)
    weight, rate = (random.integers(1, 3, 4).astype(np.float32) for _ in range(2))
    p = np.zeros(500, np.float32)
    for one in rate:
        total = np.zeros(500, np.float32)
        for w, mine in zip(weight, x.reshape(4, -1), strict=True):
            total += w * (mine - p)
        p = p + one / np.float32(16) * total
    assert p.dtype == np.float32
    np.testing.assert_array_equal(oracle(x, weight, rate), np.tile(p, 4).astype(np.float64))
