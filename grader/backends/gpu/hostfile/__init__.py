"""Host files on a GPU: a child with the real CuPy, and the baselines of timed runs."""
