"""saxpy, add_relu and hello_index's coordinates: oracles against plain loops, trusted checks on the simulator."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.backends.gpu.reference import device_data
from grader.catalog.courses import built_in_course, resolve_reference
from grader.compile import Program, compile_source
from grader.compile.toolchain import find_toolchain
from grader.expressions import evaluate_integer
from grader.simt.engine.code_cache import CodeCache
from grader.simt.ptx import parse
from grader.simt.simulate import Call, Memory, simulate

Arrays = Mapping[str, npt.NDArray[Any]]

N = 3001
NUMBERS = {"n": N, "alpha": 2.5}
NEEDS_NVRTC = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


def oracle(name: str, inputs: Arrays, numbers: Mapping[str, float]) -> dict[str, npt.NDArray[np.float64]]:
    outputs: dict[str, npt.NDArray[np.float64]] = resolve_reference(name, built_in_course())(inputs, numbers)
    assert all(array.dtype == np.float64 and array.ndim == 1 for array in outputs.values())
    return outputs


def uniform(seed: int, dtype: str) -> npt.NDArray[Any]:
    return np.random.default_rng(seed).uniform(-1, 1, N).astype(dtype)


INPUTS: Mapping[str, Arrays] = {
    "elementwise:saxpy": {"x": uniform(1, "float32"), "y": uniform(2, "float32")},
    "elementwise:add_relu": {"a": uniform(3, "float16"), "b": uniform(4, "float16")},
}


# -------------------------------------------------------------------------------------------------------------- oracles


def test_saxpy_scales_x_and_keeps_the_bits_that_a_float32_would_lose() -> None:
    x, y = np.array([2**24 + 2, 0.1], np.float32), np.array([1, 0.2], np.float32)
    out = oracle("elementwise:saxpy", {"x": x, "y": y}, {"n": 2, "alpha": 2.5})["out"]
    assert out.tolist() == [2.5 * (2**24 + 2) + 1, 2.5 * float(x[1]) + float(y[1])]


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

UNTOUCHED = np.array([0, 2**64 - 1, 0], np.uint64)
RELATIVE: Mapping[str, float] = {"elementwise:saxpy": 2**-22, "elementwise:add_relu": 2**-10}


@cache
def compiled(name: str) -> Program:
    """The check's files, joined as for a GPU."""
    folder, sources = built_in_course().kernels_ref / "device", device_data(built_in_course()).CHECKS[name].sources
    return compile_source("\n".join((folder / file).read_text() for file in sources).encode(), sources[-1])


def judged(name: str, answer: Arrays, findings: npt.NDArray[np.uint64] = UNTOUCHED) -> Arrays:
    """The memory after a check's steps; after its explanation, where there are findings already."""
    check, program = device_data(built_in_course()).CHECKS[name], compiled(name)
    arrays = {**INPUTS[name], **answer, "findings": findings, "explanation": np.zeros(2)}
    memories = [Memory(key, np.frombuffer(array.tobytes(), np.uint8), True) for key, array in arrays.items()]
    steps = check.steps if findings is UNTOUCHED else (check.explain,)
    calls = [call(step, arrays, {**NUMBERS, "relative": RELATIVE[name], "absolute": 2**-22}) for step in steps]
    outcome = simulate(parse(program.ptx, program.name), memories, calls, cache=CodeCache(program.key))
    assert outcome.complete, outcome.events
    return {key: outcome.memory[key].view(array.dtype) for key, array in arrays.items()}


def call(step: Any, arrays: Arrays, numbers: Mapping[str, float]) -> Call:
    """A step's launch: sizes are 64-bit integers, scalars and bounds doubles."""

    def argument(name: str) -> str | bytes:
        return name if name in arrays else struct.pack("<q" if name == "n" else "<d", numbers[name])

    grid = evaluate_integer(step.grid, {"n": N})
    return Call(step.kernel, (grid, 1, 1), (step.block, 1, 1), 0, tuple(map(argument, step.args)))


def right(name: str) -> dict[str, npt.NDArray[Any]]:
    """The oracle's answer in the inputs' type, by the output's name."""
    dtype = next(iter(INPUTS[name].values())).dtype
    return {key: array.astype(dtype) for key, array in oracle(name, INPUTS[name], NUMBERS).items()}


@NEEDS_NVRTC
@pytest.mark.parametrize("name", INPUTS)
def test_a_check_passes_the_oracles_output(name: str) -> None:
    np.testing.assert_array_equal(judged(name, right(name))["findings"], UNTOUCHED)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize(("spoilt", "by"), [(0, np.nan), (N - 1, 0.25)])
def test_a_check_finds_one_wrong_element_and_says_what_it_should_be(name: str, spoilt: int, by: float) -> None:
    ((output, values),) = right(name).items()
    values[spoilt] += by
    bad, first, _ = findings = judged(name, {output: values})["findings"]
    assert (int(bad), int(first)) == (1, spoilt)
    index, expected = judged(name, {output: values}, findings)["explanation"]
    assert (index, expected) == (spoilt, oracle(name, INPUTS[name], NUMBERS)[output][spoilt])
