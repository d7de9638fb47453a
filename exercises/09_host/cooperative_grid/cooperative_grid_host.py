"""Host side of cooperative_grid: a grid that fits on the GPU, and one launch."""

import cupy
import numpy as np

THREADS = 256

call = {}  # what setup prepares for run


def blocks_that_fit(kernel: cupy.RawKernel) -> int:
    """How many blocks of THREADS threads can be on the GPU at the same time."""
    # YOUR CODE: ask CUDA how many fit on one multiprocessor


def setup(module: cupy.RawModule, x: np.ndarray, heat: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled cooperative_grid.cu. `x`, `heat` and `out` are float32 arrays in ordinary host memory: the
    rod before the first step, the temperature at its left end in each step, and the rod after the last step. Before
    each run there are new values in `x` and `heat`, in the same place.
    """
    # YOUR CODE: fetch the kernel, choose a grid that fits, make the arrays on the GPU


def run() -> None:
    """Compute `out` from what is in `x` and `heat` now. Timed: when this returns, `out` must be complete."""
    # YOUR CODE: copy the inputs to the GPU, launch once, copy the rod after the last step into `out`
