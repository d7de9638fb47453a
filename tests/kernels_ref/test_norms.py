"""The oracles of the norms against plain loops, and their checks on the device against the oracles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import built_in_course, resolve_reference
from tests.kernels_ref.trusted import NEEDS_NVRTC, NONE_BAD, judge

RANDOM = np.random.default_rng(20261123)
EPS = 1e-5

ROWS = {"rows": 3, "cols": 300}
IMAGES = {"samples": 2, "pixels": 40, "groups": 3, "width": 4}


def random(count: int) -> npt.NDArray[np.float32]:
    return RANDOM.uniform(-0.02, 0.04, count).astype(np.float32)


INPUTS: dict[str, tuple[dict[str, int], dict[str, npt.NDArray[Any]]]] = {
    "norms:layer_norm": (ROWS, {"x": random(900), "gamma": random(300), "beta": random(300)}),
    "norms:rms_norm": (ROWS, {"x": random(900), "residual": random(900), "weight": random(300)}),
    "norms:group_norm_nhwc": (IMAGES, {"x": random(960), "gamma": random(12), "beta": random(12)}),
}


def oracle(name: str) -> dict[str, npt.NDArray[np.float64]]:
    size, inputs = INPUTS[name]
    outputs: dict[str, npt.NDArray[np.float64]] = resolve_reference(name, built_in_course())(
        inputs, size | {"eps": EPS}
    )
    return outputs


def standard(values: list[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / len(values)
    return [(value - mean) / math.sqrt(variance + EPS) for value in values]


def test_layer_norm_equals_a_loop_over_rows() -> None:
    _, inputs = INPUTS["norms:layer_norm"]
    gamma, beta = inputs["gamma"].astype(float), inputs["beta"].astype(float)
    expected = [np.array(standard([float(v) for v in row])) * gamma + beta for row in inputs["x"].reshape(3, 300)]
    np.testing.assert_allclose(oracle("norms:layer_norm")["y"].reshape(3, 300), expected, rtol=1e-11, atol=1e-14)


def test_rms_norm_equals_a_loop_over_rows() -> None:
    _, inputs = INPUTS["norms:rms_norm"]
    outputs = oracle("norms:rms_norm")
    for r in range(3):
        places = range(300 * r, 300 * r + 300)
        h = [float(inputs["x"][i]) + float(inputs["residual"][i]) for i in places]
        root = math.sqrt(math.fsum(value * value for value in h) / 300 + EPS)
        np.testing.assert_array_equal(outputs["h"][places], h)
        expected = [value / root * float(weight) for value, weight in zip(h, inputs["weight"], strict=True)]
        np.testing.assert_allclose(outputs["y"][places], expected, rtol=1e-13)


def test_group_norm_equals_a_loop_over_groups_of_neighbouring_channels() -> None:
    _, inputs = INPUTS["norms:group_norm_nhwc"]
    y = oracle("norms:group_norm_nhwc")["y"]
    for sample in range(2):
        for group in range(3):
            channels = [4 * group + c for _ in range(40) for c in range(4)]
            places = [(sample * 40 + i // 4) * 12 + c for i, c in enumerate(channels)]
            values = standard([float(inputs["x"][place]) for place in places])
            gamma, beta = inputs["gamma"][channels].astype(float), inputs["beta"][channels].astype(float)
            np.testing.assert_allclose(y[places], np.array(values) * gamma + beta, rtol=1e-11, atol=1e-14)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", list(INPUTS))
def test_the_check_passes_the_oracles_output_and_names_the_last_element_if_it_is_wrong(name: str) -> None:
    size, inputs = INPUTS[name]
    exact = oracle(name)
    outputs = {array: values.astype(np.float32) for array, values in exact.items()}
    bounds = {"relative": 1e-6, "absolute": 1e-7}
    assert judge(name, inputs | outputs, size, eps=EPS, **bounds) == NONE_BAD
    outputs["y"][-1] += 0.25
    last = sum(map(len, exact.values())) - 1
    bad, first, (index, expected) = judge(name, inputs | outputs, size, eps=EPS, **bounds)
    assert (bad, first, index) == (1, last, last)
    assert expected == pytest.approx(exact["y"][-1], rel=1e-9)
