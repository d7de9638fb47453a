"""Sixteen bits of wide signed products, which LLVM 22.1.0 (llvmlite 0.48 to 0.50) gets wrong on x86."""

from __future__ import annotations

import numpy as np

from tests.simt.kernels import Array, body
from tests.simt.programs import Program, cases, check

EDGES = [0, 1, 2, 127, 128, 255, 256, 1000, 16383, 16384, 32766, 32767, -1, -2, -128, -1000, -16384, -32767, -32768]
DRAWN = np.random.default_rng(13).integers(-32768, 32768, (2, 2048 - len(EDGES) ** 2))
A, B = np.concatenate([np.array(np.meshgrid(EDGES, EDGES)).reshape(2, -1), DRAWN], axis=1)


def program(expression: str, want: Array) -> Program:
    """One expression over all pairs of A and B, as shorts; ``want`` is its exact value."""
    source = body(f"o[i] = (short)({expression});", "const short* a, const short* b, short* o, int n")
    arrays = {"a": A.astype(np.int16), "b": B.astype(np.int16), "o": np.zeros(len(A), np.int16)}
    return Program(expression, source, arrays, lambda _: {"o": want}, (len(A),), grid=len(A) // 256, block=256)


PROGRAMS = [
    program("__mulhi(a[i], b[i])", A * B >> 32),
    program("((long long)a[i] * b[i]) >> 20", A * B >> 20),
    program("((long long)a[i] * 1000) >> 24", A * 1000 >> 24),
]


@cases(PROGRAMS)
def test_sixteen_bits_of_a_wide_product_are_right(program: Program) -> None:
    check(program)
