"""The trusted check of C = A · B, for each type of its elements, on the simulator; and the oracle beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from grader.catalog.courses import resolve_reference
from grader.expressions import evaluate_integer
from tests.kernels_ref.trusted import CHECKS, COURSE, NEEDS_NVRTC, NONE_BAD, judge

Arrays = dict[str, npt.NDArray[Any]]


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


def judged(name: str, product: Arrays, seed: int = 1, absolute: float = 0.0) -> tuple[int, int, list[float]]:
    """`judge` with random vectors of this seed; what is bad is a row."""
    scratch = {one.name: np.zeros(evaluate_integer(one.count, SIZES)) for one in CHECKS[name].scratch}
    scratch["bits"] = np.random.default_rng(seed).integers(0, 2, SIZES["n"]).astype(np.float64)
    return judge(name, product, SIZES, scratch=scratch, absolute=absolute)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TYPES)
def test_a_check_passes_the_oracles_product(name: str) -> None:
    assert judged(name, a_product(name)) == NONE_BAD


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("index", [0, 299, 300, 1234, 2099])
def test_a_check_finds_one_element_that_is_off_by_one_and_says_what_it_should_be(name: str, index: int) -> None:
    product = a_product(name)
    expected = float(product["C"][index])
    product["C"][index] += 1
    assert judged(name, product) == (1, index // 300, [index, expected])


@NEEDS_NVRTC
@pytest.mark.parametrize("name", [name for name, types in TYPES.items() if types.output == "float32"])
def test_a_check_finds_a_nan(name: str) -> None:
    product = a_product(name)
    product["C"][750] = np.nan
    assert judged(name, product)[:2] == (1, 2)


@NEEDS_NVRTC
@pytest.mark.parametrize("name", TYPES)
def test_a_check_refuses_the_product_of_other_matrices(name: str) -> None:
    product = a_product(name)
    product["C"] = product["C"].reshape(7, 300)[::-1].ravel().copy()  # the middle one of seven rows stays where it is
    assert judged(name, product)[:2] == (6, 0)


@NEEDS_NVRTC
def test_errors_that_hide_from_one_random_vector_are_found_by_another() -> None:
    """Two errors in a row that cancel for half of the vectors."""
    product = a_product("gemm:matmul_f32")
    product["C"][10] += 1
    product["C"][11] += 1
    assert {judged("gemm:matmul_f32", product, seed)[0] for seed in range(8)} == {0, 1}


@NEEDS_NVRTC
def test_a_tolerance_for_each_element_allows_its_root_sum_of_squares_to_a_row() -> None:
    product = a_product("gemm:matmul_f32")
    product["C"] += 1.0
    assert judged("gemm:matmul_f32", product, absolute=1.0)[0] == 0
    product["C"] = a_product("gemm:matmul_f32")["C"] + np.float32(64) * np.resize([1, -1], 2100).astype(np.float32)
    assert judged("gemm:matmul_f32", product, absolute=1.0)[0] > 0


@NEEDS_NVRTC
def test_elements_of_floats_are_not_read_through_a_narrower_type() -> None:
    """Each element of A needs its 12 bits: 4095 is no half and no tf32."""
    product = a_product("gemm:matmul_f32")
    product["A"][:] = 4095
    product["C"] = resolve_reference("gemm:matmul", COURSE)(product, SIZES)["C"].astype(np.float32)
    assert judged("gemm:matmul_f32", product) == NONE_BAD


@pytest.mark.parametrize("name", [name for name, types in TYPES.items() if types.oracle == "gemm:matmul"])
def test_the_oracle_takes_these_types_and_computes_in_float64(name: str) -> None:
    types = TYPES[name]
    a, b = (np.array(values, types.inputs) for values in ([1, 2, 3, 4], [0.5, 1, 0, 2**-10]))
    c = resolve_reference(types.oracle, COURSE)({"A": a, "B": b}, {"m": 2, "n": 2, "k": 2})["C"]
    assert c.dtype == np.float64
    assert c.tolist() == [0.5, 1 + 2**-9, 1.5, 3 + 2**-8]
