"""The oracle of the matrix-vector product against loops, and its trusted check, which runs on the simulator here."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.backends.gpu.reference import device_data
from grader.catalog.courses import built_in_course, resolve_reference
from grader.compile.toolchain import find_toolchain
from grader.expressions import evaluate_integer

if TYPE_CHECKING:
    from grader.compile import Program
    from grader.simt.simulate import Call

Arrays = Mapping[str, npt.NDArray[Any]]

COURSE = built_in_course()
CHECK = device_data(COURSE).CHECKS["gemm:matvec"]
SIZES = {"m": 7, "k": 520}  # k: more than two rounds of a block's 256 threads, and no whole number of them
NEEDS_NVRTC = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


def oracle(a: npt.NDArray[np.float16], x: npt.NDArray[np.float16]) -> npt.NDArray[np.float64]:
    sizes = {"m": len(a) // len(x), "k": len(x)}
    y: npt.NDArray[np.float64] = resolve_reference("gemm:matvec", COURSE)({"A": a, "x": x}, sizes)["y"]
    return y


@pytest.mark.parametrize(("m", "k"), [(1, 1), (1, 8), (3, 5), (16, 33)])
def test_matvec_equals_two_loops(m: int, k: int) -> None:
    random = np.random.default_rng(20250309)
    a, x = (random.uniform(-1, 1, count).astype(np.float16) for count in (m * k, k))
    y = oracle(a, x)
    assert y.dtype == np.float64
    assert y.shape == (m,)
    for r in range(m):
        expected = math.fsum(float(a[r * k + c]) * float(x[c]) for c in range(k))
        assert y[r] == pytest.approx(expected, rel=1e-13, abs=1e-14)


def test_matvec_is_the_product_of_matrices_with_one_column() -> None:
    random = np.random.default_rng(20250310)
    a, x = (random.integers(-2047, 2048, count).astype(np.float16) for count in (12 * 40, 40))
    c = resolve_reference("gemm:matmul", COURSE)({"A": a, "B": x}, {"m": 12, "n": 1, "k": 40})["C"]
    np.testing.assert_array_equal(oracle(a, x), c)


@cache
def program() -> Program:
    """The check's sources, joined and compiled as the GPU backend does."""
    from grader.compile import compile_source

    text = "\n".join((COURSE.kernels_ref / "device" / source).read_text() for source in CHECK.sources)
    return compile_source(text.encode(), CHECK.sources[-1])


def judge(arrays: Arrays, absolute: float = 0.0) -> tuple[int, int, list[float]]:
    """Bad elements, the first of them, and what the explanation says: index and expected value, if any is bad."""
    untouched = np.array([0, 2**64 - 1, 0], np.uint64)
    found = simulated(CHECK.steps, {**arrays, "findings": untouched}, absolute)["findings"].view(np.uint64)
    told: list[float] = []
    if found[0]:
        known: Arrays = {**arrays, "findings": found, "explanation": np.zeros(2)}
        told = simulated((CHECK.explain,), known, absolute)["explanation"].view(np.float64).tolist()
    return int(found[0]), int(found[1]), told


def simulated(steps: Sequence[Any], arrays: Arrays, absolute: float) -> Mapping[str, npt.NDArray[np.uint8]]:
    """Launch some of the check's steps on the simulator; nothing may be found. The memory afterwards."""
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse
    from grader.simt.simulate import Memory, simulate

    memories = [Memory(name, np.frombuffer(array.tobytes(), np.uint8), True) for name, array in arrays.items()]
    calls = [call(step, arrays, absolute) for step in steps]
    outcome = simulate(parse(program().ptx, CHECK.sources[-1]), memories, calls, cache=CodeCache(program().key))
    assert outcome.complete
    assert outcome.events == ()
    return outcome.memory


def call(step: Any, arrays: Arrays, absolute: float) -> Call:
    """One step's launch: addresses, 64-bit sizes and doubles, as the GPU backend passes them."""
    from grader.simt.simulate import Call

    bounds = {"relative": 0.0, "absolute": absolute}

    def argument(name: str) -> str | bytes:
        if name in arrays:
            return name
        return struct.pack("<q", SIZES[name]) if name in SIZES else struct.pack("<d", bounds[name])

    grid = evaluate_integer(step.grid, SIZES)
    return Call(step.kernel, (grid, 1, 1), (step.block, 1, 1), 0, tuple(map(argument, step.args)))


def a_right_answer() -> dict[str, npt.NDArray[Any]]:
    """Integers that a half only just holds: whoever reads them through a narrower type is wrong."""
    random = np.random.default_rng(20250311)
    a = random.integers(-2047, 2048, SIZES["m"] * SIZES["k"]).astype(np.float16)
    x = random.choice([-1, 1], SIZES["k"]).astype(np.float16)
    return {"A": a, "x": x, "y": oracle(a, x).astype(np.float32)}


@NEEDS_NVRTC
def test_the_check_passes_the_oracles_output() -> None:
    assert judge(a_right_answer()) == (0, 2**64 - 1, [])


@NEEDS_NVRTC
@pytest.mark.parametrize("index", [0, 3, 6])
def test_the_check_finds_one_element_that_is_off_by_one_and_says_what_it_should_be(index: int) -> None:
    arrays = a_right_answer()
    expected = float(arrays["y"][index])
    arrays["y"][index] += 1
    assert judge(arrays) == (1, index, [index, expected])


@NEEDS_NVRTC
def test_the_check_finds_a_nan_and_every_other_row() -> None:
    arrays = a_right_answer()
    arrays["y"][2] = np.nan
    assert judge(arrays)[:2] == (1, 2)
    assert judge({**a_right_answer(), "y": np.full(SIZES["m"], 2**24, np.float32)})[:2] == (SIZES["m"], 0)


@NEEDS_NVRTC
def test_the_check_allows_the_tolerance_and_no_more() -> None:
    arrays = a_right_answer()
    arrays["y"][4] += 2
    assert judge(arrays, absolute=2.0)[0] == 0
    assert judge(arrays, absolute=1.5)[:2] == (1, 4)
