"""Library calls for sparse matrices and ragged rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Arrays = Mapping[str, Any]
Numbers = Mapping[str, float]
Run = Callable[[], Any]


def spmv_csr(arrays: Arrays, numbers: Numbers) -> Run:
    """cuSPARSE's SpMV through CuPy, on the matrix as it is: ``matrix @ x`` would first merge equal columns of a row."""
    from cupyx import cusparse
    from cupyx.scipy.sparse import csr_matrix

    parts = tuple(arrays[name] for name in ("values", "columns", "offsets"))
    matrix = csr_matrix(parts, shape=(int(numbers["rows"]), int(numbers["cols"])))
    matrix.has_canonical_format = True  # cuSPARSE does not need it; CuPy would refuse columns that are not sorted
    return partial(cusparse.spmv, matrix, arrays["x"])


def segmented_sum(arrays: Arrays, numbers: Numbers) -> Run:
    """``cupy.add.reduceat``; of an empty segment it gives the element at its offset, as NumPy does."""
    import cupy

    return partial(cupy.add.reduceat, arrays["x"], arrays["offsets"][:-1])
