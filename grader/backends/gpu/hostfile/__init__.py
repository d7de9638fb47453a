"""Host files beside a GPU: a child with the real CuPy, and what its timed runs are measured against."""
