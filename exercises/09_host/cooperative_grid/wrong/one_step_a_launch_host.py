"""Host side of cooperative_grid: a grid that fits on the GPU, and one launch."""

import cupy
import numpy as np

BLOCK = 1024

call = {}  # what setup prepares for run


def setup(module: cupy.RawModule, x: np.ndarray, heat: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled cooperative_grid.cu. `x`, `heat` and `out` are float32 arrays in ordinary host memory: the
    rod before the first step, the temperature at its left end in each step, and the rod after the last step. Before
    each run there are new values in `x` and `heat`, in the same place.
    """
    kernel = module.get_function("cooperative_grid")
    grid = (x.size + BLOCK - 1) // BLOCK
    rods = cupy.empty(x.size, np.float32), cupy.empty(x.size, np.float32)
    call.update(kernel=kernel, grid=(grid,), rods=rods, x=x, heat=heat, out=out)


def run() -> None:
    """Compute `out` from what is in `x` and `heat` now. Timed: when this returns, `out` must be complete."""
    now, following = call["rods"]
    now.set(call["x"])
    for heat in call["heat"]:
        call["kernel"](call["grid"], (BLOCK,), (now, following, heat, np.int32(now.size)))
        now, following = following, now
    now.get(out=call["out"])  # waits for the kernels
