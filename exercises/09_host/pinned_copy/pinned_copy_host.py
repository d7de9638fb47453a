"""Host side of pinned_copy: bring the recording to the GPU as fast as the link can, and the answer back."""

import cupy
import numpy as np

BLOCK = 256
WARPS_PER_BLOCK = BLOCK // 32  # a warp takes a frame

plan = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled pinned_copy.cu. `x` and `out` are float32 arrays in ordinary host memory: `x` holds 1024
    samples for each element of `out`. Before each run `x` gets new samples, in the same place.
    """
    # YOUR CODE: make the host memory fit for fast copies, and room for samples and results in GPU memory
    plan["kernel"] = module.get_function("pinned_copy")
    plan["grid"] = ((out.size + WARPS_PER_BLOCK - 1) // WARPS_PER_BLOCK,)
    plan["x"], plan["out"] = x, out


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    # YOUR CODE: the samples to the GPU, the kernel, the results back, and the wait for the end of all that
