# expect: sim=technique gpu=slow
# Right, but pinning takes longer than the copy, and here it is timed.

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
    plan["kernel"] = module.get_function("pinned_copy")
    plan["grid"] = ((out.size + WARPS_PER_BLOCK - 1) // WARPS_PER_BLOCK,)
    plan["x"], plan["out"] = x, out
    plan["samples"] = cupy.empty(x.size, cupy.float32)  # where the recording goes in GPU memory
    plan["largest"] = cupy.empty(out.size, cupy.float32)
    plan["stream"] = cupy.cuda.Stream(non_blocking=True)


def run() -> None:
    """Compute `out` from what is in `x` now. Timed: when this returns, `out` must be complete."""
    samples, largest, stream = plan["samples"], plan["largest"], plan["stream"]

    for array in (plan["x"], plan["out"]):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)
    samples.set(plan["x"], stream=stream)
    with stream:
        plan["kernel"](plan["grid"], (BLOCK,), (samples, largest, np.int32(largest.size)))
    largest.get(out=plan["out"], stream=stream, blocking=False)
    stream.synchronize()
    for array in (plan["x"], plan["out"]):
        cupy.cuda.runtime.hostUnregister(array.ctypes.data)
