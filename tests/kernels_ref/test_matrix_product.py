"""The trusted check of C = A · B, for each type of its elements, on the simulator; and the oracle beside it."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import Module
    from grader.simt.simulate import Call

Arrays = dict[str, npt.NDArray[Any]]

COURSE = built_in_course()
CHECKS: Mapping[str, Any] = device_data(COURSE).CHECKS
NEEDS_NVRTC = pytest.mark.skipif(find_toolchain().nvrtc_library is None, reason="NVRTC is not installed")


@dataclass(frozen=True)
class Types:
    """The element types of one check, and integers that A's elements hold exactly in this type and no narrower one."""

    inputs: str
    output: str
    largest: int
    oracle: str = "gemm:matmul"


TYPES: Mapping[str, Types] = {
    "gemm:matmul": Types("float16", "float32", 2047),
    "gemm:matmul_f32": Types("float32", "float32", 4095),
    "gemm:matmul_i8": Types("int8", "int32", 127, oracle="gemm:matmul_i8"),
}
SIZES = {"m": 7, "n": 300, "k": 12}  # n: more than one round of a block's 256 threads, and no whole number of them


def a_product(name: str, sizes: Mapping[str, int] = SIZES) -> Arrays:
    """A, B and the right C, all of them integers."""
    types, random = TYPES[name], np.random.default_rng(20250307)
    a = random.integers(-types.largest, types.largest + 1, sizes["m"] * sizes["k"]).astype(types.inputs)
    b = random.integers(-1, 2, sizes["k"] * sizes["n"]).astype(types.inputs)
    c = resolve_reference(types.oracle, COURSE)({"A": a, "B": b}, sizes)["C"]
    return {"A": a, "B": b, "C": c.astype(types.output)}


@cache
def program(name: str) -> tuple[Module, CodeCache]:
    """The check's sources, joined and compiled as the GPU backend does; and what keeps their machine code."""
    from grader.compile import compile_source
    from grader.simt.engine.code_cache import CodeCache
    from grader.simt.ptx import parse

    sources = CHECKS[name].sources
    text = "\n".join((COURSE.kernels_ref / "device" / source).read_text() for source in sources)
    built = compile_source(text.encode(), sources[-1])
    return parse(built.ptx, built.name), CodeCache(built.key)


def judge(name: str, product: Arrays, seed: int = 1, absolute: float = 0.0) -> tuple[int, int, list[float]]:
    """Bad rows, the first of them, and what the explanation says: index and expected value, if any is bad."""
    check, random = CHECKS[name], np.random.default_rng(seed)
    scratch = {one.name: np.zeros(evaluate_integer(one.count, SIZES)) for one in check.scratch}
    scratch["bits"] = random.integers(0, 2, SIZES["n"]).astype(np.float64)
    findings = np.array([0, 2**64 - 1, 0], np.uint64)
    found = simulated(name, check.steps, {**product, **scratch, "findings": findings}, absolute)["findings"]
    bad, first, _ = (int(number) for number in found.view(np.uint64))
    told: list[float] = []
    if bad:
        arrays = {**product, "findings": found, "explanation": np.zeros(2)}
        told = simulated(name, (check.explain,), arrays, absolute)["explanation"].view(np.float64).tolist()
    return bad, first, told


def simulated(name: str, steps: Sequence[Any], arrays: Arrays, absolute: float) -> Mapping[str, npt.NDArray[np.uint8]]:
    """Launch some of the check's steps on the simulator; nothing may be found. The memory afterwards."""
    from grader.simt.simulate import Memory, simulate

    module, code = program(name)
    memories = [Memory(key, np.frombuffer(array.tobytes(), np.uint8), True) for key, array in arrays.items()]
    calls = [call(step, arrays, absolute) for step in steps]
    outcome = simulate(module, memories, calls, cache=code)
    assert outcome.complete
    assert outcome.events == ()
    return outcome.memory


def call(step: Any, arrays: Arrays, absolute: float) -> Call:
    """One step's launch: addresses, 64-bit sizes and doubles, as the GPU backend passes them."""
    from grader.simt.simulate import Call

    def argument(name: str) -> str | bytes:
        if name in arrays:
            return name
        return struct.pack("<q", SIZES[name]) if name in SIZES else struct.pack("<d", bounds[name])

    bounds = {"relative": 0.0, "absolute": absolute}
    grid = evaluate_integer(step.grid, SIZES)
    return Call(step.kernel, (grid, 1, 1), (step.block, 1, 1), 0, tuple(map(argument, step.args)))


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TYPES)
def test_a_check_passes_the_oracles_product(name: str) -> None:
    assert judge(name, a_product(name)) == (0, 2**64 - 1, [])


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("index", [0, 299, 300, 1234, 2099])
def test_a_check_finds_one_element_that_is_off_by_one_and_says_what_it_should_be(name: str, index: int) -> None:
    product = a_product(name)
    expected = float(product["C"][index])
    product["C"][index] += 1
    assert judge(name, product) == (1, index // 300, [index, expected])


@NEEDS_NVRTC
@pytest.mark.parametrize("name", [name for name, types in TYPES.items() if types.output == "float32"])
def test_a_check_finds_a_nan(name: str) -> None:
    product = a_product(name)
    product["C"][750] = np.nan
    assert judge(name, product)[:2] == (1, 2)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TYPES)
def test_a_check_refuses_the_product_of_other_matrices(name: str) -> None:
    product = a_product(name)
    product["C"] = product["C"].reshape(7, 300)[::-1].ravel().copy()  # the middle one of seven rows stays where it is
    assert judge(name, product)[:2] == (6, 0)


@NEEDS_NVRTC
def test_errors_that_hide_from_one_random_vector_are_found_by_another() -> None:
    """Two errors in a row that cancel for half of the vectors."""
    product = a_product("gemm:matmul_f32")
    product["C"][10] += 1
    product["C"][11] += 1
    assert {judge("gemm:matmul_f32", product, seed)[0] for seed in range(8)} == {0, 1}


@NEEDS_NVRTC
def test_a_tolerance_for_each_element_allows_its_root_sum_of_squares_to_a_row() -> None:
    product = a_product("gemm:matmul_f32")
    product["C"] += 1.0
    assert judge("gemm:matmul_f32", product, absolute=1.0)[0] == 0
    product["C"] = a_product("gemm:matmul_f32")["C"] + np.float32(64) * np.resize([1, -1], 2100).astype(np.float32)
    assert judge("gemm:matmul_f32", product, absolute=1.0)[0] > 0


@NEEDS_NVRTC
def test_elements_of_floats_are_not_read_through_a_narrower_type() -> None:
    """Each element of A needs its 12 bits: 4095 is no half and no tf32."""
    product = a_product("gemm:matmul_f32")
    product["A"][:] = 4095
    product["C"] = resolve_reference("gemm:matmul", COURSE)(product, SIZES)["C"].astype(np.float32)
    assert judge("gemm:matmul_f32", product) == (0, 2**64 - 1, [])


@pytest.mark.parametrize("name", [name for name, types in TYPES.items() if types.oracle == "gemm:matmul"])
def test_the_oracle_takes_these_types_and_computes_in_float64(name: str) -> None:
    types = TYPES[name]
    a, b = (np.array(values, types.inputs) for values in ([1, 2, 3, 4], [0.5, 1, 0, 2**-10]))
    c = resolve_reference(types.oracle, COURSE)({"A": a, "B": b}, {"m": 2, "n": 2, "k": 2})["C"]
    assert c.dtype == np.float64
    assert c.tolist() == [0.5, 1 + 2**-9, 1.5, 3 + 2**-8]
