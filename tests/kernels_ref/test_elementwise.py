"""saxpy, add_relu and hello_index's coordinates: oracles against plain loops, trusted checks on the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, NONE_BAD, Arrays, judge

N = 3001
NUMBERS = {"n": N, "alpha": 2.5}


def oracle(name: str, inputs: Arrays, numbers: Mapping[str, float]) -> dict[str, npt.NDArray[np.float64]]:
    outputs: dict[str, npt.NDArray[np.float64]] = resolve_reference(name, COURSE)(inputs, numbers)
    assert all(array.dtype == np.float64 and array.ndim == 1 for array in outputs.values())
    return outputs


def uniform(seed: int, dtype: str) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).uniform(-1, 1, N).astype(dtype)


INPUTS: Mapping[str, Arrays] = {
    "elementwise:saxpy": {"x": uniform(1, "float32"), "y": uniform(2, "float32")},
    "elementwise:saxpy_reversed": {"x": uniform(5, "float32"), "y": uniform(6, "float32")},
    "elementwise:saxpy_clamped": {"x": uniform(7, "float32"), "y": uniform(8, "float32")},
    "elementwise:add_relu": {"a": uniform(3, "float16"), "b": uniform(4, "float16")},
}


# -------------------------------------------------------------------------------------------------------------- oracles


def test_saxpy_scales_x_and_keeps_the_bits_that_a_float32_would_lose() -> None:
    x, y = np.array([2**24 + 2, 0.1], np.float32), np.array([1, 0.2], np.float32)
    out = oracle("elementwise:saxpy", {"x": x, "y": y}, {"n": 2, "alpha": 2.5})["out"]
    assert out.tolist() == [2.5 * (2**24 + 2) + 1, 2.5 * float(x[1]) + float(y[1])]


def test_the_forms_of_saxpy_read_x_from_its_end_and_cut_off_what_is_negative() -> None:
    inputs = {"x": np.array([1, -2, 3], np.float32), "y": np.array([1, 2, -30], np.float32)}
    numbers = {"n": 3, "alpha": 2.0}
    assert oracle("elementwise:saxpy_reversed", inputs, numbers)["out"].tolist() == [7, -2, -28]
    assert oracle("elementwise:saxpy_clamped", inputs, numbers)["out"].tolist() == [3, 0, 0]


def test_add_relu_adds_first_and_then_cuts_off_what_is_negative() -> None:
    a, b = np.array([1, -3, 2048, -1], np.float16), np.array([-2, 5, 1, 0.5], np.float16)
    assert oracle("elementwise:add_relu", {"a": a, "b": b}, {"n": 4})["c"].tolist() == [0, 2, 2049, 0]


@pytest.mark.parametrize(("n", "depth", "height", "width"), [(1, 1, 1, 1), (5, 2, 3, 4), (33, 3, 7, 5)])
def test_coordinates_tell_where_every_element_is(n: int, depth: int, height: int, width: int) -> None:
    outputs = oracle("elementwise:coordinates", {}, {"n": n, "depth": depth, "height": height, "width": width})
    assert outputs["line"].tolist() == list(range(n))
    assert len(outputs["plane"]) == height * width
    assert len(outputs["box"]) == depth * height * width
    for y in range(height):
        for x in range(width):
            assert outputs["plane"][y * width + x] == 1000 * y + x
            for z in range(depth):
                assert outputs["box"][(z * height + y) * width + x] == 1_000_000 * z + 1000 * y + x


# ------------------------------------------------------------------------------- trusted checks, on the simulator

RELATIVE: Mapping[str, float] = {name: 2**-10 if name == "elementwise:add_relu" else 2**-22 for name in INPUTS}


def judged(name: str, answer: Arrays) -> tuple[int, int, list[float]]:
    scalars = {"alpha": NUMBERS["alpha"], "relative": RELATIVE[name], "absolute": 2**-22}
    return judge(name, {**INPUTS[name], **answer}, {"n": N}, **scalars)


def right(name: str) -> dict[str, npt.NDArray[Any]]:
    """The oracle's answer in the inputs' type, by the output's name."""
    dtype = next(iter(INPUTS[name].values())).dtype
    return {key: array.astype(dtype) for key, array in oracle(name, INPUTS[name], NUMBERS).items()}


@NEEDS_NVRTC
@pytest.mark.parametrize("name", INPUTS)
def test_a_check_passes_the_oracles_output(name: str) -> None:
    assert judged(name, right(name)) == NONE_BAD


@NEEDS_NVRTC
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize(("spoilt", "by"), [(0, np.nan), (N - 1, 0.25)])
def test_a_check_finds_one_wrong_element_and_says_what_it_should_be(name: str, spoilt: int, by: float) -> None:
    ((output, values),) = right(name).items()
    values[spoilt] += by
    expected = oracle(name, INPUTS[name], NUMBERS)[output][spoilt]
    assert judged(name, {output: values}) == (1, spoilt, [spoilt, expected])
