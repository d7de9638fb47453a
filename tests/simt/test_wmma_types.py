"""`<mma.h>` in all its shapes and element types: products of small integers, which every type holds."""

from __future__ import annotations

import numpy as np
import pytest

from grader.simt.observers import WATCHING
from tests.simt.kernels import Array, run

SOURCE = """#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
extern "C" __global__ void k(const ELEMENT* a, const ELEMENT* b, const SUM* c, SUM* d) {
    wmma::fragment<wmma::matrix_a, SHAPE, KIND, wmma::ALAYOUT> left;
    wmma::fragment<wmma::matrix_b, SHAPE, KIND, wmma::BLAYOUT> right;
    wmma::fragment<wmma::accumulator, SHAPE, SUM> sum;
    wmma::load_matrix_sync(left, a, ALD);
    wmma::load_matrix_sync(right, b, BLD);
    wmma::load_matrix_sync(sum, c, CLD, wmma::mem_row_major);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, DLD, wmma::mem_col_major);
}
"""
KINDS = {
    "half, sums in float": ("half", "half", "float", 8),
    "half, sums in half": ("half", "half", "half", 8),
    "bfloat16": ("__nv_bfloat16", "__nv_bfloat16", "float", 8),
    "signed char": ("signed char", "signed char", "int", 127),
    "unsigned char": ("unsigned char", "unsigned char", "int", 255),
    "tf32": ("wmma::precision::tf32", "float", "float", 8),
}
DTYPES = {"half": "f2", "float": "f4", "int": "i4", "signed char": "i1", "unsigned char": "u1"}
SHAPES = [(16, 16, 16), (8, 32, 16), (32, 8, 16)]
LAYOUTS = [(a, b) for a in ("row_major", "col_major") for b in ("row_major", "col_major")]
"""Of a and b: each type and each shape meets several."""
CASES = [(shape, kind) for shape in SHAPES for kind in KINDS if kind != "tf32"] + [((16, 16, 8), "tf32")]


def elements(matrix: Array, kind: str, layout: str) -> Array:
    """The matrix in memory, as CUDA C's type has it."""
    held = matrix if layout == "row_major" else matrix.T
    if kind == "__nv_bfloat16":
        return (held.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).reshape(-1)
    return held.astype(DTYPES[kind]).reshape(-1)


@pytest.mark.parametrize(("shape", "name"), CASES, ids=lambda part: part if isinstance(part, str) else f"m{part[0]}")
def test_a_fragment_of_each_type_multiplies(shape: tuple[int, int, int], name: str) -> None:
    m, n, k = shape
    kind, element, total, largest = KINDS[name]
    a_layout, b_layout = LAYOUTS[CASES.index((shape, name)) % len(LAYOUTS)]
    meant = {
        "ELEMENT": element, "SUM": total, "SHAPE": f"{m}, {n}, {k}", "KIND": kind, "ALAYOUT": a_layout,
        "BLAYOUT": b_layout, "ALD": k if a_layout == "row_major" else m, "BLD": n if b_layout == "row_major" else k,
        "CLD": n, "DLD": m,
    }  # fmt: skip
    defined = "".join(f"#define {word} {text}\n" for word, text in meant.items())
    rng = np.random.default_rng(m)
    low = 0 if name == "unsigned char" else -largest
    a, b, c = (rng.integers(low, largest + 1, size) for size in ((m, k), (k, n), (m, n)))
    arrays = {
        "a": elements(a, element, a_layout), "b": elements(b, element, b_layout), "c": elements(c, total, "row_major"),
        "d": np.zeros(m * n, DTYPES[total]),
    }  # fmt: skip
    ran = run(defined + SOURCE, arrays, observed=frozenset(WATCHING))
    assert ran.kinds == []
    got = ran.arrays["d"].reshape(n, m).T
    assert np.array_equal(got, a @ b + c)
