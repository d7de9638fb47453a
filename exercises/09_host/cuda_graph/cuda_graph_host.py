"""Host side of cuda_graph: all steps are captured once, and launched by one call in each run."""

import cupy
import numpy as np

BLOCK = 256

work = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, heat: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled cuda_graph.cu. The arrays are float32, in ordinary host memory: the rod `x`, one element
    of `heat` for each step, and the rod `out` after all steps. Before each run `x` and `heat` get new values, in the
    same place.
    """
    # YOUR CODE: pin the arrays, allocate two rods and the heat on the GPU, capture the copies and all steps in a graph


def run() -> None:
    """Compute `out` from what is in `x` and `heat` now. Timed: when this returns, `out` must be complete."""
    # YOUR CODE: launch the graph and wait for it
