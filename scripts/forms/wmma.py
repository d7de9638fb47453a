"""`<mma.h>`: every shape and element type, all layouts of the operands, in global and in shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from forms import Array, Form
from forms.values import DTYPES, absolute, values

SHAPES = ("16, 16, 16", "8, 32, 16", "32, 8, 16")
KINDS = {
    # name of the kind: PTX types of a and b, of c, of d
    "half to float": ("f16", "f32", "f32"),
    "half to half": ("f16", "f16", "f16"),
    "half, c half, d float": ("f16", "f16", "f32"),
    "half, c float, d half": ("f16", "f32", "f16"),
    "bfloat16": ("bf16", "f32", "f32"),
    "signed char": ("s8", "s32", "s32"),
    "unsigned char": ("u8", "s32", "s32"),
    "tf32": ("tf32", "f32", "f32"),
}
C_TYPES = {"f16": "half", "bf16": "__nv_bfloat16", "s8": "signed char", "u8": "unsigned char", "tf32": "float",
           "f32": "float", "s32": "int"}  # fmt: skip

PITCH, ROWS, TILES = 48, 32, 2
"""Every matrix is the corner of one of so many rows: an array's own pitch, and more than any shape needs."""
SIZE, CASES = PITCH * ROWS, 8
"""Elements of a matrix; products of a kernel: 4 pairs of layouts from each of 2 memories."""

HEAD = f"""#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
constexpr int PITCH = {PITCH}, SIZE = {SIZE}, CASES = {CASES};
template <class Layout> __device__ constexpr wmma::layout_t ORDER = wmma::mem_col_major;
template <> __device__ constexpr wmma::layout_t ORDER<wmma::row_major> = wmma::mem_row_major;
template <int M, int N, int K, class Kind, class A, class B, bool Clamps, class E, class C, class D>
__device__ void multiply(const E* a, const E* b, const C* c, D* d, D* by) {{
  wmma::fragment<wmma::matrix_a, M, N, K, Kind, A> left;
  wmma::fragment<wmma::matrix_b, M, N, K, Kind, B> right;
  wmma::fragment<wmma::accumulator, M, N, K, C> start;
  wmma::fragment<wmma::accumulator, M, N, K, D> sum;
  wmma::load_matrix_sync(left, a, PITCH);
  wmma::load_matrix_sync(right, b, PITCH);
  wmma::load_matrix_sync(start, c, PITCH, ORDER<A>);
  if constexpr (Clamps) wmma::mma_sync(sum, left, right, start, true);
  else wmma::mma_sync(sum, left, right, start);
  if (!by) {{
    wmma::store_matrix_sync(d, sum, PITCH, ORDER<B>);
    return;
  }}
  for (int i = threadIdx.x; i < SIZE; i += 32) by[i] = 0;
  __syncthreads();
  wmma::store_matrix_sync(by, sum, PITCH, ORDER<B>);
  __syncthreads();
  for (int i = threadIdx.x; i < SIZE; i += 32) d[i] = by[i];
  __syncthreads();
}}
template <int M, int N, int K, class Kind, bool Clamps, class E, class C, class D>
__device__ void layouts(const E* a, const E* b, const C* c, D* d, D* by) {{
  using Row = wmma::row_major;
  using Col = wmma::col_major;
  multiply<M, N, K, Kind, Row, Row, Clamps>(a, b, c, d, by);
  multiply<M, N, K, Kind, Row, Col, Clamps>(a, b, c, d + SIZE, by);
  multiply<M, N, K, Kind, Col, Row, Clamps>(a, b, c, d + 2 * SIZE, by);
  multiply<M, N, K, Kind, Col, Col, Clamps>(a, b, c, d + 3 * SIZE, by);
}}
template <int M, int N, int K, class Kind, bool Clamps, class E, class C, class D>
__device__ void both(const E* a, const E* b, const C* c, D* d) {{
  __shared__ __align__(32) E near_a[SIZE], near_b[SIZE];
  __shared__ __align__(32) C near_c[SIZE];
  __shared__ __align__(32) D near_d[SIZE];
  a += blockIdx.x * SIZE;
  b += blockIdx.x * SIZE;
  c += blockIdx.x * SIZE;
  d += blockIdx.x * CASES * SIZE;
  for (int i = threadIdx.x; i < SIZE; i += 32) {{
    near_a[i] = a[i];
    near_b[i] = b[i];
    near_c[i] = c[i];
  }}
  __syncthreads();
  layouts<M, N, K, Kind, Clamps>(a, b, c, d, (D*)nullptr);
  layouts<M, N, K, Kind, Clamps>(near_a, near_b, near_c, d + 4 * SIZE, near_d);
}}
"""


def shapes(kind: str) -> tuple[str, ...]:
    return ("16, 16, 8",) if kind == "tf32" else SHAPES


def clamping(kind: str) -> tuple[bool, ...]:
    return (False, True) if KINDS[kind][1] == "s32" else (False,)


@cache
def source(kind: str) -> str:
    """A kernel for each shape of the kind, with and without clamping where there is such a thing."""
    element, c, d = (C_TYPES[one] for one in KINDS[kind])
    word = "wmma::precision::tf32" if kind == "tf32" else element
    kernels = [
        f'extern "C" __global__ void k{n}_{int(clamps)}(const {element}* a, const {element}* b, const {c}* c, {d}* d) '
        f"{{ both<{shape}, {word}, {str(clamps).lower()}>(a, b, c, d); }}\n"
        for n, shape in enumerate(shapes(kind))
        for clamps in clamping(kind)
    ]
    return HEAD + "".join(kernels)


def forms() -> Iterator[Form]:
    for kind in KINDS:
        for n, shape in enumerate(shapes(kind)):
            for clamps in clamping(kind):
                for of in _kinds_of_values(kind):
                    yield _form(kind, shape, f"k{n}_{int(clamps)}", of, clamps)


def _kinds_of_values(kind: str) -> tuple[str, ...]:
    if KINDS[kind][1] == "s32":
        return ("bytes", "limits")
    return ("integers", "reals", *(["floats"] if kind == "tf32" else []))


def _form(kind: str, shape: str, kernel: str, of: str, clamps: bool) -> Form:
    operand, c, d = KINDS[kind]
    held = {name: values(one, of, TILES * SIZE, seed) for seed, (name, one) in enumerate(
        {"a": operand, "b": operand, "c": c}.items())}  # fmt: skip
    result: dict[str, Array] = {"d": np.zeros(TILES * CASES * SIZE, DTYPES[d])}
    m, n, k = shape.split(", ")
    sizes = {name: absolute(array, operand if name != "c" else c) for name, array in held.items()}
    return Form(
        f"wmma m{m}n{n}k{k} {kind}{' .satfinite' if clamps else ''}, {of}", source(kind), kernel, held | result,
        grid=TILES, magnitudes=sizes | result if of in ("reals", "floats") else None,
    )  # fmt: skip
