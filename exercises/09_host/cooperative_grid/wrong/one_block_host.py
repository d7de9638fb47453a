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
    rods = cupy.empty(x.size, np.float32), cupy.empty(x.size, np.float32)
    heats = cupy.empty(heat.size, np.float32)
    call.update(kernel=kernel, grid=(1,), rods=rods, heats=heats, x=x, heat=heat, out=out)


def run() -> None:
    """Compute `out` from what is in `x` and `heat` now. Timed: when this returns, `out` must be complete."""
    now, following = call["rods"]
    steps = call["heat"].size
    now.set(call["x"])
    call["heats"].set(call["heat"])
    call["kernel"](call["grid"], (BLOCK,), (now, following, call["heats"], np.int32(now.size), np.int32(steps)))
    # The kernel changes the two rods' places after each step: after an even number of steps, the first has the result.
    result = now if steps % 2 == 0 else following
    result.get(out=call["out"])  # waits for the kernel
