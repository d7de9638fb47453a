# expect: sim=technique gpu=slow
# Right, but every step is launched by a call of its own, in each run.

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
    kernel = module.get_function("cuda_graph")
    for array in (x, heat, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)

    # The graph keeps addresses, not arrays: these stay in `work` for as long as it is launched.
    rods = cupy.empty(x.size, x.dtype), cupy.empty(x.size, x.dtype)
    heat_device = cupy.empty(heat.size, heat.dtype)
    stream = cupy.cuda.Stream(non_blocking=True)
    grid = (-(-x.size // BLOCK),)

    work["call"] = kernel, stream, rods, heat_device, grid, x, heat, out


def run() -> None:
    """Compute `out` from what is in `x` and `heat` now. Timed: when this returns, `out` must be complete."""
    kernel, stream, rods, heat_device, grid, x, heat, out = work["call"]
    with stream:
        rods[0].set(x)
        heat_device.set(heat)
        for step in range(heat.size):
            now, then = rods[step % 2], rods[(step + 1) % 2]
            kernel(grid, (BLOCK,), (now, then, heat_device, np.int32(step), np.int32(x.size)))
        rods[heat.size % 2].get(out=out, blocking=False)
    stream.synchronize()
