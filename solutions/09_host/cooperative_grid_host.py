"""Host side of cooperative_grid: a grid that fits on the GPU, and one launch."""

import cupy
import numpy as np

# As in cooperative_grid.cu: threads of a block, and points that a warp owns.
THREADS = 256
OWN = 252

call = {}  # what setup prepares for run


def blocks_that_fit(kernel: cupy.RawKernel) -> int:
    """How many blocks of THREADS threads can be on the GPU at the same time."""
    # Registers, shared memory and threads decide how many blocks share a multiprocessor: CUDA knows, so ask.
    each = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.kernel.ptr, THREADS, 0)
    return each * cupy.cuda.Device().attributes["MultiProcessorCount"]


def setup(module: cupy.RawModule, x: np.ndarray, heat: np.ndarray, out: np.ndarray) -> None:
    """Prepare everything that need not be done again in each run. Not timed.

    `module` is your compiled cooperative_grid.cu. `x`, `heat` and `out` are float32 arrays in ordinary host memory: the
    rod before the first step, the temperature at its left end in each step, and the rod after the last step. Before
    each run there are new values in `x` and `heat`, in the same place.
    """
    kernel = module.get_function("cooperative_grid")
    # The whole rod is on the chip, and a grid that waits for itself must be there as a whole.
    grid = -(-x.size // (OWN * THREADS // 32))
    if grid > blocks_that_fit(kernel):
        raise ValueError(f"a rod of {x.size} points needs {grid} blocks; {blocks_that_fit(kernel)} fit on this GPU")

    # Copies from and to pinned memory take a fraction of the time.
    for array in (x, heat, out):
        cupy.cuda.runtime.hostRegister(array.ctypes.data, array.nbytes, 0)
    rods = [cupy.empty(x.size, np.float32) for _ in range(4)]
    heats = cupy.empty(heat.size, np.float32)
    call.update(kernel=kernel, grid=(grid,), rods=rods, heats=heats, x=x, heat=heat, out=out)


def run() -> None:
    """Compute `out` from what is in `x` and `heat` now. Timed: when this returns, `out` must be complete."""
    before, even, odd, after = call["rods"]
    before.set(call["x"])
    call["heats"].set(call["heat"])
    sizes = np.int32(before.size), np.int32(call["heat"].size)
    call["kernel"](call["grid"], (THREADS,), (before, call["heats"], even, odd, after, *sizes))
    after.get(out=call["out"])  # waits for the kernel
