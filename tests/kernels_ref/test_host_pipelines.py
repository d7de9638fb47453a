"""Harmonics, their echo and the heated rod: oracles against plain loops, trusted kernels on the simulator."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from grader.catalog.exercises import load_catalog
from grader.compare.tolerance import right
from grader.compile import compile_source
from grader.inputs import make_inputs
from grader.launch import DeviceLimits, parse_launches, resolve_launches
from grader.simt.simulate import Call
from tests.kernels_ref.trusted import COURSE, NEEDS_NVRTC, Arrays, launched

EXERCISES = {item.exercise.name: item.exercise for item in load_catalog().exercises}
HARMONICS, DELAY = 896, 4096


def oracle(name: str, inputs: Arrays, numbers: Mapping[str, float]) -> npt.NDArray[np.float64]:
    out: npt.NDArray[np.float64] = resolve_reference(name, COURSE)(inputs, numbers)["out"]
    assert out.dtype == np.float64
    return out


def sum_of_cosines(x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The sum of T_k(x) / 2^floor(log2 k), harmonic by harmonic."""
    angle = np.arccos(x.astype(np.float64))
    result: npt.NDArray[np.float64] = np.zeros(len(x))
    for k in range(1, HARMONICS):
        result += np.cos(k * angle) / 2 ** (k.bit_length() - 1)
    return result


# -------------------------------------------------------------------------------------------------------------- oracles


def test_harmonics_are_the_sum_of_chebyshev_polynomials() -> None:
    x = np.random.default_rng(1).uniform(-0.9, 0.9, 70_001).astype(np.float32)
    np.testing.assert_allclose(oracle("waveshaper:harmonics", {"x": x}, {"n": len(x)}), sum_of_cosines(x), atol=1e-11)


def test_harmonics_are_exact_where_every_polynomial_is_an_integer() -> None:
    x = np.array([-1, 0, 1, 1, 0], np.float32)
    assert oracle("waveshaper:harmonics", {"x": x}, {"n": 5}).tolist() == [-1, -0.5, 9.75, 9.75, -0.5]


@pytest.mark.parametrize("n", [1, DELAY - 1, DELAY, DELAY + 1, 3 * DELAY])
def test_an_echo_comes_4096_samples_late_and_is_limited(n: int) -> None:
    x = np.random.default_rng(n).integers(-1, 2, n).astype(np.float32)
    x[-1] = x[0] = 1  # at DELAY + 1 samples these two add up to more than 1
    mixed = np.array([min(max(x[i] + (x[i - DELAY] if i >= DELAY else 0), -1), 1) for i in range(n)])
    echoed = oracle("waveshaper:echo", {"x": x}, {"n": n})
    np.testing.assert_array_equal(echoed, oracle("waveshaper:harmonics", {"x": mixed}, {"n": n}))


@pytest.mark.parametrize("n", [1, 5000, 20_000])
def test_what_new_samples_change_is_what_the_whole_echo_says(n: int) -> None:
    random = np.random.default_rng(n)
    x = random.uniform(-0.45, 0.45, n).astype(np.float32)
    echo: Any = resolve_reference("waveshaper:echo", COURSE)
    now = echo({"x": x}, {"n": n})["out"]
    places = np.unique(random.integers(0, n, 40))
    x[places] = random.uniform(-0.45, 0.45, len(places))
    changed, values = echo.changed({"x": x}, {"n": n}, {"x": places})["out"]
    now[changed] = values
    np.testing.assert_array_equal(now, echo({"x": x}, {"n": n})["out"])


@pytest.mark.parametrize(("n", "steps"), [(1, 1), (2, 3), (7, 4)])
def test_a_rod_takes_a_quarter_of_each_neighbour_in_every_step(n: int, steps: int) -> None:
    random = np.random.default_rng(n)
    x, heat = random.random(n).astype(np.float32), random.random(steps).astype(np.float32)
    now = [float(value) for value in x]
    for step in range(steps):
        around = [float(heat[step]), *now, now[-1]]
        now = [around[i] / 4 + around[i + 1] / 2 + around[i + 2] / 4 for i in range(n)]
    np.testing.assert_allclose(
        oracle("stencil:heated", {"x": x, "heat": heat}, {"n": n, "steps": steps}), now, rtol=1e-14
    )


# ------------------------------------------------------------------------------- trusted kernels, on the simulator

SIZES: Mapping[str, Mapping[str, int]] = {
    "streams_overlap": {"n": 1001},
    "streams_events": {"n": DELAY + 1001},
    "cuda_graph": {"n": 1001, "steps": 1},
    "cooperative_grid": {"n": 1001, "steps": 1},
}


def computed(name: str, arrays: Arrays) -> npt.NDArray[np.float32]:
    """``out`` after the launch line of kernels_ref/host/NAME.cu."""
    file = COURSE.kernels_ref / "host" / f"{name}.cu"
    program = compile_source(file.read_bytes(), file.name)
    script = parse_launches(program.source, file=file.name)
    plan = resolve_launches(script, EXERCISES[name], SIZES[name], DeviceLimits(), program)
    calls = [Call(one.kernel, one.grid, one.block, 0, tuple(map(argument, one.args))) for one in plan.launches]
    return launched(file, calls, arrays)["out"].view(np.float32)


def argument(value: str | float | bytes) -> str | bytes:
    """An array's name, or an integer as the kernel takes it."""
    return value if isinstance(value, str | bytes) else struct.pack("<i", int(value))


def inputs(name: str) -> dict[str, npt.NDArray[Any]]:
    """Real values of the exercise's inputs at a small size."""
    return dict(make_inputs(EXERCISES[name], SIZES[name], 1, "real"))


@NEEDS_NVRTC
@pytest.mark.parametrize("name", SIZES)
def test_what_the_ideal_is_measured_with_computes_the_exercises_outputs(name: str) -> None:
    given = inputs(name)
    count = len(given["x"])
    got = computed(name, {**given, "out": np.full(count, np.nan, np.float32)})
    expected = oracle(EXERCISES[name].oracle, given, SIZES[name])
    assert right(EXERCISES[name], SIZES[name], "real", got, expected).all()
