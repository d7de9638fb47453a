# expect: sim=crash
# The kernel gets the addresses of ordinary host memory, which it cannot reach.

"""Host side of zero_copy: let the GPU read the recording where it lies, in host memory."""

import cupy
import numpy as np

BLOCK = 256
BLOCKS_PER_SM = 8

call = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled zero_copy.cu. `x` and `out` are float32 arrays in ordinary host memory: `x` holds 1024
    samples for each element of `out`. Before each run `x` gets new samples, in the same place.
    """
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    call["kernel"] = module.get_function("zero_copy")
    call["grid"] = (BLOCKS_PER_SM * multiprocessors,)
    call["args"] = (np.uint64(x.ctypes.data), np.uint64(out.ctypes.data), np.int32(out.size))


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    call["kernel"](call["grid"], (BLOCK,), call["args"])
    # A launch only queues the kernel. What it writes to host memory is sure to be there when the GPU has finished.
    cupy.cuda.get_current_stream().synchronize()
