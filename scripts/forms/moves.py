"""Dot products of bytes (`dp4a`, `dp2a`), and what moves blocks of 8 × 8 halves (`ldmatrix`, `movmatrix`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from forms import Form
from forms.values import words

COUNT = 1024
"""Of each word that a dot product is given."""
BLOCK = 128
SIGNS = tuple(product(("u32", "s32"), repeat=2))
DOTS = tuple(f"{dot}.{a}.{b}" for dot, (a, b) in product(("dp4a", "dp2a.lo", "dp2a.hi"), SIGNS))

ROWS, PITCH = 64, 20
"""Rows in shared memory, and words from one to the next: a multiple of 16 bytes that is not one of 128."""
MATRICES = tuple(f"ldmatrix.sync.aligned.m8n8.{count}{trans}.shared.b16"
                 for count, trans in product(("x1", "x2", "x4"), ("", ".trans")))  # fmt: skip
MOVE = "movmatrix.sync.aligned.m8n8.trans.b16"


def _named(text: str) -> str:
    return text.replace(".", "_")


def dot(text: str) -> str:
    return (
        f'extern "C" __global__ void {_named(text)}(const unsigned* a, const unsigned* b, const unsigned* c, '
        f"unsigned* d) {{\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f'  asm volatile("{text} %0, %1, %2, %3;" : "=r"(d[i]) : "r"(a[i]), "r"(b[i]), "r"(c[i]));\n}}\n'
    )


def matrix(text: str) -> str:
    """Each lane gives the row that ``b`` names; rows are ``PITCH`` words of ``a`` apart, 16 bytes of each are read."""
    count = int(text.split(".x")[1][0])
    words_ = ", ".join(f"%{n}" for n in range(count))
    results = ", ".join(f'"=r"(w[{n}])' for n in range(count))
    return f"""extern "C" __global__ void {_named(text)}(const unsigned* a, const unsigned* b, unsigned* d) {{
  __shared__ __align__(16) unsigned rows[{ROWS * PITCH}];
  for (int i = threadIdx.x; i < {ROWS * PITCH}; i += 32) rows[i] = a[i];
  __syncthreads();
  unsigned w[4] = {{}};
  unsigned row = (unsigned)__cvta_generic_to_shared(rows + b[blockIdx.x * 32 + threadIdx.x] * {PITCH});
  asm volatile("{text} {{{words_}}}, [%{count}];" : {results} : "r"(row) : "memory");
  for (int k = 0; k < 4; ++k) d[(blockIdx.x * 4 + k) * 32 + threadIdx.x] = w[k];
}}
"""


MOVES = f"""extern "C" __global__ void {_named(MOVE)}(const unsigned* a, unsigned* d) {{
  int i = blockIdx.x * 32 + threadIdx.x;
  asm volatile("{MOVE} %0, %1;" : "=r"(d[i]) : "r"(a[i]));
}}
"""


def forms() -> Iterator[Form]:
    source = "".join([*map(dot, DOTS), *map(matrix, MATRICES), MOVES])
    given = {name: words(COUNT, seed) for seed, name in enumerate("abc", start=20)}
    for text in DOTS:
        arrays = given | {"d": np.zeros(COUNT, np.uint32)}
        yield Form(text, source, _named(text), arrays, grid=COUNT // BLOCK, block=BLOCK)
    rows = np.random.default_rng(24).integers(0, ROWS, 4 * 32).astype(np.uint32)
    for text in MATRICES:
        arrays = {"a": words(ROWS * PITCH, 23), "b": rows, "d": np.zeros(4 * 4 * 32, np.uint32)}
        yield Form(text, source, _named(text), arrays, grid=4)
    yield Form(MOVE, source, _named(MOVE), {"a": words(4 * 32, 25), "d": np.zeros(4 * 32, np.uint32)}, grid=4)
